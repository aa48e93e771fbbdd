"""Jobs and GPUs by the time they are submitted, begin and end, against loops over bins and jobs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.characterise.throughput import EVENTS, cluster_throughput
from tests.tasks.characterise.tables import FEW, MINUTE, Case, cases, table_of

SINCE = pd.Timestamp("2020-05-01", tz="UTC")


def naive_throughput(case: Case, minutes: int) -> pd.DataFrame:
    rows = []
    for start in case.starts[::minutes]:
        stop = min(start + minutes * MINUTE, case.until)
        row: dict[str, Any] = {"time": start}
        found = {
            event: [job for job in case.records if job[event] is not None and start <= job[event] < stop]
            for event in EVENTS
        }
        row |= {f"{event}_job_all": len(jobs) for event, jobs in found.items()}
        row |= {
            f"{event}_gpu_job": sum((job["gpu_num"] or 0) > 0 for job in jobs)
            for event, jobs in found.items()
        }
        row |= {
            f"{event}_gpu_num": float(sum(Fraction(str(job["gpu_num"] or 0)) for job in jobs))
            for event, jobs in found.items()
        }
        rows.append(row)
    return pd.DataFrame(rows).astype({"time": "datetime64[ms, UTC]"})


@FEW
@given(cases(), st.sampled_from([1, 7, 10, 60]))
def test_every_bin_counts_what_was_submitted_began_and_ended_in_it(case: Case, minutes: int) -> None:
    found = cluster_throughput(case.jobs, *case.period, minutes)
    pd.testing.assert_frame_equal(found, naive_throughput(case, minutes), check_exact=True)


def test_a_time_on_the_edge_belongs_to_the_bin_that_begins_there() -> None:
    jobs = table_of([{"gpu_num": 4, "submit": SINCE + 10 * MINUTE}, {"submit": SINCE + 20 * MINUTE}])
    found = cluster_throughput(jobs, SINCE, SINCE + 20 * MINUTE, "UTC")
    assert found["submit_job_all"].tolist() == [0, 1]
    assert found["submit_gpu_num"].tolist() == [0, 4]


def test_a_period_without_time_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no time"):
        cluster_throughput(table_of([]), SINCE, SINCE, "UTC")
