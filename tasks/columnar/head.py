"""The head of a Parquet series, and which of its bytes a period needs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from tasks.columnar.file import Batch, Held, SeriesParquet
from tasks.series.clock import NAIVE, OFFSET_BASE
from tasks.series.head import Head
from tasks.series.spec import ScanSpec
from tasks.storage.source import FileRef, open_reader

_SAMPLE_CELLS = 20_000


def read_parquet_head(file: FileRef) -> Head:
    """Schema and first rows of a Parquet series, these as the text a CSV file would have.

    Raises:
        NotASeries: it is no Parquet file, has no times, or a column is no number.
        FileChanged, ReadFailed: as the source says.
    """
    with open_reader(file) as reader:
        edges = [*SeriesParquet(reader, file).group_starts(), file.size]
        parquet = SeriesParquet(Held(reader, edges[0], edges[1] if len(edges) > 1 else edges[0]), file)
        rows = max(_SAMPLE_CELLS // max(len(parquet.columns), 1), 3)
        first = next(iter(parquet.batches(range(parquet.groups), "+00:00", rows)), None)
        zone = parquet.zone
    sample = _text(first, zone) if first is not None else b""
    return Head(file, parquet.columns, parquet.columns, 0, sample, zone, None)


def _text(batch: Batch, zone: int) -> bytes:
    offset = timedelta() if zone == NAIVE else timedelta(minutes=zone - OFFSET_BASE)
    lines = []
    for row, ms in enumerate(batch.times.tolist()):
        moment = datetime.fromtimestamp(max(ms, 0) / 1000, UTC).astimezone(timezone(offset))
        time = moment.replace(tzinfo=None) if zone == NAIVE else moment
        values = ("" if value != value else repr(value) for value in batch.values[:, row].tolist())
        lines.append(",".join([time.isoformat(" ", "milliseconds"), *values]))
    return "".join(f"{line}\n" for line in lines).encode()


def bytes_of_groups(head: Head, spec: ScanSpec) -> tuple[int, int] | None:
    """The byte range of the row groups that hold the spec's period, by their statistics; None to read all."""
    if not spec.has_period:
        return None
    with open_reader(head.file) as reader:
        parquet = SeriesParquet(reader, head.file)
        times = parquet.group_times(spec.timezone)
        starts = [*parquet.group_starts(), head.file.size]
    if times is None:
        return None
    wanted = [n for n, (first, last) in enumerate(times) if last >= spec.since_ms and first < spec.until_ms]
    if len(wanted) == len(times):
        return None
    if not wanted:
        return starts[0] if starts else 0, (starts[0] if starts else 0) + 1
    return (starts[wanted[0]] if wanted[0] else 0), starts[wanted[-1] + 1]
