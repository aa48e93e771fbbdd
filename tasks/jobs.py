"""The Prefect tasks on job logs: read one, characterise one cluster, publish all."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote
from pydantic import ValidationError

from schemas.characterisation import CLUSTER_TABLES, JOB_TABLES
from schemas.errors import IncompleteRun, NotAJobLog
from schemas.findings import JOB_RULES, RULES, Finding
from schemas.job_records import JobLogRecord, JobsManifest
from schemas.manifest import InputFile, OutputFile
from schemas.published.clusters import PUBLISHED_CLUSTERS
from schemas.version import code_version
from tasks.characterise.everything import NEEDED, Setting, Telemetry, characterise
from tasks.clean import transient
from tasks.joblog.discover import LogFile
from tasks.joblog.quota import read_quota
from tasks.joblog.read import LogOptions, read_log
from tasks.joblog.schema import load_jobs
from tasks.outputs.finished import read_run
from tasks.outputs.job_files import (
    JOBS_PACKAGE_NAME,
    ClusterTables,
    job_files,
    notes_on,
    package_bytes,
)
from tasks.outputs.jobs import begin_jobs, finish_jobs, seal_jobs
from tasks.outputs.typed import table_bytes
from tasks.progress import Reading
from tasks.series.units import code_digest
from tasks.storage.names import safe_name
from tasks.storage.publish import read_bytes
from tasks.storage.units import UnitStore, unit_key

_UTILISATION = "GPU_UTIL"


@runtime_checkable
class JobsListener(Protocol):
    """Is told of the work on job logs."""

    def found(self, reading: Reading) -> None:
        """What will be read; the first event."""

    def planned(self, label: str, number: int, size: int) -> None:
        """Work on `label` begins; `size` bytes are to be told of."""

    def read(self, label: str, size: int) -> None:
        """`size` bytes of it are done."""

    def logged(self, record: JobLogRecord) -> None:
        """A log is done."""


@dataclass(frozen=True)
class JobWork:
    """What all logs of a run share: where they are, how they are read, and where results go.

    `gpus` are the GPUs of clusters that the user told, `telemetry` a folder with a finished run
    over the telemetry of the same clusters.
    """

    source: str
    out: str
    options: LogOptions
    gpus: Mapping[str, int]
    telemetry: str | None
    store: UnitStore
    listener: JobsListener

    def known(self, log: LogFile) -> JobLogRecord | None:
        """The record of an earlier run of this code over the same file, if its table is still as written."""
        data = self.store.get(self._place(log))
        try:
            record = None if data is None else JobLogRecord.model_validate_json(data)
        except ValidationError:
            return None
        if record is None or record.table is None:
            return record
        there = read_bytes(self.out, record.table.path)
        return (
            record if there is not None and OutputFile.of(record.table.path, there) == record.table else None
        )

    def read(self, log: LogFile) -> JobLogRecord:
        """Read a log into its job table; one that cannot be read gives a record that says why.

        Raises:
            FileChanged, ReadFailed: trying again may help.
            UsageError: the output cannot be written, or an option is wrong.
        """
        self.listener.planned(log.label, 1, log.file.size)
        on_bytes = functools.partial(self.listener.read, log.label)
        try:
            record = read_log(log.file, log.cluster, self.options, self.out, table_path(log), on_bytes)
        except NotAJobLog as error:
            record = _failed(log, error)
        record = self._portable(record)
        if record.table is not None:
            self.store.put(self._place(log), record.model_dump_json().encode())
        return record

    def setting(self, log: LogFile, record: JobLogRecord) -> Setting:
        """What is known of a cluster beside its jobs.

        Raises:
            NotAJobLog: the quota file is none.
        """
        known = PUBLISHED_CLUSTERS.get(log.cluster.lower())
        published = known.gpus if known and record.format == log.cluster.lower() else None
        return Setting(
            cluster=log.cluster,
            timezone=record.timezone if record.timezone not in ("", "Z") else "UTC",
            gpus=self.gpus.get(log.cluster, published),
            quota=read_quota(log.quota, log.cluster) if log.quota is not None else None,
            telemetry=None if self.telemetry is None else telemetry_of(self.telemetry, log.cluster),
        )

    def characterised(self, log: LogFile, record: JobLogRecord) -> str:
        """The place in the store of all tables of a cluster, which are made if they are not there."""
        setting = self.setting(log, record)
        place = self._key(record, setting, log)
        if self.store.get(_part(place, "summary")) is None:
            assert record.table is not None
            jobs = load_jobs(f"{self.out}/{record.table.path}", NEEDED)
            found = characterise(jobs, setting)
            del jobs
            for name, model in {**JOB_TABLES, **CLUSTER_TABLES}.items():
                if name in found.tables:
                    self.store.put(_part(place, name), table_bytes(model, found.tables.pop(name)))
            summary = {"summary": found.summary, "own_summary": found.own_summary, "notes": found.notes}
            self.store.put(_part(place, "summary"), json.dumps(summary).encode())
        return place

    def _key(self, record: JobLogRecord, setting: Setting, log: LogFile) -> str:
        assert record.table is not None
        told = setting.telemetry
        return unit_key(
            table=record.table.sha256,
            cluster=setting.cluster,
            timezone=setting.timezone,
            gpus=setting.gpus,
            quota=None if log.quota is None else [log.quota.url, log.quota.size, log.quota.version],
            telemetry=None if told is None else [told.hourly.to_json(date_format="iso"), told.interval_s],
            code=code_digest(whole=True),
        )

    def _place(self, log: LogFile) -> str:
        key = unit_key(
            file=[log.file.url, log.file.size, log.file.version],
            cluster=log.cluster,
            format=self.options.format,
            timezone=self.options.timezone,
            bad=self.options.bad_cell_share,
            code=code_digest(whole=True),
        )
        return f"joblog/{key}"

    def _portable(self, record: JobLogRecord) -> JobLogRecord:
        """The same with paths relative to the source: where it lies on this machine is nobody's business."""
        text = record.model_dump_json().replace(json.dumps(f"{self.source}/")[1:-1], "")
        return JobLogRecord.model_validate_json(text)


def _part(place: str, name: str) -> str:
    """Where the store keeps one table of a characterisation."""
    return f"characterised/{name}/{place}"


def table_path(log: LogFile) -> str:
    """Where the job table of a log stands in the output folder."""
    return f"jobs/table/{safe_name(log.cluster)}.parquet"


def telemetry_of(out: str, cluster: str) -> Telemetry | None:
    """The hourly GPU utilisation of a cluster in the finished run in `out`; None where there is none."""
    try:
        entry = next(
            (e for e in read_run(out).series if (e.cluster, e.series) == (cluster, _UTILISATION)), None
        )
    except IncompleteRun:
        return None
    data = read_bytes(out, "summaries/hourly.parquet")
    record = None if entry is None else read_bytes(out, entry.schema_path)
    if data is None or record is None:
        return None
    hourly = pd.read_parquet(io.BytesIO(data))
    chosen = hourly[(hourly["cluster"] == cluster) & (hourly["metric"] == _UTILISATION)]
    told = json.loads(record)
    interval = told["contract"]["metric"]["interval_s"]
    first, last = told["observed"]["first_time"], told["observed"]["last_time"]
    if chosen.empty or not interval or first is None:
        return None
    return Telemetry(
        chosen[["hour", "count", "mean"]].reset_index(drop=True),
        float(interval),
        pd.Timestamp(first).tz_convert("UTC"),
        pd.Timestamp(last).tz_convert("UTC"),
    )


@task(
    name="read job log",
    task_run_name="read {log.label}",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=transient,
)
def read_job_log(log: LogFile, work: JobWork) -> JobLogRecord:
    """Read one log into its job table.

    Raises:
        FileChanged, ReadFailed: even the last try failed.
        UsageError: the output cannot be written, or an option is wrong.
    """
    return work.read(log)


@task(
    name="characterise",
    task_run_name="characterise {log.cluster}",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=transient,
)
def characterise_jobs(log: LogFile, record: JobLogRecord, work: JobWork) -> str:
    """All analyses of one cluster; where the store keeps them.

    Raises:
        NotAJobLog: the quota file is none.
        FileChanged, ReadFailed: even the last try failed.
    """
    return work.characterised(log, record)


@task(name="publish jobs", task_run_name="publish jobs of {out}", cache_policy=NO_CACHE, persist_result=False)
def _publish(out: str, content: Any) -> JobsManifest:
    work, records, places, skipped, parameters, started = content
    told = {cluster: _told(work.store, place) for cluster, place in places.items()}
    tables = tuple(record.table for record in records if record.table is not None)
    files = job_files(out, records, told)
    described = [*tables, *(OutputFile.of(path, data) for path, data in files.items())]
    files[JOBS_PACKAGE_NAME] = package_bytes(described, source=work.source)
    outputs = finish_jobs(out, files, tables, begin_jobs(out, (table.path for table in tables)))
    notes = {record.cluster: notes_on(record, told.get(record.cluster)) for record in records}
    manifest = JobsManifest(
        code_version=code_version(),
        source=work.source,
        parameters=parameters,
        started=started,
        finished=datetime.now(UTC),
        logs=tuple(records),
        skipped=dict(skipped),
        notes={cluster: said for cluster, said in notes.items() if said},
        outputs=outputs,
    )
    seal_jobs(out, manifest)
    return manifest


def publish_jobs(
    work: JobWork,
    records: Sequence[JobLogRecord],
    places: Mapping[str, str],
    skipped: Mapping[str, str],
    parameters: dict[str, object],
    started: datetime,
) -> JobsManifest:
    """Write all tables and the manifest; `places` has the store's place of each cluster's tables.

    Raises:
        UsageError, ReadFailed: the output cannot be written.
    """
    return _publish(work.out, quote((work, records, places, skipped, parameters, started)))


def _told(store: UnitStore, place: str) -> ClusterTables:
    kept = json.loads(store.get(_part(place, "summary")) or b"{}")
    parts = {name: store.get(_part(place, name)) for name in (*JOB_TABLES, *CLUSTER_TABLES)}
    return ClusterTables(
        summary=kept["summary"],
        own_summary=kept["own_summary"],
        notes=tuple(kept["notes"]),
        tables={name: part for name, part in parts.items() if part is not None},
    )


def _failed(log: LogFile, error: NotAJobLog) -> JobLogRecord:
    rule = JOB_RULES.get(error.rule) or RULES.get(error.rule) or RULES["unreadable"]
    finding = Finding(
        rule=rule.id,
        severity="error",
        cluster=log.cluster,
        metric="job log",
        count=1,
        message=str(error),
        examples=() if error.place is None else (error.place,),
    )
    file = log.file
    return JobLogRecord(
        cluster=log.cluster,
        format="",
        timezone="",
        verdict="failed",
        inputs=(InputFile(path=file.url, size=file.size, version=file.version),),
        rows=0,
        jobs=0,
        findings=(finding,),
    )
