"""`convert.json`: what `acmetrace convert` read and wrote; it is written last."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.findings import Finding
from schemas.manifest import InputFile, OutputFile

CONVERT_NAME: Final = "convert.json"


class ConvertedSeries(BaseModel):
    """One series and the Parquet file made of it, if none of its cells stood in the way."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    series: str
    status: Literal["converted", "copied", "failed"]
    inputs: tuple[InputFile, ...]
    rows: int = Field(default=0, ge=0)
    columns: int = Field(default=0, ge=0)
    values: int = Field(default=0, ge=0)
    row_groups: int = Field(default=0, ge=0)
    findings: tuple[Finding, ...] = ()
    outputs: tuple[OutputFile, ...] = ()


class ConvertManifest(BaseModel):
    """Everything needed to trace a Parquet file back to the bytes it was made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    code_version: str
    source: str
    started: AwareDatetime
    finished: AwareDatetime
    series: tuple[ConvertedSeries, ...]
