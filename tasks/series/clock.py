"""Reading the Time column: ISO stamps with offset, `Z` or a given zone; epoch seconds or milliseconds.

Compiled parts return UTC milliseconds; `zone_table` turns a named zone into the
arrays they need. What times mean for a series (gaps, order) is the business of
`tasks.series.scan` and `tasks.series.judge`.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.errors import UsageError

# What a time was written in: minutes of offset from UTC plus 900, or one of these.
OFFSET_BASE = 900
NAIVE, EPOCH_S, EPOCH_MS = 1801, 1802, 1803
ZONE_CODES = 1804
UNKNOWN_ZONE = -1

# 1970-01-01 … 2200-01-01: what lies outside is no time of a measurement.
LATEST_MS = 7_258_118_400_000
_MS_FROM = 100_000_000_000  # epoch numbers from here on count milliseconds (1973), below seconds (5138)

_LONGEST = 64  # characters of a time cell that are looked at where it stands alone
_COMMA, _NEWLINE, _RETURN, _QUOTE = 44, 10, 13, 34

_FIXED = re.compile(r"^(?:UTC)?([+-])(\d{2}):?(\d{2})$")


def zone_label(code: int) -> str:
    """A zone code in words: `+08:00`, `no zone`, `epoch seconds`, `epoch milliseconds`."""
    if code >= NAIVE:
        return ("no zone", "epoch seconds", "epoch milliseconds")[code - NAIVE]
    minutes = abs(code - OFFSET_BASE)
    return f"{'-' if code < OFFSET_BASE else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def parse_zone(name: str) -> tzinfo:
    """The zone of `+08:00`, `UTC` or an IANA name such as `Asia/Shanghai`.

    Raises:
        UsageError: the name is none of these.
    """
    match = _FIXED.match(name.strip())
    if match:
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        if offset < timedelta(hours=15):
            return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name.strip())
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"'{name}' is not a time zone.",
            hint="Give an offset such as +08:00 or a name such as Asia/Shanghai.",
        ) from error


@functools.cache
def zone_table(name: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Wall-clock milliseconds from which on an offset (ms, second array) holds; empty for None.

    Of a wall time that occurs twice the first is meant; one that a clock change
    skips is read with the offset before the change.
    """
    if name is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    zone = parse_zone(name)
    starts, offsets = [-(1 << 62)], [_offset_ms(zone, 0)]
    day = 86_400_000
    never_changes = zone.utcoffset(None) is not None
    for left in range(0, 0 if never_changes else LATEST_MS, day):
        if _offset_ms(zone, left + day) == offsets[-1]:
            continue
        low, high = left, left + day
        while high - low > 1000:
            middle = (low + high) // 2000 * 1000
            low, high = (middle, high) if _offset_ms(zone, middle) == offsets[-1] else (low, middle)
        after = _offset_ms(zone, high)
        starts.append(high + max(offsets[-1], after))
        offsets.append(after)
    return np.array(starts, np.int64), np.array(offsets, np.int64)


def _offset_ms(zone: tzinfo, utc_ms: int) -> int:
    offset = datetime.fromtimestamp(utc_ms / 1000, UTC).astimezone(zone).utcoffset()
    return int((offset or timedelta()).total_seconds()) * 1000


@njit(nogil=True, cache=True)
def _number(buf: NDArray[np.uint8], start: int, digits: int) -> int:
    value = 0
    for i in range(start, start + digits):
        digit = int(buf[i]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@njit(nogil=True, cache=True)
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, or -1 for a day that does not exist."""
    if year < 1970 or year > 2200 or month < 1 or month > 12 or day < 1:
        return -1
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    length = 31
    if month == 4 or month == 6 or month == 9 or month == 11:
        length = 30
    elif month == 2:
        length = 29 if leap else 28
    if day > length:
        return -1
    # Years counted from March, so that the leap day comes last.
    shifted = year - 1 if month <= 2 else year
    in_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + in_year - 719_468


@njit(nogil=True, cache=True)
def _fraction_ms(buf: NDArray[np.uint8], start: int) -> tuple[int, int]:
    """Milliseconds (truncated) of the digits at `start`, and where they end; -1 without a digit."""
    place, value, weight = start, 0, 100
    while 48 <= buf[place] <= 57:
        value += (int(buf[place]) - 48) * weight
        weight //= 10
        place += 1
    return (value if place > start else -1), place


@njit(nogil=True, cache=True)
def _iso(buf: NDArray[np.uint8], start: int) -> tuple[int, int, int]:
    """Wall-clock ms, zone code and end of `YYYY-MM-DD[T ]HH:MM[:SS[.f]][offset]`; ms -1 if it is none."""
    none = (-1, NAIVE, start)
    days = _days(_number(buf, start, 4), _number(buf, start + 5, 2), _number(buf, start + 8, 2))
    hour, minute = _number(buf, start + 11, 2), _number(buf, start + 14, 2)
    separators = buf[start + 4] == 45 and buf[start + 7] == 45 and buf[start + 13] == 58
    if days < 0 or not separators or (buf[start + 10] != 32 and buf[start + 10] != 84):
        return none
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return none
    ms = days * 86_400_000 + hour * 3_600_000 + minute * 60_000
    place = start + 16
    if buf[place] == 58:
        second = _number(buf, place + 1, 2)
        if second < 0 or second > 59:
            return none
        ms += second * 1000
        place += 3
        if buf[place] == 46:
            fraction, place = _fraction_ms(buf, place + 1)
            if fraction < 0:
                return none
            ms += fraction
    if buf[place] == 90 or buf[place] == 122:
        return ms, OFFSET_BASE, place + 1
    if buf[place] == 43 or buf[place] == 45:
        sign = 1 if buf[place] == 43 else -1
        hours = _number(buf, place + 1, 2)
        place += 3
        minutes = 0
        if buf[place] == 58:
            minutes, place = _number(buf, place + 1, 2), place + 3
        elif 48 <= buf[place] <= 57:
            minutes, place = _number(buf, place, 2), place + 2
        if hours < 0 or hours > 14 or minutes < 0 or minutes > 59:
            return none
        return ms, OFFSET_BASE + sign * (hours * 60 + minutes), place
    return ms, NAIVE, place


@njit(nogil=True, cache=True)
def _epoch(buf: NDArray[np.uint8], start: int) -> tuple[int, int, int]:
    """UTC ms, zone code and end of an epoch number with optional decimals; ms -1 if it is none."""
    place, value = start, 0
    while 48 <= buf[place] <= 57 and place - start < 15:
        value = value * 10 + int(buf[place]) - 48
        place += 1
    if place == start:
        return -1, NAIVE, start
    fraction = 0
    if buf[place] == 46:
        fraction, place = _fraction_ms(buf, place + 1)
        fraction = max(fraction, 0)
    if value >= _MS_FROM:
        return value, EPOCH_MS, place
    return value * 1000 + fraction, EPOCH_S, place


@njit(nogil=True, cache=True)
def read_time(
    buf: NDArray[np.uint8], start: int, wall_from: NDArray[np.int64], offset_ms: NDArray[np.int64]
) -> tuple[int, int, int]:
    """The time cell at `start`: UTC ms or -1, zone code, and the place of the comma or line end behind it.

    A time without a zone is read with the given table, and is no time if the table is empty.
    """
    place = start
    quoted = buf[place] == _QUOTE
    if quoted:
        place += 1
    # A short epoch number may have a minus sign of the next cell at the same place.
    if buf[place + 4] == 45 and _number(buf, place, 4) >= 0:
        ms, zone, place = _iso(buf, place)
        if ms >= 0 and zone < NAIVE:
            ms -= (zone - OFFSET_BASE) * 60_000
        elif ms >= 0:
            if len(wall_from) == 0:
                ms = -1
            else:
                ms -= int(offset_ms[np.searchsorted(wall_from, ms, side="right") - 1])
    else:
        ms, zone, place = _epoch(buf, place)
    if quoted and ms >= 0:
        if buf[place] == _QUOTE:
            place += 1
        else:
            ms = -1
    end = buf[place]
    if ms < 0 or ms >= LATEST_MS or (end != _COMMA and end != _NEWLINE and end != _RETURN):
        place = start
        while buf[place] != _COMMA and buf[place] != _NEWLINE:
            place += 1
        return -1, zone, place
    return ms, zone, place


def time_of(text: bytes, timezone: str | None) -> tuple[int, int]:
    """UTC ms (-1 if there is none) and zone code of the time cell that `text` begins with."""
    # A bytearray, as the scan's buffer is: another kind of array would be compiled for anew.
    buf = np.frombuffer(bytearray(text[:_LONGEST] + b"\n" + bytes(_LONGEST)), np.uint8)
    ms, zone, _ = read_time(buf, 0, *zone_table(timezone))
    return int(ms), int(zone)
