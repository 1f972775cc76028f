"""MNIST and Fashion-MNIST, in the IDX files they are published as."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from scm_model.tables.unpacking import check_unpacked
from scm_train.datasets import store
from scm_train.datasets.dataset import Dataset
from scm_train.errors import DataError

__all__ = ["IMAGES", "ImageSet", "load_images", "read_idx"]

UBYTE = 0x08
PARTS = ("train", "t10k")


@dataclass(frozen=True)
class ImageSet:
    """28 x 28 grey images of ten classes; `train_rows` of the full set come first."""

    name: str
    openml: int
    description: str
    rows: int = 70_000
    train_rows: int = 60_000


IMAGES = {
    images.name: images
    for images in (
        ImageSet("mnist", 554, "C-DB1: handwritten digits, 28 x 28 grey pixels"),
        ImageSet(
            "fashion_mnist",
            40996,
            "C-DB2: articles of clothing, 28 x 28 grey pixels; without the t10k files, "
            "the training images alone and no split",
        ),
    )
}


def load_images(name: str) -> Dataset:
    """The images as rows of 784 bytes, training images first; the labels are 0 to 9."""
    images = IMAGES[name]
    if store.find(_files(name, "train", "images", 3)) is None:
        _fetch(images)
    parts = [read for part in PARTS if (read := _read_part(name, part)) is not None]
    X = np.concatenate([pixels for pixels, _ in parts])
    return Dataset(
        name=name,
        X=X,
        y=np.concatenate([labels for _, labels in parts]).astype(np.int64),
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(28) for column in range(28)),
        target_names=("class",),
        task="classification",
        description=images.description,
        train_rows=len(parts[0][1]) if len(parts) == 2 else None,
        files=tuple(path for names in _all_files(name) if (path := store.find(names)) is not None),
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes, gzipped if its name says so."""
    try:
        if path.suffix == ".gz":
            check_unpacked(path)
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"can't read {path}: {error}; download the file again") from error
    if len(content) < 4 or content[:3] != bytes([0, 0, UBYTE]):
        raise DataError(
            f"{path} must be an IDX file of unsigned bytes, not one that begins with "
            f"{content[:4]!r}; download it again"
        )
    start = 4 + 4 * content[3]
    lengths = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if len(content) - start != prod(lengths):
        raise DataError(
            f"{path} must hold the {prod(lengths)} bytes that its header declares, "
            f"not {max(len(content) - start, 0)}; download it again"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(lengths)


def _files(name: str, part: str, what: str, dimensions: int) -> tuple[str, ...]:
    stem = f"{name}/{part}-{what}-idx{dimensions}-ubyte"
    return (f"{stem}.gz", stem)


def _all_files(name: str) -> list[tuple[str, ...]]:
    """The names of every file of a set, several names for each."""
    return [
        _files(name, part, what, dimensions)
        for part in PARTS
        for what, dimensions in (("images", 3), ("labels", 1))
    ]


def _read_part(name: str, part: str) -> tuple[NDArray, NDArray] | None:
    """Pixels and labels of one part, or None where there is no such part."""
    image_files, label_files = _files(name, part, "images", 3), _files(name, part, "labels", 1)
    image_path, label_path = store.find(image_files), store.find(label_files)
    if image_path is None and label_path is None:
        return None
    if image_path is None or label_path is None:
        lacking = image_files if image_path is None else label_files
        raise store.missing(
            name, lacking, "images and labels come as a pair, so download both again"
        )
    pixels, labels = read_idx(image_path), read_idx(label_path)
    if pixels.shape[1:] != (28, 28) or labels.shape != (len(pixels),) or not len(pixels):
        raise DataError(
            f"{image_path} must hold 28 x 28 images, one for each label, not {pixels.shape} "
            f"with labels {labels.shape}; download both again"
        )
    return pixels.reshape(len(pixels), -1), labels


def _fetch(images: ImageSet) -> None:
    """Download both parts into the cache, in the published form."""
    name = images.name
    answer = store.fetch(name, images.openml, _files(name, "train", "images", 3))
    pixels = answer.data.to_numpy().astype(np.uint8).reshape(-1, 28, 28)
    labels = answer.target.to_numpy().astype(np.uint8)
    train = images.train_rows
    # The train images come last: their presence is what tells later runs that all is there.
    for part, rows in (("t10k", slice(train, None)), ("train", slice(train))):
        _write_idx(_files(name, part, "labels", 1), labels[rows])
        _write_idx(_files(name, part, "images", 3), pixels[rows])


def _write_idx(files: Sequence[str], array: NDArray[np.uint8]) -> None:
    header = bytes([0, 0, UBYTE, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path = store.cache_folder() / files[0]
    store.write_atomically(path, partial(_write_gzip, content=header + array.tobytes()))


def _write_gzip(file: IO[bytes], content: bytes) -> None:
    # Without the time of writing, equal images are equal files.
    file.write(gzip.compress(content, compresslevel=6, mtime=0))
