"""The compiled pass over the lines of a wide series: parse, check, count.

`scan_lines` reads whole lines from a buffer. A row is staged first and counted
only when it is whole, so that a ragged row leaves no trace in the numbers. What
it adds up stands in `Registers`: histograms, sums per column for the current
hour, changes between neighbouring rows, places of what is wrong. The kernel makes no
decision about reading, blocks or verdicts; `tasks.series.scan` drives it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.series.cells import (
    BAD,
    COMMA,
    GENERAL,
    NEWLINE,
    RETURN,
    SLOW,
    STAGES,
    any_cell,
    cell_bounds,
    fast_cell,
)
from tasks.series.clock import ZONE_CODES, read_time
from tasks.series.sums import LIMBS, add_value
from tasks.series.swar import ONES, load64, trailing_zeros, zero_bytes

# Why `scan_lines` returned.
DONE, FULL, ASK_FLOAT = 0, 1, 2

# Places in `Registers.at`.
LINES, ROWS, OUTSIDE, HOUR, PREVIOUS_MS, STAMPS, REALS, HOURS, ASKED, ADDED = range(10)
_PLACES = 10

# Kinds of `Registers.events`.
RAGGED_ROW, BAD_TIME, BAD_CELL, OUT_OF_RANGE, STRAY_ZONE = range(5)
_KINDS = 5

NEVER = -(1 << 62)  # no time before, no step
PEEKED = -1  # the line number of a line that another block counts
STAMP_ROOM = 1 << 15
HOUR_ROOM = 1 << 10
REAL_ROOM = 1 << 20
HEADROOM = 1 << 29  # additions a superaccumulator takes before it has to be normalised


class Params(NamedTuple):
    """What a scan of a series needs to know; times in UTC ms, ranges inclusive."""

    columns: int
    decimals: int
    span: int
    since: int
    until: int
    interval: int
    zone: int
    low: float
    high: float
    wall_from: NDArray[np.int64]
    offset_ms: NDArray[np.int64]
    window_from: NDArray[np.int64]
    window_until: NDArray[np.int64]


class Registers(NamedTuple):
    """The state of one scan. One row of a 2-D array per histogram copy, hour or event kind."""

    at: NDArray[np.int64]
    staged: NDArray[np.int32]
    reals: NDArray[np.float64]
    previous: NDArray[np.int32]
    histogram: NDArray[np.int32]
    filled: NDArray[np.int32]
    zero: NDArray[np.int32]
    total: NDArray[np.int64]
    least: NDArray[np.uint32]
    most: NDArray[np.int32]
    real_count: NDArray[np.int32]
    real_least: NDArray[np.float64]
    real_most: NDArray[np.float64]
    limbs: NDArray[np.int64]
    bad: NDArray[np.int64]
    sum_count: NDArray[np.int64]
    sum_zero: NDArray[np.int64]
    sum_total: NDArray[np.int64]
    sum_least: NDArray[np.float64]
    sum_most: NDArray[np.float64]
    sum_limbs: NDArray[np.int64]
    hours: NDArray[np.int64]
    hour_range: NDArray[np.float64]
    hour_limbs: NDArray[np.int64]
    stamps: NDArray[np.int64]  # a row of (ms, step from the line before, line, offset) each
    real_values: NDArray[np.float64]
    real_windows: NDArray[np.int8]
    zones: NDArray[np.int64]
    changed: NDArray[np.int64]
    events: NDArray[np.int64]
    places: NDArray[np.int64]


def copies(span: int) -> int:
    """Histogram copies: two break the wait of an increment for the one before, if both stay in cache."""
    return 2 if span <= 1 << 14 else 1


def new_registers(params: Params) -> Registers:
    """Registers at zero for one scan."""
    n = params.columns
    windows = len(params.window_from) + 1
    at = np.zeros(_PLACES, np.int64)
    at[HOUR] = at[PREVIOUS_MS] = NEVER
    return Registers(
        at=at,
        staged=np.zeros(n, np.int32),
        reals=np.zeros(n, np.float64),
        previous=np.zeros(n, np.int32),
        histogram=np.zeros((windows * copies(params.span), params.span + STAGES), np.int32),
        filled=np.zeros(n, np.int32),
        zero=np.zeros(n, np.int32),
        total=np.zeros(n, np.int64),
        least=np.full(n, np.iinfo(np.uint32).max, np.uint32),
        most=np.full(n, -1, np.int32),
        real_count=np.zeros(n, np.int32),
        real_least=np.full(n, np.inf),
        real_most=np.full(n, -np.inf),
        limbs=np.zeros((n, LIMBS), np.int64),
        bad=np.zeros(n, np.int64),
        sum_count=np.zeros(n, np.int64),
        sum_zero=np.zeros(n, np.int64),
        sum_total=np.zeros(n, np.int64),
        sum_least=np.full(n, np.inf),
        sum_most=np.full(n, -np.inf),
        sum_limbs=np.zeros((n, LIMBS), np.int64),
        hours=np.zeros((HOUR_ROOM, 4), np.int64),
        hour_range=np.zeros((HOUR_ROOM, 2), np.float64),
        hour_limbs=np.zeros((HOUR_ROOM, LIMBS), np.int64),
        stamps=np.zeros((STAMP_ROOM, 4), np.int64),
        real_values=np.zeros(max(REAL_ROOM, n), np.float64),
        real_windows=np.zeros(max(REAL_ROOM, n), np.int8),
        zones=np.zeros(ZONE_CODES, np.int64),
        changed=np.zeros((2, n), np.int64),
        events=np.zeros(_KINDS, np.int64),
        places=np.zeros((_KINDS, EXAMPLES_KEPT, 3), np.int64),
    )


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
def _cell_place(buf: NDArray[np.uint8], line: int, column: int) -> int:
    """Where the value cell `column` (from 0) of the line at `line` begins."""
    place = line
    for _ in range(column + 1):
        place = cell_bounds(buf, place)[2] + 1
    return place


@njit(nogil=True, cache=True)
def _note(
    events: NDArray[np.int64], places: NDArray[np.int64], kind: int, line: int, column: int, place: int
) -> None:
    """Count an event and keep the place of the first ones; `line` counts from 1 in the block."""
    seen = events[kind]
    if seen < EXAMPLES_KEPT:
        places[kind, seen, 0] = line
        places[kind, seen, 1] = column
        places[kind, seen, 2] = place
    events[kind] = seen + 1


@njit(nogil=True, cache=True)
def _stage(
    buf: NDArray[np.uint8],
    place: int,
    decimals: int,
    span: int,
    staged: NDArray[np.int32],
    reals: NDArray[np.float64],
    at: NDArray[np.int64],
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, int, int]:
    """Read the cells behind the time into `staged` and `reals`.

    Returns the place behind the line, or -1 for a ragged row, or -2 where a float
    is asked for; then how many cells are general and how many are bad.
    """
    general, bad = 0, 0
    n = len(staged)
    if n == 0:
        if buf[place] == RETURN:
            place += 1
        return (place + 1 if buf[place] == NEWLINE else -1), 0, 0
    if buf[place] != COMMA:
        return -1, 0, 0
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
            return -2, 0, 0
        if (buf[end] == NEWLINE) != last:
            return -1, 0, 0
        staged[c] = cell
        reals[c] = value
        general += cell == GENERAL
        bad += cell == BAD
        place = end + 1
    return place, general, bad


@njit(nogil=True, cache=True)
def _compare(staged: NDArray[np.int32], previous: NDArray[np.int32], changed: NDArray[np.int64]) -> None:
    """Count the columns whose value differs from the row one interval before."""
    for c in range(len(staged)):
        changed[c] += (staged[c] >= 0) & (previous[c] >= 0) & (staged[c] != previous[c])


@njit(nogil=True, cache=True)
def _count(staged: NDArray[np.int32], first: NDArray[np.int32], second: NDArray[np.int32]) -> None:
    """Add the staged row to the two copies of a histogram, which may be one."""
    n = len(staged)
    for c in range(0, n - 1, 2):
        first[staged[c] + STAGES] += 1
        second[staged[c + 1] + STAGES] += 1
    if n & 1:
        first[staged[n - 1] + STAGES] += 1


@njit(nogil=True, cache=True)
def _add_fixed(
    staged: NDArray[np.int32],
    filled: NDArray[np.int32],
    zero: NDArray[np.int32],
    total: NDArray[np.int64],
    least: NDArray[np.uint32],
    most: NDArray[np.int32],
    previous: NDArray[np.int32],
) -> None:
    """Add the staged row to the sums of the hour, and keep it for the next row; short loops for SIMD."""
    n = len(staged)
    for c in range(n):
        filled[c] += staged[c] >= 0
        zero[c] += staged[c] == 0
    for c in range(n):
        total[c] += max(staged[c], np.int32(0))
    for c in range(n):
        most[c] = max(most[c], staged[c])
        least[c] = min(least[c], np.uint32(staged[c]))
    for c in range(n):
        previous[c] = staged[c]


@njit(nogil=True, cache=True)
def _count_general(p: Params, r: Registers, window: int) -> None:
    """Hand the row's doubles on, and add them to the sums of the hour."""
    filled = first = r.at[REALS]
    for c in range(p.columns):
        if r.staged[c] == GENERAL:
            value = r.reals[c]
            r.real_values[filled] = value
            r.real_windows[filled] = window
            filled += 1
            r.real_count[c] += 1
            r.real_least[c] = min(r.real_least[c], value)
            r.real_most[c] = max(r.real_most[c], value)
            add_value(r.limbs, c, value)
    r.at[REALS] = filled
    r.at[ADDED] += filled - first


@njit(nogil=True, cache=True)
def _fixed_range(p: Params) -> tuple[int, int]:
    """The physical range in fixed-point integers, both inside."""
    scale = 10.0**p.decimals
    low = np.int64(min(max(np.ceil(p.low * scale), 0.0), 2e9))
    high = np.int64(min(max(np.floor(p.high * scale), -1.0), 2e9))
    # The products are rounded; the bounds themselves are inside.
    low -= low > 0 and (low - 1) / scale >= p.low
    high += (high + 1) / scale <= p.high
    return int(low), int(high)


@njit(nogil=True, cache=True)
def _any_outside(staged: NDArray[np.int32], low: int, high: int) -> bool:
    """Whether a fixed-point value of the staged row is out of range."""
    outside = 0
    for c in range(len(staged)):
        outside += (staged[c] >= 0) & ((staged[c] < low) | (staged[c] > high))
    return outside > 0


@njit(nogil=True, cache=True)
def _note_cells(buf: NDArray[np.uint8], line: int, p: Params, r: Registers, low: int, high: int) -> None:
    """Note the cells of the staged row that are unreadable or out of range."""
    number = r.at[LINES]
    for c in range(p.columns):
        cell = r.staged[c]
        kind = -1
        if cell == BAD:
            kind = BAD_CELL
            r.bad[c] += 1
        elif cell == GENERAL:
            kind = OUT_OF_RANGE if r.reals[c] < p.low or r.reals[c] > p.high else -1
        elif cell >= 0 and (cell < low or cell > high):
            kind = OUT_OF_RANGE
        if kind >= 0:
            place = line if r.events[kind] >= EXAMPLES_KEPT else _cell_place(buf, line, c)
            _note(r.events, r.places, kind, number, c, place)


@njit(nogil=True, cache=True)
def flush_hour(p: Params, r: Registers) -> None:
    """Close the current hour: one record of it, and its sums per column to the sums per entity."""
    scale = 10.0**p.decimals
    count, zero, total = np.int64(0), np.int64(0), np.int64(0)
    least, most = np.inf, -np.inf
    slot = r.at[HOURS]
    for c in range(p.columns):
        low, high = r.real_least[c], r.real_most[c]
        if r.filled[c] > 0:
            low, high = min(low, r.least[c] / scale), max(high, r.most[c] / scale)
        both = np.int64(r.filled[c]) + r.real_count[c]
        count += both
        zero += r.zero[c]
        total += r.total[c]
        least, most = min(least, low), max(most, high)
        r.sum_count[c] += both
        r.sum_zero[c] += r.zero[c]
        r.sum_total[c] += r.total[c]
        r.sum_least[c] = min(r.sum_least[c], low)
        r.sum_most[c] = max(r.sum_most[c], high)
        if r.real_count[c] > 0:
            for k in range(LIMBS):
                r.sum_limbs[c, k] += r.limbs[c, k]
                r.hour_limbs[slot, k] += r.limbs[c, k]
                r.limbs[c, k] = 0
    if count > 0:
        r.hours[slot, 0] = r.at[HOUR]
        r.hours[slot, 1] = count
        r.hours[slot, 2] = zero
        r.hours[slot, 3] = total
        r.hour_range[slot, 0] = least
        r.hour_range[slot, 1] = most
        r.at[HOURS] = slot + 1
    r.filled[:] = 0
    r.zero[:] = 0
    r.total[:] = 0
    r.least[:] = np.uint32(0xFFFFFFFF)
    r.most[:] = -1
    r.real_count[:] = 0
    r.real_least[:] = np.inf
    r.real_most[:] = -np.inf


@njit(nogil=True, cache=True)
def scan_lines(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    base: int,
    peek: bool,
    p: Params,
    r: Registers,
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, int]:
    """Count the lines that begin in [start, stop) of `buf`; all of them end there with a line feed.

    Returns where it stopped and why: DONE; FULL where the caller has to take out
    what is collected; ASK_FLOAT where the number at `at[ASKED]` needs Python's
    `float`. Nothing of the line at the returned place has been counted. With
    `peek` the first line is only compared with the row before it. `base` is the
    offset in the file of `buf[0]`.
    """
    place = start
    copied = r.histogram.shape[0] // (len(p.window_from) + 1)
    low, high = _fixed_range(p)
    while place < stop:
        full = r.at[STAMPS] == STAMP_ROOM or r.at[HOURS] >= HOUR_ROOM - 1
        if full or r.at[REALS] + p.columns > len(r.real_values) or r.at[ADDED] >= HEADROOM:
            return place, FULL
        line = place
        if buf[place] == NEWLINE or (buf[place] == RETURN and buf[place + 1] == NEWLINE):
            place = next_line(buf, place)
            r.at[PREVIOUS_MS] = NEVER
            if peek:
                return place, DONE
            continue
        ms, zone, place = read_time(buf, place, p.wall_from, p.offset_ms)
        if ms < 0 or ms < p.since or ms >= p.until:
            place = next_line(buf, place)
            r.at[PREVIOUS_MS] = NEVER
            if peek:
                return place, DONE
            r.at[LINES] += 1
            if ms < 0:
                _note(r.events, r.places, BAD_TIME, r.at[LINES], -1, line)
            else:
                r.at[OUTSIDE] += 1
            continue
        place, general, bad = _stage(
            buf, place, p.decimals, p.span, r.staged, r.reals, r.at, solved_at, solved
        )
        if place == -2:
            return line, ASK_FLOAT
        if place == -1:
            place = next_line(buf, line)
            r.at[PREVIOUS_MS] = NEVER
            if peek:
                return place, DONE
            r.at[LINES] += 1
            _note(r.events, r.places, RAGGED_ROW, r.at[LINES], -1, line)
            continue
        if p.interval > 0 and ms - r.at[PREVIOUS_MS] == p.interval:
            _compare(r.staged, r.previous, r.changed[(ms // p.interval) & 1])
        slot = r.at[STAMPS]
        r.stamps[slot, 0] = ms
        r.stamps[slot, 1] = NEVER if r.at[PREVIOUS_MS] == NEVER else ms - r.at[PREVIOUS_MS]
        r.stamps[slot, 2] = PEEKED if peek else r.at[LINES] + 1
        r.stamps[slot, 3] = base + line
        r.at[STAMPS] = slot + 1
        if peek:
            return place, DONE
        r.at[LINES] += 1
        r.at[ROWS] += 1
        r.zones[zone] += 1
        if p.zone >= 0 and zone != p.zone:
            _note(r.events, r.places, STRAY_ZONE, r.at[LINES], -1, line)
        hour = ms // 3_600_000
        if hour != r.at[HOUR]:
            if r.at[HOUR] != NEVER:
                flush_hour(p, r)
            r.at[HOUR] = hour
        window = 0
        for w in range(len(p.window_from)):
            if ms >= p.window_from[w] and ms < p.window_until[w]:
                window = w + 1
        _count(r.staged, r.histogram[window * copied], r.histogram[window * copied + copied - 1])
        _add_fixed(r.staged, r.filled, r.zero, r.total, r.least, r.most, r.previous)
        if general:
            _count_general(p, r, window)
        if general or bad or _any_outside(r.staged, low, high):
            _note_cells(buf, line, p, r, low, high)
        r.at[PREVIOUS_MS] = ms
    return place, DONE
