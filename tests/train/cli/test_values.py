"""What options of the command line stand for."""

import pytest

from scm_train.cli.values import inputs_per_node


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("all", None),
        ("2", 2),
        ("1,2,3", (1, 2, 3)),
        ("1:0.5,2:0.5", {1: 0.5, 2: 0.5}),
        ("1/2", [(1,), (2,)]),
        ("all/6", [None, (6,)]),
        ("1,2/3:1,6:2/all", [(1, 2), {3: 1.0, 6: 2.0}, None]),
    ],
)
def test_inputs_per_node(text, value):
    assert inputs_per_node(text) == value
