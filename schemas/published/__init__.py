"""Published numbers of AcmeTrace that ship with the package, as typed arrays.

`quantiles.csv` holds the 1,000 quantiles of every published distribution
pickle, one column a series (`<pickle>:<pair>`); `pai.csv` holds the 74
digitised points of the PAI curve; `job_curves.csv` holds points of the distributions of
GPU jobs, read off the vector figures to 0.1 point. Text of the first two is the shortest decimal that parses
back to the published double. Nothing here is computed, and no pickle is read.

Source: AcmeTrace, Hu et al., "Characterization of Large Language Model
Development in the Datacenter", NSDI '24; licence CC-BY-4.0. The jobs of Venus, Earth,
Saturn and Uranus: Helios, Hu et al., "Characterization and Prediction of Deep Learning
Workloads in Large-Scale GPU Datacenters", SC '21; licences MIT and CC-BY-4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UsageError

FloatArray = NDArray[np.float64]

PAI = "util_gpu_pai"
# The published files repeat the tensor-activity pair bit for bit; it is stored once.
COPIES: Mapping[tuple[str, int], int] = MappingProxyType(
    {("util_gpu_seren", 5): 4, ("util_gpu_kalos_full", 5): 4}
)


class PublishedSeries(NamedTuple):
    """One (x, y) pair of a published pickle; pairs count from 1 as in the file."""

    pickle: str
    pair: int


def published_levels() -> FloatArray:
    """The quantile levels of every 1,000-point curve, fractions of 1: i / 999 for i = 0 … 999."""
    return np.linspace(0.0, 1.0, 1000)


def published_series() -> tuple[PublishedSeries, ...]:
    """Every pair that `published_quantiles` knows, repeated pairs included, sorted by pickle and pair."""
    return tuple(sorted({*_columns(), *(PublishedSeries(*copy) for copy in COPIES)}))


def published_quantiles(pickle: str, pair: int) -> FloatArray:
    """The 1,000 published quantile values of a pair, ascending, read-only, float64 of shape (1000,).

    `pickle` is the file name without `.pkl`, `pair` counts from 1. Units are
    those of the pickle: percent, W, °C, and unscaled for InfiniBand. Source:
    AcmeTrace, Hu et al., NSDI '24, CC-BY-4.0.

    Raises:
        UsageError: the release has no such pair, or it is the PAI curve.
    """
    if pickle == PAI:
        raise UsageError(
            f"{PAI} is a digitised curve with levels of its own, not 1,000 quantiles.",
            hint="Use published_pai().",
        )
    key = PublishedSeries(pickle, COPIES.get((pickle, pair), pair))
    if key not in _columns():
        known = ", ".join(f"{name}:{number}" for name, number in published_series())
        raise UsageError(
            f"No pair {pair} of a pickle '{pickle}' is published.", hint=f"Published pairs: {known}."
        )
    return _columns()[key]


def published_pai() -> tuple[FloatArray, FloatArray]:
    """The PAI utilisation curve as published: (levels in percent, values in percent), both of shape (74,).

    The points were digitised from a figure of another study: levels start at
    36 % and step down a little in places. Source: AcmeTrace, CC-BY-4.0.
    """
    table = _table("pai.csv")
    return table["level_pct"], table["value"]


class JobCurve(NamedTuple):
    """A published distribution of GPU jobs; terms as in `jobs/ecdf.parquet`."""

    cluster: str
    measure: str
    weight: str
    type: str


@cache
def published_job_curves() -> Mapping[JobCurve, tuple[FloatArray, FloatArray]]:
    """Points of the published distributions of GPU jobs: (x in seconds or GPUs, share ≤ x in percent).

    Kalos' durations hold the queue, as released.
    """
    _, *rows = _text("job_curves.csv").split()
    points: dict[JobCurve, list[tuple[float, float]]] = {}
    for row in rows:
        *key, x, share_pct = row.split(",")
        points.setdefault(JobCurve(*key), []).append((float(x), float(share_pct)))
    curves = {}
    for curve, found in points.items():
        table = np.array(found)
        table.setflags(write=False)
        curves[curve] = (table[:, 0], table[:, 1])
    return MappingProxyType(curves)


@cache
def _columns() -> Mapping[PublishedSeries, FloatArray]:
    columns = {}
    for name, values in _table("quantiles.csv").items():
        pickle, _, pair = name.rpartition(":")
        columns[PublishedSeries(pickle, int(pair))] = values
    return MappingProxyType(columns)


@cache
def _table(name: str) -> Mapping[str, FloatArray]:
    header, *rows = _text(name).split()
    # float() rounds correctly, so the published doubles come back bit for bit.
    cells = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    cells.setflags(write=False)
    return MappingProxyType({column: cells[:, i] for i, column in enumerate(header.split(","))})


def _text(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="ascii")
