"""The options of `fit` that say how the machine grows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from scm_train.algorithms import ALGORITHMS
from scm_train.cli.values import (
    algorithm,
    bias_range,
    inputs_per_node,
    number_or,
    numbers,
    one_of,
    per_layer,
    real,
    whole,
)

#: The destinations of :func:`add_promise_flags`.
PROMISES = ("interval", "unsure", "flags", "loss", "class_weight")


def add_learner_flags(fit: argparse.ArgumentParser) -> None:
    add_sequence_flags(fit.add_argument_group("records in the order of time").add_argument)
    add = fit.add_argument_group("learner").add_argument
    _add_growth(add)
    _add_layers(add)
    _add_nodes(add)
    _add_endings(add)


def add_sequence_flags(add: Callable[..., Any]) -> None:
    """What makes a machine with memory: `fit` has them, and `design`."""
    add(
        "--lags",
        default=None,
        metavar="SIGNAL:LAGS,...",
        help="rows of the past that the machine sees of each signal, such as speed:0..2,load:0+4 "
        "(* is every signal), or auto, chosen by validation error; the core keeps the past itself",
    )
    add(
        "--horizon",
        type=int,
        default=None,
        metavar="ROWS",
        help="rows ahead of the newest sample that the target is (0)",
    )
    add(
        "--feedback",
        default=None,
        metavar="TARGET:LAGS",
        help="rows of the past of the machine's own outputs that it sees, such as y:1..4, or auto; "
        "hardware runs free on them",
    )
    add(
        "--no-plant",
        action="store_true",
        default=False,
        help="grow from the taps alone, not from a model of the plant (linear, and a polynomial of "
        "one or two taps) where validation records prefer one",
    )
    add(
        "--recurrent",
        action="store_true",
        default=False,
        help="grow a layer of nodes that see bits of the row before, their own among them (64, or "
        "--max-nodes)",
    )
    add(
        "--recurrent-share",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="with --recurrent, the share of bits among what a node sees (0.5)",
    )
    add(
        "--washout",
        type=int,
        default=8,
        metavar="ROWS",
        help="with --recurrent, rows of a record that pass before it is scored (8)",
    )
    add(
        "--groups",
        default=None,
        metavar="COLUMN",
        help="column that says which record a row is of (all rows are one record)",
    )


def _add_growth(add: Callable[..., Any]) -> None:
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
        help="what is added to the machine at a time: auto, families or nodes",
    )
    add(
        "--members",
        type=whole,
        help="number of machines of families whose outputs are averaged: 1, 2, 4, 8 or 16",
    )
    add_promise_flags(add)


def add_promise_flags(add: Callable[..., Any]) -> None:
    """What a machine is fitted for and says of its results: `fit` has them, and `design`."""
    add(
        "--interval",
        type=real,
        metavar="LEVEL",
        help="level of an interval, such as 0.9: the machine has a lower and an upper bound for "
        "each target as further outputs, which hold this share of rows",
    )
    add(
        "--unsure",
        type=real,
        metavar="SHARE",
        help="of a classifier, the share of rows that may be wrong without being flagged, such as "
        "0.05: the machine has its margin and the flag unsure as further outputs",
    )
    add(
        "--flags",
        type=real,
        metavar="RATE",
        help="rate of false alarms, such as 0.01, of the flag novel, a further output for rows "
        "unlike those of training; and the flag outside, where a port can tell",
    )
    add(
        "--loss",
        type=one_of("squared_error", "huber"),
        help="loss of a regression: squared_error, or huber, with which outliers count less",
    )
    add(
        "--class-weight",
        type=one_of("balanced"),
        help="weight of the classes: balanced, for equal weight of all classes",
    )


def _add_layers(add: Callable[..., Any]) -> None:
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


def _add_nodes(add: Callable[..., Any]) -> None:
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


def _add_endings(add: Callable[..., Any]) -> None:
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
        "--readout",
        type=one_of("squares", "logistic"),
        help="readout of a classifier of nodes: squares, or logistic, sparse and of few bits",
    )
    add(
        "--ridge",
        type=number_or(float, auto="auto"),
        help="ridge penalty of the readout: a number (0 in the paper) or auto",
    )
