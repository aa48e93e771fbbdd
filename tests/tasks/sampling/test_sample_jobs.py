"""Generated job logs obey the rules of each cluster's log."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.sampling import SampleOptions, write_sample

SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time"
)
KALOS = SEREN.replace("cpu_num,", "cpu_num,mem_per_pod_GB,shared_mem_per_pod,").replace(
    "end_time,", "end_time,fail_time,stop_time,"
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    root = tmp_path_factory.mktemp("jobs") / "s"
    write_sample(root, SampleOptions(rows=30_000, metrics=("job_trace",)))
    return {name: pd.read_csv(root / f"data/job_trace/trace_{name}.csv") for name in ("seren", "kalos")}


def seconds(log: pd.DataFrame, later: str, earlier: str) -> pd.Series:
    return (pd.to_datetime(log[later]) - pd.to_datetime(log[earlier])).dt.total_seconds()


def test_columns_are_those_of_the_release(logs):
    assert ",".join(logs["seren"].columns) == SEREN
    assert ",".join(logs["kalos"].columns) == KALOS


def test_each_log_has_its_own_zone(logs):
    assert logs["seren"]["submit_time"].str.endswith("+08:00").all()
    assert logs["kalos"]["submit_time"].str.endswith("+00:00").all()


def test_seren_duration_runs_from_start_to_end(logs):
    log = logs["seren"]
    assert (seconds(log, "end_time", "start_time") == log["duration"]).all()
    assert (seconds(log, "start_time", "submit_time") == log["queue"]).all()


def test_kalos_duration_contains_the_queue(logs):
    log = logs["kalos"]
    ended = log[log["state"] != "RUNNING"]
    assert (seconds(ended, "end_time", "submit_time") == ended["duration"]).all()
    assert (seconds(log, "start_time", "submit_time") == log["queue"]).all()
    assert (log["queue"] < log["duration"]).all()


def test_queues_are_whole_on_seren_and_floats_on_kalos(default_sample):
    for cluster, pattern in (("seren", r"\d+"), ("kalos", r"\d+\.0")):
        texts = pd.read_csv(default_sample.root / f"data/job_trace/trace_{cluster}.csv", dtype=str)["queue"]
        assert texts.str.fullmatch(pattern).all()


def test_gpu_time_is_duration_times_gpus_and_blank_without_gpus(logs):
    for log in logs.values():
        gpu = log["gpu_num"] > 0
        assert (log["gpu_time"][gpu] == log["duration"][gpu] * log["gpu_num"][gpu]).all()
        assert log["gpu_time"][~gpu].isna().all()
        assert ((log["type"] == "CPU") == ~gpu).all()


def test_states_are_those_of_each_log(logs):
    assert set(logs["seren"]["state"]) == {
        "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
    }  # fmt: skip
    assert set(logs["kalos"]["state"]) == {"COMPLETED", "FAILED", "CANCELLED", "RUNNING"}


def test_fail_and_stop_times_stand_on_failed_and_cancelled_rows_only(logs):
    log = logs["kalos"]
    assert (log["fail_time"].notna() == (log["state"] == "FAILED")).all()
    assert (log["stop_time"].notna() == (log["state"] == "CANCELLED")).all()


def test_running_rows_have_a_duration_but_no_end(logs):
    log = logs["kalos"]
    assert (log["end_time"].isna() == (log["state"] == "RUNNING")).all()
    assert log["duration"].notna().all()


@pytest.mark.parametrize(("cluster", "duration_s", "queue_s"), [("seren", 122, 1), ("kalos", 124, 17)])
def test_medians_of_gpu_jobs_are_near_the_published(logs, cluster, duration_s, queue_s):
    gpu = logs[cluster][logs[cluster]["gpu_num"] > 0]
    assert abs(gpu["duration"].median() / duration_s - 1) < 0.15
    assert abs(gpu["queue"].median() - queue_s) <= 3
    assert gpu["gpu_num"].median() == 1
    assert gpu["gpu_num"].max() <= 1024


def test_seren_has_jobs_of_no_time_at_all(logs):
    assert (logs["seren"]["duration"] == 0).any()


def test_ids_are_unique_and_jobs_in_order_of_submission(logs):
    for log in logs.values():
        assert log["job_id"].is_unique
        assert pd.to_datetime(log["submit_time"]).is_monotonic_increasing


def test_logs_grow_with_the_rows_up_to_the_released_number(tmp_path):
    write_sample(tmp_path / "s", SampleOptions(rows=200_000, clusters=("kalos",), metrics=("job_trace",)))
    log = pd.read_csv(tmp_path / "s/data/job_trace/trace_kalos.csv")
    assert len(log) == 62_413
    assert np.isclose((log["gpu_num"] > 0).mean(), 19_907 / 62_413, atol=0.01)
