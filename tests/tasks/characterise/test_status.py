"""How jobs ended, against loops over jobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tasks.characterise.status import completion_by_gpus, final_status
from tests.tasks.characterise.tables import FEW, Case, cases, table_of

STATES = ["COMPLETED", "CANCELLED", "FAILED"]
CLASSES = {
    "1": (0, 1),
    "2": (1, 2),
    "3-4": (2, 4),
    "5-8": (4, 8),
    "9-16": (8, 16),
    "17-32": (16, 32),
    "33-64": (32, 64),
    ">64": (64, np.inf),
}


@FEW
@given(cases(max_jobs=20, max_minutes=1))
def test_each_group_has_its_jobs_and_gpu_time_by_how_they_ended(case: Case) -> None:
    ended = [job for job in case.records if job["state"] is not None and job["gpu_num"] is not None]
    groups = {"GPU jobs": [job for job in ended if job["gpu_num"] > 0]}
    groups["CPU jobs"] = [job for job in ended if job["gpu_num"] == 0]
    for name, (low, high) in CLASSES.items():
        groups[name] = [job for job in ended if low < job["gpu_num"] <= high]
    found = final_status(case.jobs)
    assert found["group"].tolist() == [name for name in groups for _ in STATES]
    assert found["state"].tolist() == STATES * len(groups)
    for row in found.to_dict("records"):
        group = groups[row["group"]]
        mine = [job for job in group if job["state"] == row["state"]]
        time, whole = (sum(job["gpu_time_s"] or 0 for job in jobs) for jobs in (mine, group))
        assert row["jobs"] == len(mine)
        assert row["job_share"] == pytest.approx(len(mine) / len(group) if group else np.nan, nan_ok=True)
        assert row["gpu_time_s"] == pytest.approx(time)
        assert row["gpu_time_share"] == pytest.approx(time / whole if whole else np.nan, nan_ok=True)


@FEW
@given(cases(max_jobs=20, max_minutes=1))
def test_each_number_of_gpus_has_the_rates_of_its_jobs(case: Case) -> None:
    ended = [job for job in case.records if job["state"] is not None and (job["gpu_num"] or 0) > 0]
    found = completion_by_gpus(case.jobs)
    assert found["gpu_num"].tolist() == sorted({float(job["gpu_num"]) for job in ended})
    for row in found.to_dict("records"):
        states = [job["state"] for job in ended if job["gpu_num"] == row["gpu_num"]]
        assert row["jobs"] == len(states)
        for state in STATES:
            assert row[state.lower()] == pytest.approx(states.count(state) / len(states))


def test_tables_have_the_same_types_without_jobs() -> None:
    some = table_of([{"gpu_num": 1, "state": "FAILED"}])
    for function in (final_status, completion_by_gpus):
        assert function(table_of([])).dtypes.to_dict() == function(some).dtypes.to_dict()
