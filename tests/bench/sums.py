"""What statistics of entities and hours cost on top of counting alone.

The product has no scan without them, so both are put together here from the
kernel's own steps: lines, times, staged rows, value counts; and the same with the
sums and changes of each column. Both run on the same bytes in memory, in turn.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.clock import read_time
from tasks.series.counting import add_fixed, compare_rows, count_row, flush_hour
from tasks.series.discover import discover
from tasks.series.options import ScanOptions
from tasks.series.registers import HOUR, STAGED, STYLE, Params, Registers, new_registers
from tasks.series.staging import stage_row
from tasks.series.styles import UNKNOWN
from tasks.series.swar import PADDING
from tasks.series.wide import heads_of, plan_series

_NOTHING = (np.empty(0, np.int64), np.empty(0))


@njit(nogil=True)
def _rows(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    p: Params,
    r: Registers,
    sums: bool,
    solved_at: NDArray[np.int64],
    solved: NDArray[np.float64],
) -> int:
    """Count whole rows that stand in order and are without fault, with or without `sums`."""
    place, rows = start, 0
    r.at[STYLE] = UNKNOWN
    while place < stop:
        ms, _, place = read_time(buf, place, p.wall_from, p.offset_ms)
        staged, previous = r.staged[r.at[STAGED]], r.staged[1 - r.at[STAGED]]
        place, _, _ = stage_row(
            buf,
            place,
            p.decimals,
            p.span,
            p.span - 1,
            r.ends,
            r.words,
            staged,
            r.reals,
            r.at,
            solved_at,
            solved,
        )
        count_row(staged, r.histogram)
        if sums:
            compare_rows(staged, previous, r.changed[rows & 1])
            if ms // 3_600_000 != r.at[HOUR]:
                flush_hour(p, r)
                r.at[HOUR] = ms // 3_600_000
            add_fixed(staged, r.filled, r.zero, r.total, r.least, r.most)
        r.at[STAGED] = 1 - r.at[STAGED]
        rows += 1
    return rows


def measure(path: Path, most_bytes: int = 100_000_000, rounds: int = 9) -> float:
    """Time with sums as a multiple of the time of counts alone; the median of all rounds."""
    (series,) = discover(str(path))
    planned = plan_series(series, heads_of(series, None), ScanOptions())
    params = planned.spec.params(len(planned.heads[0].columns))
    data = np.zeros(min(path.stat().st_size, most_bytes) + PADDING, np.uint8)
    data[:-PADDING] = np.fromfile(path, np.uint8, len(data) - PADDING)
    start = planned.heads[0].data_start
    stop = int(np.flatnonzero(data == ord("\n"))[-1]) + 1

    def seconds(sums: bool) -> float:
        registers = new_registers(params)
        began = time.perf_counter()
        _rows(data, start, stop, params, registers, sums, *_NOTHING)
        return time.perf_counter() - began

    seconds(True)
    return statistics.median(seconds(True) / seconds(False) for _ in range(rounds))
