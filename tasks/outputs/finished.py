"""A finished run: its manifest, and whether its files are still those that were written.

Needs only the files of the run; what wrote them is `tasks.outputs.run`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, Self, TypeVar

from pydantic import ValidationError

from schemas.errors import IncompleteRun, UsageError
from schemas.manifest import MANIFEST_NAME, OutputFile, RunManifest
from tasks.storage.names import check_relative
from tasks.storage.publish import read_bytes

_SHOWN = 5
M = TypeVar("M", bound="Manifest")


class Manifest(Protocol):
    """A manifest that names its outputs."""

    @property
    def outputs(self) -> tuple[OutputFile, ...]: ...

    @classmethod
    def model_validate_json(cls, json_data: bytes) -> Self: ...


def read_run(out: str | Path) -> RunManifest:
    """The manifest of the finished run in `out`.

    Raises:
        IncompleteRun: there is no manifest, or it is not one of ours.
    """
    return read_manifest(out, MANIFEST_NAME, RunManifest)


def read_manifest(out: str | Path, name: str, model: type[M]) -> M:
    """The manifest `name` of what was finished in `out`.

    Raises:
        IncompleteRun: there is no manifest, or it is not one of ours.
    """
    data = read_bytes(out, name)
    if data is None:
        raise IncompleteRun(
            f"{out} has no {name}: no run has finished there.",
            hint="Start the run again with the same output folder; work that is done is not done twice.",
        )
    try:
        manifest = model.model_validate_json(data)
        for output in manifest.outputs:
            check_relative(output.path)
    except (ValidationError, UsageError) as error:
        raise IncompleteRun(
            f"{name} in {out} is not the manifest of a run: {str(error)[:300]}",
            hint="It is damaged or of another version of the format; run again with the same output folder.",
        ) from error
    return manifest


def verify_run(out: str | Path) -> RunManifest:
    """The manifest of the run in `out`, once every file it names was read and has its size and digest.

    Raises:
        IncompleteRun: there is no valid manifest, or files are missing or changed; names the first of them.
    """
    manifest = read_run(out)
    problems = [problem for output in manifest.outputs if (problem := _difference(out, output))]
    if problems:
        more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise IncompleteRun(
            f"{len(problems)} of {len(manifest.outputs)} files of the run in {out} are not as written: "
            f"{', '.join(problems[:_SHOWN])}{more}.",
            hint="Copy the folder again, or run again with the same output folder.",
        )
    return manifest


def _difference(out: str | Path, output: OutputFile) -> str:
    data = read_bytes(out, output.path)
    if data is None:
        return f"{output.path} is missing"
    if OutputFile.of(output.path, data) != output:
        return f"{output.path} has other content"
    return ""
