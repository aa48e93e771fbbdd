"""What must hold in a job log, and what is done where it does not.

Each cluster's own arithmetic is checked on every row: what its duration counts
from, that its queue is the wait, that its GPU time is duration × GPUs. Impossible
spans become blank. Nothing is left out here.
"""

from __future__ import annotations

import numpy as np

from schemas.joblogs import JobLogFormat
from tasks.joblog.audit import Audit
from tasks.joblog.canonical import Floats, Mask, Rows
from tasks.joblog.cells import NO_TIME

TOLERANCE_S = 0.5  # logs write whole seconds; half of one is the rounding of a fraction


def check(rows: Rows, kind: JobLogFormat, audit: Audit) -> None:
    """Note the rows that break a rule, and make impossible spans blank."""
    submit, start, end = rows.times["submit"], rows.times["start"], rows.times["end"]
    gpus = rows.numbers["gpu_num"]
    duration, queue = rows.numbers["released_duration_s"], rows.numbers["released_queue_s"]
    ended, told = ~rows.unfinished, ~rows.derived

    def note(rule: str, mask: Mask, column: str | None = None, values: Floats | None = None) -> None:
        shown = None if values is None else lambda index: f"{values[index]:g}"
        audit.rows(rule, mask, rows.part.numbers, rows.part.place, column=column, values=shown)

    note("no-submit", submit == NO_TIME)
    note("no-gpu-count", np.isnan(gpus))
    note("cpu-job", gpus == 0)
    note("never-started", (start == NO_TIME) & (end != NO_TIME))
    if _has(rows, kind, "end"):
        note("no-end", ended & (end == NO_TIME) & np.isnan(rows.run_s))

    backwards = (rows.run_s < 0) | (rows.wait_s < 0)
    note("negative-time", backwards, values=np.where(rows.run_s < 0, rows.run_s, rows.wait_s))
    run, wait = rows.run_s.copy(), rows.wait_s.copy()
    rows.run_s[rows.run_s < 0] = np.nan
    rows.wait_s[rows.wait_s < 0] = np.nan

    expected = run if kind.duration_from == "start" else run + wait
    note("duration-rule", told & _differs(duration, expected), "duration", duration)
    note("queue-rule", told & _differs(queue, wait), "queue", queue)
    released = rows.numbers["released_gpu_time_s"]
    slack = np.maximum(gpus, 1) * TOLERANCE_S
    off = (gpus > 0) & (np.abs(released - duration * gpus) > slack)
    note("gpu-time-rule", off | ((gpus == 0) & (released > 0)), "gpu_time", released)


def _differs(told: Floats, reckoned: Floats) -> Mask:
    """Where both are known and not the same."""
    return np.abs(told - reckoned) > TOLERANCE_S


def _has(rows: Rows, kind: JobLogFormat, becomes: str) -> bool:
    there = rows.part.table.column_names
    return any(column.becomes == becomes and column.name in there for column in kind.columns)
