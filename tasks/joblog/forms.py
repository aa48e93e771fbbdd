"""Job tables in other forms: CSV, Helios' `cluster_log.csv`, or the table itself.

Tables are read and written some rows at a time. The Standard Workload Format, which
needs all jobs in order of submission, is in `tasks.joblog.swf`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from schemas.manifest import OutputFile
from tasks.storage.publish import growing_file
from tasks.storage.reference import is_local, local_path
from tasks.storage.stores import filesystem

_ROWS = 100_000
_TIMES = ("submit", "start", "end")
# Columns of Helios' log, and those of the job table that they come from.
_HELIOS = {
    "job_id": "job_id",
    "user": "user",
    "vc": "vc",
    "gpu_num": "gpu_num",
    "cpu_num": "cpu_num",
    "node_num": "node_num",
    "state": "raw_state",
    "submit_time": "submit",
    "start_time": "start",
    "end_time": "end",
    "duration": "run_s",
    "queue": "wait_s",
}
_WHOLE = frozenset({"gpu_num", "cpu_num", "node_num", "duration", "queue"})


def export_parquet(table: str, folder: str, name: str) -> OutputFile:
    """The job table at `table` as it is."""
    with growing_file(folder, name) as file:
        with pyarrow.parquet.ParquetWriter(file, _schema(table), compression="zstd") as writer:
            for batch in batches(table):
                writer.write_batch(batch)
        return file.output(name)


def export_csv(table: str, folder: str, name: str) -> OutputFile:
    """The job table as CSV: all columns, times as `YYYY-MM-DD HH:MM:SS+00:00`, blank where null."""
    parts = (_plain(batch, "+00:00", None) for batch in batches(table))
    return _write_csv(parts, list(_schema(table).names), folder, name)


def export_helios(table: str, folder: str, name: str, timezone: str) -> OutputFile:
    """The job table in the form of Helios' `cluster_log.csv`: local times of `timezone` without it.

    duration is end − start and queue start − submit, whatever the log's own said.
    """
    wanted = list(dict.fromkeys(_HELIOS.values()))
    parts = (_renamed(_plain(batch, "", timezone)) for batch in batches(table, wanted))
    return _write_csv(parts, list(_HELIOS), folder, name)


def batches(table: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a job table, some at a time."""
    if is_local(table):
        with pyarrow.parquet.ParquetFile(local_path(table)) as file:
            yield from file.iter_batches(_ROWS, columns=columns)
        return
    store, path = filesystem(table)
    with store.open(path, "rb") as stream:
        yield from pyarrow.parquet.ParquetFile(stream).iter_batches(_ROWS, columns=columns)


def destination(to: str) -> tuple[str, str]:
    """Folder and name of a file or URL to write."""
    folder, _, name = (str(Path(to).absolute()) if is_local(to) else to).rpartition("/")
    return folder or "/", name


def _schema(table: str) -> pa.Schema:
    if is_local(table):
        return pyarrow.parquet.read_schema(local_path(table))
    store, path = filesystem(table)
    with store.open(path, "rb") as stream:
        return pyarrow.parquet.read_schema(stream)


def _plain(batch: pa.RecordBatch, zone: str, timezone: str | None) -> pa.Table:
    """The rows with times as text."""
    columns = {
        name: _time_text(batch.column(name), zone, timezone) if name in _TIMES else batch.column(name)
        for name in batch.schema.names
    }
    return pa.table(columns)


def _time_text(times: pa.Array, zone: str, timezone: str | None) -> pa.Array:
    whole = pc.equal(pc.millisecond(times), 0)
    exact = not pc.all(whole.fill_null(True)).as_py()
    local = times if timezone is None else pc.local_timestamp(times.cast(pa.timestamp("ms", timezone)))
    naive = pc.local_timestamp(local) if timezone is None else local
    text = pc.strftime(naive if exact else naive.cast(pa.timestamp("s"), safe=False), "%Y-%m-%d %H:%M:%S")
    return pc.binary_join_element_wise(text, zone, "") if zone else text


def _renamed(part: pa.Table) -> pa.Table:
    return pa.table({name: _short(part, name, source) for name, source in _HELIOS.items()})


def _short(part: pa.Table, name: str, source: str) -> pa.ChunkedArray:
    """A column of Helios' log: whole numbers without a point, where all of them are whole."""
    column = part.column(source)
    if name not in _WHOLE:
        return column
    numbers = column.cast(pa.float64())
    if pc.all(pc.equal(numbers, pc.round(numbers)).fill_null(True)).as_py():
        return numbers.cast(pa.int64())
    return numbers


def _write_csv(tables: Iterator[pa.Table], names: list[str], folder: str, name: str) -> OutputFile:
    with growing_file(folder, name) as file:
        file.write((",".join(names) + "\n").encode())
        for table in tables:
            file.write(_text(table))
        return file.output(name)


def _text(table: pa.Table) -> pa.Buffer:
    """The rows as lines; quoted only where a cell holds a comma, a quote or a line end."""
    for quoting in ("none", "needed"):
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            pyarrow.csv.write_csv(table, sink, options)
        except pa.ArrowInvalid:
            continue
        break
    return sink.getvalue()
