"""Published curves: given back to the comparison they agree, and another curve does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.pickles import PICKLES
from schemas.published import PAI, published_job_curves, published_pai, published_quantiles
from schemas.published.clusters import PUBLISHED_CLUSTERS
from tasks.outputs.results import Results
from tasks.verification.job_curves import compare_job_curves
from tasks.verification.pickles import compare_pickles
from tests.tasks.results import LEVELS, Maker, ecdf, logs, results_of

CURVES, ECDF = "summaries/curves.parquet", "jobs/ecdf.parquet"


def published_as_a_run_has_them() -> pd.DataFrame:
    """The curves that a run on the full release would have, once each."""
    found = {}
    for layout in PICKLES:
        for number, pair in enumerate(layout.pairs, start=1):
            if layout.name == PAI:
                levels, values = published_pai()
                values = np.interp(LEVELS, levels, values)
            else:
                values = published_quantiles(layout.name, number)
            # util_gpu_kalos is of another period than the full curve of the same metric.
            found.setdefault((pair.cluster, pair.metric, pair.period), values)
    return pd.concat(
        pd.DataFrame({"cluster": c, "metric": m, "period": p, "level_pct": LEVELS, "value": values})
        for (c, m, p), values in found.items()
    )


def test_the_published_pickles_agree_with_themselves(made: Maker) -> None:
    lines = compare_pickles(made({CURVES: published_as_a_run_has_them()}))
    assert {line.outcome for line in lines} == {"agrees", "known discrepancy"}
    apart = {line.id: line.distance_pct for line in lines if line.outcome != "agrees"}
    assert set(apart) <= {"util_gpu_kalos:1", "util_gpu_kalos_full:1", f"{PAI}:1"}, apart


def test_another_curve_differs_and_a_missing_one_is_not_computable(made: Maker) -> None:
    curves = published_as_a_run_has_them()
    power = curves[curves["metric"].eq("POWER_USAGE") & curves["cluster"].eq("seren")]
    lines = compare_pickles(made({CURVES: power.assign(value=power["value"] * 1.1)}))
    by_id = {line.id: line for line in lines}
    assert by_id["gpu_power_seren:1"].outcome in ("differs", "known discrepancy")
    assert (by_id["gpu_power_seren:1"].distance_pct or 0) > 5
    assert by_id["gpu_power_kalos:1"].outcome == "not computable"


def whole_logs(folder: Path) -> None:
    logs(folder, {name: known.log_jobs or 0 for name, known in PUBLISHED_CLUSTERS.items()})


def test_the_published_distributions_of_jobs_agree_with_themselves(tmp_path: Path) -> None:
    tables = [
        ecdf(c.cluster, c.measure, dict(zip(x, shares, strict=True)), c.weight, c.type)
        for c, (x, shares) in published_job_curves().items()
    ]
    results_of(tmp_path, {ECDF: pd.concat(tables)})
    whole_logs(tmp_path)
    lines = compare_job_curves(Results(tmp_path))
    assert len(lines) == len(published_job_curves())
    assert {line.outcome for line in lines} == {"agrees"}


def test_one_point_that_is_off_makes_a_distribution_differ_by_so_much(tmp_path: Path) -> None:
    curve, (x, shares) = next(item for item in published_job_curves().items() if item[0].cluster == "seren")
    moved = shares.copy()
    moved[2] += 4
    points = dict(zip(x, moved, strict=True))
    results_of(tmp_path, {ECDF: ecdf("seren", curve.measure, points, curve.weight, curve.type)})
    whole_logs(tmp_path)
    found = {line.outcome: line for line in compare_job_curves(Results(tmp_path))}
    assert set(found) == {"differs", "not computable"}
    assert found["differs"].distance_pct == pytest.approx(4)


def test_the_points_are_those_of_the_published_figures(reference: Path) -> None:
    golden = reference / "golden/acme_fig2a_cdf_gpu_job_duration.csv"
    table = pd.read_csv(golden, index_col="series")
    for title, row in table.iterrows():
        x, shares = published_job_curves()[str(title).lower(), "duration", "jobs", "all"]  # type: ignore[index]
        for at, share in zip(x, shares, strict=True):
            assert share == pytest.approx(row[f"le_2^{int(np.log2(at))}"], abs=0.051)
