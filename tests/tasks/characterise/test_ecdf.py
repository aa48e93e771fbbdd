"""Cumulative distributions count what is ≤ x, by jobs and by GPU time, as the published figures do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tasks.characterise.ecdf import DURATION_AT, GPUS_AT, QUEUE_AT, ecdf, job_ecdfs
from tests.tasks.characterise.tables import FEW, Case, cases, table_of


@FEW
@given(case=cases())
def test_every_curve_is_that_of_a_plain_count(case: Case):
    jobs = [job for job in case.records if job["gpu_num"] is not None and job["gpu_num"] > 0]
    found = job_ecdfs(case.jobs)
    for (measure, weight, kind), curve in found.groupby(["measure", "weight", "type"], sort=False):
        chosen = [job for job in jobs if kind in ("all", job["type"])]
        column = {"duration": "run_s", "run": "run_s", "queue": "wait_s", "wait": "wait_s"}.get(
            measure, measure
        )
        pairs = [(job[column], 1.0 if weight == "jobs" else worth(job)) for job in chosen]
        pairs = [(value, share) for value, share in pairs if value is not None and share is not None]
        total = sum(share for _, share in pairs)
        expected = [
            sum(share for value, share in pairs if value <= x) / total * 100 if total else np.nan
            for x in curve["x"]
        ]
        np.testing.assert_allclose(curve["share_pct"], expected, rtol=1e-9)
        assert (curve["jobs"] == len(pairs)).all()


def worth(job: dict[str, Any]) -> float | None:
    return None if job["run_s"] is None else job["gpu_num"] * job["run_s"]


def test_the_places_are_those_of_the_published_figures():
    assert (DURATION_AT[0], DURATION_AT[-1], len(DURATION_AT)) == (1, 2**21, 22)
    assert (QUEUE_AT[-1], len(QUEUE_AT)) == (2**15, 16)
    assert (GPUS_AT[0], GPUS_AT[-1], len(GPUS_AT)) == (0, 1024, 1025)


def test_the_published_definition_of_the_curves_is_ours():
    # As the figure notebook counts: shares of the values that are not blank, nothing interpolated.
    values = np.array([1.0, 2.0, 2.0, 5.0, np.nan])
    assert ecdf(values, [0, 1, 2, 4, 5]).tolist() == [0, 25, 75, 75, 100]
    weights = np.array([1.0, 1.0, 2.0, 4.0, 100.0])
    assert ecdf(values, [1, 2, 5], weights).tolist() == [12.5, 50, 100]


def test_curves_by_type_leave_out_cpu_jobs_and_name_every_type():
    rows = [
        {"type": kind, "gpu_num": gpus, "run_s": 5.0} for kind, gpus in (("Eval", 1), ("CPU", 0), ("SFT", 8))
    ]
    found = job_ecdfs(table_of(rows))
    assert found["type"].unique().tolist() == ["all", "Eval", "SFT"]


def test_kalos_durations_with_and_without_the_queue_are_two_curves():
    found = job_ecdfs(
        table_of(
            [
                {
                    "gpu_num": 1,
                    "run_s": 8.0,
                    "wait_s": 10.0,
                    "released_duration_s": 18.0,
                    "released_queue_s": 10.0,
                }
            ]
        )
    )
    by_jobs = (found["type"] == "all") & (found["weight"] == "jobs")
    at_8 = found[(found["x"] == 8) & by_jobs].set_index("measure")["share_pct"]
    assert at_8["duration"] == 0
    assert at_8["run"] == 100


def test_the_800_real_kalos_jobs_give_the_shares_pandas_counts(real, tmp_path):
    import pandas as pd

    from tasks.joblog.read import LogOptions, read_log
    from tasks.joblog.schema import load_jobs
    from tasks.storage.source import stat_file

    path = real / "kalos_jobs_800.csv"
    read_log(stat_file(str(path)), "kalos", LogOptions(format="kalos"), str(tmp_path), "t.parquet")
    found = job_ecdfs(load_jobs(f"{tmp_path}/t.parquet"))
    plain = pd.read_csv(path)
    for measure, column in (("duration", "duration"), ("queue", "queue"), ("gpu_num", "gpu_num")):
        curve = found[(found["measure"] == measure) & (found["weight"] == "jobs") & (found["type"] == "all")]
        expected = [(plain[column] <= x).mean() * 100 for x in curve["x"]]
        assert curve["share_pct"].to_numpy() == pytest.approx(expected)
    spent = plain["gpu_num"] * plain["duration"]
    weighted = (found["weight"] == "gpu_time") & (found["measure"] == "gpu_num")
    curve = found[weighted].set_index("x")["share_pct"]
    assert curve[64] == pytest.approx(spent[plain["gpu_num"] <= 64].sum() / spent.sum() * 100)
