"""Whether jobs are missing is answered with numbers that follow from the log and the telemetry."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.characterise.integrity import beside_telemetry, integrity, job_hours
from tasks.characterise.occupancy import cluster_sequence
from tests.tasks.characterise.tables import FEW, Case, cases, records, table_of

START = pd.Timestamp("2023-08-15 00:00", tz="UTC")
HOUR = pd.Timedelta(hours=1)


def gpu_job(gpus: int, first: float, last: float) -> dict[str, object]:
    return {
        "gpu_num": gpus,
        "submit": START + first * HOUR,
        "start": START + first * HOUR,
        "end": START + last * HOUR - pd.Timedelta(minutes=1),
        "state": "COMPLETED",
    }


def hours_of(jobs: pd.DataFrame, gpus: int, hours: int = 4) -> pd.DataFrame:
    return job_hours(cluster_sequence(jobs, gpus, START, START + hours * HOUR, "UTC").frame)


def telemetry(*hours: tuple[int, float]) -> pd.DataFrame:
    """Of each hour the GPUs that report all of it, at 15 s, and their mean utilisation."""
    return pd.DataFrame(
        {
            "hour": [START + number * HOUR for number in range(len(hours))],
            "count": [gpus * 240 for gpus, _ in hours],
            "mean": [mean for _, mean in hours],
        }
    ).astype({"hour": "datetime64[ms, UTC]"})


def measures(
    jobs: pd.DataFrame, hours: pd.DataFrame, window: tuple[pd.Timestamp, pd.Timestamp] | None = None
):
    table = integrity(jobs, hours, window)
    return dict(zip(table["measure"], table["value"], strict=True))


def test_gpus_that_were_busy_without_a_job_in_the_log_are_counted():
    jobs = table_of([gpu_job(8, 0, 2)])
    # Hour 0: 16 GPUs at 75 % are 12 busy ones, 8 of them explained. Hour 1: 4 busy, all explained.
    hours = beside_telemetry(hours_of(jobs, 16), telemetry((16, 75.0), (16, 25.0), (16, 50.0)), 15.0)
    assert hours["busy_gpus"].tolist()[:3] == [12, 4, 8]
    assert hours["unexplained_gpus"].tolist()[:3] == [4, 0, 8]
    found = measures(jobs, hours, (START, START + 3 * HOUR))
    assert found["shared_hours"] == 3
    assert found["unexplained_gpu_hours"] == 12
    assert found["unexplained_share"] == pytest.approx(50)
    assert found["log_and_telemetry_overlap"] == pytest.approx(2 - 1 / 60)


def test_a_log_that_explains_all_utilisation_leaves_nothing_unexplained():
    jobs = table_of([gpu_job(16, 0, 4)])
    hours = beside_telemetry(hours_of(jobs, 16), telemetry(*[(16, 99.0)] * 4), 15.0)
    assert measures(jobs, hours, (START, START + 4 * HOUR))["unexplained_gpu_hours"] == 0


def test_concurrency_above_the_capacity_is_told():
    jobs = table_of([gpu_job(8, 0, 2), gpu_job(16, 1, 2)])
    found = measures(jobs, beside_telemetry(hours_of(jobs, 16), telemetry(), 15.0))
    assert found["most_concurrent_gpus"] == 24
    assert found["most_concurrent_share"] == 150
    assert found["hours_above_capacity"] == 1
    assert found["logged_occupancy"] == pytest.approx((8 + 24) / (4 * 16) * 100)


def test_windows_that_do_not_meet_share_no_hour():
    jobs = table_of([gpu_job(8, 0, 1)])
    later = START + 100 * HOUR
    found = measures(jobs, beside_telemetry(hours_of(jobs, 16), telemetry(), 15.0), (later, later + HOUR))
    assert found["log_and_telemetry_overlap"] == 0
    assert found["gpu_jobs_in_overlap"] == 0
    assert "shared_hours" not in found


@FEW
@given(case=cases(), gpus=st.integers(0, 64))
def test_hours_are_the_means_and_maxima_of_their_minutes(case: Case, gpus):
    frame = cluster_sequence(case.jobs, gpus, *case.period).frame
    found = records(job_hours(frame))
    by_hour: dict[pd.Timestamp, list[float]] = {}
    for row in records(frame):
        running = row["running_gpu_multi"] + row["running_gpu_single"]
        by_hour.setdefault(row["time"].floor("h"), []).append(running)
    assert [row["hour"] for row in found] == sorted(by_hour)
    for row in found:
        minutes = by_hour[row["hour"]]
        assert row["running_gpus"] == pytest.approx(sum(minutes) / len(minutes))
        assert row["most_gpus"] == max(minutes)
