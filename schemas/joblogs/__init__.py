"""What job logs look like: a contract for each kind that can be read.

A kind is one small file: a pandera model of its columns and a `JobLogFormat`
beside it, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from schemas.joblogs.acme import KALOS, SEREN
from schemas.joblogs.contract import JobLogFormat, LogColumn
from schemas.joblogs.helios import HELIOS
from schemas.joblogs.pai import PAI
from schemas.joblogs.philly import PHILLY, PHILLY_JSON
from schemas.joblogs.slurm import SLURM

FORMATS: Mapping[str, JobLogFormat] = MappingProxyType(
    {kind.name: kind for kind in (SEREN, KALOS, HELIOS, PHILLY, PHILLY_JSON, PAI, SLURM)}
)

__all__ = ["FORMATS", "JobLogFormat", "LogColumn"]
