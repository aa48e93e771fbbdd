"""Datasets that are known by name: where they are, what they hold, and under which licence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict


class NamedSource(BaseModel):
    """A dataset of the hub (`repo`), or an archive at a URL; `size` in bytes is what it takes, about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    meaning: str
    licence: str
    size: int
    repo: str | None = None
    url: str | None = None
    sha256: str | None = None


SOURCES: Mapping[str, NamedSource] = MappingProxyType(
    {
        source.name: source
        for source in (
            NamedSource(
                name="acmetrace",
                meaning="telemetry and job logs of two LLM clusters, Seren and Kalos (NSDI '24)",
                licence="CC-BY-4.0",
                size=80_000_000_000,
                repo="Qinghao/AcmeTrace",
            ),
            NamedSource(
                name="helios",
                meaning="job logs of four deep-learning clusters, April to September 2020 (SC '21)",
                licence="CC-BY-4.0",
                size=36_400_000,
                url="https://github.com/S-Lab-System-Group/HeliosData/raw/master/data.zip",
            ),
        )
    }
)
