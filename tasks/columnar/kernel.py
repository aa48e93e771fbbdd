"""The compiled passes over columns of doubles: counting them, and filling them from text."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.cleaning.kernel import cells_of, short_digits, text_of
from tasks.series.cells import BAD, BLANK, GENERAL, NEWLINE, RETURN, fixed_point
from tasks.series.clock import read_time
from tasks.series.counting import add_fixed, compare_rows, count_general, count_row, flush_hour
from tasks.series.floats import HARD, OK, parse_float, parse_plain
from tasks.series.kernel import DONE, FULL, fixed_range
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
    REALS,
    ROWS,
    RUNS,
    STAGED,
    STAMP_ROOM,
    STAMPS,
    STRAY_ZONE,
    UNFLUSHED,
    Params,
    Registers,
)
from tasks.series.rows import next_line
from tasks.series.swar import ZEROS, eight_digits


@njit(nogil=True, cache=True)
def count_rows(
    times: NDArray[np.int64],
    values: NDArray[np.float64],
    start: int,
    first_row: int,
    zone: int,
    peek: bool,
    p: Params,
    r: Registers,
) -> tuple[int, int]:
    """Count the rows from `start` on as `tasks.series.kernel.scan_lines` counts lines.

    `values` has a row for each column and a column for each of `times`; `first_row`
    is the number in the file of row 0. Where it stopped, and why: DONE or FULL.
    """
    copied = r.histogram.shape[0] // (len(p.window_from) + 1)
    low, high = fixed_range(p)
    for i in range(start, len(times)):
        full = r.at[STAMPS] == STAMP_ROOM or r.at[HOURS] >= HOUR_ROOM - 1
        if p.latched:
            full |= r.at[RUNS] + p.columns > len(r.runs)
        if full or r.at[REALS] + p.columns > len(r.real_values) or r.at[ADDED] >= HEADROOM:
            return i, FULL
        ms = times[i]
        if ms < 0 or ms < p.since or ms >= p.until:
            r.at[PREVIOUS_MS] = NEVER
            if peek:
                return i + 1, DONE
            r.at[LINES] += 1
            if ms < 0:
                note(r.events, r.places, BAD_TIME, r.at[LINES], -1, first_row + i)
            else:
                r.at[OUTSIDE] += 1
            continue
        staged, previous = r.staged[r.at[STAGED]], r.staged[1 - r.at[STAGED]]
        general = 0
        odd = low > 0
        for c in range(p.columns):
            value = values[c, i]
            if np.isnan(value):
                cell = BLANK
            elif np.isinf(value):
                cell = BAD
                odd = True
            else:
                cell = fixed_point(value, p.decimals, p.span)
                if cell == GENERAL:
                    r.reals[c] = value
                    general += 1
                odd |= cell > high or cell == GENERAL
            staged[c] = cell
        if p.interval > 0 and ms - r.at[PREVIOUS_MS] == p.interval:
            compare_rows(staged, previous, r.changed[(ms // p.interval) & 1])
        slot = r.at[STAMPS]
        r.stamps[slot, 0] = ms
        r.stamps[slot, 1] = NEVER if r.at[PREVIOUS_MS] == NEVER else ms - r.at[PREVIOUS_MS]
        r.stamps[slot, 2] = PEEKED if peek else r.at[LINES] + 1
        r.stamps[slot, 3] = first_row + i
        r.at[STAMPS] = slot + 1
        if peek:
            return i + 1, DONE
        r.at[LINES] += 1
        r.at[ROWS] += 1
        r.zones[zone] += 1
        if p.zone >= 0 and zone != p.zone:
            note(r.events, r.places, STRAY_ZONE, r.at[LINES], -1, first_row + i)
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
        if odd:
            for c in range(p.columns):
                cell = staged[c]
                if cell == BAD:
                    r.bad[c] += 1
                    note(r.events, r.places, BAD_CELL, r.at[LINES], c, first_row + i)
                elif cell == GENERAL:
                    if r.reals[c] < p.low or r.reals[c] > p.high:
                        note(r.events, r.places, OUT_OF_RANGE, r.at[LINES], c, first_row + i)
                elif cell >= 0 and (cell < low or cell > high):
                    note(r.events, r.places, OUT_OF_RANGE, r.at[LINES], c, first_row + i)
        r.at[PREVIOUS_MS] = ms
        r.at[STAGED] = 1 - r.at[STAGED]
    return len(times), DONE


@njit(nogil=True, cache=True)
def fill_lines(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    wall_from: NDArray[np.int64],
    wall_offset: NDArray[np.int64],
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    times: NDArray[np.int64],
    values: NDArray[np.float64],
    rows: int,
    lines: int,
    events: NDArray[np.int64],
    places: NDArray[np.int64],
    hard: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Read the lines that begin in [start, stop) of `buf` into `times` and `values` from row `rows` on.

    Returns where it stopped, the rows and lines there are then, and the cells that
    need Python's `float`: row, column and place of each stand in `hard`. It stops
    early where a further row has no room. Events are those of `tasks.cleaning.kernel`.
    """
    count = values.shape[0]
    place, asked = start, 0
    while place < stop:
        line = place
        if buf[place] == NEWLINE or (buf[place] == RETURN and buf[place + 1] == NEWLINE):
            place = next_line(buf, place)
            continue
        if rows == len(times) or asked + count > len(hard):
            return line, rows, lines, asked
        lines += 1
        ms, _, place = read_time(buf, place, wall_from, wall_offset)
        if ms < 0:
            note(events, places, 1, lines, -1, line)
            place = next_line(buf, line)
            continue
        if not cells_of(buf, place, count, ends, words):
            note(events, places, 2, lines, -1, line)
            place = next_line(buf, line)
            continue
        for c in range(count):
            begin, end = int(ends[c]) + 1, int(ends[c + 1])
            length = end - begin
            if length == 0:
                values[c, rows] = np.nan
                continue
            if length <= 7:
                digits = short_digits(words[c + 1], length)
                if digits != 0:
                    # Digits move to the top bytes; the bytes below them become leading zeros.
                    empty = np.uint64(64 - 8 * length)
                    values[c, rows] = np.float64(np.int64(eight_digits((digits ^ ZEROS) << empty)))
                    continue
            plain, value = parse_plain(buf, begin, end)
            if not plain:
                begin, after, real_end = text_of(buf, begin, end)
                if begin == after and begin >= 0:
                    values[c, rows] = np.nan
                    continue
                status, value = parse_float(buf, begin, after)
                if status == HARD and real_end == end:
                    hard[asked, 0], hard[asked, 1], hard[asked, 2] = rows, c, begin
                    asked += 1
                elif status != OK or real_end != end:
                    note(events, places, 0, lines, c, int(ends[c]) + 1)
            values[c, rows] = value
        times[rows] = ms
        rows += 1
        place = next_line(buf, int(ends[count]))
    return place, rows, lines, asked
