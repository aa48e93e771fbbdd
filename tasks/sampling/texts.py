"""Text tables: the decimals of quantised values, ready to be copied into rows.

Numbers are written as the release writes them: the shortest decimal of the
float, with `.0` behind whole numbers. Times are `YYYY-MM-DD HH:MM:SS+08:00`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

SLOT_S = 15
WIDEST = 16  # bytes of the longest cell, comma included
ZONE = "+08:00"
_ZONE_S = 8 * 3600
TIME_WIDTH = len("2023-08-01 00:00:00") + len(ZONE)


@dataclass(frozen=True)
class TextTable:
    """Cell texts by code; code 0 is a blank.

    `words` is (codes, 2), 16 bytes of text read as little-endian numbers;
    `lengths` counts the bytes of each text, its leading comma included.
    """

    words: NDArray[np.uint64]
    lengths: IntArray


def text_table(values: Sequence[float]) -> TextTable:
    """The table whose code i + 1 is the text of `values[i]`.

    Raises:
        ValueError: a text is longer than 15 characters.
    """
    return _table([repr(float(value)) for value in values])


def raw_text_table(values: Sequence[float], scale: float) -> TextTable:
    """The same as an exporter writes it, not yet multiplied by `scale`: 12.3 as 0.123, 5.0 as 5."""
    raw = (Decimal(repr(float(value))) / Decimal(repr(scale)) for value in values)
    return _table([format(number.normalize(), "f") for number in raw])


def _table(words: Sequence[str]) -> TextTable:
    texts = [b",", *(b"," + word.encode() for word in words)]
    if max(map(len, texts)) > WIDEST:
        raise ValueError(f"a cell is longer than {WIDEST - 1} characters")
    packed = np.array(texts, dtype=f"S{WIDEST}").view("<u8").reshape(-1, 2).astype(np.uint64)
    return TextTable(words=packed, lengths=np.array([len(text) for text in texts], dtype=np.int64))


def epoch_texts(epoch_s: IntArray) -> NDArray[np.uint8]:
    """Instants as the number of seconds since the epoch, shape (n, 10)."""
    return epoch_s.astype("S10").view(np.uint8).reshape(-1, 10)


def time_texts(epoch_s: IntArray) -> NDArray[np.uint8]:
    """Instants (s since the epoch, UTC) as local time of the release, shape (n, 25)."""
    local = (epoch_s + _ZONE_S).astype("datetime64[s]")
    plain = np.datetime_as_string(local).astype("S19").view(np.uint8).reshape(-1, 19)
    out = np.empty((len(epoch_s), TIME_WIDTH), dtype=np.uint8)
    out[:, :19] = plain
    out[:, 10] = ord(" ")
    out[:, 19:] = np.frombuffer(ZONE.encode(), dtype=np.uint8)
    return out
