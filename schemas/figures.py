"""The manifest of the figures of a run, `figures/manifest.json`: written last, as every manifest."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict

from schemas.manifest import OutputFile

FIGURES_MANIFEST_NAME: Final = "figures/manifest.json"


class FiguresManifest(BaseModel):
    """What was drawn, from which results, and what was left out with the reason.

    `drawn_from` has the SHA-256 of the manifests the figures were drawn from, by path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    code_version: str
    packages: dict[str, str]
    finished: AwareDatetime
    drawn_from: dict[str, str]
    skipped: dict[str, str]
    outputs: tuple[OutputFile, ...]
