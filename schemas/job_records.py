"""What became of job logs: the record of each, and the manifest of `jobs/`, which is written last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.findings import Finding, Severity, Verdict
from schemas.manifest import InputFile, OutputFile

JOBS_MANIFEST_NAME: Final = "jobs/manifest.json"


class AuditLine(BaseModel):
    """What was done to how many rows of a log. With `left_out` they are not in the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    severity: Severity
    rows: int = Field(ge=0)
    left_out: bool = False
    treatment: str


class ColumnFacts(BaseModel):
    """A column of the contract: what it means, what it becomes, and whether the log has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["text", "number", "time"]
    unit: str
    description: str
    becomes: str
    there: bool


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
    contract: tuple[ColumnFacts, ...] = ()
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
