"""The arguments of all commands."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any, NoReturn

from scm_model.suggestions import usage_remedy
from scm_model.tables.flags import add_format_flags
from scm_train.cli.learner_flags import add_learner_flags
from scm_train.cli.values import count, number_or, one_of, real, seed, whole
from scm_train.errors import ParameterError

__all__ = ["add_table_flags", "build_parser"]

COMMANDS = ("fit", "refit", "evaluate", "predict", "info", "plot", "export", "datasets")


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, for `main` to print as one line."""

    def error(self, message: str) -> NoReturn:
        raise ParameterError(message + usage_remedy(message, f"`{self.prog} --help`", self))


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
    _add_refit(commands)
    _add_evaluate(commands)
    _add_predict(commands)
    info = commands.add_parser("info", help="describe a model file")
    info.add_argument("model", help="model file (.npz)")
    _add_output(info)
    _add_plot(commands)
    _add_export(commands)
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
    add_learner_flags(fit)
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
    group.add_argument(
        "data", nargs="?", default=None, help="CSV, TSV, Excel, Parquet, .npy or .npz file"
    )
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
    _add_split_flags(group)
    _add_column_flags(group)
    add_format_flags(parser)
    return group


def _add_split_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--split",
        default=None,
        metavar="random|chronological|groups:COLUMN",
        help="which rows are held out: any, with every class in its share; the last ones; or whole "
        "groups of rows that have the same value in a column, which is no feature then (random)",
    )
    group.add_argument(
        "--test-groups",
        action="append",
        default=None,
        metavar="VALUES",
        help="which groups are held out, such as 2014,2015 with --split groups:year (a random "
        "choice)",
    )
    group.add_argument(
        "--time",
        default=None,
        metavar="COLUMN",
        help="column of dates or numbers that orders a chronological split (the order of the file)",
    )


def _add_column_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--categories",
        action="append",
        default=argparse.SUPPRESS,
        metavar="COLUMNS",
        help="numeric columns that are categories (columns of text always are)",
    )
    group.add_argument(
        "--missing",
        type=one_of("code", "median"),
        default=argparse.SUPPRESS,
        help="what a missing value becomes: code, one that no number has, or median, with a flag "
        "beside it",
    )


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


def _add_refit(commands: Any) -> None:
    refit = commands.add_parser(
        "refit", help="fit the readout of a model again on new rows; its nodes stay"
    )
    refit.add_argument("model", help="model file (.npz)")
    refit.add_argument("data", help="data file with the model's features and targets")
    refit.add_argument("--out", required=True, help="model file to write (.npz)")
    refit.add_argument(
        "--ridge",
        type=number_or(float, auto="auto"),
        default="auto",
        help="ridge penalty on changes of the readout, per row; auto: by rows held back (auto)",
    )
    refit.add_argument(
        "--target", action="append", help="target columns, if their names differ from the model's"
    )
    refit.add_argument(
        "--test-fraction", type=real, default=0.25, help="fraction of rows to test on (0.25)"
    )
    refit.add_argument("--seed", type=seed, default=0, help="random seed of the split (0)")
    _add_force(refit)
    _add_output(refit)
    add_format_flags(refit)


def _add_evaluate(commands: Any) -> None:
    evaluate = commands.add_parser("evaluate", help="score a model on data")
    evaluate.add_argument("model", help="model file (.npz)")
    evaluate.add_argument(
        "data", nargs="?", help="data file (default: the test rows in the model file)"
    )
    evaluate.add_argument(
        "--target", action="append", help="target columns, if their names differ from the model's"
    )
    _add_records(evaluate)
    _add_given_mechanism(evaluate)
    _add_output(evaluate)
    add_format_flags(evaluate)


def _add_predict(commands: Any) -> None:
    predict = commands.add_parser("predict", help="predict the targets of a data file's rows")
    predict.add_argument("model", help="model file (.npz)")
    predict.add_argument("data", help="data file with the model's features")
    predict.add_argument("--out", help="CSV file to write (default: standard output)")
    _add_force(predict)
    _add_records(predict)
    _add_given_mechanism(predict)
    _add_output(predict)
    add_format_flags(predict)


def _add_records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="of a model with memory: column that says which record a row is of (default: all "
        "rows are one record)",
    )


def _add_plot(commands: Any) -> None:
    plot = commands.add_parser("plot", help="plot the training history and the accuracy of a model")
    plot.add_argument("model", help="model file (.npz)")
    plot.add_argument(
        "--out", help="PNG, SVG or PDF file to write (default: the model's name with .png)"
    )
    _add_force(plot)
    _add_output(plot)


def _add_export(commands: Any) -> None:
    export = commands.add_parser("export", help="write the float model as ONNX")
    export.add_argument("model", help="model file (.npz)")
    export.add_argument("--out", help="file to write (default: the model's name with .onnx)")
    _add_force(export)
    _add_output(export)


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
