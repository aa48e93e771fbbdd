"""Decimal text to float64, correctly rounded, inside compiled loops.

Here belongs the conversion of one number's bytes to the nearest double, and
nothing else: finding the cell, its quotes or blanks, and what a bad cell means
are the scan's business. Compiled callers inline `parse_float`; it takes no lock
and allocates nothing.

Method. The digits, at most 19 of them, become a uint64 m, the exponent an
integer q, and the value is m·10^q. Where m and 10^|q| are both exact doubles,
one multiplication or division rounds correctly (Clinger, "How to read floating
point numbers accurately", PLDI 1990). Otherwise m times the leading 128 bits of
5^q decides the rounding (Eisel and Lemire: Lemire, "Number parsing at a gigabyte
per second", Software: Practice and Experience 51(8), 2021); for every m < 2^64
this needs no fallback (Mushtak and Lemire, "Fast number parsing without
fallback", 2023). A number with more significant digits lies between m and m + 1;
if both round to the same double, so does it.

Words are loaded in the order of a little-endian machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

OK = 0
NOT_A_NUMBER = 1
OVERFLOW = 2
HARD = 3
"""Status of a conversion; see `parse_float`."""

READABLE_AFTER_STOP = 32
"""Bytes that must be readable after `stop`: digits are loaded eight at a time."""

_SMALLEST_POWER, _LARGEST_POWER = -342, 308
"""Below the first, every m < 2^64 rounds to zero; above the second, m ≥ 1 overflows."""


def _leading_bits_of_powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """High and low words of 5^q for each q, scaled to exactly 128 bits."""
    words = []
    for q in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
        power = 5 ** abs(q)
        if q >= 0:
            excess = power.bit_length() - 128
            leading = power >> excess if excess > 0 else power << -excess
        else:
            leading = (1 << (power.bit_length() + 127)) // power
            # Rounded up where m can be a multiple of 5^-q, so that an exact tie
            # gives a product just above the tie and not one just below.
            leading += q >= -27
        words.append((leading >> 64, leading & (2**64 - 1)))
    high, low = zip(*words, strict=True)
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_POWER_HIGH, _POWER_LOW = _leading_bits_of_powers()
_EXACT_TENS = np.array([float(10**n) for n in range(23)])
_TENS = np.array([10**n for n in range(17)], dtype=np.uint64)

# Typed constants: compiled uint64 arithmetic with a plain int would turn to float64.
_0, _1, _3, _8, _9, _10 = (np.uint64(n) for n in (0, 1, 3, 8, 9, 10))
_16, _32, _63 = (np.uint64(n) for n in (16, 32, 63))
_ASCII_ZEROS = np.uint64(0x3030303030303030)
_POINTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ONES = np.uint64(0x0101010101010101)
_DIGIT_GUARD = np.uint64(0x7676767676767676)
_TOP_BITS = np.uint64(0x8080808080808080)
_JOIN_PAIRS, _PAIRS = np.uint64(10 << 8 | 1), np.uint64(0x00FF00FF00FF00FF)
_JOIN_QUADS, _QUADS = np.uint64(100 << 16 | 1), np.uint64(0x0000FFFF0000FFFF)
_JOIN_HALVES = np.uint64(10_000 << 32 | 1)
_UNDECIDED = np.uint64(0x1FF)
_HIDDEN_BIT = np.uint64(1 << 52)
_FRACTION = np.uint64((1 << 52) - 1)
_SIGN_BIT = np.uint64(1 << 63)
_INFINITY = np.uint64(0x7FF << 52)
_NAN_BITS = np.uint64(0x7FF8 << 48)
_EXACT_INTEGER = np.uint64(1 << 53)

_MINUS, _PLUS, _POINT, _ZERO, _SMALL_E = (np.uint8(ord(c)) for c in "-+.0e")
_LOWER_CASE = np.uint8(0x20)
_MOST_DIGITS = 19
# More than any text in memory has digits, so a larger exponent cannot be offset by them.
_EXPONENT_CAP = np.int64(10**15)


@njit(nogil=True, cache=True)
def parse_float(buf: NDArray[np.uint8], start: int, stop: int) -> tuple[int, float]:
    """Convert the text `buf[start:stop]` to the nearest float64, ties to even.

    `buf` is a C-contiguous uint8[:], writable or not, with `READABLE_AFTER_STOP`
    bytes readable after `stop`; their content does not matter. The text is
    `[+-]digits[.digits][(e|E)[+-]digits]`; one side of the point may be empty.

    Returns (status, value):

    - OK: the double that Python's `float` gives for the text, bit for bit; what
      is too small for a subnormal is a zero with the sign of the text.
    - OVERFLOW: the text is finite, its nearest double is not: signed infinity.
    - NOT_A_NUMBER: any other text, with NaN. `float` accepts some of these:
      blanks around the number, underscores between digits, `inf`, `infinity` and
      `nan` in any case.
    - HARD: undecided, with NaN; `float` decides. Only texts of more than 19
      significant digits, and about one in 600 of random ones.
    """
    i = np.int64(start)
    end = np.int64(stop)
    sign = _0
    if i < end:
        first = buf[np.uint64(i)]
        if first == _MINUS:
            sign = _SIGN_BIT
            i += 1
        elif first == _PLUS:
            i += 1
    if i >= end:
        return NOT_A_NUMBER, np.nan

    digits_from = i
    mantissa, i = _take_digits(buf, i, end, _0)
    digits = i - digits_from
    point = i
    exponent = np.int64(0)
    if i < end and buf[np.uint64(i)] == _POINT:
        mantissa, i = _take_digits(buf, i + 1, end, mantissa)
        exponent = point + 1 - i
        digits -= exponent
    if digits == 0:
        return NOT_A_NUMBER, np.nan
    digits_to = i

    if i < end:
        if (buf[np.uint64(i)] | _LOWER_CASE) != _SMALL_E:
            return NOT_A_NUMBER, np.nan
        written, i = _take_exponent(buf, i + 1, end)
        if i != end:
            return NOT_A_NUMBER, np.nan
        exponent += written

    if digits <= _MOST_DIGITS:
        bits = _nearest(mantissa, exponent)
    else:
        bits = _nearest_of_long(buf, digits_from, digits_to, mantissa, digits, exponent)
    if bits >= _INFINITY:
        if bits == _INFINITY:
            return OVERFLOW, np.uint64(bits | sign).view(np.float64)
        return HARD, np.nan
    return OK, np.uint64(bits | sign).view(np.float64)


@njit(nogil=True, cache=True, forceinline=True)
def parse_plain(buf: NDArray[np.uint8], start: int, stop: int) -> tuple[bool, float]:
    """`parse_float` of up to seven digits, a point and 1 to 16 decimals, without a loop.

    False, with a value that means nothing, for any other text and for more than 19
    digits. `READABLE_AFTER_STOP` bytes after `start` and 16 before `stop` are readable.
    """
    first = _load_word(buf, np.int64(start))
    marks = first ^ _POINTS
    # The lowest mark is the first point; marks above it can be wrong.
    marks = (marks - _ONES) & ~marks & _TOP_BITS
    whole = np.int64(_trailing_zeros(marks) >> _3)
    decimals = np.int64(stop) - np.int64(start) - whole - 1
    if whole < 1 or whole > 7 or decimals < 1 or decimals > 16 or whole + decimals > _MOST_DIGITS:
        return False, 0.0
    head = (first ^ _ASCII_ZEROS) << np.uint64(64 - 8 * whole)
    low = _load_word(buf, np.int64(stop) - 8) ^ _ASCII_ZEROS
    high = _0
    if decimals > 8:
        front = np.uint64(128 - 8 * decimals)
        high = ((_load_word(buf, np.int64(stop) - 16) ^ _ASCII_ZEROS) >> front) << front
    else:
        front = np.uint64(64 - 8 * decimals)
        low = (low >> front) << front
    others = ((head + _DIGIT_GUARD) | head) | ((low + _DIGIT_GUARD) | low) | ((high + _DIGIT_GUARD) | high)
    if others & _TOP_BITS != _0:
        return False, 0.0
    mantissa = _joined(head) * _TENS[np.uint64(decimals)] + _joined(high) * _TENS[8] + _joined(low)
    # Not by division where that is exact: which of the two it would be is hard to foretell.
    return True, np.uint64(_nearest_by_product(mantissa, -decimals)).view(np.float64)


def _define_load_word(typing_context: Any, buf: Any, offset: Any) -> Any:
    """The eight bytes `buf[offset:offset + 8]` as uint64, first byte lowest, unaligned."""
    if not (isinstance(buf, types.Array) and buf.dtype == types.uint8 and (buf.ndim, buf.layout) == (1, "C")):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(buf, types.int64), generate


def _define_multiply_high(typing_context: Any, left: Any, right: Any) -> Any:
    """High word of the 128-bit product of two uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _define_leading_zeros(typing_context: Any, word: Any) -> Any:
    """Zero bits above the highest set bit of a uint64; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


def _define_trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Zero bits below the lowest set bit of a uint64; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


# Typed as Any because the stubs give an intrinsic the signature of its definition.
_load_word: Any = intrinsic(_define_load_word)
_multiply_high: Any = intrinsic(_define_multiply_high)
_leading_zeros: Any = intrinsic(_define_leading_zeros)
_trailing_zeros: Any = intrinsic(_define_trailing_zeros)


@njit(nogil=True, cache=True, forceinline=True)
def _joined(word: np.uint64) -> np.uint64:
    """The number whose eight digits are the bytes of `word`, the first one lowest."""
    word = (word * _JOIN_PAIRS >> _8) & _PAIRS
    word = (word * _JOIN_QUADS >> _16) & _QUADS
    return word * _JOIN_HALVES >> _32


@njit(nogil=True, cache=True, forceinline=True)
def _take_digits(
    buf: NDArray[np.uint8], i: np.int64, end: np.int64, mantissa: np.uint64
) -> tuple[np.uint64, np.int64]:
    """Append the digits from `i` on to `mantissa` (modulo 2^64); also where they end."""
    while True:
        # Each byte: a digit's value, or something above 9.
        word = _load_word(buf, i) ^ _ASCII_ZEROS
        # A carry out of a byte above 9 only reaches bytes after it.
        others = ((word + _DIGIT_GUARD) | word) & _TOP_BITS
        count = min(np.int64(_trailing_zeros(others) >> _3), end - i)
        # The digits move to the end of the word and zeros lead them. Two shifts,
        # because a shift by 64 bits is undefined.
        word = (word << np.uint64(8 * (7 - count) & 63)) << _8 if count < 8 else word
        mantissa = mantissa * _TENS[np.uint64(count)] + _joined(word)
        i += count
        if count < 8:
            return mantissa, i


@njit(nogil=True, cache=True)
def _take_exponent(buf: NDArray[np.uint8], i: np.int64, end: np.int64) -> tuple[np.int64, np.int64]:
    """The written exponent from `i` on, capped, and its end; without a digit the end is -1."""
    negative = False
    if i < end and (buf[np.uint64(i)] == _MINUS or buf[np.uint64(i)] == _PLUS):
        negative = buf[np.uint64(i)] == _MINUS
        i += 1
    begin = i
    exponent = np.int64(0)
    while i < end:
        digit = np.int64(buf[np.uint64(i)]) - np.int64(_ZERO)
        if digit < 0 or digit > 9:
            break
        exponent = min(exponent * 10 + digit, _EXPONENT_CAP)
        i += 1
    if i == begin:
        return np.int64(0), np.int64(-1)
    return (-exponent if negative else exponent), i


@njit(nogil=True, cache=True, forceinline=True)
def _nearest(mantissa: np.uint64, exponent: np.int64) -> np.uint64:
    """Bits of the double nearest to mantissa·10^exponent; infinity's if too large."""
    if mantissa <= _EXACT_INTEGER and -22 <= exponent <= 22:
        value = np.float64(np.int64(mantissa))
        if exponent < 0:
            value = value / _EXACT_TENS[np.uint64(-exponent)]
        else:
            value = value * _EXACT_TENS[np.uint64(exponent)]
        return np.float64(value).view(np.uint64)
    return _nearest_by_product(mantissa, exponent)


@njit(nogil=True, cache=True, forceinline=True)
def _nearest_by_product(mantissa: np.uint64, exponent: np.int64) -> np.uint64:
    """`_nearest` by the method of Eisel and Lemire, for every uint64 mantissa."""
    if mantissa == _0 or exponent < _SMALLEST_POWER:
        return _0
    if exponent > _LARGEST_POWER:
        return _INFINITY
    zeros: np.uint64 = _leading_zeros(mantissa)
    scaled = mantissa << zeros
    row = np.uint64(exponent - _SMALLEST_POWER)
    high: np.uint64 = _multiply_high(scaled, _POWER_HIGH[row])
    low = scaled * _POWER_HIGH[row]
    if high & _UNDECIDED == _UNDECIDED:
        # Below the 55 leading bits are only ones: the rest of the power may carry into them.
        carried = _multiply_high(scaled, _POWER_LOW[row])
        low += carried
        if low < carried:
            high += _1

    # 53 bits of the result and one to round by.
    top = high >> _63
    shift = top + _9
    result = high >> shift
    # 217706 / 2^16 is log2(10), close enough for floor(exponent·log2(10)) in this range.
    biased = (exponent * 217706 >> 16) + 63 + 1023 + np.int64(top) - np.int64(zeros)
    if biased <= 0:
        if biased < -62:
            return _0
        result >>= np.uint64(1 - biased)
        # The bits' carry into the exponent field is the smallest normal number.
        return (result + (result & _1)) >> _1
    # A tie needs 5^|exponent| in a word of 64 bits; then, and only then, round to even.
    if low <= _1 and -4 <= exponent <= 23 and result & _3 == _1 and result << shift == high:
        result -= _1
    result = (result + (result & _1)) >> _1
    # Rounding up to 2^53 carries into the exponent by itself when added, not joined.
    bits = (np.uint64(biased) << np.uint64(52)) + (result - _HIDDEN_BIT)
    return bits if biased < 0x7FF else _INFINITY


@njit(nogil=True, cache=True)
def _nearest_of_long(
    buf: NDArray[np.uint8],
    begin: np.int64,
    end: np.int64,
    wrapped: np.uint64,
    digits: np.int64,
    exponent: np.int64,
) -> np.uint64:
    """`_nearest` for more than 19 digits, in `buf[begin:end]` with at most one point.

    `wrapped` is their value modulo 2^64. NaN's bits where 19 digits do not decide.
    """
    i = begin
    while i < end and (buf[np.uint64(i)] == _ZERO or buf[np.uint64(i)] == _POINT):
        digits -= buf[np.uint64(i)] == _ZERO
        i += 1
    if digits <= _MOST_DIGITS:
        return _nearest(wrapped, exponent)

    mantissa = _0
    taken = 0
    while taken < _MOST_DIGITS:
        if buf[np.uint64(i)] != _POINT:
            mantissa = mantissa * _10 + np.uint64(buf[np.uint64(i)] - _ZERO)
            taken += 1
        i += 1
    exponent += digits - _MOST_DIGITS
    while i < end and (buf[np.uint64(i)] == _ZERO or buf[np.uint64(i)] == _POINT):
        i += 1
    below = _nearest(mantissa, exponent)
    if i == end or below == _nearest(mantissa + _1, exponent):
        return below
    return _NAN_BITS
