"""Random jobs, the text of a log of each kind that holds them, and a plain reading of that text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
from hypothesis import strategies as st

from schemas.job_records import JobLogRecord
from tasks.joblog.read import LogOptions, read_log
from tasks.joblog.schema import load_jobs
from tasks.storage.source import stat_file

SHANGHAI, PACIFIC = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/Los_Angeles")
EPOCH = datetime(2020, 5, 1, tzinfo=UTC)
GPUS_OF = {"Eval": 1, "Pretrain": 256, "CPU": 0, "Other": 8}


@dataclass(frozen=True)
class Job:
    """A job as the scheduler knows it; times in seconds after EPOCH, None where it has not come so far."""

    number: int
    user: str | None
    vc: str
    kind: str
    state: str
    submit: int
    wait: int | None
    run: int | None
    gpus: int

    @property
    def start(self) -> int | None:
        return None if self.wait is None else self.submit + self.wait

    @property
    def end(self) -> int | None:
        return None if self.start is None or self.run is None else self.start + self.run


def at(seconds: int | None) -> datetime | None:
    return None if seconds is None else EPOCH + timedelta(seconds=seconds)


@st.composite
def job_lists(draw: st.DrawFn, states: tuple[str, ...]) -> list[Job]:
    """Jobs with distinct numbers; those that have not ended have no run time."""
    count = draw(st.integers(0, 12))
    jobs = []
    for number in range(count):
        state = draw(st.sampled_from(states))
        waits = state != "PENDING"
        ended = state not in ("RUNNING", "PENDING", "SUSPENDED")
        kind = draw(st.sampled_from(sorted(GPUS_OF)))
        jobs.append(
            Job(
                number=1000 + 7 * number,
                user=draw(st.sampled_from(["u1", "u2", "übel", None])),
                vc=draw(st.sampled_from(["vcA", "vc b"])),
                kind=kind,
                state=state,
                submit=draw(st.integers(0, 40_000_000)),
                wait=draw(st.integers(0, 300_000)) if waits else None,
                run=draw(st.integers(0, 3_000_000)) if ended else None,
                gpus=GPUS_OF[kind],
            )
        )
    return jobs


def stamp(seconds: int | None, zone: object, form: str) -> str:
    moment = at(seconds)
    return "" if moment is None else moment.astimezone(zone).strftime(form)  # type: ignore[arg-type]


def text_of(rows: list[list[object]], header: str, separator: str = ",") -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=separator, lineterminator="\n")
    writer.writerows(rows)
    return (header + "\n" + sink.getvalue()).encode()


def seren(jobs: list[Job]) -> bytes:
    header = (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,"
        "gpu_time"
    )
    zone, form = timezone(timedelta(hours=8)), "%Y-%m-%d %H:%M:%S+08:00"
    rows: list[list[object]] = [
        [
            *(job.number, job.user, max(job.gpus // 8, 1), job.gpus, 16, job.kind, job.state),
            *(stamp(time, zone, form) for time in (job.submit, job.start, job.end)),
            *(job.run, job.wait, float(job.run * job.gpus) if job.gpus and job.run is not None else ""),
        ]
        for job in jobs
    ]
    return text_of(rows, header)


def kalos(jobs: list[Job]) -> bytes:
    header = (
        "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,"
        "start_time,end_time,fail_time,stop_time,duration,queue,gpu_time"
    )
    form = "%Y-%m-%d %H:%M:%S+00:00"
    rows: list[list[object]] = []
    for job in jobs:
        whole = None if job.run is None or job.wait is None else job.run + job.wait
        end = stamp(job.end, UTC, form)
        rows.append(
            [
                *(
                    f"dlc{job.number}",
                    job.user,
                    max(job.gpus // 8, 1),
                    job.gpus,
                    15,
                    1000,
                    "",
                    job.kind,
                    job.state,
                ),
                *(stamp(job.submit, UTC, form), stamp(job.start, UTC, form), end),
                *(end if job.state == "FAILED" else "", end if job.state == "CANCELLED" else ""),
                *(77 if whole is None else whole, "" if job.wait is None else float(job.wait)),
                float(whole * job.gpus) if job.gpus and whole is not None else "",
            ]
        )
    return text_of(rows, header)


def helios(jobs: list[Job]) -> bytes:
    header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
    form = "%Y-%m-%d %H:%M:%S"
    rows: list[list[object]] = [
        [
            *(job.number, job.user, job.vc, job.gpus, 6, max(job.gpus // 8, 1), job.state),
            *(stamp(time, SHANGHAI, form) for time in (job.submit, job.start, job.end)),
            *(job.run, job.wait),
        ]
        for job in jobs
    ]
    return text_of(rows, header)


_PHILLY = {"COMPLETED": "Pass", "CANCELLED": "Killed", "FAILED": "Failed"}


def philly(jobs: list[Job]) -> bytes:
    header = "job_id,user,vc,gpu_num,state,submit_time,start_time,end_time,duration,queue"
    form = "%Y-%m-%d %H:%M:%S"
    rows: list[list[object]] = [
        [
            *(f"application_{job.number}", job.user, job.vc, job.gpus, _PHILLY[job.state]),
            *(stamp(time, PACIFIC, form) for time in (job.submit, job.start, job.end)),
            *(job.run, job.wait),
        ]
        for job in jobs
    ]
    return text_of(rows, header)


def philly_json(jobs: list[Job]) -> bytes:
    form = "%Y-%m-%d %H:%M:%S"
    records = []
    for job in jobs:
        start, end = (stamp(time, PACIFIC, form) or None for time in (job.start, job.end))
        servers = [
            {"ip": f"m{server}", "gpus": [f"gpu{gpu}" for gpu in range(min(8, job.gpus - 8 * server))]}
            for server in range(max(-(-job.gpus // 8), 1))
        ]
        records.append(
            {
                "status": _PHILLY[job.state],
                "vc": job.vc,
                "jobid": f"application_{job.number}",
                "attempts": [{"start_time": start, "end_time": end, "detail": servers}],
                "submitted_time": stamp(job.submit, PACIFIC, form),
                "user": job.user,
            }
        )
    return json.dumps(records, indent=1).encode()


def sacct(jobs: list[Job]) -> bytes:
    header = "JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|AllocTRES|ReqTRES"
    form = "%Y-%m-%dT%H:%M:%S"
    lines = [header]
    for job in jobs:
        asked = f"billing=8,cpu=6,gres/gpu={job.gpus},mem=10G,node=1" if job.gpus else "cpu=6,node=1"
        got = (
            asked.replace("gres/gpu=", f"gres/gpu:a100={job.gpus},gres/gpu=") if job.wait is not None else ""
        )
        state = "CANCELLED by 1001" if job.state == "CANCELLED" else job.state
        times = [stamp(time, SHANGHAI, form) or "Unknown" for time in (job.submit, job.start, job.end)]
        cells = [str(job.number), job.user or "", job.vc, state, *times]
        cells += ["" if job.run is None else str(job.run), str(max(job.gpus // 8, 1)), "6", got, asked]
        lines.append("|".join(cells))
        if job.run is not None:
            lines.append("|".join([f"{job.number}.batch", "", "", "COMPLETED", *times, *cells[7:]]))
    return ("\n".join(lines) + "\n").encode()


ENDED = ("COMPLETED", "CANCELLED", "FAILED")
SLURM = (*ENDED, "TIMEOUT", "NODE_FAIL", "PREEMPTED", "RUNNING")
# The text of a log of each kind, and the states that may be in it.
KINDS: dict[str, tuple[Callable[[list[Job]], bytes], tuple[str, ...]]] = {
    "seren": (seren, SLURM),
    "kalos": (kalos, (*ENDED, "RUNNING")),
    "helios": (helios, (*SLURM, "SUSPENDED")),
    "philly": (philly, ENDED),
    "philly-json": (philly_json, ENDED),
    "sacct": (sacct, (*SLURM, "PENDING", "OUT_OF_MEMORY")),
}
ZONES = {"sacct": "Asia/Shanghai"}


def read(
    folder: Path, text: bytes, name: str = "log.csv", cluster: str = "c", **options: object
) -> tuple[JobLogRecord, pd.DataFrame]:
    """The record and the job table of a log with this text."""
    path = folder / name
    path.write_bytes(text)
    record = read_log(
        stat_file(str(path)),
        cluster,
        LogOptions(**options),
        str(folder),
        "out.parquet",  # type: ignore[arg-type]
    )
    return record, load_jobs(f"{folder}/out.parquet")


def same(found: object, expected: object) -> bool:
    """Whether a cell of the table is what a plain reading gives."""
    nothing = (
        found is None or found is pd.NaT or found is pd.NA or (isinstance(found, float) and math.isnan(found))
    )
    return nothing if expected is None else not nothing and found == expected
