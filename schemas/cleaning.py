"""`clean.json`: what `acmetrace clean` read, did and wrote; it is written last."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.findings import Finding
from schemas.manifest import InputFile, OutputFile

CLEAN_NAME: Final = "clean.json"


class Steps(BaseModel):
    """What was done to the values and rows of a metric.

    Values were multiplied by `scale` and rounded to `decimals` (None: not at all);
    rows of the window [since, until) and, if `drop_blank_rows`, rows without a
    value were left out; times are written in `timezone`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: float
    decimals: int | None
    drop_blank_rows: bool
    window: tuple[AwareDatetime, AwareDatetime] | None
    suffix: str
    timezone: str


class CleanedSeries(BaseModel):
    """One raw series and what became of it.

    `rows` were read; `duplicates`, `window_rows` and `blank_rows` of them were left
    out, and so were the `blank_columns`. A series that failed, or is left as it is
    for the reason its findings give, has no output.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    series: str
    status: Literal["cleaned", "failed", "left out"]
    inputs: tuple[InputFile, ...]
    steps: Steps | None = None
    rows: int = Field(default=0, ge=0)
    rows_written: int = Field(default=0, ge=0)
    duplicates: int = Field(default=0, ge=0)
    window_rows: int = Field(default=0, ge=0)
    blank_rows: int = Field(default=0, ge=0)
    in_order: bool = True
    columns: int = Field(default=0, ge=0)
    blank_columns: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    output: OutputFile | None = None


class CleanManifest(BaseModel):
    """Everything needed to trace a cleaned file back to raw bytes, steps and code version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    code_version: str
    source: str
    started: AwareDatetime
    finished: AwareDatetime
    series: tuple[CleanedSeries, ...]
