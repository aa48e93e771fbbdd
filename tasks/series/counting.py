"""What a staged row adds to: histogram, sums of the hour by column, changes between rows.

Short loops over columns, so that the compiler makes vector instructions of them.
Sums are kept for one hour at a time, and `flush_hour` adds them to those per entity.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.cells import GENERAL, STAGES
from tasks.series.refine import may_hold
from tasks.series.registers import ADDED, HOUR, HOURS, REALS, UNFLUSHED, Params, Registers
from tasks.series.sums import LIMBS, add_value


@njit(nogil=True, cache=True)
def compare_rows(staged: NDArray[np.int32], previous: NDArray[np.int32], changed: NDArray[np.int32]) -> None:
    """Count the columns whose value differs from the row one interval before."""
    for c in range(len(staged)):
        changed[c] += (staged[c] >= 0) & (previous[c] >= 0) & (staged[c] != previous[c])


@njit(nogil=True, cache=True)
def count_row(staged: NDArray[np.int32], histogram: NDArray[np.int32]) -> None:
    """Add the staged row to the copies of a histogram, one or four."""
    n = len(staged)
    done = 0
    if len(histogram) == 4:
        # No index is negative, which spares the compiled code a question each.
        for c in range(0, n - 3, 4):
            histogram[0, np.uint32(staged[c] + STAGES)] += 1
            histogram[1, np.uint32(staged[c + 1] + STAGES)] += 1
            histogram[2, np.uint32(staged[c + 2] + STAGES)] += 1
            histogram[3, np.uint32(staged[c + 3] + STAGES)] += 1
        done = n & ~3
    for c in range(done, n):
        histogram[0, np.uint32(staged[c] + STAGES)] += 1


@njit(nogil=True, cache=True)
def add_fixed(
    staged: NDArray[np.int32],
    filled: NDArray[np.int32],
    zero: NDArray[np.int32],
    total: NDArray[np.int32],
    least: NDArray[np.uint32],
    most: NDArray[np.int32],
) -> None:
    """Add the staged row to the sums of the hour."""
    n = len(staged)
    for c in range(n):
        filled[c] += staged[c] >= 0
        zero[c] += staged[c] == 0
    for c in range(n):
        total[c] += max(staged[c], np.int32(0))
    for c in range(n):
        most[c] = max(most[c], staged[c])
        least[c] = min(least[c], np.uint32(staged[c]))


@njit(nogil=True, cache=True)
def count_general(p: Params, r: Registers, staged: NDArray[np.int32], window: int) -> None:
    """Hand the row's doubles on, and add them to the sums of the hour."""
    filled = r.at[REALS]
    added = 0
    sieved = len(p.sieve) > 0
    for c in range(p.columns):
        if staged[c] != GENERAL:
            continue
        value = r.reals[c]
        if sieved and not may_hold(p.sieve, p.sieve_shift, value):
            continue
        r.real_values[filled] = value
        r.real_windows[filled] = window
        filled += 1
        if not sieved:
            added += 1
            r.real_count[c] += 1
            r.real_least[c] = min(r.real_least[c], value)
            r.real_most[c] = max(r.real_most[c], value)
            add_value(r.limbs, c, value)
    r.at[REALS] = filled
    r.at[ADDED] += added


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
        r.sum_changed[0, c] += r.changed[0, c]
        r.sum_changed[1, c] += r.changed[1, c]
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
    r.at[UNFLUSHED] = 0
    r.filled[:] = 0
    r.zero[:] = 0
    r.total[:] = 0
    r.changed[:] = 0
    r.least[:] = np.uint32(0xFFFFFFFF)
    r.most[:] = -1
    r.real_count[:] = 0
    r.real_least[:] = np.inf
    r.real_most[:] = -np.inf
