"""Rows of a log to rows of the canonical table.

Text becomes numbers and times as the contract says; what cannot be read or is
impossible becomes blank and is noted. Then spans are taken from the times: run =
end − start, wait = start − submit, in every cluster. What is checked about them is
in `tasks.joblog.rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.errors import NotAJobLog
from schemas.findings import Example
from schemas.joblogs import JobLogFormat, LogColumn
from schemas.jobs import STATES
from tasks.joblog.audit import Audit
from tasks.joblog.cells import NO_TIME, Times, as_numbers, as_seconds, as_times
from tasks.joblog.parts import Part

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_TEXTS = ("user", "vc", "type")
_TIMES = ("submit", "start", "end")
_NUMBERS = (
    "gpu_num",
    "cpu_num",
    "node_num",
    "released_duration_s",
    "released_queue_s",
    "released_gpu_time_s",
)


@dataclass(frozen=True)
class Reading:
    """How a log is read: its kind, the cluster's name, and the zone of times that name none."""

    kind: JobLogFormat
    cluster: str
    zone: str | None
    url: str


@dataclass
class Rows:
    """Jobs of one part, a column an array; `derived`: rows whose times were reckoned."""

    part: Part
    cluster: pa.Array
    job_id: pa.Array
    texts: dict[str, pa.Array]
    raw_state: pa.Array
    state: pa.Array
    unfinished: Mask
    times: dict[str, NDArray[np.int64]]
    numbers: dict[str, Floats]
    derived: Mask
    run_s: Floats
    wait_s: Floats

    def __len__(self) -> int:
        return len(self.part.numbers)


def canonical(part: Part, reading: Reading, audit: Audit) -> Rows:
    """The jobs of a part.

    Raises:
        NotAJobLog: times name no zone, and none is known.
    """
    kind, count = reading.kind, part.table.num_rows
    raw_state, state, unfinished = _states(part, kind, audit)
    times = {name: _times(part, reading, name, audit) for name in _TIMES}
    numbers = {name: _numbers(part, kind, name, audit) for name in _NUMBERS}
    own = _text(part, kind, "cluster")
    cluster = pa.array([reading.cluster], pa.string()).take(pa.array(np.zeros(count, np.int64)))
    rows = Rows(
        part=part,
        cluster=cluster if own is None else pc.coalesce(own, cluster),
        job_id=_ids(part, kind, audit),
        texts={name: _text_or_blank(part, kind, name) for name in _TEXTS},
        raw_state=raw_state,
        state=state,
        unfinished=unfinished,
        times=times,
        numbers=numbers,
        derived=np.zeros(count, bool),
        run_s=np.full(count, np.nan),
        wait_s=np.full(count, np.nan),
    )
    _derive(rows, kind, audit)
    return rows


def to_arrow(rows: Rows, schema: pa.Schema) -> pa.Table:
    """The rows as the canonical table."""
    gpus, run = rows.numbers["gpu_num"], rows.run_s
    gpu_time = np.where(gpus > 0, run * gpus, np.nan)
    columns: dict[str, pa.Array] = {
        "cluster": rows.cluster,
        "job_id": rows.job_id,
        "row": pa.array(rows.part.numbers),
        **rows.texts,
        "state": rows.state,
        "raw_state": rows.raw_state,
        **{name: _timestamps(ms) for name, ms in rows.times.items()},
        "run_s": _floats(run),
        "wait_s": _floats(rows.wait_s),
        "gpu_time_s": _floats(gpu_time),
        **{name: _floats(values) for name, values in rows.numbers.items()},
    }
    columns["node_num"] = pc.cast(columns["node_num"], pa.int64(), safe=False)
    return pa.Table.from_arrays(
        [columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema
    )


def _column(part: Part, kind: JobLogFormat, becomes: str) -> LogColumn | None:
    """The column of the log that becomes a canonical one; the first of the contract that is there."""
    there = part.table.column_names
    return next((c for c in kind.columns if c.becomes == becomes and c.name in there), None)


def _text(part: Part, kind: JobLogFormat, becomes: str) -> pa.Array | None:
    column = _column(part, kind, becomes)
    return None if column is None else part.table.column(column.name).combine_chunks()


def _text_or_blank(part: Part, kind: JobLogFormat, becomes: str) -> pa.Array:
    text = _text(part, kind, becomes)
    return pa.nulls(part.table.num_rows, pa.string()) if text is None else text


def _ids(part: Part, kind: JobLogFormat, audit: Audit) -> pa.Array:
    ids = _text(part, kind, "job_id")
    numbered = pa.array(part.numbers).cast(pa.string())
    if ids is None:
        return numbered
    audit.rows("no-id", np.asarray(ids.is_null()), part.numbers, part.place)
    return pc.coalesce(ids, numbered)


def _states(part: Part, kind: JobLogFormat, audit: Audit) -> tuple[pa.Array, pa.Array, Mask]:
    text = _text(part, kind, "raw_state")
    count = part.table.num_rows
    if text is None:
        return pa.nulls(count, pa.string()), pa.nulls(count, pa.string()), np.zeros(count, bool)
    # sacct adds who cancelled a job; the state is the first word.
    encoded = pc.dictionary_encode(pc.list_element(pc.split_pattern(text, " ", max_splits=1), 0))
    words = encoded.dictionary.to_pylist()
    outcome = pa.array([kind.states.get(word) for word in words], pa.string())
    counted = np.bincount(np.asarray(encoded.indices.fill_null(len(words))), minlength=len(words) + 1)
    own = {
        next(word for word, state in kind.states.items() if state == outcome)
        for outcome in STATES
        if outcome in kind.states.values()
    }
    told = [(word, int(counted[index])) for index, word in enumerate(words)]
    audit.words("grouped-state", [(w, n) for w, n in told if kind.states.get(w) and w not in own])
    audit.words("untold-outcome", [(w, n) for w, n in told if w in kind.states and kind.states[w] is None])
    audit.words("not-ended", [(w, n) for w, n in told if w in kind.unfinished])
    strange = pa.array(
        [word not in kind.states and word not in kind.unfinished for word in words], pa.bool_()
    )
    open_ = pa.array([word in kind.unfinished for word in words], pa.bool_())
    raw = encoded.dictionary.take(encoded.indices)
    if words:
        unknown = _mask(strange.take(encoded.indices))
        audit.rows("unknown-state", unknown, part.numbers, part.place, column="state", values=_cell(raw))
        return raw, outcome.take(encoded.indices), _mask(open_.take(encoded.indices))
    return raw, pa.nulls(count, pa.string()), np.zeros(count, bool)


def _numbers(part: Part, kind: JobLogFormat, becomes: str, audit: Audit) -> Floats:
    column = _column(part, kind, becomes)
    if column is None:
        return np.full(part.table.num_rows, np.nan)
    text = part.table.column(column.name)
    values, bad = as_numbers(text)
    audit.rows("bad-cell", bad, part.numbers, part.place, column=column.name, values=_cell(text))
    if column.low is not None:
        impossible = values < column.low
        audit.rows(
            "out-of-range", impossible, part.numbers, part.place, column=column.name, values=_cell(text)
        )
        values = np.where(impossible, np.nan, values)
    return values if column.divide == 1 else values / column.divide


def _times(part: Part, reading: Reading, becomes: str, audit: Audit) -> NDArray[np.int64]:
    column = _column(part, reading.kind, becomes)
    if column is None:
        return np.full(part.table.num_rows, NO_TIME, np.int64)
    text = part.table.column(column.name)
    seconds = reading.kind.clock == "seconds"
    read: Times = as_seconds(text) if seconds else as_times(text, reading.zone)
    if read.unzoned.any():
        index = int(np.flatnonzero(read.unzoned)[0])
        row, value = int(part.numbers[index]), text[index].as_py()
        raise NotAJobLog(
            f"The times of {reading.url} have no zone.",
            hint="Say which they are in: --timezone Asia/Shanghai, or --timezone +08:00.",
            rule="no-zone",
            place=Example(
                file=reading.url, row=row, column=column.name, byte_offset=part.place(row), value=value
            ),
        )
    for rule, mask in (("bad-time", read.bad), ("unclear-time", read.folded)):
        audit.rows(rule, mask, part.numbers, part.place, column=column.name, values=_cell(text))
    return read.ms


def _derive(rows: Rows, kind: JobLogFormat, audit: Audit) -> None:
    """Reckon blank times from the log's own duration and queue, and take the spans."""
    submit, start, end = (rows.times[name] for name in _TIMES)
    duration, queue = rows.numbers["released_duration_s"], rows.numbers["released_queue_s"]
    ended = ~rows.unfinished
    end[rows.unfinished] = NO_TIME
    no_submit = (submit == NO_TIME) & (start != NO_TIME) & (queue >= 0)
    submit[no_submit] = start[no_submit] - _ms(queue[no_submit])
    no_start = (start == NO_TIME) & (submit != NO_TIME) & (queue >= 0) & ended
    start[no_start] = submit[no_start] + _ms(queue[no_start])
    base = start if kind.duration_from == "start" else submit
    no_end = (end == NO_TIME) & (base != NO_TIME) & (start != NO_TIME) & (duration >= 0) & ended
    end[no_end] = base[no_end] + _ms(duration[no_end])
    rows.run_s = _span(start, end)
    rows.wait_s = _span(submit, start)
    # Where nobody knows the start, a duration from the start is still the run time.
    only = np.isnan(rows.run_s) & (start == NO_TIME) & (end == NO_TIME) & (duration >= 0) & ended
    if kind.duration_from == "start":
        rows.run_s = np.where(only, duration, rows.run_s)
    else:
        only[:] = False
    rows.derived = no_submit | no_start | no_end | only
    audit.rows("derived-time", rows.derived, rows.part.numbers, rows.part.place)


def _span(first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
    known = (first != NO_TIME) & (last != NO_TIME)
    span: Floats = np.where(known, (np.where(known, last, 0) - np.where(known, first, 0)) / 1000, np.nan)
    return span


def _ms(seconds: Floats) -> NDArray[np.int64]:
    return np.rint(seconds * 1000).astype(np.int64)


def _timestamps(ms: NDArray[np.int64]) -> pa.Array:
    return pa.array(ms, pa.int64(), mask=ms == NO_TIME).cast(pa.timestamp("ms", tz="UTC"))


def _floats(values: Floats) -> pa.Array:
    return pa.array(values, pa.float64(), mask=np.isnan(values))


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.fill_null(False))


def _cell(text: pa.Array | pa.ChunkedArray) -> Callable[[int], object]:
    return lambda index: text[index].as_py()
