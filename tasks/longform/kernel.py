"""The compiled pass over the lines of an IPMI file: parse, and hand on in batches.

`scan_rows` reads whole lines from a buffer. A row is staged first and counted
only when it is whole, as in the wide scan (`tasks.series.kernel`), whose cells
and times it shares. Counting is in `tasks.longform.counting`; reading, blocks
and folding are the business of `tasks.longform.scan`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.longform.columns import NODE, TIME
from tasks.longform.counting import count_batch
from tasks.longform.registers import (
    ADDED,
    ASKED,
    ASKED_STOP,
    BATCH_ROWS,
    BLANKS,
    DENSE,
    FIXED,
    HOUR_ROOM,
    HOURS,
    LAST_LENGTH,
    LAST_NODE,
    LAST_ROOM,
    LINE,
    MS,
    NAMELESS,
    NODE_BEFORE,
    NODE_NUMBER,
    ODD,
    OFFSET,
    OUTSIDE,
    PREVIOUS_MS,
    REALS,
    ROWS,
    STAMP_ROOM,
    STAMPS,
    STEP_ROOM,
    STYLE,
    SUM_ROOM,
    SUMS,
    WIDTH,
    Batch,
    Registers,
    Rules,
)
from tasks.longform.tables import UNKNOWN, NodeTable, find_node, same_bytes
from tasks.series.cells import (
    BAD,
    BLANK,
    GENERAL,
    NEWLINE,
    RETURN,
    SLOW,
    any_cell,
    cell_bounds,
    fast_cell,
    is_missing_word,
)
from tasks.series.clock import read_time
from tasks.series.registers import BAD_TIME, HEADROOM, LINES, NEVER, PEEKED, RAGGED_ROW, Params
from tasks.series.rows import index_row, next_line
from tasks.series.styles import MIXED, choose_style, read_cells
from tasks.series.styles import UNKNOWN as UNKNOWN_STYLE
from tasks.series.swar import load64

# Why `scan_rows` returned.
DONE, FULL, ASK_FLOAT, ASK_NODE = range(4)

_LOOK_BEHIND = 16  # what may be read before a cell

# What became of a line.
_WHOLE, _RAGGED, _TIMELESS, _OUTSIDE, _FLOAT, _NODE = range(6)


@njit(nogil=True, cache=True)
def scan_rows(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    base: int,
    peek: bool,
    p: Params,
    q: Rules,
    r: Registers,
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, int]:
    """Count the lines that begin in [start, stop) of `buf`; all of them end there with a line feed.

    Returns where it stopped and why: DONE; FULL where the caller has to make room;
    ASK_FLOAT where the number at `at[ASKED]` needs Python's `float`; ASK_NODE where
    the node named in [at[ASKED], at[ASKED_STOP]) has no number yet. Nothing of the
    line at the returned place has been counted. With `peek` the first line is only
    compared with the row before it. `base` is the offset in the file of `buf[0]`.
    """
    place, why = start, DONE
    r.at[STYLE] = UNKNOWN_STYLE
    while place < stop and why == DONE:
        if _is_full(r.at, len(r.fixed), len(r.real)):
            return place, FULL
        place, why, rows = _stage_rows(buf, place, stop, base, peek, p, q, r, solved_at, solved)
        if peek:
            break
        count_batch(rows, base, q, r)
    return place, why


@njit(nogil=True, cache=True)
def _is_full(at: NDArray[np.int64], fixed_slots: int, real_slots: int) -> bool:
    """Whether a table may have no room for a whole batch."""
    cells = BATCH_ROWS * WIDTH
    if at[FIXED] + at[DENSE] + cells > fixed_slots // 2 or at[REALS] + cells > real_slots // 2:
        return True
    if at[HOURS] + BATCH_ROWS > HOUR_ROOM or at[SUMS] + cells > SUM_ROOM:
        return True
    return bool(at[STAMPS] + BATCH_ROWS > STAMP_ROOM or at[ADDED] + cells > HEADROOM)


@njit(nogil=True, cache=True)
def _stage_rows(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    base: int,
    peek: bool,
    p: Params,
    q: Rules,
    r: Registers,
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> tuple[int, int, int]:
    """Stage lines until the batch is full; the place and reason of stopping, and how many rows are staged.

    Times and nodes are followed from line to line, and lines that are no whole row
    are noted. With `peek` only the step to the first line is.
    """
    at, roles, last, nodes = r.at, q.roles, r.last, r.nodes
    staged, reals, offsets, facts = r.batch.staged, r.batch.reals, r.batch.offsets, r.batch.facts
    wall_from, offset_ms, zones = p.wall_from, p.offset_ms, r.zones
    decimals, span, since, until, cells = p.decimals, p.span, p.since, p.until, len(roles)
    flat, ends = r.batch.cells, r.batch.ends
    ready = 0 if peek else _read_ahead(buf, start, stop, cells, decimals, span, at, r.batch)
    n, place, number = 0, start, -1
    while place < stop and n < BATCH_ROWS:
        line = place
        number += 1
        quick = number < ready
        if buf[place] == NEWLINE or (buf[place] == RETURN and buf[place + 1] == NEWLINE):
            at[PREVIOUS_MS] = NEVER
            place = next_line(buf, place)
            if peek:
                break
            continue
        became, ms, zone, node, blanks, odd = _WHOLE, 0, 0, NAMELESS, 0, 0
        for i in range(cells):
            ends_row = i == cells - 1
            role = roles[i]
            if quick and role >= 0 and flat[number * cells + i] != SLOW:
                cell = flat[number * cells + i]
                staged[n, role] = cell
                offsets[n, role] = place
                blanks += cell == BLANK
                place = ends[number * cells + i + 1] + 1
                continue
            if role >= 0:
                offsets[n, role] = place
                cell, length = fast_cell(load64(buf, place), ends_row, decimals, span)
                if cell != SLOW:
                    staged[n, role] = cell
                    blanks += cell == BLANK
                    place += length + 1
                    continue
                cell, value, end = any_cell(buf, place, decimals, span, solved_at, solved)
                if end < 0:
                    at[ASKED] = -1 - end
                    became = _FLOAT
                    break
                staged[n, role] = cell
                reals[n, role] = value
                blanks += cell == BLANK
                odd |= (cell == GENERAL) | (cell == BAD)
            elif role == TIME:
                ms, zone, end = read_time(buf, place, wall_from, offset_ms)
                if ms < since or ms >= until:
                    became = _TIMELESS if ms < 0 else _OUTSIDE
                    break
                end += buf[end] == RETURN
            elif role == NODE:
                length = at[LAST_LENGTH]
                if length > 0 and same_bytes(last, 0, buf, place, length):
                    node, end = at[LAST_NODE], place + length - 1
                else:
                    node, end = _new_node(buf, place, nodes, last, at)
                if node == UNKNOWN:
                    became = _NODE
                    break
                blanks += node == NAMELESS
            else:
                begin, text_end, end = cell_bounds(buf, place)
                blanks += begin >= 0 and (begin == text_end or is_missing_word(buf, begin, text_end))
            if (buf[end] == NEWLINE) != ends_row:
                became = _RAGGED
                break
            place = end + 1
        if became == _FLOAT:
            return line, ASK_FLOAT, n
        if became == _NODE and not peek:
            return line, ASK_NODE, n
        if became == _WHOLE:
            if at[PREVIOUS_MS] != NEVER and node == at[NODE_BEFORE] and node != NAMELESS:
                _count_step(ms, base + line, peek, q.gap_ms, at, r.steps, r.stamps)
        else:
            place = next_line(buf, line)
            at[PREVIOUS_MS] = NEVER
        if peek:
            break
        at[LINES] += 1
        if became == _WHOLE:
            facts[n, MS], facts[n, NODE_NUMBER] = ms, node
            facts[n, LINE], facts[n, OFFSET] = at[LINES], line
            facts[n, BLANKS], facts[n, ODD] = blanks, odd
            n += 1
            zones[zone] += 1
            at[ROWS] += 1
            at[PREVIOUS_MS], at[NODE_BEFORE] = ms, node
        elif became == _OUTSIDE:
            at[OUTSIDE] += 1
        else:
            _note_line(BAD_TIME if became == _TIMELESS else RAGGED_ROW, line, at[LINES], r.events, r.places)
    return place, DONE, n


@njit(nogil=True, cache=True)
def _read_ahead(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    cells: int,
    decimals: int,
    span: int,
    at: NDArray[np.int64],
    batch: Batch,
) -> int:
    """Read the cells of the next lines into `batch.cells`; how many lines, none but rows of plain cells.

    Reading ends before a line with another number of delimiters.
    """
    ends, words = batch.ends, batch.words
    lines, place = 0, start
    if start < _LOOK_BEHIND or at[STYLE] == MIXED:
        return 0
    ends[0] = start - 1
    while lines < BATCH_ROWS and place < stop:
        if index_row(buf, place, cells, lines * cells + 1, ends, words) != cells:
            break
        lines += 1
        place = ends[lines * cells] + 1
    if lines > 0:
        if at[STYLE] == UNKNOWN_STYLE:
            at[STYLE] = choose_style(ends, words, decimals, span - 1, batch.cells[:cells])
            if at[STYLE] == MIXED:
                return 0
        read_cells(at[STYLE], ends, words, decimals, span - 1, batch.cells[: lines * cells])
    return lines


@njit(nogil=True, cache=True)
def _new_node(
    buf: NDArray[np.uint8], place: int, nodes: NodeTable, last: NDArray[np.uint8], at: NDArray[np.int64]
) -> tuple[int, int]:
    """The number of the node in the cell at `place`, and the place of the delimiter behind it.

    The cell is remembered in `last`; where the node has no number, its name is asked for.
    """
    begin, stop, end = cell_bounds(buf, place)
    if begin < 0:
        begin, stop = place, end
    node = NAMELESS
    if begin < stop and not is_missing_word(buf, begin, stop):
        node = find_node(nodes, buf, begin, stop)
    if node == UNKNOWN:
        at[ASKED], at[ASKED_STOP] = begin, stop
        return node, end
    length = end + 1 - place
    if length > LAST_ROOM:
        length = 0
    for i in range(length):
        last[i] = buf[place + i]
    at[LAST_LENGTH], at[LAST_NODE] = length, node
    return node, end


@njit(nogil=True, cache=True)
def _count_step(
    ms: int,
    offset: int,
    peek: bool,
    gap_ms: int,
    at: NDArray[np.int64],
    steps: NDArray[np.int64],
    stamps: NDArray[np.int64],
) -> None:
    """Count the step from the line before, a row of the same node; a stamp where it is not a usual one."""
    step = ms - at[PREVIOUS_MS]
    if step > 0 and step <= gap_ms and step < STEP_ROOM * 1000 and step % 1000 == 0:
        steps[step // 1000] += 1
        return
    slot = at[STAMPS]
    stamps[slot, 0] = ms
    stamps[slot, 1] = step
    stamps[slot, 2] = PEEKED if peek else at[LINES] + 1
    stamps[slot, 3] = offset
    at[STAMPS] = slot + 1


@njit(nogil=True, cache=True)
def _note_line(
    kind: int, place: int, line: int, events: NDArray[np.int64], places: NDArray[np.int64]
) -> None:
    """Count a line that is left out; of the first ones keep the place in the buffer."""
    seen = events[kind]
    if seen < EXAMPLES_KEPT:
        places[kind, seen, 0] = line
        places[kind, seen, 1] = -1
        places[kind, seen, 2] = place
    events[kind] = seen + 1
