"""Writing numbers and times into a buffer of bytes, as Python writes them.

A double that is k / 10^d with |k| < 10^15 is, in the shortest decimal that reads
back as it, k with a point before the last d digits and without zeros behind: 15
digits tell all doubles apart. So no float is formatted here.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_K = 10**15
LONGEST_NUMBER = 26
LONGEST_TIME = 32

_ZERO, _POINT, _MINUS, _PLUS, _COLON, _SPACE = 48, 46, 45, 43, 58, 32
_TENS = np.array([10**n for n in range(19)], np.int64)
_DAY_MS = 86_400_000


@njit(nogil=True, cache=True, forceinline=True)
def write_whole(out: NDArray[np.uint8], place: int, k: int) -> int:
    """Write the integer `k`; the place behind it."""
    if k < 0:
        out[place] = _MINUS
        place += 1
        k = -k
    length = 1
    while length < 19 and k >= _TENS[length]:
        length += 1
    return _padded(out, place, k, length)


@njit(nogil=True, cache=True, forceinline=True)
def write_fixed(out: NDArray[np.uint8], place: int, k: int, decimals: int) -> int:
    """Write k / 10^decimals as Python writes that double, |k| < 10^15; the place behind it."""
    if k < 0:
        out[place] = _MINUS
        place += 1
        k = -k
    while decimals > 0 and k % 10 == 0:
        k //= 10
        decimals -= 1
    whole = k // _TENS[decimals]
    place = write_whole(out, place, whole)
    out[place] = _POINT
    place += 1
    if decimals == 0:
        out[place] = _ZERO
        return place + 1
    return _padded(out, place, k - whole * _TENS[decimals], decimals)


@njit(nogil=True, cache=True, forceinline=True)
def _padded(out: NDArray[np.uint8], place: int, k: int, length: int) -> int:
    """Write `k` with zeros in front, `length` digits in all."""
    for i in range(place + length - 1, place - 1, -1):
        rest = k // 10
        out[i] = _ZERO + (k - rest * 10)
        k = rest
    return place + length


@njit(nogil=True, cache=True)
def write_time(out: NDArray[np.uint8], place: int, ms: int, offset_ms: int, with_ms: bool) -> int:
    """Write a UTC time as `2023-08-01 08:00:00[.000]+08:00`, offset and all; the place behind it."""
    wall = ms + offset_ms
    days = wall // _DAY_MS
    rest = wall - days * _DAY_MS
    year, month, day = _civil(days)
    place = _padded(out, place, year, 4)
    out[place] = _MINUS
    place = _padded(out, place + 1, month, 2)
    out[place] = _MINUS
    place = _padded(out, place + 1, day, 2)
    out[place] = _SPACE
    place = _padded(out, place + 1, rest // 3_600_000, 2)
    out[place] = _COLON
    place = _padded(out, place + 1, rest // 60_000 % 60, 2)
    out[place] = _COLON
    place = _padded(out, place + 1, rest // 1000 % 60, 2)
    if with_ms:
        out[place] = _POINT
        place = _padded(out, place + 1, rest % 1000, 3)
    out[place] = _MINUS if offset_ms < 0 else _PLUS
    minutes = abs(offset_ms) // 60_000
    place = _padded(out, place + 1, minutes // 60, 2)
    out[place] = _COLON
    return _padded(out, place + 1, minutes % 60, 2)


@njit(nogil=True, cache=True)
def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the day `days` after 1970-01-01, in the proleptic Gregorian calendar."""
    shifted = days + 719_468  # since 0000-03-01, so that the leap day comes last
    era = shifted // 146_097
    in_era = shifted - era * 146_097
    in_year_400 = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * in_year_400 + in_year_400 // 4 - in_year_400 // 100)
    from_march = (5 * in_year + 2) // 153
    day = in_year - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 if from_march < 10 else from_march - 9
    year = in_year_400 + era * 400 + (1 if month <= 2 else 0)
    return year, month, day
