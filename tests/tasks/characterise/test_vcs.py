"""Virtual clusters side by side, against their own sequences and a loop over jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tasks.characterise.occupancy import vc_sequence
from tasks.characterise.vcs import vc_summary
from tests.tasks.characterise.tables import FEW, Case, cases, table_of

UTILISATION = ["utilization_mean", "utilization_q1", "utilization_median", "utilization_q3"]


def mean(jobs: list[dict[str, Any]], name: str) -> float:
    known = [job[name] for job in jobs if job[name] is not None]
    return sum(known) / len(known) if known else np.nan


@FEW
@given(cases())
def test_each_virtual_cluster_has_the_utilisation_of_its_sequence_and_its_jobs(case: Case) -> None:
    found = vc_summary(case.jobs, case.quota, *case.period)
    names = {job["vc"] for job in case.records} - {None} | set(case.quota["vc"])
    assert set(found["vc"]) == names
    assert len(found) == len(names)
    for row in found.to_dict("records"):
        sequence = vc_sequence(case.jobs, case.quota, row["vc"], *case.period).frame
        used = sequence["gpu_utilization"].dropna()
        parts = [used.mean(), *(used.quantile(q) for q in (0.25, 0.5, 0.75))]
        assert row["gpu_quota"] == pytest.approx(sequence["total_gpu_num"].mean())
        assert [row[name] for name in UTILISATION] == pytest.approx(parts, nan_ok=True)
        jobs = [
            job
            for job in case.records
            if job["vc"] == row["vc"]
            and job["submit"] is not None
            and case.since <= job["submit"] < case.until
        ]
        gpu = [job for job in jobs if (job["gpu_num"] or 0) > 0]
        assert (row["job_num"], row["gpu_job_num"]) == (len(jobs), len(gpu))
        assert row["gpu_time_s"] == pytest.approx(sum(job["gpu_time_s"] or 0 for job in gpu))
        for column, name in {
            "avg_gpu_num": "gpu_num",
            "avg_run_time": "run_s",
            "avg_pend_time": "wait_s",
        }.items():
            assert row[column] == pytest.approx(mean(gpu, name), nan_ok=True)


@FEW
@given(cases(max_minutes=5))
def test_the_largest_come_first_and_equals_by_name(case: Case) -> None:
    found = vc_summary(case.jobs, case.quota, *case.period)
    order = list(zip(-found["gpu_quota"], found["vc"], strict=True))
    assert order == sorted(order)


@FEW
@given(cases(max_minutes=5))
def test_without_a_quota_only_utilisation_is_unknown(case: Case) -> None:
    found = vc_summary(case.jobs, None, *case.period)
    with_quota = vc_summary(case.jobs, case.quota, *case.period)
    assert found[["gpu_quota", *UTILISATION]].isna().all(axis=None)
    known = found.set_index("vc")["job_num"]
    assert known.to_dict() == with_quota.set_index("vc")["job_num"][known.index].to_dict()
    assert found.dtypes.to_dict() == with_quota.dtypes.to_dict()


def test_a_log_without_virtual_clusters_has_no_row() -> None:
    jobs = table_of([{"gpu_num": 1}])
    assert vc_summary(jobs, None, datetime(2020, 5, 1), datetime(2020, 5, 2), "UTC").empty
