"""The published pickles: their pairs, and the periods and derived curves these need.

`PICKLES` lists every pickle of the release. How they are written is in
`tasks.outputs.pickles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from schemas.metrics import CATALOGUE

LEVELS = 1000  # np.linspace(0, 1, LEVELS), the published number of quantile levels
AUGUST = "2023-08"
WHOLE = "all"
FRAMEBUFFER_MIB = 80 * 1024  # the base of the published FB_USED percentage


class DerivedCurve(BaseModel):
    """A curve of monotone transformed values: value × factor ÷ divisor, in this order of operations."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    unit: str
    factor: float
    divisor: float


DERIVED_CURVES: Mapping[str, tuple[DerivedCurve, ...]] = MappingProxyType(
    {"FB_USED": (DerivedCurve(name="FB_USED_PCT", unit="%", factor=100.0, divisor=float(FRAMEBUFFER_MIB)),)}
)


class Pair(BaseModel):
    """One (x, y) pair of a pickle: x = a curve of curves.parquet, y = its levels in percent.

    `period` is used where the data has it, otherwise the whole file.
    `copy_of` is the 1-based pair this one repeats bit for bit in the published file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    metric: str
    period: str = WHOLE
    copy_of: int | None = None


class PickleLayout(BaseModel):
    """A published pickle `util_pkl/<name>.pkl`: a list [x1, y1, x2, y2, …] of float64 arrays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    pairs: tuple[Pair, ...]
    note: str = ""


def _gpu(cluster: str, name: str) -> PickleLayout:
    return PickleLayout(
        name=name,
        pairs=(
            Pair(cluster=cluster, metric="GPU_UTIL"),
            Pair(cluster=cluster, metric="FB_USED_PCT"),
            Pair(cluster=cluster, metric="SM_ACTIVE"),
            Pair(cluster=cluster, metric="PIPE_TENSOR_ACTIVE"),
            Pair(cluster=cluster, metric="PIPE_TENSOR_ACTIVE", copy_of=4),
        ),
        note="pair 5 repeats pair 4 as in the published file; SM_OCCUPANCY is in curves.parquet",
    )


def _two(
    name: str, cluster: str, first: str, second: str, period: str = WHOLE, note: str = ""
) -> PickleLayout:
    return PickleLayout(
        name=name,
        pairs=(
            Pair(cluster=cluster, metric=first, period=period),
            Pair(cluster=cluster, metric=second, period=period),
        ),
        note=note,
    )


def _power(cluster: str) -> PickleLayout:
    pair = Pair(cluster=cluster, metric="POWER_USAGE", period=AUGUST)
    return PickleLayout(name=f"gpu_power_{cluster}", pairs=(pair,))


PICKLES: tuple[PickleLayout, ...] = (
    _gpu("seren", "util_gpu_seren"),
    _gpu("kalos", "util_gpu_kalos_full"),
    PickleLayout(
        name="util_gpu_kalos",
        pairs=(
            Pair(cluster="kalos", metric="GPU_UTIL"),
            Pair(cluster="kalos", metric="FB_USED_PCT"),
        ),
        note="the published GPU_UTIL pair is of another, unknown period; here it is the whole file",
    ),
    PickleLayout(name="util_gpu_philly", pairs=(Pair(cluster="philly", metric="GPU_UTIL"),)),
    PickleLayout(
        name="util_gpu_pai",
        pairs=(Pair(cluster="pai", metric="GPU_UTIL"),),
        note="the published file is a digitised curve of 74 points; here it has 1,000 levels as the others",
    ),
    _two("util_cpu_mem_seren", "seren", "NODE_CPU_UTILIZATION", "NODE_MEMORY_UTILIZATION"),
    _two("util_cpu_mem_kalos", "kalos", "NODE_CPU_UTILIZATION", "NODE_MEMORY_UTILIZATION"),
    _two("ib_seren", "seren", "NODE_IB_SEND", "NODE_IB_RECEIVE", note="unscaled; the unit is not known"),
    _power("seren"),
    _power("kalos"),
    _two("gpu_temp_seren", "seren", "GPU_TEMP", "MEMORY_TEMP", AUGUST),
    _two("gpu_temp_kalos", "kalos", "GPU_TEMP", "MEMORY_TEMP", AUGUST),
    _two("server_power", "seren", "SERVER_POWER_GPU", "SERVER_POWER_CPU"),
)


def periods_of(cluster: str, metric: str) -> tuple[str, ...]:
    """The periods besides the whole file for which published pickles need a curve of a metric.

    The August curves are those of power and temperature; a metric the catalogue
    does not know has none.
    """
    if metric not in CATALOGUE:
        return ()
    wanted = {
        pair.period
        for layout in PICKLES
        for pair in layout.pairs
        if pair.metric == metric and pair.cluster == cluster and pair.period != WHOLE
    }
    return tuple(sorted(wanted))
