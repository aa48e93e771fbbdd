"""The mean day and the months, against loops over minutes and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from tasks.characterise.calendar import UTILISATIONS, hourly_pattern, monthly
from tasks.characterise.occupancy import cluster_sequence
from tests.tasks.characterise.tables import FEW, MINUTE, Case, cases, local_time, table_of

Job = dict[str, Any]


def mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return sum(known) / len(known) if known else np.nan


def sequence_of(case: Case) -> pd.DataFrame:
    return cluster_sequence(case.jobs, case.quota, *case.period).frame


def submitted(case: Case) -> list[tuple[pd.Timestamp, Job]]:
    """The jobs submitted within the period, and the wall clock then."""
    return [
        (local_time(job["submit"], case.timezone), job)
        for job in case.records
        if job["submit"] is not None and case.since <= job["submit"] < case.until
    ]


@FEW
@given(cases())
def test_each_hour_of_day_has_its_mean_utilisation_and_submissions(case: Case) -> None:
    sequence = sequence_of(case)
    found = hourly_pattern(sequence, case.jobs, case.timezone)
    hours = [local_time(minute, case.timezone).hour for minute in case.starts]
    for hour in range(24):
        minutes = [i for i, other in enumerate(hours) if other == hour]
        jobs = [job for time, job in submitted(case) if time.hour == hour and (job["gpu_num"] or 0) > 0]
        row = found.iloc[hour]
        assert (row["hour"], row["minutes"]) == (hour, len(minutes))
        assert row["gpu_utilization"] == pytest.approx(
            mean([sequence["gpu_utilization"][i] for i in minutes]), nan_ok=True
        )
        rate = len(jobs) / (len(minutes) / 60) if minutes else np.nan
        assert row["submit_gpu_job"] == pytest.approx(rate, nan_ok=True)


@FEW
@given(cases())
def test_each_month_has_its_jobs_and_its_mean_utilisation(case: Case) -> None:
    sequence = sequence_of(case)
    found = monthly(sequence, case.jobs, case.timezone)
    months = [f"{local_time(minute, case.timezone):%Y-%m}" for minute in case.starts]
    assert found["month"].tolist() == sorted(set(months))
    for row in found.to_dict("records"):
        jobs = [job for time, job in submitted(case) if f"{time:%Y-%m}" == row["month"]]
        sizes = [job["gpu_num"] for job in jobs]
        assert row["job_num"] == len(jobs)
        assert row["cpu_job_num"] == sum(size == 0 for size in sizes)
        assert row["gpu_job_num"] == sum((size or 0) > 0 for size in sizes)
        assert row["gpu_job_num_single"] == sum(0 < (size or 0) <= 1 for size in sizes)
        assert row["gpu_job_num_multi"] == sum((size or 0) > 1 for size in sizes)
        for name in UTILISATIONS:
            of_month = [sequence[name][i] for i, month in enumerate(months) if month == row["month"]]
            assert row[name] == pytest.approx(mean(of_month), nan_ok=True)


def test_submissions_of_an_hour_are_a_mean_over_the_days() -> None:
    since = pd.Timestamp("2020-04-01", tz="Asia/Shanghai")
    jobs = table_of(
        [
            {"gpu_num": 1, "submit": (since + (day * 1440 + 61) * MINUTE).tz_convert("UTC")}
            for day in (0, 1, 1)
        ]
    )
    sequence = cluster_sequence(jobs, 8, since, since + 4 * 1440 * MINUTE, "Asia/Shanghai").frame
    found = hourly_pattern(sequence, jobs, "Asia/Shanghai")["submit_gpu_job"]
    assert found[found > 0].to_dict() == {1: 0.75}


def test_an_empty_sequence_has_hours_without_minutes_and_no_month() -> None:
    since = pd.Timestamp("2020-04-01", tz="UTC")
    jobs = table_of([{"gpu_num": 1, "submit": since}])
    empty = cluster_sequence(jobs, 8, since, since + MINUTE, "UTC").frame.iloc[:0]
    found = hourly_pattern(empty, jobs, "UTC")
    assert found["minutes"].tolist() == [0] * 24
    assert found["submit_gpu_job"].isna().all()
    assert monthly(empty, jobs, "UTC").empty


@pytest.mark.parametrize(("vc", "mean_utilisation"), [("vc6YE", 0.903), ("vchbv", 0.411)])
def test_the_mean_day_and_the_month_of_published_sequences_have_their_published_mean(
    real: Path, vc: str, mean_utilisation: float
) -> None:
    released = pd.read_csv(real / "helios" / f"Earth_{vc}_cluster_sequence.csv.gz", parse_dates=["time"])
    released["time"] = released["time"].dt.tz_localize("Asia/Shanghai").dt.tz_convert("UTC")
    sequence = released.assign(gpu_utilization_multi=0.0, gpu_utilization_single=0.0)
    by_month = monthly(sequence, table_of([]), "Asia/Shanghai")
    assert by_month["month"].tolist() == ["2020-05"]
    assert by_month["gpu_utilization"].round(3).tolist() == [mean_utilisation]
    day = hourly_pattern(sequence, table_of([]), "Asia/Shanghai")
    assert day["minutes"].tolist() == [31 * 60] * 24
    assert round(day["gpu_utilization"].mean(), 3) == mean_utilisation
