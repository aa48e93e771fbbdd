"""The metric catalogue: what each series file of a cluster holds.

One entry a metric: meaning, source, field identifier, unit, entity, the scaling
done before release, decimals and physical range. A TOML file extends or
replaces entries (`load_catalogue`). A metric that no entry names gets an
inferred one that says so. Rules about whole files (columns, coverage,
thresholds) belong in `schemas.series`.

How metrics are asked of a Prometheus server is described in `schemas.prometheus`.

Sources: field identifiers are those of NVIDIA DCGM and the Prometheus node
exporter; scaling, decimals and units are those of the AcmeTrace release.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from schemas.errors import UsageError
from schemas.prometheus import GPU_ENTITY, NODE_ENTITY, PrometheusQuery

Entity = Literal["gpu", "node", "any"]


class Metric(BaseModel):
    """One metric of the catalogue.

    `scale` is what the raw sensor value was multiplied by before release.
    `decimals` is the largest number of decimals a released value has, or None
    where values are not rounded. `low` and `high` bound what is physically
    possible, both ends included; a value outside is reported, never clipped. A
    `latched` gauge keeps its last value until it is cleared: changes count, not samples.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.\-]*$")
    meaning: str
    source: Literal["dcgm", "node_exporter", "ipmi", "inferred"]
    field: str | None = None
    unit: str
    entity: Entity = "any"
    scale: float = 1.0
    decimals: int | None = Field(default=None, ge=0, le=9)
    low: float | None = None
    high: float | None = None
    interval_s: float | None = Field(default=None, gt=0)
    latched: bool = False
    # How a metric is exported says nothing about a file: records and their schema are without it.
    prometheus: SkipJsonSchema[PrometheusQuery | None] = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _range_is_ordered(self) -> Metric:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        return self

    def __eq__(self, other: object) -> bool:
        """What is said of files decides, so that an entry equals itself in a record."""
        return isinstance(other, Metric) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.name)


def _dcgm(
    name: str,
    field: str,
    meaning: str,
    unit: str,
    low: float | None,
    high: float | None,
    *,
    scale: float = 1.0,
    decimals: int = 0,
    latched: bool = False,
) -> Metric:
    return Metric(
        name=name,
        meaning=meaning,
        source="dcgm",
        field=field,
        unit=unit,
        entity="gpu",
        scale=scale,
        decimals=decimals,
        low=low,
        high=high,
        interval_s=15.0,
        latched=latched,
        prometheus=PrometheusQuery(query=field, entity=GPU_ENTITY),
    )


def _ratio(name: str, field: str, meaning: str) -> Metric:
    return _dcgm(name, field, meaning, "%", 0, 100, scale=100, decimals=3)


def _node(
    name: str,
    field: str,
    meaning: str,
    unit: str,
    high: float,
    scale: float,
    query: PrometheusQuery,
) -> Metric:
    return Metric(
        name=name,
        meaning=meaning,
        source="node_exporter",
        field=field,
        unit=unit,
        entity="node",
        scale=scale,
        decimals=3,
        low=0.0,
        high=high,
        interval_s=15.0,
        prometheus=query,
    )


def _node_query(query: str) -> PrometheusQuery:
    return PrometheusQuery(query=query, entity=NODE_ENTITY)


def _ib_query(counter: str) -> PrometheusQuery:
    # The maximum of the release fits MB/s and MiB/s of its ports; an export of one's own is in MB/s.
    query = f"sum by (instance) (rate({counter}[{{window}}]))"
    return PrometheusQuery(query=query, entity=NODE_ENTITY, scale=1e-6, unit="MB/s")


_ENTRIES = (
    _dcgm(
        "XID_ERRORS",
        "DCGM_FI_DEV_XID_ERRORS",
        "last XID error code, a latched gauge; 0 is healthy",
        "code",
        0,
        1000,
        latched=True,
    ),
    _dcgm("GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP", "core temperature", "°C", 1, 110),
    _dcgm("MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP", "memory temperature", "°C", 1, 120),
    _dcgm("MEM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "memory clock", "MHz", 0, 10_000),
    _dcgm("MEM_COPY_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL", "memory bandwidth utilisation", "%", 0, 100),
    _dcgm("FB_FREE", "DCGM_FI_DEV_FB_FREE", "free framebuffer memory", "MiB", 0, 81_920),
    _dcgm("FB_USED", "DCGM_FI_DEV_FB_USED", "used framebuffer memory", "MiB", 0, 81_920),
    _ratio("DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "cycles with memory traffic"),
    _dcgm("POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE", "power draw of the GPU", "W", 30, 700, decimals=1),
    _dcgm("GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL", "time with at least one kernel running", "%", 0, 100),
    _ratio("PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "cycles with tensor cores active"),
    _ratio("SM_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "cycles with at least one warp on an SM"),
    _ratio("SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY", "resident warps of those possible"),
    _node(
        "NODE_CPU_UTILIZATION",
        "node_cpu_seconds_total",
        "CPU time not idle",
        "%",
        100,
        100,
        _node_query('1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[{window}]))'),
    ),
    _node(
        "NODE_MEMORY_UTILIZATION",
        "node_memory_MemAvailable_bytes",
        "host memory in use",
        "%",
        100,
        100,
        _node_query("1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"),
    ),
    _node(
        "NODE_IB_SEND",
        "node_infiniband_port_data_transmitted_bytes_total",
        "InfiniBand send rate; unit not stated by the release",
        "unscaled",
        25_000,
        1,
        _ib_query("node_infiniband_port_data_transmitted_bytes_total"),
    ),
    _node(
        "NODE_IB_RECEIVE",
        "node_infiniband_port_data_received_bytes_total",
        "InfiniBand receive rate; unit not stated by the release",
        "unscaled",
        25_000,
        1,
        _ib_query("node_infiniband_port_data_received_bytes_total"),
    ),
)

Catalogue = Mapping[str, Metric]
CATALOGUE: Catalogue = MappingProxyType({metric.name: metric for metric in _ENTRIES})

# Metrics that an export knows besides those of the release.
EXPORT_ONLY: Catalogue = MappingProxyType(
    {
        "NODE_POWER": Metric(
            name="NODE_POWER",
            meaning="power of a server as its BMC tells, from DCMI or else the largest power sensor",
            source="ipmi",
            field="ipmi_dcmi_power_consumption_watts",
            unit="W",
            entity="node",
            decimals=0,
            low=1.0,
            high=20_000.0,
            prometheus=_node_query(
                "max by (instance) (ipmi_dcmi_power_consumption_watts)"
                " or max by (instance) (ipmi_power_watts)"
            ),
        )
    }
)


def inferred(name: str) -> Metric:
    """The entry of a metric the catalogue does not know: no unit, no range, no interval."""
    return Metric(name=metric_name(name), meaning="not in the catalogue", source="inferred", unit="unknown")


def metric_name(text: str) -> str:
    """Any text as the name of a metric; one that had to be changed is told apart by a digest."""
    safe = re.sub(r"[^A-Za-z0-9_.\-]", "_", text)
    if not safe[:1].isalpha():
        safe = f"M{safe}"
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def load_catalogue(path: Path | str) -> Catalogue:
    """The built-in catalogue with the entries of a TOML file added or replaced.

    The file holds one table a metric: `[POWER_W]` with the fields of `Metric`
    except its name. A table of a known metric with nothing but `prometheus` changes
    only what it names of the metric's query.

    Raises:
        UsageError: the file is not TOML, or an entry is not a valid metric.
    """
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"The catalogue {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UsageError(f"The catalogue {path} is not valid TOML: {error}.") from error
    added: dict[str, Metric] = {}
    for name, fields in tables.items():
        if not isinstance(fields, dict):
            raise UsageError(
                f"The catalogue {path} has a value '{name}' outside a table.",
                hint=f"Write one table a metric: [{name}] with meaning, source, unit.",
            )
        try:
            added[name] = _entry(name, fields)
        except (ValidationError, TypeError) as error:
            raise UsageError(f"The catalogue {path} has no valid entry [{name}]: {error}") from error
    return MappingProxyType({**CATALOGUE, **added})


def _entry(name: str, fields: Mapping[str, object]) -> Metric:
    known = CATALOGUE.get(name) or EXPORT_ONLY.get(name)
    asked = fields.get("prometheus")
    if known and known.prometheus and set(fields) == {"prometheus"} and isinstance(asked, Mapping):
        query = PrometheusQuery(**{**known.prometheus.model_dump(), **asked})
        return known.model_copy(update={"prometheus": query})
    defaults = {"source": "inferred", "unit": "unknown", "meaning": name}
    return Metric.model_validate({**defaults, **fields, "name": name})
