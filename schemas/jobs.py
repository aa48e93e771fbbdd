"""The canonical job table: one row a job, whatever scheduler wrote the log.

`Jobs` names the columns, their units and meanings. What the logs themselves look
like stands in `schemas.joblogs`, what may be wrong with them in
`schemas.findings`; how one becomes the other is in `tasks.joblog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import pandas as pd
import pandera.pandas as pa
from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.findings import Finding, Severity, Verdict
from schemas.manifest import InputFile, OutputFile

State = Literal["COMPLETED", "CANCELLED", "FAILED"]
COMPLETED, CANCELLED, FAILED = STATES = ("COMPLETED", "CANCELLED", "FAILED")
SECONDS: Final = "s"

JOBS_FOLDER: Final = "jobs"
JOBS_MANIFEST_NAME: Final = "jobs/manifest.json"


def _text(description: str, *, nullable: bool = True) -> Any:
    return pa.Field(nullable=nullable, description=description)


def _number(description: str, unit: str, *, low: float | None = 0) -> Any:
    return pa.Field(nullable=True, ge=low, description=description, metadata={"unit": unit})


def _time(description: str) -> Any:
    return pa.Field(nullable=True, dtype_kwargs={"unit": "ms", "tz": "UTC"}, description=description)


class Jobs(pa.DataFrameModel):
    """One row a job; `jobs/table/<cluster>.parquet`. Null where the log does not tell."""

    cluster: Series[str] = _text("name of the cluster", nullable=False)
    job_id: Series[str] = _text("the scheduler's name of the job", nullable=False)
    row: Series[int] = pa.Field(ge=1, description="row of the log, from 1 below its header")
    user: Series[str] = _text("who submitted it")
    vc: Series[str] = _text("virtual cluster, partition or queue")
    type: Series[str] = _text("kind of work, as the log says: Pretrain, Eval, …")
    state: Series[str] = pa.Field(
        nullable=True, isin=list(STATES), description="how it ended; null where it has not, or nobody knows"
    )
    raw_state: Series[str] = _text("the state in the scheduler's own word")
    submit: Series[DateTime] = _time("when it was submitted, UTC")
    start: Series[DateTime] = _time("when it began to run, UTC")
    end: Series[DateTime] = _time("when it ended, UTC")
    run_s: Series[float] = _number("end − start", SECONDS)
    wait_s: Series[float] = _number("start − submit", SECONDS)
    gpu_num: Series[float] = _number("GPUs it held; may be a fraction", "GPUs")
    cpu_num: Series[float] = _number("CPUs it held", "CPUs")
    node_num: Series[pd.Int64Dtype] = _number("nodes it held", "nodes")
    gpu_time_s: Series[float] = _number("run_s × gpu_num; null for jobs without GPU", "GPU·s")
    released_duration_s: Series[float] = _number("the log's own duration, by its own rule", SECONDS, low=None)
    released_queue_s: Series[float] = _number("the log's own queueing delay", SECONDS, low=None)
    released_gpu_time_s: Series[float] = _number("the log's own GPU time", "GPU·s", low=None)

    class Config:
        strict = True
        ordered = True


class Quota(pa.DataFrameModel):
    """GPUs of each virtual cluster, day by day; `jobs/quota/<cluster>.parquet`."""

    cluster: Series[str] = _text("name of the cluster", nullable=False)
    date: Series[str] = pa.Field(str_matches=r"^\d{4}-\d{2}-\d{2}$", description="day, local time")
    vc: Series[str] = _text("virtual cluster", nullable=False)
    gpus: Series[int] = pa.Field(ge=0, description="GPUs it may use", metadata={"unit": "GPUs"})

    class Config:
        strict = True
        ordered = True


class AuditLine(BaseModel):
    """What was done to how many rows of a log. With `left_out` they are not in the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    severity: Severity
    rows: int = Field(ge=0)
    left_out: bool = False
    treatment: str


class JobLogRecord(BaseModel):
    """One log and what became of it.

    `rows` were read, `jobs` of them are in the table; `audit` accounts for each of the
    others and for what was done to those. Times without a zone were read in `timezone`,
    in which local hours and days are counted, too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    format: str
    timezone: str
    verdict: Verdict
    inputs: tuple[InputFile, ...]
    rows: int = Field(ge=0)
    jobs: int = Field(ge=0)
    gpu_jobs: int = Field(default=0, ge=0)
    cpu_jobs: int = Field(default=0, ge=0)
    first_submit: AwareDatetime | None = None
    last_submit: AwareDatetime | None = None
    last_end: AwareDatetime | None = None
    raw_states: Mapping[str, int] = Field(default_factory=dict)
    types: Mapping[str, int] = Field(default_factory=dict)
    audit: tuple[AuditLine, ...] = ()
    findings: tuple[Finding, ...] = ()
    table: OutputFile | None = None

    @property
    def left_out(self) -> int:
        """Rows that are not in the table."""
        return sum(line.rows for line in self.audit if line.left_out)


class JobsManifest(BaseModel):
    """Everything needed to trace a number of `jobs/` back to bytes, rule and code version; written last.

    `skipped` files are no job logs, with the reason; `notes` say of a cluster what a reader must know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    code_version: str
    source: str
    parameters: dict[str, object]
    started: AwareDatetime
    finished: AwareDatetime
    logs: tuple[JobLogRecord, ...]
    skipped: Mapping[str, str] = Field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    outputs: tuple[OutputFile, ...]
