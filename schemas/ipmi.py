"""The contract of IPMI files: long form, one row a node and instant.

Columns are found by name; their order means nothing. Four server types stand
behind three files: A and B (GPU servers, one file; B has no memory-power
sensor), C (GPU servers) and D (CPU servers). Source: the AcmeTrace release.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.metrics import Metric

ServerType = Literal["A", "B", "C", "D"]

TIME_COLUMN = "Time"
NODE_COLUMN = "node"
TOTAL_COLUMN = "Sys_Total_Power"
MEMORY_COLUMN = "Memory_Power"
COMPONENT_COLUMNS = (
    "CPU_Power",
    "Memory_Power",
    "PSU1_PIN",
    "PSU2_PIN",
    "PSU3_PIN",
    "PSU4_PIN",
    "PSU5_PIN",
    "PSU6_PIN",
    "PSU_IN_SUM",
)
INTERVAL_S = 300.0
# The release keeps the IPMI files of Seren in a folder of their own.
FOLDER_CLUSTER = {"ipmi": "seren"}


class IpmiFile(BaseModel):
    """A known file: the server types in it and the curve its rows belong to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stem: str
    types: tuple[ServerType, ...]
    servers: Literal["gpu", "cpu"]


IPMI_FILES = {
    file.stem: file
    for file in (
        IpmiFile(stem="GPU_AB_Power", types=("A", "B"), servers="gpu"),
        IpmiFile(stem="GPU_C_Power", types=("C",), servers="gpu"),
        IpmiFile(stem="CPU_D_Power", types=("D",), servers="cpu"),
    )
}

_NODE_NAME = re.compile(r"^.*?(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})$")


def node_address(node: str) -> str:
    """The address in the wide files of an IPMI node: `SH-IDC1-10-140-0-131` is 10.140.0.131."""
    match = _NODE_NAME.match(node)
    return ".".join(match.groups()) if match else node


def power_metric(name: str, meaning: str) -> Metric:
    """The catalogue entry of a power column or curve of an IPMI file, in W."""
    return Metric(
        name=name,
        meaning=meaning,
        source="ipmi",
        unit="W",
        entity="node",
        decimals=0,
        low=1.0,
        high=20_000.0,
        interval_s=INTERVAL_S,
    )
