"""The files below `jobs/` beside the job tables themselves, from what is known of each cluster."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from schemas.characterisation import CLUSTER_TABLES, JOB_TABLES
from schemas.job_records import JobLogRecord
from schemas.joblogs.helios import HELIOS_CLUSTERS
from schemas.jobs import Jobs
from schemas.manifest import OutputFile
from schemas.published.clusters import PUBLISHED_CLUSTERS, title_of
from tasks.characterise.summary import cluster_summary, pooled, summary_csv
from tasks.joblog.schema import load_jobs
from tasks.outputs.package import Package, data_package
from tasks.outputs.typed import Model, arrow_schema, table_bytes
from tasks.storage.names import safe_name

_POOLED = ("state", "gpu_num", "run_s", "wait_s", "released_duration_s", "released_queue_s")
_AUDIT = "audit"
JOBS_PACKAGE_NAME = "jobs/datapackage.json"


def _model_of(path: str) -> Model | None:
    """The contract of a table, by its file or by the folder of its kind."""
    kind = path.split("/")[1].removesuffix(".parquet")
    return Jobs if kind == "table" else {**JOB_TABLES, **CLUSTER_TABLES}.get(kind)


_PACKAGE = Package(
    name="acmetrace-jobs",
    title="Jobs of GPU clusters and what they say",
    description="Job logs as one canonical table a cluster, and their characterisation.",
    folder="jobs/",
    model_of=_model_of,
)


@dataclass(frozen=True)
class ClusterTables:
    """The analyses of one cluster: both summaries, notes, and its tables as Parquet by name."""

    summary: Mapping[str, float]
    own_summary: Mapping[str, float]
    notes: tuple[str, ...]
    tables: Mapping[str, bytes]


def job_files(
    out: str, records: Sequence[JobLogRecord], told: Mapping[str, ClusterTables]
) -> dict[str, bytes]:
    """Path and content of each file; the job tables are read from `out` where clusters are put together."""
    files = _summaries(out, records, told)
    for record in records:
        text = record.model_dump_json(indent=2).encode() + b"\n"
        files[f"jobs/logs/{safe_name(record.cluster)}.json"] = text
    for name in JOB_TABLES:
        if name != _AUDIT:
            parts = [told[cluster].tables[name] for cluster in sorted(told) if name in told[cluster].tables]
            files[f"jobs/{name}.parquet"] = _joined(name, parts)
    files[f"jobs/{_AUDIT}.parquet"] = table_bytes(JOB_TABLES[_AUDIT], _audit(records))
    for name in CLUSTER_TABLES:
        for cluster, found in told.items():
            if name in found.tables:
                files[f"jobs/{name}/{safe_name(cluster)}.parquet"] = found.tables[name]
    return files


def package_bytes(outputs: Sequence[OutputFile], *, source: str) -> bytes:
    """The content of `jobs/datapackage.json`, which describes the tables among `outputs`."""
    content = data_package(outputs, source=source, package=_PACKAGE)
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def notes_on(record: JobLogRecord, told: ClusterTables | None) -> tuple[str, ...]:
    """What a reader of a cluster's numbers has to know."""
    notes = [] if told is None else list(told.notes)
    known = PUBLISHED_CLUSTERS.get(record.cluster.lower())
    if record.table is None:
        return ()
    if known is not None and known.missing and known.gpu_jobs != record.gpu_jobs:
        notes.append(
            f"the published summary counts {known.cpu_jobs:,} CPU and {known.gpu_jobs:,} GPU jobs, this log "
            f"has {record.cpu_jobs:,} and {record.gpu_jobs:,}; {known.missing}"
        )
    if record.format == "pai":
        notes.append("times are seconds on a clock of the log's own: dates, hours and months mean nothing")
    if record.format == "kalos":
        notes.append(
            "the log's durations and GPU times hold the queue; cluster_summary.csv and the measure duration "
            "follow it as published, cluster_summary_own_times.csv and the measure run do not"
        )
    return tuple(notes)


def _summaries(
    out: str, records: Sequence[JobLogRecord], told: Mapping[str, ClusterTables]
) -> dict[str, bytes]:
    """Both summaries, with a row for Helios as a whole where all four of its clusters are there."""
    summary = {title_of(cluster): told[cluster].summary for cluster in sorted(told)}
    own = {title_of(cluster): told[cluster].own_summary for cluster in sorted(told)}
    tables = [r.table for r in records if r.format == "helios" and r.cluster in HELIOS_CLUSTERS]
    parts = [load_jobs(f"{out}/{table.path}", _POOLED) for table in tables if table is not None]
    if len(parts) == len(HELIOS_CLUSTERS):
        together = pooled(parts)
        summary["Helios"] = cluster_summary(together)
        own["Helios"] = cluster_summary(together, "own")
    return {
        "jobs/cluster_summary.csv": summary_csv(summary),
        "jobs/cluster_summary_own_times.csv": summary_csv(own),
    }


def _joined(name: str, parts: Sequence[bytes]) -> bytes:
    """The tables of all clusters as one."""
    if not parts:
        return table_bytes(JOB_TABLES[name], pd.DataFrame())
    schema = arrow_schema(JOB_TABLES[name])
    tables = [pyarrow.parquet.read_table(io.BytesIO(part)).cast(schema) for part in parts]
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.concat_tables(tables), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _audit(records: Sequence[JobLogRecord]) -> pd.DataFrame:
    lines = [{"cluster": record.cluster, **line.model_dump()} for record in records for line in record.audit]
    return pd.DataFrame(lines, columns=["cluster", "rule", "severity", "rows", "left_out", "treatment"])
