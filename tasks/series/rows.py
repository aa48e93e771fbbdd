"""Where lines and cells end: delimiters found 64 bytes at a time.

A vector comparison turns 64 bytes into a bit mask of the commas among them, and
the bits into positions (Langdale and Lemire, "Parsing gigabytes of JSON per
second", The VLDB Journal 28, 2019, section 3.1). Nothing here knows what a cell
holds: quotes are no delimiters, and a row with a comma between quotes shows by
its number of cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.cells import COMMA, NEWLINE
from tasks.series.swar import ONES, bits_set, load64, masks_of, trailing_zeros, zero_bytes

ROOM = 64 + 16
"""Elements of `ends` and `words` that `index_row` may write behind the ones it was asked for."""

_1 = np.uint64(1)
_FEED_TO_COMMA = np.uint64((COMMA ^ NEWLINE) << 56)


@njit(nogil=True, cache=True)
def next_line(buf: NDArray[np.uint8], place: int) -> int:
    """The place behind the next line feed."""
    newlines = ONES * np.uint64(NEWLINE)
    while True:
        hit = zero_bytes(load64(buf, place) ^ newlines)
        if hit != 0:
            return place + (trailing_zeros(hit) >> 3) + 1
        place += 8


@njit(nogil=True, cache=True)
def index_row(
    buf: NDArray[np.uint8],
    start: int,
    cells: int,
    first: int,
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
) -> int:
    """The number of delimiters in the line from `start` on, its line feed included.

    Delimiter i stands at `ends[first + i]`, and `words[first + i]` holds the eight
    bytes up to it, where the line feed is written as a comma. Counting stops beyond
    `cells`. At least seven bytes are readable before the first one, and `PADDING`
    behind the line.
    """
    found = first
    place = start
    while found <= first + cells:
        commas, feeds = masks_of(buf, place, COMMA, NEWLINE)
        bits = commas
        if feeds != 0:
            bits = (commas | feeds) & (feeds ^ (feeds - _1))
        count = bits_set(bits)
        # Eight at a time without asking how many there are: a wrong guess of the
        # processor costs more than positions that are overwritten.
        for i in range(8):
            end = place + trailing_zeros(bits)
            ends[found + i] = end
            words[found + i] = load64(buf, end - 7)
            bits &= bits - _1
        if count > 8:
            for i in range(8, 16):
                end = place + trailing_zeros(bits)
                ends[found + i] = end
                words[found + i] = load64(buf, end - 7)
                bits &= bits - _1
            for i in range(16, count):
                end = place + trailing_zeros(bits)
                ends[found + i] = end
                words[found + i] = load64(buf, end - 7)
                bits &= bits - _1
        found += count
        if feeds != 0:
            words[found - 1] ^= _FEED_TO_COMMA
            break
        place += 64
    return found - first
