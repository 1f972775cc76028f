"""Plans of folded cores, for models that do not fit unrolled: lanes, memories, cycles, cost."""

from scm_hw.fold.costs import estimate_fold
from scm_hw.fold.folds import Fold, parse_fold
from scm_hw.fold.interp import FoldValues, check_fold, interpret_fold
from scm_hw.fold.machine import FoldedLayer, Machine, fold_machine
from scm_hw.fold.memories import Bank
from scm_hw.fold.plan import FoldPlan
from scm_hw.fold.search import fastest_plan, foldable, plan_fold, surely_too_large
from scm_hw.fold.timeline import Phase

__all__ = [
    "Bank",
    "Fold",
    "FoldPlan",
    "FoldValues",
    "FoldedLayer",
    "Machine",
    "Phase",
    "check_fold",
    "estimate_fold",
    "fastest_plan",
    "fold_machine",
    "foldable",
    "interpret_fold",
    "parse_fold",
    "plan_fold",
    "surely_too_large",
]
