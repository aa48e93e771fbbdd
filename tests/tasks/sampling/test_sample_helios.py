"""Generated logs of Helios and of other traces have the released form, and the published shares."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.errors import UsageError
from schemas.joblogs.helios import HELIOS_CLUSTERS
from tasks.sampling import SampleOptions, write_sample
from tasks.sampling.helios import helios_count, log_table, quota_table, vc_names

HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
REAL = {"Venus": 246_708, "Earth": 872_886, "Saturn": 1_753_078, "Uranus": 490_309}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("helios") / "s"
    write_sample(folder, SampleOptions(helios=True, metrics=("job_trace",), jobs=3000))
    return folder


def log(root: Path, cluster: str) -> pd.DataFrame:
    times = ["submit_time", "start_time", "end_time"]
    return pd.read_csv(root / f"data/helios/{cluster}/cluster_log.csv", parse_dates=times)


def test_the_files_are_those_of_the_release(root):
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    helios = {
        f"data/helios/{c}/{name}.csv"
        for c in HELIOS_CLUSTERS
        for name in ("cluster_log", "cluster_gpu_number")
    }
    previous = {
        f"data/job_trace/trace_previous_work/{name}_trace.csv" for name in ("philly", "helios", "pai")
    }
    assert files == helios | previous | {f"data/job_trace/trace_{name}.csv" for name in ("seren", "kalos")}
    for cluster in HELIOS_CLUSTERS:
        assert (root / f"data/helios/{cluster}/cluster_log.csv").read_text().partition("\n")[0] == HEADER


@pytest.mark.parametrize("cluster", HELIOS_CLUSTERS)
def test_every_row_keeps_the_rules_of_the_log(root, cluster):
    table = log(root, cluster)
    assert len(table) == 3000
    assert table["submit_time"].is_monotonic_increasing
    assert table["job_id"].is_monotonic_increasing
    assert ((table["start_time"] - table["submit_time"]).dt.total_seconds() == table["queue"]).all()
    ended = table[table["state"] != "RUNNING"]
    assert ((ended["end_time"] - ended["start_time"]).dt.total_seconds() == ended["duration"]).all()
    runs = table[table["state"] == "RUNNING"]
    assert runs["end_time"].isna().all()
    assert runs["duration"].isna().all()
    assert (table["node_num"] == np.maximum(np.ceil(table["gpu_num"] / 8), 1)).all()
    assert set(table["state"]) <= {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "RUNNING"}


def test_all_logs_have_the_released_numbers_of_jobs_where_all_are_asked_for():
    assert {cluster: helios_count(cluster, 1920, 1 << 40) for cluster in HELIOS_CLUSTERS} == REAL


@pytest.mark.parametrize(
    ("cluster", "gpu_share", "single_pct", "to_8_pct", "completed_pct", "gpu_time"),
    [
        ("Venus", 0.508, 51.8, 90.0, 52.6, 12.21e9),
        ("Earth", 0.489, 89.2, 97.5, 73.5, 11.43e9),
        ("Saturn", 0.399, 68.3, 94.9, 58.2, 27.65e9),
        ("Uranus", 0.671, 66.3, 92.3, 60.7, 26.56e9),
    ],
)
def test_shares_are_those_published(cluster, gpu_share, single_pct, to_8_pct, completed_pct, gpu_time):
    table = log_table(cluster, REAL[cluster], 0, 0, 200_000)
    gpu = table[table["gpu_num"] > 0]
    assert len(gpu) / len(table) == pytest.approx(gpu_share, abs=0.01)
    assert (gpu["gpu_num"] == 1).mean() * 100 == pytest.approx(single_pct, abs=1)
    assert (gpu["gpu_num"] <= 8).mean() * 100 == pytest.approx(to_8_pct, abs=1)
    assert (gpu["state"] == "COMPLETED").mean() * 100 == pytest.approx(completed_pct, abs=1)
    spent = (gpu["gpu_num"] * gpu["duration"].fillna(0)).sum() * REAL[cluster] / len(table)
    assert 0.6 < spent / gpu_time < 1.3
    assert gpu["queue"].median() == 0


def test_quotas_add_up_and_are_whole_nodes():
    for cluster in HELIOS_CLUSTERS:
        table = quota_table(cluster, 0)
        gpus = table.drop(columns=["date", "total"])
        assert len(table) == 181
        assert (gpus.sum(axis=1) == table["total"]).all()
        assert (gpus % 8 == 0).all(axis=None)
        assert tuple(gpus.columns) == vc_names(cluster, 0)
        assert set(log_table(cluster, 3000, 0, 0, 3000)["vc"]) <= set(gpus.columns)
    assert quota_table("Earth", 0).set_index("date").loc[["2020-04-01", "2020-06-30"], "total"].tolist() == [
        784,
        1120,
    ]


def test_a_row_does_not_depend_on_the_piece_it_is_made_in():
    whole = log_table("Venus", 5000, 3, 0, 5000)
    pieces = pd.concat(
        [log_table("Venus", 5000, 3, first, 700) for first in range(0, 5000, 700)], ignore_index=True
    )
    pd.testing.assert_frame_equal(pieces, whole)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(root, tmp_path):
    def digest(folder: Path) -> str:
        return hashlib.sha256((folder / "data/helios/Venus/cluster_log.csv").read_bytes()).hexdigest()

    options = SampleOptions(helios=True, metrics=("job_trace",), jobs=3000, workers=3)
    write_sample(tmp_path / "same", options)
    assert digest(tmp_path / "same") == digest(root)
    assert not log_table("Venus", 100, 1, 0, 100).equals(log_table("Venus", 100, 0, 0, 100))


def test_more_are_submitted_in_the_afternoon_than_at_dawn():
    hours = log_table("Saturn", 200_000, 0, 0, 200_000)["submit_time"].dt.hour.value_counts()
    assert 2 < hours[16] / hours[4] < 4


def test_all_logs_are_read_as_the_kinds_they_are(root, tmp_path):
    from tasks.joblog.head import read_head
    from tasks.storage.source import stat_file

    found = {path.stem: read_head(stat_file(str(path))).kind.name for path in root.rglob("*trace*.csv")}
    assert found == {
        "trace_seren": "seren",
        "trace_kalos": "kalos",
        "philly_trace": "philly",
        "helios_trace": "helios",
        "pai_trace": "pai",
    }


def test_jobs_sets_the_size_of_every_log_and_no_file_is_larger_than_released(tmp_path):
    report = write_sample(tmp_path / "s", SampleOptions(metrics=("job_trace",), jobs=70_000))
    assert {file.path.rsplit("_", 1)[1]: file.rows for file in report.files} == {
        "kalos.csv": 62_413,
        "seren.csv": 70_000,
    }


def test_raw_exports_with_job_logs_are_refused(tmp_path):
    with pytest.raises(UsageError, match="hold no job logs"):
        write_sample(tmp_path / "s", SampleOptions(raw=True, helios=True))
    with pytest.raises(UsageError, match="jobs is 0"):
        write_sample(tmp_path / "s", SampleOptions(jobs=0))
