"""The six learners that the paper compares."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALGORITHMS", "Algorithm"]


@dataclass(frozen=True)
class Algorithm:
    """One line of the paper's table of learners."""

    name: str
    deep: bool
    early_stopping: bool
    linear: bool
    supervised: bool

    @property
    def real_weights(self) -> bool:
        """The learners with early stopping and a linear model are binary only."""
        return not self.linear


ALGORITHMS = {
    a.name: a
    for a in (
        # The rows of the paper's table of features, of which DIRVFL-I and -II end in a digit here.
        Algorithm("SCN", deep=False, early_stopping=False, linear=False, supervised=True),
        Algorithm("DeepSCN", deep=True, early_stopping=False, linear=False, supervised=True),
        Algorithm("SCM", deep=True, early_stopping=True, linear=True, supervised=True),
        Algorithm("IRVFL", deep=False, early_stopping=False, linear=False, supervised=False),
        Algorithm("DIRVFL1", deep=True, early_stopping=False, linear=False, supervised=False),
        Algorithm("DIRVFL2", deep=True, early_stopping=True, linear=True, supervised=False),
    )
}
