"""How many thresholds a code has reached, in as few LUTs as there is a way to.

Either every threshold has its comparison, and the binary number is read off their parities. Or the
top bits of the code, as many as a LUT has inputs, are its bucket and look up the thresholds inside
it, the rest of the code is compared with those, and a table of bucket and outcomes is the number.
"""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.ir import Concat, Field, Less, Ref, Table, level_bits
from scm_hw.passes.rewrite import Rewriter
from scm_hw.target import Technology

# Comparisons of 12 bits with constants share some of their LUTs; this is what they come to.
LUTS_PER_COMPARISON = 6


def thresholds_reached(
    build: Rewriter, code: Ref, thresholds: tuple[int, ...], name: str, tech: Technology
) -> Ref:
    """The number of thresholds that a code is not below; they increase strictly."""
    buckets = _Buckets(thresholds, build.ranges[code].width, tech.lut_inputs)
    if buckets.luts < LUTS_PER_COMPARISON * len(thresholds):
        return buckets.build(build, code, name)
    return _by_parities(build, code, thresholds, name)


def _by_parities(build: Rewriter, code: Ref, thresholds: tuple[int, ...], name: str) -> Ref:
    bits = level_bits(build, code, thresholds, name)
    if len(bits) == 1:
        return bits[0]
    return build.add(Concat(tuple(bits), (1,) * len(bits), name=f"{name}.level"))


@dataclass(frozen=True)
class _Buckets:
    """The thresholds by the top bits of the code."""

    thresholds: tuple[int, ...]
    code_bits: int
    top_bits: int

    @property
    def low_bits(self) -> int:
        return max(self.code_bits - self.top_bits, 0)

    def inside(self, bucket: int) -> list[int]:
        """Thresholds above the start of a bucket, counted from there."""
        start = bucket << self.low_bits
        return [t - start for t in self.thresholds if 0 < t - start < 1 << self.low_bits]

    def before(self, bucket: int) -> int:
        """How many thresholds the first code of a bucket has reached."""
        # A threshold at the start of a bucket is reached by every code in it.
        return sum(t <= bucket << self.low_bits for t in self.thresholds)

    @property
    def most(self) -> int:
        return max(len(self.inside(b)) for b in range(1 << self.top_bits))

    @property
    def luts(self) -> int:
        """For each rank a table of thresholds and a comparison, and the table of the number."""
        # A LUT for each bit of the bound, and one for every two bits of a comparison of two values.
        per_rank = self.low_bits + self.low_bits // 2 + 1
        # The bucket fills the inputs of a LUT; each outcome beside it doubles the LUTs of a bit.
        return self.most * per_rank + (len(self.thresholds).bit_length() << self.most)

    def build(self, build: Rewriter, code: Ref, name: str) -> Ref:
        bucket = build.add(Field(code, self.low_bits, self.top_bits, name=f"{name}.bucket"))
        low = build.add(Field(code, 0, self.low_bits, name=f"{name}.inside"))
        below = [
            build.add(Less(low, self._bounds(build, bucket, rank, name), name=f"{name}.below"))
            for rank in range(self.most)
        ]
        index = build.add(
            Concat((bucket, *below), (self.top_bits, *(1,) * len(below)), name=f"{name}.found")
        )
        return build.add(Table(index, self._numbers(), name=f"{name}.level"))

    def _bounds(self, build: Rewriter, bucket: Ref, rank: int, name: str) -> Ref:
        """The threshold of that rank inside each bucket; where there is none, nothing looks."""
        inside = [self.inside(b) for b in range(1 << self.top_bits)]
        bounds = tuple(found[rank] if rank < len(found) else 0 for found in inside)
        return build.table(bucket, bounds, name=f"{name}.bound")

    def _numbers(self) -> tuple[int, ...]:
        numbers = []
        # The bucket is in the low bits of the index. An outcome that is set is below its threshold.
        for outcomes in range(1 << self.most):
            for bucket in range(1 << self.top_bits):
                ranks = range(len(self.inside(bucket)))
                reached = sum(not outcomes >> rank & 1 for rank in ranks)
                numbers.append(self.before(bucket) + reached)
        return tuple(numbers)
