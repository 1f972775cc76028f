"""Another model for a board, or its readout: checked, sent, tried on rows, and kept or not."""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.errors import MismatchError, OptionError
from scm_hw.host.board import Board, Progress, check_key
from scm_hw.host.compare import Comparison, built_for, check_fields, compare
from scm_hw.load import Evaluation, Model
from scm_hw.load.processor import loaded
from scm_hw.load.siphash import LoadKey, Seal
from scm_hw.load.upload import Upload, framed, make_upload
from scm_hw.rtl.uart.description import Description


@dataclass(frozen=True)
class Loading:
    """What was sent, and how the board answers since."""

    upload_bytes: int
    comparison: Comparison


def upload_of(
    meaning: Description, model: Model, bank: int = 0, seal: Seal | None = None
) -> Upload:
    """The upload of a model for a core of that description, in place of its model `bank`.

    OptionError where the model is another machine than the core's, or the core has a key and no
    seal is made with one.
    """
    check_key(meaning, None if seal is None else seal.key)
    meaning.check_bank(bank)
    if meaning.processor is not None:
        found = loaded(model, meaning.processor)
        plan = meaning.processor.upload
        return Upload(framed(plan, found.image.words(), bank, seal), found.fixed, found.meaning)
    if meaning.reload is None:
        raise OptionError(
            "board must have a readout that can be loaded, not one that is fixed; build it with "
            "--reload readout or all"
        )
    check_fields(meaning, model)
    return make_upload(
        built_for(meaning, model),
        frac_bits=meaning.frac_bits,
        output_bits=meaning.output_bits,
        widths=meaning.reload.widths,
        digest=bytes.fromhex(meaning.reload.digest),
        models=meaning.models,
        bank=bank,
        seal=seal,
    )


def load(
    board: Board,
    model: Model,
    rows: Evaluation | None = None,
    progress: Progress | None = None,
    bank: int = 0,
    key: LoadKey | None = None,
) -> Loading:
    """Send a model, or its readout, to a board, and compare the board with it on rows.

    `rows` are the model's own unless given; `progress` is told the bytes that are sent. Where the
    board differs in any integer, it goes back to the model that it had, and MismatchError says so.
    """
    upload = upload_of(board.description, model, bank, None if key is None else Seal(key))
    rows = model.evaluation if rows is None else rows
    if rows is None:
        raise OptionError(
            "model must have test rows to be checked on the board, not none; name a file with some"
        )
    board.send_upload(upload.data, progress or (lambda _: None))
    found = compare(board, model, rows, bank=bank)
    try:
        found.check()
    except MismatchError as error:
        board.revert(key)
        raise MismatchError(f"{error}; the board is back at the model before") from None
    board.adopt(model, bank)
    return Loading(len(upload.data), found)
