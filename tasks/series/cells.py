"""One cell of a series: fixed-point integer, double, blank or unreadable.

`fast_cell` reads the common cell (up to seven plain characters) without a
branch per character; `any_cell` reads every other one. Which of the two reads a
cell never changes what it is: a value that equals k / 10**decimals with
0 ≤ k < span *is* fixed-point k, however it is written.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.floats import HARD, OK, parse_float
from tasks.series.swar import (
    ONES,
    U8,
    ZEROS,
    eight_digits,
    not_digits,
    trailing_zeros,
    zero_bytes,
)

# What a staged cell is when it is not a fixed-point integer.
BLANK, GENERAL, BAD = -1, -2, -3
STAGES = 3  # how many of them
SLOW = -9  # `fast_cell` declines

COMMA, NEWLINE, RETURN, QUOTE = 44, 10, 13, 34
_SPACE, _TAB = 32, 9

_COMMAS = ONES * np.uint64(COMMA)
_NEWLINES = ONES * np.uint64(NEWLINE)
_POINTS = ONES * np.uint64(46)
_1 = np.uint64(1)

POWERS = np.array([10**n for n in range(10)], np.uint64)
_TWO_ROUNDINGS = 1e-6  # at least 2^31 times 2^-52, and span is below 2^31
_FLOAT_POWERS = np.array([float(10**n) for n in range(10)])

# The words pandas' reader takes for a missing value, besides nan in any case and sign.
_WORDS: tuple[bytes, ...] = (b"#N/A", b"#N/A N/A", b"#NA", b"-1.#IND", b"-1.#QNAN", b"1.#IND", b"1.#QNAN")
_WORDS += (b"<NA>", b"N/A", b"NA", b"NULL", b"None", b"n/a", b"null")
_WORD_BYTES = np.zeros((len(_WORDS), 16), np.uint8)
for _i, _word in enumerate(_WORDS):
    _WORD_BYTES[_i, : len(_word)] = np.frombuffer(_word, np.uint8)
_WORD_LENGTHS = np.array([len(word) for word in _WORDS], np.int64)


@njit(nogil=True, cache=True)
def fast_cell(word: np.uint64, last: bool, decimals: int, span: int) -> tuple[int, int]:
    """The staged cell in the eight bytes `word` that start it, and its length without the delimiter.

    Gives SLOW for what is longer than seven bytes, not plain digits with at most
    one point, not fixed-point at `decimals`, or not below `span`. The delimiter is
    a comma, or the line feed of the last column.
    """
    ends = zero_bytes(word ^ (_NEWLINES if last else _COMMAS))
    if ends == 0:
        return SLOW, 0
    length = trailing_zeros(ends) >> 3
    if length == 0:
        return BLANK, 0
    text = word & ((_1 << np.uint64(8 * length)) - _1)
    points = zero_bytes(text ^ _POINTS)
    digits = length
    fraction = 0
    if points != 0:
        point = trailing_zeros(points) >> 3
        fraction = length - point - 1
        below = (_1 << np.uint64(8 * point)) - _1
        if decimals == 0:
            zeros = (ZEROS & ((_1 << np.uint64(8 * length)) - _1)) >> np.uint64(8 * (point + 1))
            if (text >> np.uint64(8 * (point + 1))) != zeros:
                return SLOW, 0
            text = text & below
            digits = point
            fraction = 0
        else:
            text = (text & below) | ((text >> U8) & ~below)
            digits = length - 1
    if digits == 0 or fraction > decimals:
        return SLOW, 0
    # Digits move to the top bytes; the bytes below them become leading zeros.
    empty = np.uint64(8 * (8 - digits))
    values = (text << empty) ^ (ZEROS << empty)
    if not_digits(values) != 0:
        return SLOW, 0
    value = int(eight_digits(values) * POWERS[decimals - fraction])
    if value >= span:
        return SLOW, 0
    return value, length


@njit(nogil=True, cache=True)
def is_missing_word(buf: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Whether the text buf[start:stop] is a word that stands for no value."""
    length = stop - start
    place = start
    if length == 4 and (buf[place] == 43 or buf[place] == 45):
        place += 1
    if (
        stop - place == 3
        and buf[place] | 32 == 110
        and buf[place + 1] | 32 == 97
        and buf[place + 2] | 32 == 110
    ):
        return True
    for i in range(len(_WORD_LENGTHS)):
        if _WORD_LENGTHS[i] == length:
            same = True
            for j in range(length):
                if buf[start + j] != _WORD_BYTES[i, j]:
                    same = False
                    break
            if same:
                return True
    return False


@njit(nogil=True, cache=True)
def cell_bounds(buf: NDArray[np.uint8], start: int) -> tuple[int, int, int]:
    """Text range of the cell at `start` without quotes and outer spaces, and the place of its delimiter.

    The delimiter is a comma or a line feed; a carriage return before it is no text.
    A quoted cell that is not closed before the line feed gives an empty range at -1.
    """
    place = start
    while buf[place] == _SPACE or buf[place] == _TAB:
        place += 1
    if buf[place] == QUOTE:
        place += 1
        while buf[place] == _SPACE or buf[place] == _TAB:
            place += 1
        begin = place
        while buf[place] != QUOTE and buf[place] != NEWLINE:
            place += 1
        if buf[place] == NEWLINE:
            return -1, -1, place
        stop = place
        place += 1
        while buf[place] == _SPACE or buf[place] == _TAB or buf[place] == RETURN:
            place += 1
        if buf[place] != COMMA and buf[place] != NEWLINE:
            while buf[place] != COMMA and buf[place] != NEWLINE:
                place += 1
            stop = place  # text behind the closing quote makes the cell unreadable
    else:
        begin = place
        while buf[place] != COMMA and buf[place] != NEWLINE:
            place += 1
        stop = place
    end = place
    while stop > begin and (buf[stop - 1] == _SPACE or buf[stop - 1] == _TAB or buf[stop - 1] == RETURN):
        stop -= 1
    return begin, stop, end


@njit(nogil=True, cache=True)
def fixed_point(value: float, decimals: int, span: int) -> int:
    """The k with value == k / 10**decimals and 0 ≤ k < span, or GENERAL where there is none."""
    scaled = value * _FLOAT_POWERS[decimals]
    if not (scaled > -0.5 and scaled < span):
        return GENERAL
    k = int(np.rint(scaled))
    # Two roundings are far smaller than this; it spares most numbers the division.
    if abs(scaled - k) > _TWO_ROUNDINGS:
        return GENERAL
    if k < span and k / _FLOAT_POWERS[decimals] == value:
        return k
    return GENERAL


@njit(nogil=True, cache=True)
def any_cell(
    buf: NDArray[np.uint8],
    start: int,
    decimals: int,
    span: int,
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, float, int]:
    """The staged cell at `start` in any spelling, its double, and the place of its delimiter.

    A number only Python's `float` can decide is looked up in `solved` under its
    offset in `buf`; where it is not there, the delimiter is given as -1 - offset.
    """
    begin, stop, end = cell_bounds(buf, start)
    if begin < 0:
        return BAD, 0.0, end
    if begin == stop or is_missing_word(buf, begin, stop):
        return BLANK, 0.0, end
    status, value = parse_float(buf, begin, stop)
    if status == HARD:
        for i in range(len(solved_at)):
            if solved_at[i] == begin:
                status, value = OK, solved[i]
        if status == HARD:
            return BAD, 0.0, -1 - begin
    if status != OK:
        return BAD, 0.0, end
    return fixed_point(value, decimals, span), value, end
