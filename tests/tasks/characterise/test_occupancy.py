"""Sequences minute by minute, against loops over minutes and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.characterise.capacity import gpus_by_minute
from tasks.characterise.occupancy import cluster_sequence, utilisation, vc_sequence
from tasks.characterise.window import Window
from tests.tasks.characterise.tables import FEW, Case, cases, table_of

Job = dict[str, Any]
SHANGHAI = "Asia/Shanghai"
MIDNIGHT = pd.Timestamp("2020-05-01", tz=SHANGHAI)
HALVES = ("noless_8", "less_8")
HALVED = [f"{kind}_{what}" for kind in ("running", "pending", "total") for what in ("gpu_num", "job_num")]
HOUR = (MIDNIGHT, MIDNIGHT + pd.Timedelta(hours=1), SHANGHAI)


def at(minute: float) -> pd.Timestamp:
    return (MIDNIGHT + pd.Timedelta(minutes=minute)).tz_convert("UTC")


def says(job: Job, *words: str) -> bool:
    return (job["raw_state"] or "").upper() in words


def fills(job: Job, minute: pd.Timestamp) -> bool:
    """Whether the job runs in the minute, as the definition says."""
    if job["start"] is None or job["start"].floor("min") > minute:
        return False
    if job["end"] is None:
        return says(job, "RUNNING")
    return job["end"] >= job["start"] and minute <= job["end"].floor("min")


def waits(job: Job, minute: pd.Timestamp) -> bool:
    """Whether the job is pending in the minute, as the definition says."""
    if job["submit"] is None or job["submit"].floor("min") > minute:
        return False
    left = job["start"] if job["start"] is not None else job["end"]
    if left is None:
        return says(job, "PENDING", "WAITING")
    return left > job["submit"] and minute <= left.floor("min")


def has_no_place(job: Job) -> bool:
    if job["start"] is not None:
        return not says(job, "RUNNING") if job["end"] is None else job["end"] < job["start"]
    return job["state"] != "CANCELLED" if job["end"] is not None else not says(job, "PENDING", "WAITING")


def on_gpus(job: Job) -> bool:
    return (job["gpu_num"] or 0) > 0


def gpus(jobs: Iterable[Job]) -> float:
    return float(sum(Fraction(str(job["gpu_num"] or 0)) for job in jobs))


def share(used: float, total: int) -> float:
    return float(np.round(used / total, 3)) if total else np.nan


def naive_cluster_sequence(case: Case) -> pd.DataFrame:
    rows = []
    for minute in case.starts:
        running = [job for job in case.records if on_gpus(job) and fills(job, minute)]
        total = case.gpus_on(minute)
        single = gpus(job for job in running if job["gpu_num"] <= 1)
        multi = gpus(job for job in running if job["gpu_num"] > 1)
        used = min(gpus(running), float(total))
        ratios = [share(number, total) for number in (used, multi, single)]
        rows.append([minute, len(running), total, used, multi, single, *ratios])
    names = [
        "running_gpujob_num",
        "total_gpu_num",
        "running_gpu_num",
        "running_gpu_multi",
        "running_gpu_single",
    ]
    names += ["gpu_utilization", "gpu_utilization_multi", "gpu_utilization_single"]
    return pd.DataFrame(rows, columns=["time", *names]).astype({"time": "datetime64[ms, UTC]"})


def naive_vc_sequence(case: Case, vc: str | None) -> pd.DataFrame:
    jobs = [job for job in case.records if vc is None or job["vc"] == vc]
    halves: dict[str, Callable[[Job], bool]] = {
        "noless_8": lambda job: on_gpus(job) and job["gpu_num"] >= 8,
        "less_8": lambda job: on_gpus(job) and job["gpu_num"] < 8,
    }
    rows = []
    for minute in case.starts:
        kinds = {
            "running": [job for job in jobs if fills(job, minute)],
            "pending": [job for job in jobs if waits(job, minute)],
        }
        kinds["total"] = kinds["running"] + kinds["pending"]
        total = case.gpus_on(minute, vc)
        used = min(gpus(kinds["running"]), float(total))
        row: dict[str, Any] = {"time": minute}
        for kind in ("total", "running", "pending"):
            row[f"{kind}_job_num"] = len(kinds[kind])
        for kind in ("total", "running", "pending"):
            row[f"{kind}_gpujob_num"] = sum(map(on_gpus, kinds[kind]))
        row |= {"total_gpu_num": total, "running_gpu_num": used, "pending_gpu_num": gpus(kinds["pending"])}
        row |= {"idle_gpu_num": total - used, "gpu_utilization": share(used, total)}
        for kind in ("running", "pending", "total"):
            for half, holds in halves.items():
                row[f"{kind}_gpu_num_{half}"] = gpus(filter(holds, kinds[kind]))
        for kind in ("running", "pending", "total"):
            for half, holds in halves.items():
                row[f"{kind}_job_num_{half}"] = sum(map(holds, kinds[kind]))
        rows.append(row)
    return pd.DataFrame(rows).astype({"time": "datetime64[ms, UTC]"})


@FEW
@given(cases())
def test_every_minute_of_a_cluster_sequence_counts_the_gpu_jobs_that_fill_it(case: Case) -> None:
    occupancy = cluster_sequence(case.jobs, case.quota, *case.period)
    pd.testing.assert_frame_equal(occupancy.frame, naive_cluster_sequence(case), check_exact=True)
    assert occupancy.left_out == sum(on_gpus(job) and has_no_place(job) for job in case.records)


@FEW
@given(cases(), st.sampled_from(["vcA", "vcC", "vcNone", None]))
def test_every_minute_of_a_vc_sequence_counts_what_runs_and_what_waits(case: Case, vc: str | None) -> None:
    occupancy = vc_sequence(case.jobs, case.quota, vc, *case.period)
    pd.testing.assert_frame_equal(occupancy.frame, naive_vc_sequence(case, vc), check_exact=True)
    assert occupancy.left_out == sum(
        has_no_place(job) for job in case.records if vc is None or job["vc"] == vc
    )


@FEW
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_jobs_changes_nothing(case: Case, random: Any) -> None:
    order = list(range(len(case.jobs)))
    random.shuffle(order)
    shuffled = case.jobs.iloc[order].reset_index(drop=True)
    for jobs in (shuffled, case.jobs.iloc[order]):
        pd.testing.assert_frame_equal(
            cluster_sequence(jobs, 64, *case.period).frame,
            cluster_sequence(case.jobs, 64, *case.period).frame,
            check_exact=True,
        )


def test_a_job_of_no_duration_fills_its_minute() -> None:
    jobs = table_of([{"gpu_num": 2, "start": at(5.9), "end": at(5.9)}])
    running = cluster_sequence(jobs, 8, *HOUR).frame["running_gpu_num"]
    assert running[running > 0].to_dict() == {5: 2.0}


def test_running_gpus_are_capped_at_the_total_but_the_parts_are_not() -> None:
    job = {"gpu_num": 8, "start": at(0), "end": at(59)}
    row = cluster_sequence(table_of([job, job]), 10, *HOUR).frame.iloc[30]
    assert (row["running_gpu_num"], row["gpu_utilization"]) == (10.0, 1.0)
    assert (row["running_gpu_multi"], row["gpu_utilization_multi"]) == (16.0, 1.6)


def test_a_job_without_end_runs_on_only_if_the_log_says_so() -> None:
    jobs = table_of(
        [
            {"gpu_num": 1, "start": at(50), "raw_state": "RUNNING"},
            {"gpu_num": 4, "start": at(50), "raw_state": "NODE_FAIL", "state": "FAILED"},
            {"gpu_num": 0, "start": at(50), "raw_state": "NODE_FAIL", "state": "FAILED"},
        ]
    )
    occupancy = cluster_sequence(jobs, 8, *HOUR)
    assert occupancy.frame["running_gpu_num"].sum() == 10
    assert occupancy.left_out == 1


def test_a_job_waits_from_its_submission_to_its_start_and_not_at_all_if_it_starts_at_once() -> None:
    jobs = table_of(
        [
            {"vc": "a", "gpu_num": 8, "submit": at(1.5), "start": at(4.2), "end": at(6)},
            {"vc": "a", "gpu_num": 2, "submit": at(2), "start": at(2), "end": at(6)},
            {"vc": "a", "gpu_num": 1, "submit": at(3), "end": at(4.9), "state": "CANCELLED"},
        ]
    )
    occupancy = vc_sequence(jobs, 16, "a", *HOUR)
    assert occupancy.frame["pending_gpu_num"].head(6).tolist() == [0, 8, 8, 9, 9, 0]
    assert occupancy.frame["running_gpu_num"].head(8).tolist() == [0, 0, 2, 2, 10, 10, 10, 0]
    assert occupancy.left_out == 0


def test_utilisation_is_null_where_there_are_no_gpus() -> None:
    jobs = table_of([{"gpu_num": 1, "start": at(0), "end": at(59)}])
    frame = cluster_sequence(jobs, 0, *HOUR).frame
    assert frame["gpu_utilization"].isna().all()
    assert frame["gpu_utilization_single"].isna().all()


def test_a_time_without_zone_is_local() -> None:
    naive = (datetime(2020, 5, 1), datetime(2020, 5, 1, 1), SHANGHAI)
    jobs = table_of([{"gpu_num": 1, "start": at(3), "end": at(4)}])
    pd.testing.assert_frame_equal(
        cluster_sequence(jobs, 8, *naive).frame, cluster_sequence(jobs, 8, *HOUR).frame
    )


def test_a_period_without_time_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no time"):
        cluster_sequence(table_of([]), 8, HOUR[1], HOUR[0], SHANGHAI)


@pytest.fixture(params=["vc6YE", "vchbv"])
def published(request: pytest.FixtureRequest, real: Path) -> tuple[str, pd.DataFrame]:
    """A sequence of one of Earth's virtual clusters in May 2020, as its authors derived it."""
    name = str(request.param)
    return name, pd.read_csv(real / "helios" / f"Earth_{name}_cluster_sequence.csv.gz")


def test_published_sequences_have_the_columns_of_ours(published: tuple[str, pd.DataFrame]) -> None:
    ours = vc_sequence(table_of([]), 8, None, *HOUR).frame
    assert list(ours) == list(published[1])


def test_published_sequences_keep_the_identities_that_ours_keep(published: tuple[str, pd.DataFrame]) -> None:
    assert_identities(published[1])


@FEW
@given(cases())
def test_vc_sequences_keep_the_identities_of_the_published_ones(case: Case) -> None:
    assert_identities(vc_sequence(case.jobs, case.quota, "vcB", *case.period).frame)


def assert_identities(frame: pd.DataFrame) -> None:
    total = frame["total_gpu_num"]
    np.testing.assert_array_equal(
        frame["gpu_utilization"], utilisation(frame["running_gpu_num"].to_numpy(), total.to_numpy())
    )
    pd.testing.assert_series_equal(
        frame["idle_gpu_num"], total - frame["running_gpu_num"], check_names=False, check_dtype=False
    )
    halves = {name: frame[f"{name}_noless_8"] + frame[f"{name}_less_8"] for name in HALVED}
    np.testing.assert_allclose(frame["running_gpu_num"], np.minimum(halves["running_gpu_num"], total))
    np.testing.assert_allclose(frame["pending_gpu_num"], halves["pending_gpu_num"])
    for kind in ("running", "pending", "total"):
        np.testing.assert_array_equal(frame[f"{kind}_gpujob_num"], halves[f"{kind}_job_num"])
    for name in (
        "job_num",
        "gpujob_num",
        *(f"{what}_{half}" for what in ("job_num", "gpu_num") for half in HALVES),
    ):
        np.testing.assert_allclose(
            frame[f"total_{name}"], frame[f"running_{name}"] + frame[f"pending_{name}"]
        )


def test_published_means_are_those_of_the_sequences(published: tuple[str, pd.DataFrame]) -> None:
    name, frame = published
    assert round(frame["gpu_utilization"].mean(), 3) == {"vc6YE": 0.903, "vchbv": 0.411}[name]


def test_the_total_of_published_sequences_is_the_quota_of_the_day(
    published: tuple[str, pd.DataFrame], earth_quota: pd.DataFrame
) -> None:
    """All but 9 May, where the quota file has 0 for most virtual clusters."""
    name, frame = published
    window = Window.of(datetime(2020, 5, 1), datetime(2020, 6, 1), SHANGHAI)
    quota = gpus_by_minute(earth_quota, window, name)
    differs = frame["time"][frame["total_gpu_num"].to_numpy() != quota]
    assert set(differs.str[:10]) == {"2020-05-09"}
    assert len(differs) == 24 * 60
