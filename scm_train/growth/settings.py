"""What decides how a machine grows."""

from __future__ import annotations

from dataclasses import dataclass

from scm_train.search.search import SearchSettings

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """One entry per layer in ``max_nodes`` (None: no limit), ``activations`` and ``candidates``.

    ``tolerance`` is a training RMSE. ``early_stopping`` needs validation rows, as does a ``ridge``
    of ``"auto"``. With ``refit`` the final readout is solved on training and validation rows
    together. A layer grows to ``1 + removal`` times its nodes, and loses those that pay least.
    ``removal_tolerance`` is ``stop_tolerance`` where it is None. ``centred`` thresholds of sign and
    step nodes are halfway between the rows' sums next to them. With ``log_odds`` the final readout
    is that of :mod:`scm_train.solve.logistic`, and inputs have no linear part.
    """

    max_nodes: tuple[int | None, ...]
    activations: tuple[str, ...]
    candidates: tuple[int, ...]
    search: SearchSettings
    tolerance: float = 0.0
    early_stopping: bool = False
    stop_step: int = 10
    stop_tolerance: float = 1e-3
    removal_tolerance: float | None = None
    linear: bool = False
    alpha: float = 0.0
    ridge: float | str = 0.0
    refit: bool = False
    removal: float = 0.0
    centred: bool = False
    log_odds: bool = False

    @property
    def least_gain(self) -> float:
        """What the newest node must bring to stay as early stopping ends a layer."""
        chosen = self.removal_tolerance
        return self.stop_tolerance if chosen is None else chosen

    def grown(self, number: int) -> int | None:
        """Nodes to which a layer grows; None for no limit."""
        limit = self.max_nodes[number]
        return None if limit is None else limit + round(self.removal * limit)

    @property
    def most_nodes(self) -> int | None:
        """Nodes to which all layers together grow; None for no limit."""
        grown = [self.grown(number) for number in range(len(self.max_nodes))]
        return None if None in grown else sum(n or 0 for n in grown)
