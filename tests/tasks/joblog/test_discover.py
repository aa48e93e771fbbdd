"""Job logs are found where datasets have them, and named after their clusters."""

from __future__ import annotations

import pytest

from schemas.errors import SourceError, UsageError
from tasks.joblog.discover import discover_logs


def make(root, *paths: str) -> str:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a,b\n1,2\n")
    return str(root)


def names(source: str, **options) -> list[str]:
    return [log.cluster for log in discover_logs(source, **options)]


def test_the_released_layout_has_its_logs_below_job_trace(tmp_path):
    source = make(
        tmp_path,
        "data/job_trace/trace_seren.csv",
        "data/job_trace/trace_kalos.csv",
        "data/job_trace/trace_previous_work/philly_trace.csv",
        "data/utilization/kalos/GPU_UTIL.csv",
        "data/cluster_summary.csv",
    )
    assert names(source, likely=True) == ["kalos", "philly", "seren"]
    assert names(source, clusters=("kalos",)) == ["kalos"]


def test_helios_layout_names_clusters_by_their_folders_and_finds_quotas_beside_the_logs(tmp_path):
    source = make(
        tmp_path,
        "data/Venus/cluster_log.csv",
        "data/Venus/cluster_gpu_number.csv",
        "data/Earth/cluster_log.csv",
    )
    found = {log.cluster: log for log in discover_logs(source)}
    assert sorted(found) == ["Earth", "Venus"]
    assert found["Venus"].quota.url.endswith("data/Venus/cluster_gpu_number.csv")
    assert found["Earth"].quota is None


def test_a_quota_may_name_its_cluster(tmp_path):
    source = make(tmp_path, "earth_trace.csv", "Earth_gpu_number.csv", "venus_trace.csv")
    found = {log.cluster: log.quota is not None for log in discover_logs(source)}
    assert found == {"earth": True, "venus": False}


def test_logs_that_would_share_a_name_keep_that_of_their_file(tmp_path):
    source = make(tmp_path, "a/trace_x.csv", "a/x_trace.csv")
    assert names(source) == ["trace_x", "x_trace"]


def test_one_file_is_a_log_of_the_cluster_of_its_name(tmp_path):
    make(tmp_path, "lab.txt")
    assert names(str(tmp_path / "lab.txt")) == ["lab"]


def test_likely_looks_only_at_files_named_like_a_job_log(tmp_path):
    source = make(tmp_path, "GPU_UTIL.csv", "sacct-may.txt", "jobs.csv", "notes.txt")
    assert names(source, likely=True) == ["jobs", "sacct-may"]
    assert len(names(source)) == 4


def test_an_empty_folder_and_a_cluster_that_is_not_there_are_told(tmp_path):
    with pytest.raises(SourceError, match="holds no file that may be a job log"):
        discover_logs(str(tmp_path))
    with pytest.raises(SourceError, match="nothing at"):
        discover_logs(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=r"no job log of mars.*It has lab"):
        discover_logs(make(tmp_path, "lab.csv"), ("mars",))


def test_our_own_outputs_are_no_sources(tmp_path):
    source = make(tmp_path, "summaries/jobs.csv", "util_pkl/jobs.csv", ".state/jobs.csv", "trace_a.csv")
    assert names(source) == ["a"]
