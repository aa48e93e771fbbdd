"""`dataset.json`: which files of a dataset a folder holds; it is written last."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

DATASET_NAME: Final = "dataset.json"


class DatasetFile(BaseModel):
    """A file that was verified; `etag` is the hub's: SHA-256 of large files, git's SHA-1 of others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    etag: str


class DatasetManifest(BaseModel):
    """A dataset on disk: repository, commit, and every file by its digest.

    With `include` or `exclude` the folder holds a part of the commit's files;
    `left_out` says how many it does not hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    code_version: str
    repo: str
    revision: str
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    left_out: int = Field(default=0, ge=0)
    finished: AwareDatetime
    files: tuple[DatasetFile, ...]
