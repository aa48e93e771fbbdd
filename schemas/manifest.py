"""The manifest of a run: what was read, with which parameters, and what was written.

`manifest.json` is written last; an output folder without one is unfinished.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.findings import Verdict

MANIFEST_NAME = "manifest.json"
FORMAT: Final = 1


class InputFile(BaseModel):
    """A file that was read. `version` is the store's own (etag, or modification time).

    `digest` is that of `tasks.storage.digest`, over the unpacked bytes of a packed
    file; None where not all of the file was read, because of a period or an error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int = Field(ge=0)
    version: str
    digest: str | None = None


class OutputFile(BaseModel):
    """A file that was written: path relative to the manifest, size in bytes, SHA-256 in hex."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @classmethod
    def of(cls, path: str, data: bytes) -> OutputFile:
        """The description of a file of this content."""
        return cls(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())


class SeriesEntry(BaseModel):
    """One series of the run and its verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    series: str
    verdict: Verdict
    inputs: tuple[InputFile, ...]
    schema_path: str


class PickleEntry(BaseModel):
    """One published pickle: written with these periods, or left out for a reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    status: Literal["written", "left out"]
    periods: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""


class RunManifest(BaseModel):
    """Everything needed to trace a number of the run back to bytes, rule and code version.

    `dataset` is what a pulled source is a copy of, as `repository@commit`; empty where it does not tell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = FORMAT
    code_version: str
    packages: dict[str, str]
    source: str
    dataset: str = ""
    parameters: dict[str, Any]
    started: AwareDatetime
    finished: AwareDatetime
    series: tuple[SeriesEntry, ...]
    pickles: tuple[PickleEntry, ...]
    outputs: tuple[OutputFile, ...]
