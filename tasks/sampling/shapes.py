"""Distributions of the generated metrics: a quantile function for each, on a grid of levels.

Metrics with a published curve follow it. The others follow a stated shape that
leans on a published one, so that they move with it. Which entity stands on
which level at which time is decided in `kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.metrics import CATALOGUE
from schemas.pickles import FRAMEBUFFER_MIB
from schemas.published import published_levels, published_quantiles
from tasks.sampling.texts import TextTable, text_table

FloatArray = NDArray[np.float64]

GRID = 65_536  # levels; enough that no atom of a published curve moves by more than 0.002 %
# What an 80 GB A100 leaves to programs; the rest is reserved. Not published, chosen above the
# published maximum of FB_USED so that FB_FREE stays positive.
USABLE_MIB = 81_251
MEM_CLOCK_MHZ = 1593.0
# Codes of the latched gauge. Weights are the published Kalos onsets (794, 55, 2, 1 of 852) with
# the rare codes raised, so that samples of a few hours can hold them.
XID_CODES = (43,) * 12 + (31,) * 2 + (94, 45)

_PAIRS = {
    ("seren", "GPU_UTIL"): ("util_gpu_seren", 1),
    ("seren", "FB_USED"): ("util_gpu_seren", 2),
    ("seren", "SM_ACTIVE"): ("util_gpu_seren", 3),
    ("seren", "PIPE_TENSOR_ACTIVE"): ("util_gpu_seren", 4),
    ("seren", "POWER_USAGE"): ("gpu_power_seren", 1),
    ("seren", "GPU_TEMP"): ("gpu_temp_seren", 1),
    ("seren", "MEMORY_TEMP"): ("gpu_temp_seren", 2),
    ("seren", "NODE_CPU_UTILIZATION"): ("util_cpu_mem_seren", 1),
    ("seren", "NODE_MEMORY_UTILIZATION"): ("util_cpu_mem_seren", 2),
    ("seren", "NODE_IB_SEND"): ("ib_seren", 1),
    ("seren", "NODE_IB_RECEIVE"): ("ib_seren", 2),
    ("seren", "GPU_AB_Power"): ("server_power", 1),
    ("seren", "GPU_C_Power"): ("server_power", 1),
    ("seren", "CPU_D_Power"): ("server_power", 2),
    ("kalos", "GPU_UTIL"): ("util_gpu_kalos_full", 1),
    ("kalos", "FB_USED"): ("util_gpu_kalos_full", 2),
    ("kalos", "SM_ACTIVE"): ("util_gpu_kalos_full", 3),
    ("kalos", "PIPE_TENSOR_ACTIVE"): ("util_gpu_kalos_full", 4),
    ("kalos", "POWER_USAGE"): ("gpu_power_kalos", 1),
    ("kalos", "GPU_TEMP"): ("gpu_temp_kalos", 1),
    ("kalos", "MEMORY_TEMP"): ("gpu_temp_kalos", 2),
    ("kalos", "NODE_CPU_UTILIZATION"): ("util_cpu_mem_kalos", 1),
    ("kalos", "NODE_MEMORY_UTILIZATION"): ("util_cpu_mem_kalos", 2),
}
# Shares of SM_ACTIVE: memory traffic and resident warps rise and fall with the multiprocessors.
_SHARE_OF_SM_ACTIVE = {"MEM_COPY_UTIL": 0.45, "DRAM_ACTIVE": 0.30, "SM_OCCUPANCY": 0.35}


@dataclass(frozen=True)
class Shape:
    """A metric's values and texts: `grid[i]` is the code of the level i / (GRID − 1).

    Code k + 1 stands for `values[k]`, code 0 for a blank. `mean_width` is the
    expected length of a filled cell in bytes, comma included.
    """

    values: FloatArray
    texts: TextTable
    grid: NDArray[np.uint32]
    mean_width: float


def published_pair(cluster: str, metric: str) -> tuple[str, int] | None:
    """The published (pickle, pair) whose values a generated series follows, or None."""
    return _PAIRS.get((cluster, metric))


@lru_cache(maxsize=64)
def shape_of(cluster: str, metric: str) -> Shape:
    """The shape of a metric in a cluster, rounded to the metric's decimals.

    Raises:
        UsageError: the metric has neither a published curve nor a stated shape.
    """
    if metric == "XID_ERRORS":
        return _shape(np.array([0.0, *sorted(set(XID_CODES))]), np.zeros(GRID))
    quantiles = np.round(_quantiles(cluster, metric), _decimals(metric))
    return _shape(np.unique(quantiles), quantiles)


def _quantiles(cluster: str, metric: str) -> FloatArray:
    levels = np.linspace(0.0, 1.0, GRID)
    if metric == "FB_FREE":
        return USABLE_MIB - np.round(_quantiles(cluster, "FB_USED"))
    if metric == "MEM_CLOCK":
        return np.full(GRID, MEM_CLOCK_MHZ)
    if metric in _SHARE_OF_SM_ACTIVE:
        return _SHARE_OF_SM_ACTIVE[metric] * _quantiles(cluster, "SM_ACTIVE")
    pair = published_pair(cluster, metric)
    if pair is None:
        raise UsageError(f"No shape is known for {cluster}/{metric}.")
    curve = np.interp(levels, published_levels(), published_quantiles(*pair))
    # The published memory curve is in percent of the framebuffer, the released file in MiB.
    return curve * FRAMEBUFFER_MIB / 100.0 if metric == "FB_USED" else curve


def _decimals(metric: str) -> int:
    known = CATALOGUE.get(metric)
    return known.decimals or 0 if known else 0


def _shape(values: FloatArray, quantiles: FloatArray) -> Shape:
    texts = text_table(values.tolist())
    grid = (np.searchsorted(values, quantiles) + 1).astype(np.uint32)
    return Shape(values=values, texts=texts, grid=grid, mean_width=float(texts.lengths[grid].mean()))
