"""What a scan of a wide series is told, and what it adds up: the arrays of the compiled kernel.

Parameters and state only. What is done with them is in `tasks.series.staging`,
`tasks.series.counting` and `tasks.series.kernel`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.series.cells import STAGES
from tasks.series.clock import ZONE_CODES
from tasks.series.latched import FIELDS
from tasks.series.rows import ROOM
from tasks.series.sums import LIMBS

# Places in `Registers.at`.
(
    LINES,
    ROWS,
    OUTSIDE,
    HOUR,
    PREVIOUS_MS,
    STAMPS,
    REALS,
    HOURS,
    ASKED,
    ADDED,
    STYLE,
    STAGED,
    UNFLUSHED,
    RUNS,
) = range(14)
_PLACES = 14

# Kinds of `Registers.events`.
RAGGED_ROW, BAD_TIME, BAD_CELL, OUT_OF_RANGE, STRAY_ZONE = range(5)
_KINDS = 5

NEVER = -(1 << 62)  # no time before, no step
PEEKED = -1  # the line number of a line that another block counts
STAMP_ROOM = 1 << 15
HOUR_ROOM = 1 << 10
REAL_ROOM = 1 << 20
RUN_ROOM = 1 << 14
MOST_UNFLUSHED = 1 << 14  # rows whose fixed-point values surely add up to 32 bits
HEADROOM = 1 << 29  # additions a superaccumulator takes before it has to be normalised


class Params(NamedTuple):
    """What a scan of a series needs to know; times in UTC ms, ranges inclusive.

    With a `sieve` only values that it lets pass are handed on, and none is added to sums. Of a
    `latched` gauge the runs of equal values are noted.
    """

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
    sieve: NDArray[np.bool_]
    sieve_shift: int
    latched: bool


class Registers(NamedTuple):
    """The state of one scan. One row of a 2-D array per staged row, histogram copy, hour or event kind."""

    at: NDArray[np.int64]
    ends: NDArray[np.int32]
    words: NDArray[np.uint64]
    staged: NDArray[np.int32]  # the row being read and the one before take turns; `at[STAGED]` says which
    reals: NDArray[np.float64]
    histogram: NDArray[np.int32]
    filled: NDArray[np.int32]
    zero: NDArray[np.int32]
    changed: NDArray[np.int32]
    total: NDArray[np.int32]
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
    sum_changed: NDArray[np.int64]
    sum_least: NDArray[np.float64]
    sum_most: NDArray[np.float64]
    sum_limbs: NDArray[np.int64]
    hours: NDArray[np.int64]
    hour_range: NDArray[np.float64]
    hour_limbs: NDArray[np.int64]
    stamps: NDArray[np.int64]  # a row of (ms, step from the line before, line, offset) each
    real_values: NDArray[np.float64]
    real_windows: NDArray[np.int8]
    run_now: NDArray[np.int64]  # of a latched gauge: value, first and last time, samples of each column
    runs: NDArray[np.int64]
    zones: NDArray[np.int64]
    events: NDArray[np.int64]
    places: NDArray[np.int64]


def copies(span: int) -> int:
    """Histogram copies, a power of two: they break the wait of an increment for the one before.

    Only as many as stay in a core's cache together.
    """
    return 4 if span <= 1 << 13 else 1


def new_registers(params: Params) -> Registers:
    """Registers at zero for one scan."""
    n = params.columns
    windows = len(params.window_from) + 1
    at = np.zeros(_PLACES, np.int64)
    at[HOUR] = at[PREVIOUS_MS] = NEVER
    return Registers(
        at=at,
        ends=np.zeros(n + 1 + ROOM, np.int32),
        words=np.zeros(n + 1 + ROOM, np.uint64),
        staged=np.zeros((2, n), np.int32),
        reals=np.zeros(n, np.float64),
        histogram=np.zeros((windows * copies(params.span), params.span + STAGES), np.int32),
        filled=np.zeros(n, np.int32),
        zero=np.zeros(n, np.int32),
        changed=np.zeros((2, n), np.int32),
        total=np.zeros(n, np.int32),
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
        sum_changed=np.zeros((2, n), np.int64),
        sum_least=np.full(n, np.inf),
        sum_most=np.full(n, -np.inf),
        sum_limbs=np.zeros((n, LIMBS), np.int64),
        hours=np.zeros((HOUR_ROOM, 4), np.int64),
        hour_range=np.zeros((HOUR_ROOM, 2), np.float64),
        hour_limbs=np.zeros((HOUR_ROOM, LIMBS), np.int64),
        stamps=np.zeros((STAMP_ROOM, 4), np.int64),
        real_values=np.zeros(max(REAL_ROOM, n), np.float64),
        real_windows=np.zeros(max(REAL_ROOM, n), np.int8),
        run_now=np.zeros((n if params.latched else 0, 4), np.int64),
        runs=np.zeros((max(RUN_ROOM, n) if params.latched else 0, FIELDS), np.int64),
        zones=np.zeros(ZONE_CODES, np.int64),
        events=np.zeros(_KINDS, np.int64),
        places=np.zeros((_KINDS, EXAMPLES_KEPT, 3), np.int64),
    )
