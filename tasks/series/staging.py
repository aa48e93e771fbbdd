"""One row of a wide series: its cells as staged integers, before anything is counted.

A staged cell is a fixed-point integer, or BLANK, GENERAL or BAD. The quick way
reads a whole row by its style (`tasks.series.styles`) and only what is left over
cell by cell; a row whose delimiters do not tell where its cells end, because one
is quoted or missing, is read cell by cell from the start. The result is the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.cells import (
    COMMA,
    GENERAL,
    NEWLINE,
    RETURN,
    SLOW,
    any_cell,
    fast_cell,
    fixed_point,
)
from tasks.series.floats import OK, parse_float, parse_plain
from tasks.series.registers import ASKED, STYLE
from tasks.series.rows import index_row
from tasks.series.styles import MIXED, UNKNOWN, choose_style, read_cells
from tasks.series.swar import load64

RAGGED, ASKS_FLOAT = -1, -2
"""What `stage_row` gives instead of a place."""

_LOOK_BEHIND = 16  # what reading many cells at a time, and `parse_plain`, may read before a cell


@njit(nogil=True, cache=True)
def stage_row(
    buf: NDArray[np.uint8],
    place: int,
    decimals: int,
    span: int,
    most: int,
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    staged: NDArray[np.int32],
    reals: NDArray[np.float64],
    at: NDArray[np.int64],
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, bool, int]:
    """Read the cells behind the time, which ends at `place`, into `staged` and `reals`.

    Returns the place behind the line, or RAGGED, or ASKS_FLOAT where the number at
    `at[ASKED]` needs Python's `float`; then whether the row may hold anything but
    blanks and integers of at most `most`, which is below `span`; then how many cells
    are general.
    """
    n = len(staged)
    if n == 0:
        if buf[place] == RETURN:
            place += 1
        return (place + 1 if buf[place] == NEWLINE else RAGGED), False, 0
    if buf[place] != COMMA:
        return RAGGED, True, 0
    if place < _LOOK_BEHIND or index_row(buf, place, n + 1, 0, ends, words) != n + 1:
        return _cell_by_cell(buf, place, decimals, span, staged, reals, at, solved_at, solved)
    if at[STYLE] == UNKNOWN:
        at[STYLE] = choose_style(ends, words, decimals, most, staged)
    style = at[STYLE]
    general = 0
    if style != MIXED:
        slow = read_cells(style, ends, words, decimals, most, staged)
        if slow == 0:
            return ends[n] + 1, False, 0
        if slow > n // 2:
            at[STYLE] = UNKNOWN
    for c in range(n):
        if style != MIXED and staged[c] != SLOW:
            continue
        begin, end = int(ends[c]) + 1, int(ends[c + 1])
        plain, value = parse_plain(buf, begin, end)
        if not plain:
            status, value = parse_float(buf, begin, end)
            plain = status == OK
        if plain:
            cell = fixed_point(value, decimals, span)
        else:
            cell, value, stop = any_cell(buf, begin, decimals, span, solved_at, solved)
            if stop < 0:
                at[ASKED] = -1 - stop
                return ASKS_FLOAT, True, 0
            if stop != end:
                return _cell_by_cell(buf, place, decimals, span, staged, reals, at, solved_at, solved)
        staged[c] = cell
        reals[c] = value
        general += cell == GENERAL
    return ends[n] + 1, True, general


@njit(nogil=True, cache=True)
def _cell_by_cell(
    buf: NDArray[np.uint8],
    place: int,
    decimals: int,
    span: int,
    staged: NDArray[np.int32],
    reals: NDArray[np.float64],
    at: NDArray[np.int64],
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, bool, int]:
    """`stage_row` where a delimiter may be part of a cell."""
    general = 0
    n = len(staged)
    place += 1
    for c in range(n):
        last = c == n - 1
        cell, length = fast_cell(load64(buf, place), last, decimals, span)
        if cell != SLOW:
            staged[c] = cell
            place += length + 1
            continue
        cell, value, end = any_cell(buf, place, decimals, span, solved_at, solved)
        if end < 0:
            at[ASKED] = -1 - end
            return ASKS_FLOAT, True, 0
        if (buf[end] == NEWLINE) != last:
            return RAGGED, True, 0
        staged[c] = cell
        reals[c] = value
        general += cell == GENERAL
        place = end + 1
    return place, True, general
