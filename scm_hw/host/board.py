"""A board that answers: hello, description, and results for as many samples as there are."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.packing import pack, unpack
from scm_hw.emit.identity import describe_loaded
from scm_hw.errors import LinkError, OptionError, RangeWarning
from scm_hw.host.exchange import Answers, Exchange
from scm_hw.host.link import Link, LostError
from scm_hw.load import Evaluation, Model
from scm_hw.load.siphash import LoadKey, Seal
from scm_hw.load.upload import HEADER_BYTES, LoadStatus, refusal_of, undone
from scm_hw.rtl.uart import Hello, Kind, Packet
from scm_hw.rtl.uart.description import Description
from scm_hw.rtl.uart.packets import HEADER, LOAD_STATE, OFFSET, PLACE

DEFAULT_BAUD = 1_000_000
HELLO_SECONDS = 1.0
HELLO_TRIES = 5
# How long a board may be gone, as when its cable is moved.
RETURN_SECONDS = 20.0
RETRY_SECONDS = 0.2
# Of an upload, in one request.
MAX_PART = 1024

Progress = Callable[[int], None]
"""Told how many samples are done."""


@dataclass(frozen=True, eq=False)
class Adapted:
    """Predictions (n, m) of a board that learns; the running mean of the absolute error (n,), over
    the ranges of all targets; and where it drifts."""

    predictions: NDArray[np.float64]
    error: NDArray[np.float64]
    drift: NDArray[np.bool_]


class Board:
    """A board at a serial port.

    LinkError where nobody answers. What is lost on the line is asked for again, and a board that
    goes away may come back, as long as it is the same design.
    """

    def __init__(
        self,
        port: str,
        *,
        baud: int = DEFAULT_BAUD,
        tries: int = HELLO_TRIES,
        return_seconds: float = RETURN_SECONDS,
    ) -> None:
        self.port = port
        self.baud = baud
        self.tries = tries
        self.return_seconds = return_seconds
        self.returns = 0
        self._sequence = random.getrandbits(16)
        self._description: Description | None = None
        self._adopted: dict[int, Description] = {}
        self.link = Link(port, baud)
        try:
            self.hello = self._greet()
        except BaseException:
            self.link.close()
            raise

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.link.close()

    def require_model(self, digest: str) -> None:
        """LinkError unless the board was built from the model file with that SHA-256."""
        found = self.hello.model_digest.hex()
        if found != digest:
            raise LinkError(
                f"board must hold the model {digest[:16]}, not {found[:16]}; program it with the "
                "build of that model, or give the model that it holds"
            )

    @property
    def description(self) -> Description:
        """What the board's numbers mean, read from it once."""
        if self._description is None:
            self._description = self._read_description()
        return self._description

    def adopt(self, model: Model, bank: int = 0) -> None:
        """Take the features and outputs of a model that the board was given.

        A processor's own description is that of its built-in model, and nothing else says of what
        columns the one that was loaded is.
        """
        meaning = self.description
        if meaning.processor is not None:
            self._adopted[bank] = describe_loaded(
                meaning.processor, model, meaning.name, meaning.tolerance
            )

    def predict(
        self,
        rows: Any,
        mechanism: Any = None,
        progress: Progress | None = None,
        bank: int = 0,
    ) -> NDArray[Any]:
        """Raw rows to outputs in target units, a column each, or to the class of each row.

        The columns of a data frame are matched with the features by name; an array has them in
        the order of the model. `mechanism` is P0 in target units, where the model takes it from
        outside. Values outside a feature's range are limited to it, which a warning says. `bank` is
        the number of the model, on a board that holds several.
        """
        meaning = self._adopted.get(bank, self.description)
        if meaning.processor is not None and bank not in self._adopted and self.holds_loaded:
            raise OptionError(
                "model must be named before raw rows are predicted, as the board holds one that "
                "was loaded: give it to adopt, or load it again"
            )
        inputs = meaning.inputs(rows, mechanism, bank)
        outside = meaning.outside_range(rows)
        if outside is not None:
            warnings.warn(outside, RangeWarning, stacklevel=2)
        results, _ = self.predict_integers(inputs, progress)
        return meaning.units(results)

    def predict_with_flags(
        self, rows: Any, mechanism: Any = None, progress: Progress | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """What :meth:`predict` gives, and margin and flags of each row by name."""
        meaning = self.description
        results, _ = self.predict_integers(meaning.inputs(rows, mechanism), progress)
        return meaning.units(results), meaning.flag_values(results)

    def adapt(
        self,
        rows: Any,
        targets: Any,
        *,
        age: int = 0,
        freeze: bool = False,
        restart: bool = False,
        progress: Progress | None = None,
    ) -> Adapted:
        """Predict raw rows (n, d) in order, and learn from raw targets (n, m) of theirs.

        With an `age` the target beside a row is that of the row so many before. `freeze` watches
        the error alone; `restart` forgets what was learned before the first of the rows. For a
        board built with `--adapt`.
        """
        meaning = self.description
        inputs = meaning.learning_inputs(rows, targets, age=age, freeze=freeze, restart=restart)
        results, _ = self.predict_integers(inputs, progress)
        fraction = meaning.outputs[-2].fraction
        return Adapted(meaning.units(results), results[:, -2] / 2.0**fraction, results[:, -1] == 1)

    def predict_integers(
        self, rows: NDArray[np.int64], progress: Progress | None = None
    ) -> tuple[NDArray[np.int64], Answers]:
        """Integer inputs of the core to its integer outputs, with what came over the wire."""
        meaning = self.description
        words = pack(rows, meaning.in_widths)
        answers = self.predict_words(words, progress)
        if answers.repeated and meaning.adapt is not None and rows[:, -3].any():
            raise LinkError(
                f"line must lose nothing while the board learns, not {answers.repeated} packets, "
                "which it may have learned from twice; restart what it learned, or lower --baud"
            )
        signed = [port.signed for port in meaning.outputs]
        return unpack(answers.words, meaning.out_widths, signed), answers

    def predict_words(self, words: Sequence[int], progress: Progress | None = None) -> Answers:
        """Packed samples to packed results."""
        exchange = Exchange(words, self.hello, self.next_sequence)
        while True:
            try:
                return exchange.run(self.link, progress or (lambda _: None))
            except LostError:
                self._return()
                exchange.start_over()

    def next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFFFF
        return self._sequence

    # Loading

    def load(
        self,
        model: Model,
        rows: Evaluation | None = None,
        bank: int = 0,
        key: LoadKey | None = None,
    ) -> None:
        """Another model for a processor, or another readout for the hidden layers that there are.

        It is checked on `rows`, or on the model's own; MismatchError and the model before where
        the board differs from the interpreter.
        """
        # It compares, and so needs this module.
        from scm_hw.host.loading import load

        load(self, model, rows, bank=bank, key=key)

    @property
    def holds_loaded(self) -> bool:
        """Whether the board answers with a readout that it was not built with."""
        if not self.hello.description_bytes or not self.description.loads:
            return False
        status, _ = self._load(Kind.LOAD, PLACE.pack(0))
        return not status & LoadStatus.BUILT_IN

    def send_upload(self, data: bytes, progress: Progress) -> None:
        """An upload in parts; LinkError where the board refuses it and keeps what it had."""
        most = min(self.hello.capacity - HEADER.size - PLACE.size, MAX_PART)
        place, status = 0, LoadStatus(0)
        while place < len(data):
            # The first part begins an upload, and may come twice: nothing is written by it.
            end = min(place + most, len(data)) if place else HEADER_BYTES
            status, taken = self._load(Kind.LOAD, PLACE.pack(place) + data[place:end])
            reason = refusal_of(status)
            if reason is not None:
                raise LinkError(
                    f"board refused an upload that {reason}; it answers as before, load again"
                )
            if taken != end:
                raise LinkError(
                    f"board must have taken {end} bytes of the upload, not {taken}; it answers as "
                    "before, load again"
                )
            place = end
            progress(place)
        if not status & (LoadStatus.LOADED | LoadStatus.REVERTED):
            raise LinkError("board must take a whole upload; it answers as before, load again")

    def revert(self, key: LoadKey | None = None) -> None:
        """Back to the model that was used before the last load; `key` is that of the board."""
        check_key(self.description, key)
        if key is not None:
            self._undo(key)
            return
        status, _ = self._load(Kind.LOAD, PLACE.pack(0))
        if not status & LoadStatus.REVERTIBLE:
            raise LinkError("board must hold a model to go back to, not none; load one")
        for _ in range(self.tries):
            try:
                status, _ = self._load(Kind.REVERT, b"", tries=1)
            except LinkError:
                # It may have been done, and must not be done twice.
                status, _ = self._load(Kind.LOAD, PLACE.pack(0))
            if status & LoadStatus.REVERTED:
                return
        raise LinkError(f"port {self.port} doesn't go back to the model before; load one again")

    def _undo(self, key: LoadKey) -> None:
        status, _ = self._load(Kind.LOAD, PLACE.pack(0))
        if not status & LoadStatus.REVERTIBLE:
            raise LinkError("board must hold a model to go back to, not none; load one")
        meaning = self.description
        known = meaning.processor.digest if meaning.processor is not None else None
        if known is None and meaning.reload is not None:
            known = bytes.fromhex(meaning.reload.digest)
        assert known is not None
        self.send_upload(undone(known, Seal(key)), lambda _: None)

    def _load(self, kind: Kind, payload: bytes, tries: int | None = None) -> tuple[LoadStatus, int]:
        """What the board says of uploads, and how many bytes of one it has."""
        reply = self._ask(kind, payload, Kind.LOADED, tries)
        if len(reply.payload) != LOAD_STATE.size:
            raise LinkError(
                f"reply must be {LOAD_STATE.size} bytes on an upload, not {len(reply.payload)}; "
                "the board was built by another version"
            )
        status, taken = LOAD_STATE.unpack(reply.payload)
        return LoadStatus(status), taken

    # Single requests

    def _greet(self) -> Hello:
        return Hello.decode(self._ask(Kind.HELLO, b"", Kind.HELLO_REPLY).payload)

    def _ask(self, kind: Kind, payload: bytes, wanted: Kind, tries: int | None = None) -> Packet:
        """One request and its reply, asked for again where it is lost."""
        refused, heard = self.link.refused, self.link.heard
        for _ in range(tries or self.tries):
            request = Packet(kind, self.next_sequence(), payload)
            self.link.send(request)
            deadline = time.monotonic() + HELLO_SECONDS
            while time.monotonic() < deadline:
                for packet in self.link.receive():
                    if (packet.kind, packet.sequence) == (wanted, request.sequence):
                        return packet
        if self.link.heard > heard:
            raise LinkError(
                f"port {self.port} must answer a hello with a packet of ours, not with "
                f"{self.link.heard - heard:,} bytes of something else "
                f"({self.link.refused - refused:,} damaged packets); see that it is the board's "
                f"port and not another device's, and that the board was built with --baud "
                f"{self.baud}"
            )
        raise LinkError(
            f"port {self.port} doesn't answer at {self.baud} baud; check that "
            "the board is programmed, and that --baud is what it was built with"
        )

    def _read_description(self) -> Description:
        total = self.hello.description_bytes
        if not total:
            raise OptionError(
                "can't convert raw rows: the board holds no description of its formats, as it has "
                "too many inputs for one; give integers, or the model"
            )
        data = b""
        while len(data) < total:
            page = self._ask(Kind.DESCRIBE, OFFSET.pack(len(data)), Kind.DESCRIPTION).payload
            if not page or len(data) + len(page) > total:
                raise LinkError(
                    f"description must be {total} bytes, not end after {len(data)} or go on after "
                    f"{len(data) + len(page)}; program the board again"
                )
            data += page
        found = Description.decode(data)
        widths = (sum(found.in_widths), sum(found.out_widths))
        if widths != (self.hello.in_width, self.hello.out_width):
            raise LinkError(
                f"description must have {self.hello.in_width} and {self.hello.out_width} bits, not "
                f"{widths[0]} and {widths[1]}; program the board again"
            )
        return found

    def _return(self) -> None:
        """Wait until the board is there again, and is the same."""
        self.link.close()
        deadline = time.monotonic() + self.return_seconds
        while True:
            try:
                self.link = Link(self.port, self.baud)
                hello = self._greet()
                break
            except LinkError:
                self.link.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)
        if hello != self.hello:
            raise LinkError(
                f"port {self.port} must have the same design after its return, not "
                f"{hello.digest.hex()[:16]}; run again for that one"
            )
        self.returns += 1


def check_key(meaning: Description, key: LoadKey | None) -> None:
    """OptionError unless a key is there for a core that has one, and for no other."""
    if meaning.keyed and key is None:
        raise OptionError(
            "load key must be given for a core that was built with one; name it with --load-key"
        )
    if key is not None and not meaning.keyed:
        raise OptionError(
            "load key must be left out for a core that was built without one; build it with "
            "--load-key"
        )
