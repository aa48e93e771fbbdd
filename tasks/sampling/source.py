"""A file to be written: its path, header, and chunks of text that can be made in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.sampling import kernels
from tasks.sampling.texts import TextTable

CHUNK_BYTES = 2_000_000

Chunk = Callable[[], memoryview | bytes]


@dataclass(frozen=True)
class Source:
    """One file of a sample. `path` is relative to its root, with `/`.

    `chunks()` yields functions that each make the next piece of text; they may
    run in threads at the same time, and their results joined in order are the file.
    """

    path: str
    rows: int
    header: bytes
    chunks: Callable[[], Iterator[Chunk]]


def header_line(names: tuple[str, ...]) -> bytes:
    """A CSV header of names that need no quotes."""
    return (",".join(names) + "\n").encode()


def chunk_rows(row_bytes: float) -> int:
    """Rows of a chunk of about `CHUNK_BYTES`; a row counts as at least a byte."""
    return max(1, int(CHUNK_BYTES / max(row_bytes, 1.0)))


def format_chunk(prefix: NDArray[np.uint8], codes: NDArray[np.uint32], texts: TextTable) -> memoryview:
    """The text of rows: `prefix` (rows × width), then a cell for every code (rows × columns)."""
    rows, columns = codes.shape
    longest = prefix.shape[1] + columns * int(texts.lengths.max()) + 1
    buffer = np.empty(rows * longest + 16, dtype=np.uint8)
    used = kernels.format_rows(buffer, prefix, codes, texts.words, texts.lengths)
    return buffer[:used].data
