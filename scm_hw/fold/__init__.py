"""Plans of folded cores, for models that do not fit unrolled: lanes, memories, cycles, cost."""

from scm_hw.fold.costs import estimate_fold
from scm_hw.fold.folds import Fold, parse_fold
from scm_hw.fold.machine import FoldedLayer, Machine, fold_machine
from scm_hw.fold.memories import Bank
from scm_hw.fold.plan import FoldPlan
from scm_hw.fold.search import fastest_plan, foldable, plan_fold, surely_too_large
from scm_hw.fold.timeline import Phase

__all__ = [
    "Bank",
    "Fold",
    "FoldPlan",
    "FoldedLayer",
    "Machine",
    "Phase",
    "estimate_fold",
    "fastest_plan",
    "fold_machine",
    "foldable",
    "parse_fold",
    "plan_fold",
    "surely_too_large",
]
