"""GPU jobs by kind of work: shares, sizes and waits as plain pandas counts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.characterise.kinds import job_types
from tests.tasks.characterise.tables import FEW, Case, cases, records, table_of


@FEW
@given(case=cases(), kinds=st.lists(st.sampled_from(["Eval", "SFT", None]), min_size=12, max_size=12))
def test_each_type_has_the_figures_of_a_plain_count(case: Case, kinds):
    jobs = case.jobs.assign(type=kinds[: len(case.jobs)])
    found = job_types(jobs).set_index("type")
    rows = [r for r in records(jobs) if r["type"] is not None and (r["gpu_num"] or 0) > 0]
    assert sorted(found.index) == sorted({row["type"] for row in rows})
    for kind, figures in found.iterrows():
        of_kind = [row for row in rows if row["type"] == kind]
        assert figures["jobs"] == len(of_kind)
        assert figures["jobs_pct"] == pytest.approx(len(of_kind) / len(rows) * 100)
        spent = [row["gpu_num"] * row["run_s"] for row in of_kind if row["run_s"] is not None]
        assert figures["gpu_time_s"] == pytest.approx(sum(spent))
        gpus = np.array([row["gpu_num"] for row in of_kind])
        quartiles = np.quantile(gpus, [0.25, 0.5, 0.75])
        assert figures[["gpus_q1", "gpus_median", "gpus_q3"]].tolist() == pytest.approx(quartiles.tolist())
        failed = sum(row["state"] not in ("COMPLETED", "CANCELLED") for row in of_kind)
        assert figures["failed_pct"] == pytest.approx(failed / len(of_kind) * 100)
        waits = [row["wait_s"] for row in of_kind if row["wait_s"] is not None]
        if waits:
            assert figures["queue_within_1s_pct"] == pytest.approx(
                sum(w <= 1 for w in waits) / len(waits) * 100
            )


def test_types_come_in_descending_number_and_shares_add_up():
    rows = [{"type": kind, "gpu_num": 1, "run_s": 2.0} for kind in ["Eval"] * 3 + ["SFT"] * 2 + ["Other"]]
    found = job_types(table_of(rows))
    assert found["type"].tolist() == ["Eval", "SFT", "Other"]
    assert found["jobs_pct"].sum() == pytest.approx(100)
    assert found["gpu_time_pct"].sum() == pytest.approx(100)


def test_whiskers_reach_the_last_value_within_one_and_a_half_interquartile_ranges():
    sizes = [1, 8, 8, 8, 16, 16, 16, 24, 1000]
    found = job_types(table_of([{"type": "Eval", "gpu_num": size, "run_s": 1.0} for size in sizes])).iloc[0]
    assert (found["gpus_low"], found["gpus_high"]) == (1, 24)


def test_a_log_without_types_gives_an_empty_table():
    assert job_types(table_of([{"gpu_num": 8, "run_s": 1.0}])).empty
