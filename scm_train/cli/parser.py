"""The arguments of all commands, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NoReturn

from scm_model.suggestions import did_you_mean
from scm_train.algorithms import ALGORITHMS
from scm_train.errors import ParameterError

__all__ = ["add_table_flags", "build_parser"]

COMMANDS = ("fit", "evaluate", "predict", "info", "plot", "datasets")


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, for `main` to print as one line."""

    def error(self, message: str) -> NoReturn:
        remedy = "" if message.endswith("?") else f"; see `{self.prog} --help`"
        raise ParameterError(message + remedy)


class _WithDefaults(argparse.HelpFormatter):
    """Help that ends with a flag's default in the estimators' signature."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        # They import scikit-learn, which only this text has to wait for.
        from scm_train.estimators import SCMRegressor

        default = SCMRegressor().get_params(deep=False).get(action.dest)
        if action.default is not argparse.SUPPRESS or default is None:
            return action.help
        return f"{action.help} ({shown(default)})"


def shown(value: Any) -> str:
    """A default as the command line takes it."""
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def build_parser() -> argparse.ArgumentParser:
    """The parser of `python -m scm_train`."""
    parser = OneLineParser(
        prog="scm_train",
        description="Train stochastic configuration machines, and write them to model files.",
    )
    commands = parser.add_subparsers(dest="command", metavar="|".join(COMMANDS), required=True)
    _add_fit(commands)
    _add_evaluate(commands)
    _add_predict(commands)
    info = commands.add_parser("info", help="describe a model file")
    info.add_argument("model", help="model file (.npz)")
    _add_output(info)
    _add_plot(commands)
    _add_output(commands.add_parser("datasets", help="list the built-in data sets"))
    for one in (parser, *commands.choices.values()):
        # Of the package, which has trainer and compiler.
        one.add_argument("--version", action="version", version=f"scm-hw {version('scm-hw')}")
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _add_fit(commands: Any) -> None:
    fit = commands.add_parser(
        "fit",
        help="train a model and write it to a file",
        description="Train a model. Defaults are given in parentheses; they are those of the "
        "estimators, and give a model that can be compiled as it is.",
        formatter_class=_WithDefaults,
        # Only flags that were given overrule the estimators' own defaults.
        argument_default=argparse.SUPPRESS,
    )
    fit.add_argument("--out", required=True, help="model file to write (.npz)")
    _add_row_flags(add_table_flags(fit))
    _add_learner_flags(fit)
    _add_mechanism_flags(fit)
    fit.add_argument(
        "--trials",
        type=count,
        default=1,
        help="number of independent runs, with consecutive seeds from --seed; the run with the "
        "lowest validation error is kept",
    )
    _add_force(fit)
    fit.add_argument(
        "--name", default=None, help="name of the model, used as the name of its builds"
    )
    fit.add_argument(
        "--no-eval-rows",
        action="store_true",
        default=False,
        help="do not store the test rows in the model file",
    )
    fit.add_argument("-q", "--quiet", action="store_true", default=False, help="print nothing")
    fit.add_argument(
        "--json", action="store_true", default=False, help="print JSON instead of text"
    )


def add_table_flags(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Which table to learn from, how it is read and what of it is held out: `fit` has them, and the
    commands of other packages that train; see :func:`scm_train.cli.training_data.read`."""
    group = parser.add_argument_group("data")
    group.add_argument("data", nargs="?", default=None, help="CSV, TSV, Parquet, .npy or .npz file")
    group.add_argument(
        "--dataset", default=None, help="name of a built-in data set, instead of a file"
    )
    group.add_argument(
        "--target", action="append", default=None, help="target columns, separated by commas"
    )
    group.add_argument("--features", action="append", default=None, help="use only these columns")
    group.add_argument("--drop", action="append", default=[], help="ignore these columns")
    group.add_argument(
        "--task",
        type=one_of("auto", "regression", "classification"),
        default="auto",
        help="auto: classification for text labels, regression for numbers",
    )
    group.add_argument(
        "--test-fraction",
        type=real,
        default=None,
        help="fraction of rows held out as test rows (0.25, or the split of a built-in data set)",
    )
    group.add_argument(
        "--test",
        default=None,
        metavar="FILE",
        help="file of test rows with the same columns, instead of rows held out",
    )
    return group


def _add_row_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--validation-fraction", type=real, help="fraction of training rows used for validation"
    )
    group.add_argument(
        "--search-rows",
        type=whole,
        help="maximum number of rows to search nodes on; linear part and readout use all rows "
        "(all rows)",
    )
    group.add_argument(
        "--seed", type=seed, default=0, help="random seed of the split and of training (0)"
    )


def _add_learner_flags(fit: argparse.ArgumentParser) -> None:
    group = fit.add_argument_group("learner")
    add = group.add_argument
    add("--algorithm", type=algorithm, default="SCM", help=", ".join(a.lower() for a in ALGORITHMS))
    add(
        "--paper",
        action="store_true",
        default=False,
        help="start from the paper's settings (sigmoid nodes on plain inputs)",
    )
    add(
        "--luts",
        type=float,
        help="budget of LUTs for growth by families, where all nodes on a few bits join at once "
        "(3000, unless an option for growth by single nodes is given)",
    )
    add(
        "--growth",
        type=one_of("auto", "families", "nodes"),
        help="what joins the machine at a time: auto, families or nodes",
    )
    add(
        "--members",
        type=whole,
        help="number of machines of families whose outputs are averaged: 1, 2, 4, 8 or 16",
    )
    add(
        "--class-weight",
        type=one_of("balanced"),
        help="weight of the classes: balanced, for equal weight of all classes",
    )
    add(
        "--layers",
        type=whole,
        help="maximum number of hidden layers (the length of the longest list below, or 1)",
    )
    add(
        "--max-nodes",
        type=per_layer(number_or(int, none=None, inf=None)),
        help="maximum number of nodes per layer: 60, 28,8 or none; with --luts the maximum number "
        "of families",
    )
    add(
        "--activation",
        type=per_layer(str),
        help="activation: sign, step, sigmoid, brelu or tanh; one for all layers, or one per layer",
    )
    add(
        "--candidates",
        type=per_layer(whole),
        help="number of candidates per draw, T_max; one for all layers, or one per layer",
    )
    add(
        "--encoder",
        help="encoder of the inputs: thermometer:31, thermometer:31:quantile, binary:5, gray:5 or "
        "none",
    )
    add(
        "--input-bits",
        type=number_or(int, auto="auto", none=None),
        help="number of bits of the code of an input: a number such as 12, auto or none",
    )
    add("--weights", type=one_of("binary", "real"), help="weights of the nodes: binary or real")
    add(
        "--inputs-per-node",
        type=inputs_per_node,
        help="number of features (or nodes of the layer before) that a node sees: 2, one of 1,2,3, "
        "shares 1:0.5,2:0.5, or all; layers apart by slashes, as in 1,2/2,3,4,5,6",
    )
    add(
        "--sign-pattern",
        type=number_or(float, free="free", monotone="monotone"),
        help="signs of the bits of one feature: free, monotone (all equal), or the fraction of "
        "monotone candidates",
    )
    add(
        "--bias-range",
        type=bias_range,
        help="range of the random thresholds: auto, data, middle, paper, or low,high",
    )
    add("--search", help="where candidates come from: auto, pool, or fresh draws: fresh")
    add("--criterion", type=one_of("paper", "exact"), help="score of a candidate: paper or exact")
    add(
        "--lambdas",
        type=numbers,
        help="scales of the weights, in the order in which they are tried",
    )
    add(
        "--r",
        type=numbers,
        dest="r_values",
        help="increasing sequence r of the supervisory inequality",
    )
    add("--tolerance", type=real, help="training RMSE at which training stops")
    add(
        "--stop-step",
        type=whole,
        help="early stopping: number of nodes without improvement, L_step",
    )
    add("--stop-tolerance", type=real, help="early stopping: smallest relative improvement, tau")
    add(
        "--removal-tolerance",
        type=real,
        help="early stopping: smallest relative improvement that keeps the newest node (tau)",
    )
    add(
        "--removal",
        type=real,
        help="backward removal: grow by this fraction beyond --max-nodes, then remove the least "
        "useful nodes",
    )
    add("--alpha", type=real, help="regularisation factor of the LASSO for the linear part")
    add(
        "--ridge",
        type=number_or(float, auto="auto"),
        help="ridge penalty of the readout: a number (0 in the paper) or auto",
    )


def _add_mechanism_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("mechanism model P0")
    add = group.add_argument
    add(
        "--mechanism",
        default=None,
        help="module:function whose arguments are feature names, or the matrix X of raw inputs; or "
        "`dataset` for the mechanism of a built-in data set",
    )
    add(
        "--mechanism-kind",
        type=one_of("external", "table", "polynomial"),
        default="external",
        help="how the model stores it: external (default), table or polynomial",
    )
    add("--mechanism-inputs", action="append", help="features that it depends on", default=None)
    add("--mechanism-points", type=whole, default=33, help="points per input of a table (33)")
    add("--mechanism-degree", type=whole, default=2, help="degree of a polynomial (2)")


def _add_evaluate(commands: Any) -> None:
    evaluate = commands.add_parser("evaluate", help="score a model on data")
    evaluate.add_argument("model", help="model file (.npz)")
    evaluate.add_argument(
        "data", nargs="?", help="data file (default: the test rows in the model file)"
    )
    evaluate.add_argument(
        "--target", action="append", help="target columns, if their names differ from the model's"
    )
    _add_given_mechanism(evaluate)
    _add_output(evaluate)


def _add_predict(commands: Any) -> None:
    predict = commands.add_parser("predict", help="predict the targets of a data file's rows")
    predict.add_argument("model", help="model file (.npz)")
    predict.add_argument("data", help="data file with the model's features")
    predict.add_argument("--out", help="CSV file to write (default: standard output)")
    _add_force(predict)
    _add_given_mechanism(predict)
    _add_output(predict)


def _add_plot(commands: Any) -> None:
    plot = commands.add_parser("plot", help="plot the training history and the accuracy of a model")
    plot.add_argument("model", help="model file (.npz)")
    plot.add_argument(
        "--out", help="PNG, SVG or PDF file to write (default: the model's name with .png)"
    )
    _add_force(plot)
    _add_output(plot)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force",
        action="store_true",
        default=False,
        help="replace a file of another kind at --out; never a file that the command reads",
    )


def _add_given_mechanism(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mechanism", help="module:function of a model with an external mechanism")
    parser.add_argument(
        "--mechanism-columns",
        action="append",
        help="columns that hold the values of the mechanism, one per target",
    )


# ------------------------------------------------------------------------------ types of values


def parts_of(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def one_of(*choices: str) -> Callable[[str], str]:
    """One of a few words, with a suggestion for any other."""

    def choose(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(
                f"must be one of {', '.join(choices)}, not {text!r}; {did_you_mean(text, choices)}"
            )
        return text

    return choose


def algorithm(text: str) -> str:
    """The name of a learner, however it is spelt: scm, DeepSCN, dirvfl-1."""
    known = {name.lower(): name for name in ALGORITHMS}
    spelt = text.lower().replace("-", "").replace("_", "")
    if spelt not in known:
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(known)}, not {text!r}; {did_you_mean(text, known)}"
        )
    return known[spelt]


def number_or(kind: type[int] | type[float], **words: Any) -> Callable[[str], Any]:
    """A number, or one of the words, each of which stands for its value."""
    what = "a whole number" if kind is int else "a number"
    rule = " or ".join([what, *words])

    def parse(text: str) -> Any:
        if text in words:
            return words[text]
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {rule}, not {text!r}") from None

    return parse


whole, real = number_or(int), number_or(float)


def seed(text: str) -> int:
    """A seed that every random generator takes."""
    number = whole(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, not {text!r}")
    return number


def count(text: str) -> int:
    """A number of things, of which there is at least one."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return number


def per_layer(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """One value, or several by commas, one per layer."""

    def parse(text: str) -> Any:
        values = [kind(part) for part in parts_of(text)]
        if not values:
            raise argparse.ArgumentTypeError("must be one value or one per layer, not empty")
        return values[0] if len(values) == 1 else values

    return parse


def numbers(text: str) -> tuple[float, ...]:
    """Numbers separated by commas."""
    return tuple(real(part) for part in parts_of(text))


def inputs_per_node(text: str) -> Any:
    """All, a number, one of several numbers, or shares of numbers; of each layer by slashes."""
    if "/" in text:
        # A plain number alone would be one of several for all layers.
        layers = [inputs_per_node(part) for part in text.split("/")]
        return [(own,) if isinstance(own, int) else own for own in layers]
    if text == "all":
        return None
    if ":" in text:
        pairs = (part.partition(":") for part in parts_of(text))
        return {whole(count): real(share) for count, _, share in pairs}
    counts = tuple(whole(part) for part in parts_of(text))
    return counts[0] if len(counts) == 1 else counts


def bias_range(text: str) -> str | tuple[float, ...]:
    """Auto, data, middle, paper, or two numbers."""
    return text if text in ("auto", "data", "middle", "paper") else numbers(text)
