"""Compiled counting of a batch of staged rows: values, hours, nodes, and what is wrong.

Each function goes over the whole batch, since handing the registers to a
function costs more than a row. Staging is in `tasks.longform.kernel`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.longform.columns import MEMORY
from tasks.longform.registers import (
    ADDED,
    BLANKS,
    COUNT,
    DENSE,
    DENSE_NODE,
    FIXED,
    HOUR_MS,
    HOURS,
    LEAST,
    LINE,
    MOST,
    MS,
    NAMELESS,
    NO_LEAST,
    NO_NODE,
    NODE_NUMBER,
    ODD,
    OFFSET,
    REALS,
    SUMS,
    TOTAL_UNITS,
    WIDTH,
    ZERO,
    Registers,
    Rules,
)
from tasks.longform.tables import COLUMN_BITS, VALUE_BITS, count_key, count_pair
from tasks.series.cells import BAD, BLANK, GENERAL, STAGES
from tasks.series.registers import BAD_CELL, OUT_OF_RANGE
from tasks.series.sums import add_value


@njit(nogil=True, cache=True)
def count_batch(n: int, base: int, q: Rules, r: Registers) -> None:
    """Add the first `n` staged rows to all that is counted; `base` is the offset of the buffer."""
    _count_values(n, q, r)
    _count_hours(n, r)
    _count_nodes(n, base, q, r)
    odd = False
    for i in range(n):
        odd |= r.batch.facts[i, ODD] != 0
    if odd:
        _count_doubles(n, q, r)
    _note_events(n, q, r)


@njit(nogil=True, cache=True)
def _count_values(n: int, q: Rules, r: Registers) -> None:
    """Fixed-point values, blanks and bad cells to the counts of their node.

    Rows of a node mostly stand together: its counts are kept apart, in a table that
    is indexed by value, until the next node comes.
    """
    staged, facts, power = r.batch.staged, r.batch.facts, q.power
    dense, bounds = r.dense, r.dense_range
    fresh = 0
    for i in range(n):
        if facts[i, NODE_NUMBER] != r.at[DENSE_NODE]:
            r.at[DENSE] += fresh
            fresh = 0
            empty_dense(r.at, dense, bounds, r.fixed)
            r.at[DENSE_NODE] = facts[i, NODE_NUMBER]
        for j in range(len(power)):
            c = power[j]
            if staged[i, c] != GENERAL:
                place = staged[i, c] + STAGES
                fresh += dense[c, place] == 0
                dense[c, place] += 1
                bounds[c, 0] = min(bounds[c, 0], place)
                bounds[c, 1] = max(bounds[c, 1], place)
    r.at[DENSE] += fresh


@njit(nogil=True, cache=True)
def empty_dense(
    at: NDArray[np.int64],
    dense: NDArray[np.int32],
    bounds: NDArray[np.int64],
    table: NDArray[np.int64],
) -> None:
    """Move the counts of one node to the hash table of all."""
    node = at[DENSE_NODE]
    added = 0
    for c in range(WIDTH):
        for place in range(bounds[c, 0], bounds[c, 1] + 1):
            if dense[c, place] != 0:
                key = (((node << COLUMN_BITS) | c) << VALUE_BITS) | place
                added += count_key(table, key, dense[c, place])
                dense[c, place] = 0
        bounds[c, 0], bounds[c, 1] = dense.shape[1], -1
    at[FIXED] += added
    at[DENSE] = 0


@njit(nogil=True, cache=True)
def _count_hours(n: int, r: Registers) -> None:
    """Count, zeros, sum, least and greatest fixed-point value of each hour and column."""
    staged, facts = r.batch.staged, r.batch.facts
    hour, hours, hour_slot = r.hour, r.hours, r.hour_slot
    used = r.at[HOURS]
    for i in range(n):
        number = facts[i, MS] // HOUR_MS
        slot = np.int64(hour_slot[number])
        if slot == 0:
            used += 1
            slot = used
            hour_slot[number] = slot
            hours[slot] = number
        # Over all columns, without a branch, for vector instructions.
        for c in range(WIDTH):
            value = staged[i, c]
            hour[slot, COUNT, c] += value >= 0
            hour[slot, ZERO, c] += value == 0
            hour[slot, TOTAL_UNITS, c] += max(value, 0)
            hour[slot, LEAST, c] = min(hour[slot, LEAST, c], value if value >= 0 else NO_LEAST)
            hour[slot, MOST, c] = max(hour[slot, MOST, c], value)
    r.at[HOURS] = used


@njit(nogil=True, cache=True)
def _count_nodes(n: int, base: int, q: Rules, r: Registers) -> None:
    """Rows, rows with a blank, times, and the first rows without and with memory power of each node."""
    staged, facts, rows, memory = r.batch.staged, r.batch.facts, r.node_rows, r.node_memory
    known = False
    for j in range(len(q.power)):
        known |= q.power[j] == MEMORY
    for i in range(n):
        node, ms = facts[i, NODE_NUMBER], facts[i, MS]
        rows[node, 0] += 1
        rows[node, 1] += facts[i, BLANKS] > 0
        rows[node, 2] = min(rows[node, 2], ms)
        rows[node, 3] = max(rows[node, 3], ms)
        if known and staged[i, MEMORY] != BAD:
            kind = 0 if staged[i, MEMORY] == BLANK else 1
            if memory[node, kind, 0] == 0:
                memory[node, kind, 0] = facts[i, LINE]
                memory[node, kind, 1] = base + facts[i, OFFSET]


@njit(nogil=True, cache=True)
def _count_doubles(n: int, q: Rules, r: Registers) -> None:
    """Values that are not fixed-point, to their table of counts and to the sums of their hour."""
    staged, reals, facts = r.batch.staged, r.batch.reals, r.batch.facts
    table, hour, bounds, sums, limbs = r.real, r.hour, r.hour_range, r.hour_sum, r.limbs
    found, used, added = r.at[REALS], r.at[SUMS], r.at[ADDED]
    for i in range(n):
        if facts[i, ODD] == 0:
            continue
        slot = r.hour_slot[facts[i, MS] // HOUR_MS]
        for j in range(len(q.power)):
            c = q.power[j]
            if staged[i, c] != GENERAL:
                continue
            value = reals[i, c]
            group = (facts[i, NODE_NUMBER] << COLUMN_BITS) | c
            found += count_pair(table, group, int(np.float64(value).view(np.int64)))
            hour[slot, COUNT, c] += 1
            hour[slot, ZERO, c] += value == 0.0
            bounds[slot, c, 0] = min(bounds[slot, c, 0], value)
            bounds[slot, c, 1] = max(bounds[slot, c, 1], value)
            if sums[slot, c] == 0:
                used += 1
                sums[slot, c] = used
            add_value(limbs, sums[slot, c] - 1, value)
            added += 1
    r.at[REALS], r.at[SUMS], r.at[ADDED] = found, used, added


@njit(nogil=True, cache=True)
def _note_events(n: int, q: Rules, r: Registers) -> None:
    """Note bad cells, values out of the physical range, and rows that name no node."""
    staged, reals, facts, power = r.batch.staged, r.batch.reals, r.batch.facts, q.power
    low_units, high_units, low, high = q.low_units, q.high_units, q.low, q.high
    for i in range(n):
        odd = facts[i, ODD]
        outside = False
        for c in range(WIDTH):
            value = staged[i, c]
            outside |= (value >= 0) & ((value < low_units[c]) | (value > high_units[c]))
        if facts[i, NODE_NUMBER] == NAMELESS:
            _note(r, NO_NODE, facts[i, LINE], -1, facts[i, OFFSET])
        if not outside and odd == 0:
            continue
        for j in range(len(power)):
            c = power[j]
            value = staged[i, c]
            fixed = value >= 0 and (value < low_units[c] or value > high_units[c])
            if fixed or (value == GENERAL and (reals[i, c] < low[c] or reals[i, c] > high[c])):
                _note(r, OUT_OF_RANGE, facts[i, LINE], c, r.batch.offsets[i, c])
            if value == BAD:
                _note(r, BAD_CELL, facts[i, LINE], c, r.batch.offsets[i, c])


@njit(nogil=True, cache=True)
def _note(r: Registers, kind: int, line: int, column: int, place: int) -> None:
    """Count an event of `kind`; of the first ones keep line, column and place in the buffer."""
    seen = r.events[kind]
    if seen < EXAMPLES_KEPT:
        r.places[kind, seen, 0] = line
        r.places[kind, seen, 1] = column
        r.places[kind, seen, 2] = place
    r.events[kind] = seen + 1
