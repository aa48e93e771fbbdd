"""The contract of IPMI files: long form, one row a node and instant.

Columns are found by name; their order means nothing. Four server types stand
behind three files: A and B (GPU servers, one file; B has no memory-power
sensor), C (GPU servers) and D (CPU servers). Source: the AcmeTrace release.

Names of curves, each once a cluster:

    SERVER_POWER_A … _D         total power of the servers of one type
    SERVER_POWER_GPU, _CPU      total power of all servers of the GPU files, of the CPU file
    CPU_POWER, PSU1_PIN, …      a component, all servers of the GPU files
    CPU_SERVER_CPU_POWER, …     the same of the CPU file
    SERVER_POWER.rack7, …       total and components of a file `rack7` that is not one of the release

Hourly tables have the names of the curves of all servers; tables of entities too,
except that the total of the released files is `SERVER_POWER`, with one row a node.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.metrics import Metric, metric_name

ServerType = Literal["A", "B", "C", "D"]
Servers = Literal["gpu", "cpu"]

SERVER_POWER = "SERVER_POWER"

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
    servers: Servers


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


def group_curve(column: str, servers: Servers) -> str:
    """The name of the curve of a column, all servers of the GPU files or of the CPU file."""
    if column == TOTAL_COLUMN:
        return f"{SERVER_POWER}_{servers.upper()}"
    return column.upper() if servers == "gpu" else f"CPU_SERVER_{column.upper()}"


def type_curve(server_type: ServerType) -> str:
    """The name of the curve of the total power of one server type."""
    return f"{SERVER_POWER}_{server_type}"


def own_curve(column: str, file: str) -> str:
    """The name of the curve of a column of a file `file` that is not one of the release."""
    return f"{SERVER_POWER if column == TOTAL_COLUMN else column.upper()}.{metric_name(file)}"
