"""The record of an export: what was asked of which server, and what came.

`export.json` is written last; a folder without one holds an unfinished export.
Who asked (credentials) is not part of it.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.manifest import OutputFile

EXPORT_NAME = "export.json"
FORMAT: Final = 1

Status = Literal["exported", "absent", "failed"]


class ExportedMetric(BaseModel):
    """One metric: the query as sent, and what was made of its answers.

    `series` counts label sets, `samples` numbers the server sent. Of these
    `not_numbers` and `infinite` gave a blank cell; so did `conflicts`, cells for
    which label sets of one entity had different values (`conflict` names two).
    `rows`, `entities`, `values` and `blanks` are those of the file. `warnings` are
    the server's: parts of the data may be missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    status: Status
    reason: str = ""
    query: str
    unit: str
    series: int = Field(default=0, ge=0)
    samples: int = Field(default=0, ge=0)
    not_numbers: int = Field(default=0, ge=0)
    infinite: int = Field(default=0, ge=0)
    conflicts: int = Field(default=0, ge=0)
    conflict: str = ""
    warnings: tuple[str, ...] = ()
    entities: int = Field(default=0, ge=0)
    rows: int = Field(default=0, ge=0)
    values: int = Field(default=0, ge=0)
    blanks: int = Field(default=0, ge=0)
    first_time: AwareDatetime | None = None
    last_time: AwareDatetime | None = None
    file: OutputFile | None = None

    @property
    def suspicious(self) -> bool:
        """Whether something is wrong with it, or may be missing from it."""
        return bool(self.status == "failed" or self.conflicts or self.infinite or self.warnings)


class ExportManifest(BaseModel):
    """Everything needed to trace an exported file back to queries. Times of the period: [since, until).

    `first_instant` is where the rows begin: `since`, aligned to the step.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = FORMAT
    code_version: str
    packages: dict[str, str]
    server: str
    cluster: str
    since: AwareDatetime
    until: AwareDatetime
    first_instant: AwareDatetime
    step_s: int = Field(ge=1)
    window_s: int = Field(ge=1)
    timezone: str
    started: AwareDatetime
    finished: AwareDatetime
    metrics: tuple[ExportedMetric, ...]
    outputs: tuple[OutputFile, ...]

    def same_period(self, other: ExportManifest) -> bool:
        """Whether the files of another export can stand beside those of this one."""
        parts = ("server", "cluster", "since", "until", "step_s", "window_s", "timezone")
        return all(getattr(self, part) == getattr(other, part) for part in parts)
