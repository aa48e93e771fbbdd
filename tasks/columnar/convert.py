"""One series to one Parquet file and its record; IPMI files, which are in long form, are copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schemas.convert import ConvertedSeries
from schemas.errors import AcmetraceError
from schemas.findings import Finding
from schemas.manifest import InputFile, OutputFile
from schemas.metrics import Metric
from schemas.version import code_version
from tasks.columnar.write import write_parquet
from tasks.series.discover import SeriesFiles
from tasks.series.head import Head
from tasks.series.judge import failure_of
from tasks.storage.publish import growing_file
from tasks.storage.source import FileRef, open_reader

_PIECE = 1 << 20
_SAID = {
    "bad-cell": "cells are not finite numbers",
    "bad-time": "rows have no readable time",
    "ragged-row": "rows have more or fewer cells than the header",
}


def convert_series(
    series: SeriesFiles,
    heads: Sequence[Head],
    metric: Metric,
    dest: str,
    relative: str,
    *,
    timezone: str | None,
    workers: int,
    on_bytes: Callable[[int], None] = lambda size: None,
) -> ConvertedSeries:
    """Convert a series to the file `relative` below `dest`; not where a cell stands in the way.

    Raises:
        NotASeries: the files are no series, or not in the order of time.
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
        UsageError: `dest` cannot be written.
    """
    about = {
        "cluster": series.cluster,
        "metric": metric.name,
        "meaning": metric.meaning,
        "unit": metric.unit,
        "sources": [[file.url.rpartition("/")[2], file.size, file.version] for file in series.files],
        "code_version": code_version(),
    }
    try:
        with growing_file(dest, relative) as file:
            written = write_parquet(
                heads, file, timezone=timezone, workers=workers, about=about, on_bytes=on_bytes
            )
            if written.troubles:
                raise _NotWritten
            output = file.output(relative)
    except _NotWritten:
        findings = tuple(
            Finding(
                rule=trouble.rule,
                severity="error",
                cluster=series.cluster,
                metric=series.name,
                count=trouble.count,
                message=f"{_SAID[trouble.rule]}, which a typed column cannot hold; nothing is written",
                examples=trouble.places,
            )
            for trouble in written.troubles
        )
        return _record(series, "failed", findings=findings)
    return _record(
        series,
        "converted",
        rows=written.rows,
        columns=written.columns,
        values=written.values,
        row_groups=written.row_groups,
        outputs=(output,),
    )


def copy_series(
    series: SeriesFiles, dest: str, folder: str, on_bytes: Callable[[int], None] = lambda size: None
) -> ConvertedSeries:
    """Copy the files of a series below `folder`, as they are stored.

    Raises:
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
        UsageError: `dest` cannot be written.
    """
    outputs = tuple(_copied(file, dest, folder, on_bytes) for file in series.files)
    return _record(series, "copied", outputs=outputs)


def failed(series: SeriesFiles, error: AcmetraceError) -> ConvertedSeries:
    """The record of a series that could not be read."""
    return _record(series, "failed", findings=(failure_of(series, error),))


class _NotWritten(Exception):
    """Leaves the file that was being written as if it had never been."""


def _copied(file: FileRef, dest: str, folder: str, on_bytes: Callable[[int], None]) -> OutputFile:
    name = file.url.rpartition("/")[2]
    relative = f"{folder}/{name}".lstrip("/")
    with growing_file(dest, relative) as growing, open_reader(file, packed=True) as reader:
        place = 0
        while place < file.size:
            buffer = bytearray(min(_PIECE, file.size - place))
            place += reader.read_into(place, memoryview(buffer))
            growing.write(bytes(buffer))
            on_bytes(len(buffer))
        return growing.output(relative)


def _record(series: SeriesFiles, status: str, **known: object) -> ConvertedSeries:
    inputs = tuple(InputFile(path=file.url, size=file.size, version=file.version) for file in series.files)
    content = {"cluster": series.cluster, "series": series.name, "status": status, "inputs": inputs, **known}
    return ConvertedSeries.model_validate(content)
