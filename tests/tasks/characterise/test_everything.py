"""All analyses of a cluster come as tables that hold their contracts, whatever the jobs are."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings

from schemas.characterisation import CLUSTER_TABLES, JOB_TABLES
from tasks.characterise.everything import NEEDED, Setting, characterise
from tasks.outputs.typed import table_bytes
from tests.tasks.characterise.tables import Case, cases, table_of

MODELS = {**JOB_TABLES, **CLUSTER_TABLES}


# All contracts of all tables take a second.
@settings(max_examples=6)
@given(case=cases())
def test_any_jobs_give_tables_that_hold_their_contracts(case: Case):
    jobs = case.jobs[list(NEEDED)]
    for setting in (
        Setting("c", case.timezone),
        Setting("c", case.timezone, gpus=64),
        Setting("c", case.timezone, quota=case.quota),
    ):
        found = characterise(jobs, setting)
        for name, table in found.tables.items():
            assert table_bytes(MODELS[name], table), name
            assert (table["cluster"] == "c").all()


@settings(max_examples=12)
@given(case=cases())
def test_virtual_clusters_change_rows_hold_what_every_minute_would(case: Case):
    from tasks.characterise.occupancy import vc_sequence

    found = characterise(case.jobs, Setting("c", case.timezone, quota=case.quota)).tables
    for vc, changes in found["vc_sequence"].groupby("vc"):
        minutes = found["sequence"]["time"]
        since, until = minutes.iloc[0], minutes.iloc[-1] + pd.Timedelta(minutes=1)
        full = vc_sequence(case.jobs, case.quota, vc, since, until, case.timezone).frame
        filled = changes.set_index("time").reindex(full["time"], method="ffill")
        for column in ("running_gpu_num", "total_gpu_num", "gpu_utilization"):
            left = filled[column].to_numpy(float)
            assert left == pytest.approx(full[column].to_numpy(float), nan_ok=True), column


def test_without_a_capacity_no_share_of_anything_is_told():
    start = pd.Timestamp("2023-01-01", tz="UTC")
    jobs = table_of([{"gpu_num": 8, "submit": start, "start": start, "end": start + pd.Timedelta(hours=1)}])
    found = characterise(jobs, Setting("c", "UTC"))
    assert found.tables["sequence"]["running_gpu_num"].max() == 8
    assert found.tables["sequence"]["gpu_utilization"].isna().all()
    assert any("GPUs is not known" in note for note in found.notes)


def test_a_job_of_another_decade_does_not_take_all_memory():
    def job(year: int) -> dict[str, object]:
        start = pd.Timestamp(f"{year}-01-01", tz="UTC")
        return {"gpu_num": 8, "submit": start, "start": start, "end": start + pd.Timedelta(hours=1)}

    found = characterise(table_of([job(1970), *[job(2023)] * 400]), Setting("c", "UTC", gpus=8))
    assert len(found.tables["sequence"]) < 1100 * 1440
    assert found.tables["sequence"]["time"].min().year == 2023
    assert any("more than 1100 days" in note for note in found.notes)


def test_jobs_without_times_give_what_needs_none_and_say_so():
    found = characterise(table_of([{"gpu_num": 8, "state": "COMPLETED"}]), Setting("c", "UTC", gpus=8))
    assert "sequence" not in found.tables
    assert found.summary["gpu_job_num"] == 1
    assert any("no occupancy" in note for note in found.notes)
