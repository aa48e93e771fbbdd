"""Real logs are read with the right contract, or refused with a reason, and give the known numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from schemas.errors import NotAJobLog
from tasks.joblog.read import LogOptions, read_log
from tasks.joblog.schema import load_jobs
from tasks.storage.source import stat_file


def log_of(real, tmp_path, path: str, kind: str | None = None):
    ref = stat_file(str(real / path))
    record = read_log(ref, "c", LogOptions(format=kind), str(tmp_path), "t.parquet")
    return record, load_jobs(f"{tmp_path}/t.parquet")


@pytest.mark.parametrize("cluster", ["seren", "kalos"])
def test_the_first_rows_of_both_releases_keep_their_own_rules(real, tmp_path, cluster):
    path = f"acmetrace/data/job_trace/trace_{cluster}.csv"
    record, table = log_of(real, tmp_path, path)
    assert (record.format, record.verdict, record.jobs, record.findings) == (cluster, "passed", 5, ())
    plain = pd.read_csv(real / path)
    start, end, submit = (
        pd.to_datetime(plain[name], utc=True) for name in ("start_time", "end_time", "submit_time")
    )
    assert table["run_s"].tolist() == (end - start).dt.total_seconds().tolist()
    assert table["wait_s"].tolist() == (start - submit).dt.total_seconds().tolist()
    assert table["released_duration_s"].tolist() == plain["duration"].tolist()


def test_the_800_kalos_jobs_are_refused_until_it_is_said_what_they_are(real, tmp_path):
    with pytest.raises(NotAJobLog, match=r"--format seren \| kalos"):
        log_of(real, tmp_path, "kalos_jobs_800.csv")
    record, table = log_of(real, tmp_path, "kalos_jobs_800.csv", "kalos")
    plain = pd.read_csv(real / "kalos_jobs_800.csv")
    assert (record.jobs, record.gpu_jobs, record.verdict) == (800, 800, "warned")
    assert table["run_s"].tolist() == (plain["duration"] - plain["queue"]).tolist()
    assert table["wait_s"].tolist() == plain["queue"].tolist()
    assert {line.rule: line.rows for line in record.audit} == {"missing-column": 8, "derived-time": 800}


def test_the_319_completed_kalos_jobs_have_no_run_time_as_nobody_told_their_queue(real, tmp_path):
    record, table = log_of(real, tmp_path, "kalos_completed_jobs.csv")
    assert (record.format, record.jobs) == ("kalos", 319)
    assert record.raw_states == {"COMPLETED": 319}
    assert table["run_s"].isna().all()
    assert (
        table["released_duration_s"].sum() == pd.read_csv(real / "kalos_completed_jobs.csv")["duration"].sum()
    )
    missing = next(found.message for found in record.findings if found.rule == "missing-column")
    assert missing.endswith("job_id, user, type, start_time, end_time, queue, gpu_time")


def test_both_kalos_slices_agree_on_the_jobs_they_share(real, tmp_path):
    _, few = log_of(real, tmp_path, "kalos_completed_jobs.csv")
    _, all_ = log_of(real, tmp_path, "kalos_jobs_800.csv", "kalos")
    keys = ["submit", "gpu_num", "released_duration_s"]
    within = few[few["submit"] <= all_["submit"].max()]
    assert len(within) == 82
    assert len(within[keys].merge(all_[keys].drop_duplicates(), on=keys)) == 82


def test_the_venus_slice_is_read_as_helios_with_run_times_from_its_durations(real, tmp_path):
    record, table = log_of(real, tmp_path, "helios/venus_2vc_cluster_log.csv")
    assert (record.format, record.verdict, record.jobs) == ("helios", "passed", 1867)
    assert record.raw_states == {"COMPLETED": 786, "CANCELLED": 589, "FAILED": 491, "NODE_FAIL": 1}
    assert table["state"].value_counts().to_dict() == {"COMPLETED": 786, "CANCELLED": 589, "FAILED": 492}
    assert table["vc"].value_counts().to_dict() == {"vcvGl": 1452, "vcvlY": 415}
    assert table["run_s"].max() == 567_327
    assert table["wait_s"].isna().all()
    assert str(table["submit"].iloc[0]) == "2020-08-31 17:37:15+00:00"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("helios/helios_venus_2vc_sept.csv", "no header: its first line is '# fleetsim"),
        ("helios/Earth_gpu_number.csv", "no known job log"),
        ("helios/philly_node_sequence.csv.gz", "no known job log: active, time, total"),
        ("acmetrace/data/utilization/kalos/GPU_UTIL.csv", "no known job log"),
        ("expected.json", "is JSON, but not"),
    ],
)
def test_what_is_no_job_log_is_refused(real, tmp_path, path, words):
    with pytest.raises(NotAJobLog) as caught:
        log_of(real, tmp_path, path)
    assert words in str(caught.value)
