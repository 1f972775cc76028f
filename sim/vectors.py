"""Test vectors: packed inputs, and the packed outputs that must answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scm_hw.errors import OptionError

INPUTS = "vectors_in.hex"
OUTPUTS = "vectors_out.hex"
# In the header of vectors that are samples of records.
RECORDS = " records"


@dataclass(frozen=True)
class Vectors:
    """Samples in order, each an unsigned integer as wide as the port it goes to.

    `inputs[i]` is one word of `in_data`, `outputs[i]` the word of `out_data` it must give. Of
    `records` what is given depends on the words before; the top bit of an input begins a record.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    in_width: int
    out_width: int
    records: bool = False

    def __post_init__(self) -> None:
        # Words may be wider than any of NumPy's integers.
        object.__setattr__(self, "inputs", tuple(int(word) for word in self.inputs))
        object.__setattr__(self, "outputs", tuple(int(word) for word in self.outputs))
        if len(self.inputs) != len(self.outputs):
            raise OptionError(
                f"vectors must be pairs, not {len(self.inputs)} inputs with {len(self.outputs)} "
                "outputs; give one expected output per input"
            )
        if not self.inputs:
            raise OptionError("vectors must be at least one, not 0; give evaluation rows")
        _check_words("input", self.inputs, self.in_width)
        _check_words("output", self.outputs, self.out_width)

    def __len__(self) -> int:
        return len(self.inputs)

    def head(self, count: int) -> Vectors:
        """The first `count` vectors."""
        return replace(self, inputs=self.inputs[:count], outputs=self.outputs[:count])

    def begins(self, index: int) -> bool:
        """Whether a vector can be the first after a reset."""
        return not self.records or bool(self.inputs[index] >> (self.in_width - 1))

    def save(self, path: Path) -> None:
        """Write as text: the two widths, then a line of input and output in hex per vector."""
        lines = [f"{self.in_width} {self.out_width}{RECORDS * self.records}"]
        lines += [f"{i:x} {o:x}" for i, o in zip(self.inputs, self.outputs, strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")

    def hex_files(self) -> dict[str, str]:
        """File name to text for Verilog's $readmemh; a comment in the first line has the width."""
        return {
            INPUTS: _hex(self.inputs, self.in_width, RECORDS * self.records),
            OUTPUTS: _hex(self.outputs, self.out_width),
        }

    @classmethod
    def load(cls, path: Path) -> Vectors:
        """Read what `save` wrote, or a folder with both hex files."""
        try:
            return cls._load_folder(path) if path.is_dir() else cls._load_file(path)
        except (OSError, ValueError, IndexError) as error:
            raise OptionError(
                "vectors must be a file of two widths and pairs of hex words, or a folder with "
                f"{INPUTS} and {OUTPUTS}, not {str(path)!r}; build the design again"
            ) from error

    @classmethod
    def _load_file(cls, path: Path) -> Vectors:
        lines = path.read_text(encoding="ascii").split("\n")
        header, mark, _ = lines[0].partition(RECORDS)
        in_width, out_width = (int(field) for field in header.split())
        pairs = [line.split() for line in lines[1:] if line]
        inputs = tuple(int(pair[0], 16) for pair in pairs)
        outputs = tuple(int(pair[1], 16) for pair in pairs)
        return cls(inputs, outputs, in_width, out_width, bool(mark))

    @classmethod
    def _load_folder(cls, folder: Path) -> Vectors:
        inputs, in_width, records = _read_hex(folder / INPUTS)
        outputs, out_width, _ = _read_hex(folder / OUTPUTS)
        return cls(inputs, outputs, in_width, out_width, records)


def _hex(words: Sequence[int], width: int, mark: str = "") -> str:
    digits = -(-width // 4)
    return f"// {width} bits{mark}\n" + "".join(f"{word:0{digits}x}\n" for word in words)


def _read_hex(path: Path) -> tuple[tuple[int, ...], int, bool]:
    header, *lines = path.read_text(encoding="ascii").splitlines()
    return tuple(int(line, 16) for line in lines), int(header.split()[1]), RECORDS in header


def _check_words(side: str, words: Sequence[int], width: int) -> None:
    for index, word in enumerate(words):
        if not 0 <= word < 1 << width:
            raise OptionError(
                f"{side} {index} must be an unsigned word of {width} bits, not {word!r}; "
                "pack fields modulo their width"
            )


@dataclass(frozen=True)
class Probe:
    """What an internal signal must hold for one sample, to find the first stage that differs.

    `signal` is a path from the core, its parts joined by dots. It is read just before the clock
    edge that comes `offset` edges after the one that takes the sample: a register of the first rank
    is at offset 1, logic between the input and that register at offset 0. `expected` is its value,
    signed or not; `stage` is what to call the place. With `each_bit`, it is the place of the lowest
    bit, and the others have the numbers after it.
    """

    signal: str
    offset: int
    expected: int
    stage: str
    signed: bool = False
    each_bit: bool = False

    def difference(self, found: int | None, width: int) -> str | None:
        """What is wrong with a signal of `width` bits that holds `found`; None where it is right.

        `found` is None where bits of it are neither 0 nor 1.
        """
        if found is not None and (found - self.expected) % (1 << width) == 0:
            return None
        if found is not None and self.each_bit:
            differing = found ^ self.expected
            # The lowest bit that differs.
            number = (differing & -differing).bit_length() - 1
            bit = found >> number & 1
            return f"{self.stage}{number} (signal {self.signal}[{number}]: {bit} for {1 - bit})"
        if found is None:
            shown = "undefined bits"
        else:
            found %= 1 << width
            shown = str(found - (1 << width) if self.signed and found >> (width - 1) else found)
        return f"{self.stage} (signal {self.signal}: {shown} for {self.expected})"
