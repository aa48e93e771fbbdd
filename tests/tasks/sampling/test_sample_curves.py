"""Flattened values of a generated file follow the published curve."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.published import published_levels, published_quantiles
from tasks.sampling import SampleOptions, write_sample
from tasks.sampling.shapes import published_pair

GPU_METRICS = (
    "GPU_UTIL", "FB_USED", "SM_ACTIVE", "PIPE_TENSOR_ACTIVE", "POWER_USAGE", "GPU_TEMP", "MEMORY_TEMP",
)  # fmt: skip
NODE_METRICS = ("NODE_CPU_UTILIZATION", "NODE_MEMORY_UTILIZATION")


def distance(values: np.ndarray, quantiles: np.ndarray) -> float:
    """The largest distance of the values' distribution from the curve, ties of both allowed for."""
    ordered, levels = np.sort(values), published_levels()
    below = np.searchsorted(ordered, quantiles, "left") / len(ordered)
    upto = np.searchsorted(ordered, quantiles, "right") / len(ordered)
    return float(max((below - levels).max(), (levels - upto).max()))


def curve(cluster: str, metric: str) -> np.ndarray:
    pair = published_pair(cluster, metric)
    assert pair is not None
    values = published_quantiles(*pair)
    return np.round(values * 819.2) if metric == "FB_USED" else values


@pytest.mark.parametrize("cluster", ["seren", "kalos"])
@pytest.mark.parametrize("metric", GPU_METRICS)
def test_gpu_metrics_of_the_default_sample_follow_their_curve(default_sample, cluster, metric):
    values = default_sample.values(cluster, metric)
    values = values[np.isfinite(values)]
    assert len(values) > 100_000
    assert distance(values, curve(cluster, metric)) < 0.02


@pytest.fixture(scope="module")
def wide_fleet(tmp_path_factory):
    root = tmp_path_factory.mktemp("wide") / "sample"
    metrics = (*NODE_METRICS, "NODE_IB_SEND", "NODE_IB_RECEIVE", "GPU_AB_Power", "GPU_C_Power", "CPU_D_Power")
    write_sample(root, SampleOptions(rows=1000, gpus=1024, metrics=metrics, seed=3))
    return root


@pytest.mark.parametrize(
    ("cluster", "metric"),
    [(cluster, metric) for cluster in ("seren", "kalos") for metric in NODE_METRICS]
    + [("seren", "NODE_IB_SEND"), ("seren", "NODE_IB_RECEIVE")],
)
def test_node_metrics_follow_their_curve(wide_fleet, cluster, metric):
    frame = pd.read_csv(wide_fleet / "data" / "utilization" / cluster / f"{metric}.csv")
    values = frame.drop(columns="Time").to_numpy()
    values = values[np.isfinite(values)]
    assert len(values) > 100_000
    assert distance(values, curve(cluster, metric)) < 0.02


@pytest.mark.parametrize(
    ("stems", "tolerance"), [(("GPU_AB_Power", "GPU_C_Power"), 0.02), (("CPU_D_Power",), 0.04)]
)
def test_server_power_follows_its_curve(wide_fleet, stems, tolerance):
    frames = [pd.read_csv(wide_fleet / "data" / "utilization" / "ipmi" / f"{stem}.csv") for stem in stems]
    values = pd.concat(frames)["Sys_Total_Power"].to_numpy()
    assert distance(values, curve("seren", stems[0])) < tolerance


def test_the_marginal_holds_for_a_single_node_over_time(tmp_path):
    write_sample(
        tmp_path / "s", SampleOptions(rows=60_000, gpus=8, metrics=("GPU_TEMP",), clusters=("seren",))
    )
    values = pd.read_csv(tmp_path / "s/data/utilization/seren/GPU_TEMP.csv").drop(columns="Time").to_numpy()
    assert distance(values[np.isfinite(values)], curve("seren", "GPU_TEMP")) < 0.02


def test_published_reference_quantiles_are_met(default_sample):
    folder = os.environ.get("ACMETRACE_REFERENCE")
    if not folder:
        pytest.skip("ACMETRACE_REFERENCE is not set: it names the folder that holds published_quantiles.csv")
    points = pd.read_csv(Path(folder) / "published_quantiles.csv")
    points = points[(points["pickle"] == "gpu_power_kalos.pkl") & (points["pair"] == 1)]
    values = default_sample.values("kalos", "POWER_USAGE")
    assert distance(values[np.isfinite(values)], points["value"].to_numpy()) < 0.02
