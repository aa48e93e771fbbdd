"""What each user does, against a loop over users, and how much few of them take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.characterise.users import RESOURCES, TOP_PERCENT, cluster_user, user_concentration, user_curve
from tests.tasks.characterise.tables import FEW, Case, cases, table_of

Job = dict[str, Any]

KINDS = ("", "gpu_", "cpu_")
COLUMNS = [
    *("user", "cpu_only", "vc_list", "vc_list_gpu", "vc_num", "vc_num_gpu"),
    *(f"{kind}job_num" for kind in KINDS),
    *(f"avg_{kind}{name}_time" for name in ("run", "pend") for kind in KINDS),
    *("avg_gpu_num", "avg_cpu_num"),
    *("total_gpu_time", "total_cpu_time", "total_cpu_only_time", "total_gpu_pend_time"),
    *(f"{state}_{kind}percent" for state in ("completed", "cancelled", "failed") for kind in KINDS),
]


def mean(jobs: list[Job], name: str) -> float:
    if not jobs:
        return 0.0
    known = [job[name] for job in jobs if job[name] is not None]
    return sum(known) / len(known) if known else np.nan


def total(jobs: list[Job], *names: str) -> float:
    return sum(
        np.prod([job[name] for name in names]) for job in jobs if all(job[n] is not None for n in names)
    )


def fraction(jobs: list[Job], name: str, words: tuple[str, ...]) -> float:
    return sum(job[name] in words for job in jobs) / len(jobs) if jobs else 0.0


def naive_user(user: str, jobs: list[Job]) -> dict[str, Any]:
    gpu = [job for job in jobs if (job["gpu_num"] or 0) > 0]
    cpu = [job for job in jobs if job["gpu_num"] == 0]
    kinds = {"": jobs, "gpu_": gpu, "cpu_": cpu}
    lists = {
        "": sorted({job["vc"] for job in jobs} - {None}),
        "_gpu": sorted({job["vc"] for job in gpu} - {None}),
    }
    row: dict[str, Any] = {"user": user, "cpu_only": not gpu}
    row |= {f"vc_list{kind}": " ".join(names) for kind, names in lists.items()}
    row |= {f"vc_num{kind}": len(names) for kind, names in lists.items()}
    row |= {f"{kind}job_num": len(of) for kind, of in kinds.items()}
    row |= {f"avg_{kind}run_time": mean(of, "run_s") for kind, of in kinds.items()}
    row |= {f"avg_{kind}pend_time": mean(of, "wait_s") for kind, of in kinds.items()}
    row |= {"avg_gpu_num": mean(jobs, "gpu_num"), "avg_cpu_num": mean(jobs, "cpu_num")}
    row["total_gpu_time"] = total(gpu, "gpu_num", "run_s")
    row["total_cpu_time"] = total(jobs, "cpu_num", "run_s")
    row["total_cpu_only_time"] = total(cpu, "cpu_num", "run_s")
    row["total_gpu_pend_time"] = total(gpu, "wait_s")
    words = {
        "completed": ("state", ("COMPLETED",)),
        "cancelled": ("state", ("CANCELLED",)),
        "failed": ("raw_state", ("FAILED", "Failed")),
    }
    for state, (column, held) in words.items():
        row |= {f"{state}_{kind}percent": fraction(of, column, held) for kind, of in kinds.items()}
    return row


@FEW
@given(cases(max_jobs=20, max_minutes=1))
def test_each_user_has_the_numbers_of_their_own_jobs(case: Case) -> None:
    found = cluster_user(case.jobs)
    users = {job["user"] for job in case.records} - {None}
    rows = [naive_user(user, [job for job in case.records if job["user"] == user]) for user in users]
    rows.sort(key=lambda row: (-row["job_num"], row["user"]))
    assert list(found) == COLUMNS
    assert len(found) == len(rows)
    for ours, naive in zip(found.to_dict("records"), rows, strict=True):
        for name in COLUMNS:
            expected = naive[name]
            assert ours[name] == (
                pytest.approx(expected, nan_ok=True) if isinstance(expected, float) else expected
            )


def test_the_table_has_the_same_types_without_jobs() -> None:
    some = table_of([{"user": "ann", "vc": "a", "gpu_num": 1, "state": "FAILED"}])
    for jobs in (some, some.astype({"user": "category", "vc": "category"})):
        empty, full = cluster_user(jobs.iloc[:0]), cluster_user(jobs)
        assert empty.dtypes.to_dict() == full.dtypes.to_dict()
        assert user_concentration(empty).dtypes.to_dict() == user_concentration(full).dtypes.to_dict()
        assert user_curve(empty).dtypes.to_dict() == user_curve(full).dtypes.to_dict()


def test_a_timeout_is_no_failure_of_a_user_but_a_failed_job_is() -> None:
    rows = [
        {"user": "ann", "gpu_num": 1, "state": "FAILED", "raw_state": raw} for raw in ("FAILED", "TIMEOUT")
    ]
    assert cluster_user(table_of(rows))["failed_gpu_percent"].tolist() == [0.5]


def naive_share(values: list[float], top: int) -> float:
    """What the top percent of those who have any take, the number of them rounded up."""
    held = sorted((value for value in values if value > 0), reverse=True)
    return sum(held[: int(np.ceil(len(held) * top / 100))]) / sum(held) if held else np.nan


def drawn_share(values: list[float], top: int) -> float:
    """The published figure's line at the top percent, everyone counting."""
    held = sorted(values, reverse=True)
    if not sum(held):
        return np.nan
    heights = [sum(held[: i + 1]) / sum(held) for i in range(len(held))]
    place = top / 100 * (len(held) - 1)
    below = int(place)
    if below + 1 >= len(held):
        return heights[-1]
    return heights[below] + (place - below) * (heights[below + 1] - heights[below])


holdings = st.lists(st.tuples(*[st.sampled_from([0, 0, 1, 2, 50, 1000, 12345])] * 3), max_size=120)


def users_with(rows: list[tuple[int, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(RESOURCES.values()), dtype=np.float64)


@given(holdings)
def test_top_users_have_the_share_of_those_who_have_most(rows: list[tuple[int, int, int]]) -> None:
    users = users_with(rows)
    found = user_concentration(users)
    assert found["resource"].tolist() == [name for name in RESOURCES for _ in TOP_PERCENT]
    for row in found.to_dict("records"):
        values = users[RESOURCES[row["resource"]]].tolist()
        top = row["top_percent"]
        assert row["users"] == sum(value > 0 for value in values)
        assert row["top_users"] == int(np.ceil(row["users"] * top / 100))
        assert row["share"] == pytest.approx(naive_share(values, top), nan_ok=True)
        assert row["share_as_drawn"] == pytest.approx(drawn_share(values, top), nan_ok=True)


@given(holdings)
def test_the_curve_adds_up_users_from_the_one_who_has_most(rows: list[tuple[int, int, int]]) -> None:
    users = users_with(rows)
    found = user_curve(users)
    for resource, column in RESOURCES.items():
        held = sorted((value for value in users[column] if value > 0), reverse=True)
        curve = found[found["resource"] == resource]
        assert curve["rank"].tolist() == list(range(1, len(held) + 1))
        assert curve["user_share"].tolist() == pytest.approx([(i + 1) / len(held) for i in range(len(held))])
        assert curve["share"].tolist() == pytest.approx(
            [sum(held[: i + 1]) / sum(held) for i in range(len(held))]
        )
