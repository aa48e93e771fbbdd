"""Cells of one style, read many at a time.

A file writes its numbers in one way: whole numbers with `.0`, whole numbers
without a point, or up to so many decimals. Each style has a formula without a
branch from the last eight bytes of a cell to its fixed-point integer; loops over
a row of them become vector instructions. `choose_style` looks at a row and says
which one fits. A cell that does not follow the style is left `SLOW`, for
`tasks.series.cells` to read: a wrong guess costs time and never changes a value.

In a word the last byte of a cell's delimiter is the highest, and the text lies
right below it. Digits are combined pairwise, as in `tasks.series.swar`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.cells import BLANK, SLOW
from tasks.series.swar import HIGHS

WHOLE, PLAIN, FIXED, MIXED = range(4)
"""`95.0`; `95`; `95.125` with one to `decimals` decimals; anything, one cell at a time."""

UNKNOWN = -1

MOST_DECIMALS = 6
"""With more decimals a cell has no room in a word."""

# What a word of the style has where digits may stand: XOR with it leaves the digits' values.
_WHOLE_TEXT = np.uint64(0x2C302E3030303030)
_PLAIN_TEXT = np.uint64(0x2C30303030303030)
# Added to a byte, these carry into its highest bit where the byte is above zero, or above nine.
_WHOLE_GUARD = np.uint64(0x7F7F7F7676767676)
_PLAIN_GUARD = np.uint64(0x7F76767676767676)
_DIGIT_GUARD = np.uint64(0x7676767676767676)
_POINTS = np.uint64(0x1E1E1E1E1E1E1E1E)  # '.' XOR '0'
_LOWEST_BITS = np.uint64(0x0101010101010101)
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_EVEN_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_EVEN_QUADS = np.uint64(0x00000000FFFFFFFF)
_BYTE = np.uint64(0xFF)
_0, _1, _3, _7, _8, _10, _16, _24, _32, _56, _63 = (
    np.uint64(n) for n in (0, 1, 3, 7, 8, 10, 16, 24, 32, 56, 63)
)
_100, _10_000 = np.uint64(100), np.uint64(10_000)


@njit(nogil=True, cache=True, forceinline=True)
def _text(word: np.uint64, length: np.int64, pattern: np.uint64) -> np.uint64:
    """The cell in `word` with its delimiter, XOR `pattern`; zeros below it."""
    below = np.uint64(56 - 8 * length) & _63
    return ((word ^ pattern) >> below) << below


@njit(nogil=True, cache=True, forceinline=True)
def _wrong(text: np.uint64, guard: np.uint64, length: np.int64) -> np.uint64:
    """Not zero where a byte of `text` is beyond its guard, or the cell is longer than the word."""
    return (((text + guard) | text) & HIGHS) | np.uint64(length >> 3)


@njit(nogil=True, cache=True, forceinline=True)
def _whole(word: np.uint64, length: np.int64) -> tuple[np.uint64, np.uint64]:
    """The value of up to five digits and `.0`; then not zero where the cell is anything else."""
    text = _text(word, length, _WHOLE_TEXT)
    last_four = (text >> _8) & _EVEN_QUADS
    pairs = last_four * _10 + (last_four >> _8)
    value = ((pairs >> _16) & _BYTE) + (pairs & _BYTE) * _100 + (text & _BYTE) * _10_000
    return value, _wrong(text, _WHOLE_GUARD, length)


@njit(nogil=True, cache=True, forceinline=True)
def _eight(digits: np.uint64) -> np.uint64:
    """The number whose digits are the bytes of `digits`, the first one lowest."""
    pairs = (digits & _EVEN_BYTES) * _10 + ((digits >> _8) & _EVEN_BYTES)
    quads = (pairs & _EVEN_PAIRS) * _100 + ((pairs >> _16) & _EVEN_PAIRS)
    return (quads & _EVEN_QUADS) * _10_000 + (quads >> _32)


@njit(nogil=True, cache=True, forceinline=True)
def _plain(word: np.uint64, length: np.int64) -> tuple[np.uint64, np.uint64]:
    """The value of up to seven digits; then not zero where the cell is anything else."""
    text = _text(word, length, _PLAIN_TEXT)
    return _eight(text << _8), _wrong(text, _PLAIN_GUARD, length)


@njit(nogil=True, cache=True, forceinline=True)
def _fixed(
    word: np.uint64,
    length: np.int64,
    shifts: np.uint64,
    point: np.uint64,
    guard: np.uint64,
    fraction: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Value times 10^decimals of digits with a point; then not zero where the cell is anything else.

    `shifts`, `point`, `guard` and `fraction` are those of `_fixed_pattern`.
    """
    text = _text(word, length, _PLAIN_TEXT)
    # The lowest marked byte is the first point; marks above it can be wrong.
    marks = text ^ _POINTS
    marks = (marks - _LOWEST_BITS) & ~marks & HIGHS
    first = (marks & (~marks + _1)) >> _7
    # A power of 256 as factor picks the byte of `shifts` that belongs to its place.
    missing = ((first * shifts) >> _56) & _63
    aligned = (text << _8) >> missing
    lost = (aligned << missing) ^ (text << _8)
    digits = aligned ^ point
    value = _eight((digits & fraction) | ((digits & ~fraction) << _8))
    return value, lost | _wrong(digits, guard, length)


@njit(nogil=True, cache=True)
def _fixed_pattern(decimals: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """What `_fixed` needs for 1 to `MOST_DECIMALS` decimals.

    Shifts that put a cell with fewer decimals in its place, the byte of the cell's
    end first; the point at its place; a guard that lets nothing else stand there; and
    ones where the decimals are.
    """
    shifts = _0
    for written in range(1, decimals + 1):
        # A point with so many decimals behind it is byte 6 - written of the text.
        shifts |= np.uint64(8 * (decimals - written)) << np.uint64(8 * (1 + written))
    point = np.uint64(0x1E) << np.uint64(8 * (7 - decimals))
    guard = _DIGIT_GUARD | _BYTE >> _1 << np.uint64(8 * (7 - decimals))
    fraction = ~_0 << np.uint64(8 * (8 - decimals))
    return shifts, point, guard, fraction


@njit(nogil=True, cache=True, forceinline=True)
def _settled(value: np.uint64, wrong: np.uint64, length: np.int64, most: int) -> np.int32:
    """The staged cell: blank, left over, or its value."""
    cell = np.int32(value) if (wrong == _0) & (np.int64(value) <= most) else np.int32(SLOW)
    return np.int32(BLANK) if length == 0 else cell


@njit(nogil=True, cache=True)
def read_cells(
    style: int,
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    decimals: int,
    most: int,
    staged: NDArray[np.int32],
) -> int:
    """Read the cells between the delimiters into `staged`; how many are left SLOW.

    Cell c is the text from `ends[c]` to `ends[c + 1]`. SLOW are the cells that do not
    follow `style`, one of WHOLE, PLAIN and FIXED, and those whose value is above `most`.
    """
    slow = np.int32(0)
    if style == WHOLE:
        for c in range(len(staged)):
            length = np.int64(ends[c + 1]) - ends[c] - 1
            value, wrong = _whole(words[c + 1], length)
            staged[c] = _settled(value, wrong, length, most)
            slow += staged[c] == SLOW
    elif style == PLAIN:
        for c in range(len(staged)):
            length = np.int64(ends[c + 1]) - ends[c] - 1
            value, wrong = _plain(words[c + 1], length)
            staged[c] = _settled(value, wrong, length, most)
            slow += staged[c] == SLOW
    else:
        shifts, point, guard, fraction = _fixed_pattern(decimals)
        for c in range(len(staged)):
            length = np.int64(ends[c + 1]) - ends[c] - 1
            value, wrong = _fixed(words[c + 1], length, shifts, point, guard, fraction)
            staged[c] = _settled(value, wrong, length, most)
            slow += staged[c] == SLOW
    return int(slow)


@njit(nogil=True, cache=True)
def choose_style(
    ends: NDArray[np.int32], words: NDArray[np.uint64], decimals: int, most: int, staged: NDArray[np.int32]
) -> int:
    """The style that most cells of a row follow; MIXED where that is not half of them."""
    best, fewest = MIXED, len(staged) // 2
    for style in (WHOLE, PLAIN, FIXED):
        fits = decimals == 0 if style != FIXED else 0 < decimals <= MOST_DECIMALS
        if fits:
            slow = read_cells(style, ends, words, decimals, most, staged)
            if slow <= fewest and (best == MIXED or slow < fewest):
                best, fewest = style, slow
    return best
