"""The compiled pass over the lines of a wide series: parse, check, count.

`scan_lines` reads whole lines from a buffer. A row is staged first
(`tasks.series.staging`) and counted only when it is whole
(`tasks.series.counting`), so that a ragged row leaves no trace in the numbers.
Here is the order of these steps, and the places of what is wrong. The kernel
makes no decision about reading, blocks or verdicts; `tasks.series.scan` drives it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.series.cells import BAD, GENERAL, NEWLINE, RETURN, cell_bounds
from tasks.series.clock import read_time
from tasks.series.counting import add_fixed, compare_rows, count_general, count_row, flush_hour
from tasks.series.latched import note_runs
from tasks.series.places import note
from tasks.series.registers import (
    ADDED,
    BAD_CELL,
    BAD_TIME,
    HEADROOM,
    HOUR,
    HOUR_ROOM,
    HOURS,
    LINES,
    MOST_UNFLUSHED,
    NEVER,
    OUT_OF_RANGE,
    OUTSIDE,
    PEEKED,
    PREVIOUS_MS,
    RAGGED_ROW,
    REALS,
    ROWS,
    RUNS,
    STAGED,
    STAMP_ROOM,
    STAMPS,
    STRAY_ZONE,
    STYLE,
    UNFLUSHED,
    Params,
    Registers,
)
from tasks.series.rows import next_line
from tasks.series.staging import ASKS_FLOAT, RAGGED, stage_row
from tasks.series.styles import UNKNOWN

# Why `scan_lines` returned.
DONE, FULL, ASK_FLOAT = 0, 1, 2


@njit(nogil=True, cache=True)
def _cell_place(buf: NDArray[np.uint8], line: int, column: int) -> int:
    """Where the value cell `column` (from 0) of the line at `line` begins."""
    place = line
    for _ in range(column + 1):
        place = cell_bounds(buf, place)[2] + 1
    return place


@njit(nogil=True, cache=True)
def fixed_range(p: Params) -> tuple[int, int]:
    """The physical range in fixed-point integers, both inside."""
    scale = 10.0**p.decimals
    low = np.int64(min(max(np.ceil(p.low * scale), 0.0), 2e9))
    high = np.int64(min(max(np.floor(p.high * scale), -1.0), 2e9))
    # The products are rounded; the bounds themselves are inside.
    low -= low > 0 and (low - 1) / scale >= p.low
    high += (high + 1) / scale <= p.high
    return int(low), int(high)


@njit(nogil=True, cache=True)
def _note_cells(
    buf: NDArray[np.uint8],
    line: int,
    staged: NDArray[np.int32],
    p: Params,
    r: Registers,
    low: int,
    high: int,
) -> None:
    """Note the cells of the staged row that are unreadable or out of range."""
    number = r.at[LINES]
    for c in range(p.columns):
        cell = staged[c]
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
            note(r.events, r.places, kind, number, c, place)


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
    r.at[STYLE] = UNKNOWN
    low, high = fixed_range(p)
    most = min(high, p.span - 1)
    while place < stop:
        full = r.at[STAMPS] == STAMP_ROOM or r.at[HOURS] >= HOUR_ROOM - 1
        if p.latched:
            full |= r.at[RUNS] + p.columns > len(r.runs)
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
                note(r.events, r.places, BAD_TIME, r.at[LINES], -1, line)
            else:
                r.at[OUTSIDE] += 1
            continue
        staged, previous = r.staged[r.at[STAGED]], r.staged[1 - r.at[STAGED]]
        place, odd, general = stage_row(
            buf, place, p.decimals, p.span, most, r.ends, r.words, staged, r.reals, r.at, solved_at, solved
        )
        if place == ASKS_FLOAT:
            return line, ASK_FLOAT
        if place == RAGGED:
            place = next_line(buf, line)
            r.at[PREVIOUS_MS] = NEVER
            if peek:
                return place, DONE
            r.at[LINES] += 1
            note(r.events, r.places, RAGGED_ROW, r.at[LINES], -1, line)
            continue
        if p.interval > 0 and ms - r.at[PREVIOUS_MS] == p.interval:
            compare_rows(staged, previous, r.changed[(ms // p.interval) & 1])
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
            note(r.events, r.places, STRAY_ZONE, r.at[LINES], -1, line)
        hour = ms // 3_600_000
        if hour != r.at[HOUR] or r.at[UNFLUSHED] == MOST_UNFLUSHED:
            flush_hour(p, r)
            r.at[HOUR] = hour
        r.at[UNFLUSHED] += 1
        window = 0
        for w in range(len(p.window_from)):
            if ms >= p.window_from[w] and ms < p.window_until[w]:
                window = w + 1
        count_row(staged, r.histogram[window * copied : (window + 1) * copied])
        add_fixed(staged, r.filled, r.zero, r.total, r.least, r.most)
        if general:
            count_general(p, r, staged, window)
        if p.latched:
            r.at[RUNS] = note_runs(staged, ms, r.run_now, r.runs, r.at[RUNS])
        if odd or low > 0:
            _note_cells(buf, line, staged, p, r, low, high)
        r.at[PREVIOUS_MS] = ms
        r.at[STAGED] = 1 - r.at[STAGED]
    return place, DONE
