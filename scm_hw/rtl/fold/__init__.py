"""The folded core: PE x SIMD lanes that take their weights from memories."""

from scm_hw.rtl.fold.core import FoldedCore

__all__ = ["FoldedCore"]
