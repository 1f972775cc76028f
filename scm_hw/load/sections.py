"""What the bytes of an upload are: the header that all have, and sections of equal words."""

from __future__ import annotations

from dataclasses import dataclass

# Bytes of a SHA-256: enough to tell models apart, and compared one by one in hardware.
DIGEST_BYTES = 16
# The field that says which model a sample is for, where there are several.
BANK = "bank"
MAX_MODELS = 16
# Bits of the length of an upload's sections, below the number of its model.
LENGTH_BITS = 24


def bank_field_bits(models: int) -> int:
    """Bits of the field; none where there is one model."""
    return (models - 1).bit_length()


@dataclass(frozen=True)
class UploadPlan:
    """The digest that an upload must have, and its sections: how many words, of how many bytes.

    `models` is how many models a core holds, any of which an upload may replace.
    """

    digest: bytes
    sections: tuple[tuple[int, int], ...]
    models: int = 1

    @property
    def bank_bits(self) -> int:
        """Bits of the number of a bank: there is one for each model, and a spare one."""
        return self.models.bit_length()

    @property
    def payload_bytes(self) -> int:
        return sum(words * size for words, size in self.sections)

    @property
    def depth(self) -> int:
        """Words of the longest section."""
        return max(words for words, _ in self.sections)

    @property
    def word_bytes(self) -> int:
        """Bytes of the widest words."""
        return max(size for _, size in self.sections)
