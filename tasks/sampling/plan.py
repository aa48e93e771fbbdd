"""Which files a sample has and how many rows they get."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from schemas.errors import UsageError
from schemas.ipmi import FOLDER_CLUSTER, IPMI_FILES
from schemas.metrics import CATALOGUE
from tasks.sampling.fleet import columns_of
from tasks.sampling.helios import helios_sources
from tasks.sampling.ipmi import ipmi_bytes, ipmi_source
from tasks.sampling.jobs import JOB_TRACE, job_bytes, job_source
from tasks.sampling.options import DEFAULT_ROWS, MOST_ROWS, SampleOptions
from tasks.sampling.previous import previous_sources
from tasks.sampling.source import Source
from tasks.sampling.wide import has_no_rows, row_bytes, wide_source

# The InfiniBand files exist for Seren only.
_SEREN_ONLY = ("NODE_IB_SEND", "NODE_IB_RECEIVE")


def planned_files(options: SampleOptions) -> tuple[tuple[str, str], ...]:
    """The (cluster, name) of every file, clusters in the order asked for.

    Raises:
        UsageError: no cluster of the sample has a file of the metrics asked for.
    """
    files = tuple(
        (cluster, name)
        for cluster in options.clusters
        for name in (*CATALOGUE, *IPMI_FILES, JOB_TRACE)
        if (not options.metrics or name in options.metrics) and _exists(cluster, name)
        if name in CATALOGUE or not options.raw
    )
    if not files:
        raise UsageError(
            f"The clusters {', '.join(options.clusters)} have no file of {', '.join(options.metrics)}.",
            hint="InfiniBand and IPMI files belong to seren.",
        )
    return files


def planned_rows(options: SampleOptions) -> int:
    """The rows of each wide file: as asked for, or as many as come near the wanted size.

    Raises:
        UsageError: even one row a file is more than the wanted size, or too many rows are needed.
    """
    if options.size_bytes is None:
        return DEFAULT_ROWS if options.rows is None else options.rows
    smallest = _expected_bytes(options, 1)
    if smallest > options.size_bytes:
        raise UsageError(
            f"A sample of {options.size_bytes:,} bytes is too small for these files.",
            hint=f"Ask for at least {int(smallest) + 1:,} bytes, fewer metrics or fewer GPUs.",
        )
    if _expected_bytes(options, MOST_ROWS) < options.size_bytes:
        raise UsageError(
            f"A sample of {options.size_bytes:,} bytes needs more than {MOST_ROWS:,} rows a file.",
            hint="Ask for more GPUs or more metrics.",
        )
    low, high = 1, MOST_ROWS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if _expected_bytes(options, middle) <= options.size_bytes else (low, middle)
        )
    return low


def source_of(cluster: str, name: str, rows: int, options: SampleOptions) -> Source:
    """The file of a cluster, beside wide files of `rows` rows."""
    if name == JOB_TRACE:
        return job_source(cluster, rows, options.seed, options.jobs)
    if name in IPMI_FILES:
        return ipmi_source(name, options.gpus_of(cluster), rows, options.seed)
    return wide_source(cluster, name, options.gpus_of(cluster), rows, options.seed, raw=options.raw)


def other_sources(rows: int, options: SampleOptions) -> Iterator[Source]:
    """The job logs of other traces, where they are asked for."""
    if options.helios and (not options.metrics or JOB_TRACE in options.metrics):
        yield from helios_sources(rows, options.seed, options.jobs)
        yield from previous_sources(options.seed)


def _exists(cluster: str, name: str) -> bool:
    if name in IPMI_FILES:
        return cluster == FOLDER_CLUSTER["ipmi"]
    return cluster == "seren" or name not in _SEREN_ONLY


def _expected_bytes(options: SampleOptions, rows: int) -> float:
    return sum(_file_bytes(cluster, name, rows, options) for cluster, name in planned_files(options))


def _file_bytes(cluster: str, name: str, rows: int, options: SampleOptions) -> float:
    gpus = options.gpus_of(cluster)
    if name == JOB_TRACE:
        return job_bytes(cluster, rows, options.jobs)
    if name in IPMI_FILES:
        return ipmi_bytes(name, gpus, rows)
    if has_no_rows(cluster, name):
        return 0.0
    columns, header_bytes = _width(cluster, name, gpus, options.seed)
    return header_bytes + rows * row_bytes(cluster, name, columns)


@lru_cache(maxsize=64)
def _width(cluster: str, metric: str, gpus: int, seed: int) -> tuple[int, int]:
    names = columns_of(cluster, metric, gpus, seed).names
    return len(names), len(",".join(("Time", *names))) + 1
