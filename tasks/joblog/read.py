"""One log, read whole: its jobs as Parquet, a row group a part, and the record of what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pandera.errors import SchemaError, SchemaErrors

from schemas.errors import AcmetraceError
from schemas.findings import JOB_RULES
from schemas.job_records import ColumnFacts, JobLogRecord
from schemas.jobs import Jobs
from schemas.manifest import InputFile, OutputFile
from tasks.joblog import philly, slurm
from tasks.joblog.audit import Audit
from tasks.joblog.canonical import Reading, canonical, to_arrow
from tasks.joblog.duplicates import Seen
from tasks.joblog.head import LogHead, read_head
from tasks.joblog.parts import Part, read_parts
from tasks.joblog.rules import check
from tasks.joblog.schema import arrow_jobs, frame_of
from tasks.series.clock import parse_zone
from tasks.storage.digest import LeafDigests, joined
from tasks.storage.publish import growing_file
from tasks.storage.source import FileRef, open_reader

MOST_BAD_SHARE = 0.001
_PREPARED: dict[str, Callable[[Part, Audit], Part]] = {
    "sacct": slurm.prepared,
    "philly-json": philly.prepared,
}
_CELLS_CHECKED = ("bad-cell", "bad-time")


@dataclass(frozen=True)
class LogOptions:
    """How a log is read: `format` and `timezone` where the user gave them."""

    format: str | None = None
    timezone: str | None = None
    bad_cell_share: float = MOST_BAD_SHARE


@dataclass
class _Facts:
    jobs: int = 0
    gpu_jobs: int = 0
    cpu_jobs: int = 0
    states: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    first_submit: int | None = None
    last_submit: int | None = None
    last_end: int | None = None


def read_log(
    ref: FileRef,
    cluster: str,
    options: LogOptions,
    out: str,
    relative: str,
    on_bytes: Callable[[int], None] = lambda count: None,
) -> JobLogRecord:
    """Write the jobs of a log to `out`/`relative` and say what became of its rows.

    Raises:
        NotAJobLog: the file is no job log of a known kind, or its times have no zone.
        UsageError: the format or the zone that was given is none.
        ReadFailed, FileChanged: the store failed, or the file changed.
    """
    head = read_head(ref, options.format)
    zone = options.timezone or head.kind.timezone
    if zone is not None:
        parse_zone(zone)
    reading = Reading(head.kind, cluster, zone, ref.url)
    audit, facts, seen = Audit(ref.url), _Facts(), Seen()
    audit.names("missing-column", head.missing)
    audit.names("unknown-column", head.unknown)
    digests = LeafDigests(0, 1 << 62)
    schema = arrow_jobs({"cluster": cluster, "format": head.kind.name, "timezone": zone or ""})
    with growing_file(out, relative) as file:
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for part in _parts(ref, head, audit, digests, on_bytes):
                table = _jobs_of(part, reading, audit, seen, facts, schema)
                if table.num_rows:
                    writer.write_table(table)
        output = file.output(relative)
    digest = joined([digests.finish()])
    return _record(ref, cluster, head, zone, audit, facts, options, digest, output)


def _parts(
    ref: FileRef, head: LogHead, audit: Audit, digests: LeafDigests, on_bytes: Callable[[int], None]
) -> Iterator[Part]:
    prepared = _PREPARED.get(head.kind.name)
    with open_reader(ref, ref.size) as reader:
        parts = (
            philly.read_json_parts(reader, audit, digests)
            if head.json
            else read_parts(reader, head.columns, digests)
        )
        for part in parts:
            on_bytes(len(part.data))
            yield prepared(part, audit) if prepared else part


def _jobs_of(
    part: Part, reading: Reading, audit: Audit, seen: Seen, facts: _Facts, schema: pa.Schema
) -> pa.Table:
    for found in part.ragged:
        audit.one("ragged-row", row=found.row, value=found.text, offset=part.place(found.row))
    if part.undecodable:
        audit.one("not-text", row=part.first, offset=part.offset)
    rows = canonical(part, reading, audit)
    check(rows, reading.kind, audit)
    table = to_arrow(rows, schema)
    again, named = seen.add(rows.job_id.to_pylist(), rows.times["submit"], rows.times["start"])
    ids = rows.job_id
    for rule, mask in (("duplicate-job", again), ("repeated-id", named)):
        audit.rows(
            rule, mask, part.numbers, part.place, column="job_id", values=lambda index: ids[index].as_py()
        )
    if again.any():
        table = table.filter(pa.array(~again))
    _checked(table)
    _count(facts, table)
    return table


def _checked(table: pa.Table) -> None:
    """Hold the rows against the contract of the table; a breach is a defect of ours."""
    try:
        Jobs.validate(frame_of(table))
    except (SchemaError, SchemaErrors) as error:
        raise AcmetraceError(
            f"The job table breaks its contract: {str(error)[:300]}.",
            hint="This is a defect of the pipeline; please report it with the log that was read.",
        ) from error


def _count(facts: _Facts, table: pa.Table) -> None:
    facts.jobs += table.num_rows
    gpus = table.column("gpu_num")
    facts.gpu_jobs += pc.sum(pc.greater(gpus, 0)).as_py() or 0
    facts.cpu_jobs += pc.sum(pc.equal(gpus, 0)).as_py() or 0
    for counter, name in ((facts.states, "raw_state"), (facts.types, "type")):
        for found in pc.value_counts(table.column(name)).to_pylist():
            if found["values"] is not None:
                counter[found["values"]] += found["counts"]
    for name, column, choose in (
        ("first_submit", "submit", min),
        ("last_submit", "submit", max),
        ("last_end", "end", max),
    ):
        times = table.column(column).cast(pa.int64())
        value = (pc.min(times) if choose is min else pc.max(times)).as_py()
        known = getattr(facts, name)
        if value is not None:
            setattr(facts, name, value if known is None else choose(known, value))


def _record(
    ref: FileRef,
    cluster: str,
    head: LogHead,
    zone: str | None,
    audit: Audit,
    facts: _Facts,
    options: LogOptions,
    digest: str,
    output: OutputFile,
) -> JobLogRecord:
    left = sum(line.rows for line in audit.lines() if line.left_out)
    rows = facts.jobs + left
    if not rows:
        audit.one("header-only")
    bad = sum(audit.count(rule) for rule in _CELLS_CHECKED)
    read = sum(bool(column.becomes) for column in head.kind.columns if column.name in head.columns.names)
    if bad > options.bad_cell_share * max(rows * read, 1):
        audit.one("too-many-bad-cells", value=f"{bad} of {rows * read} cells")
    worst = {JOB_RULES[line.rule].severity for line in audit.lines()}
    verdict = (
        "failed"
        if "error" in worst
        else "no data"
        if not rows
        else "warned"
        if "warning" in worst
        else "passed"
    )
    return JobLogRecord(
        cluster=cluster,
        format=head.kind.name,
        timezone=zone or "",
        verdict=verdict,
        contract=tuple(
            ColumnFacts(
                name=column.name,
                kind=column.kind,
                unit=column.unit,
                description=column.description,
                becomes=column.becomes,
                there=head.json or column.name in head.columns.names,
            )
            for column in head.kind.columns
        ),
        inputs=(InputFile(path=ref.url, size=ref.size, version=ref.version, digest=digest),),
        rows=rows,
        jobs=facts.jobs,
        gpu_jobs=facts.gpu_jobs,
        cpu_jobs=facts.cpu_jobs,
        first_submit=_instant(facts.first_submit),
        last_submit=_instant(facts.last_submit),
        last_end=_instant(facts.last_end),
        raw_states=dict(facts.states.most_common()),
        types=dict(facts.types.most_common()),
        audit=audit.lines(),
        findings=audit.findings(cluster),
        table=output,
    )


def _instant(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
