"""Two runs beside each other: what moved, by how much, in what order."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from schemas.errors import UsageError
from tasks.compare import Side, compare
from tests.tasks.results import curve, ecdf, results_of, summaries

CURVES, ECDF = "summaries/curves.parquet", "jobs/ecdf.parquet"


def run(folder: Path, hot: float, jobs: float = 60, cluster: str = "seren") -> Side:
    curves = [curve(cluster, "GPU_TEMP", [20, hot, 90]), curve(cluster, "GPU_UTIL", [0, 50, 100])]
    folder.mkdir()
    results = results_of(
        folder, {CURVES: pd.concat(curves), ECDF: ecdf(cluster, "gpu_num", {1: jobs, 8: 100})}
    )
    summaries(folder, {cluster.capitalize(): {"gpu_job_num": 10, "avg_gpu_num": jobs}})
    return Side(results)


def test_what_moved_most_of_each_kind_comes_first(tmp_path: Path) -> None:
    found = compare(run(tmp_path / "a", 40), run(tmp_path / "b", 80, 45))
    assert [(line.kind, line.name) for line in found.moved][:4] == [
        ("curve", "GPU_TEMP"),
        ("curve", "GPU_UTIL"),
        ("jobs", "gpu_num by jobs, all"),
        ("number", "avg_gpu_num"),
    ]
    temperature, utilisation, jobs, number = found.moved[:4]
    assert (temperature.a, temperature.b) == pytest.approx((40, 80), abs=0.1)
    assert utilisation.distance_pct == 0
    assert jobs.distance_pct == pytest.approx(15)
    assert (number.a, number.b, number.moved_pct) == (60, 45, 25)
    assert (found.only_a, found.only_b) == ((), ())


def test_a_run_has_not_moved_from_itself(tmp_path: Path) -> None:
    side = run(tmp_path / "a", 40)
    found = compare(side, side)
    assert len(found.moved) >= 5
    assert {line.moved_pct for line in found.moved} == {0}


def test_two_clusters_are_compared_under_one_name(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", 40), run(tmp_path / "b", 80, cluster="kalos")
    apart = compare(a, b)
    assert apart.moved == ()
    assert "seren/GPU_TEMP/all" in apart.only_a
    together = compare(Side(a.results, "seren"), Side(b.results, "kalos"))
    assert together.moved[0].name == "GPU_TEMP"
    assert (together.only_a, together.only_b) == ((), ())


def test_two_periods_of_a_run_are_compared_by_their_curves_alone(tmp_path: Path) -> None:
    curves = [curve("seren", "GPU_TEMP", [20, 40], month) for month in ("2023-07", "2023-08")]
    results = results_of(tmp_path, {CURVES: pd.concat(curves), ECDF: ecdf("seren", "gpu_num", {1: 50})})
    found = compare(Side(results, period="2023-07"), Side(results, period="2023-08"))
    assert [(line.name, line.distance_pct) for line in found.moved] == [("GPU_TEMP", 0)]


def test_a_cluster_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    results = run(tmp_path / "a", 40).results
    with pytest.raises(UsageError, match="nothing of cluster 'kalos'") as refused:
        Side(results, "kalos")
    assert "seren" in str(refused.value.hint)
