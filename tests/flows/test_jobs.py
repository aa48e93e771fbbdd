"""Job logs of a source become tables and analyses; again, broken off, or partly wrong, nothing is lost."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from flows.cli import exit_code
from flows.jobs import JobsResult, JobsSettings, jobs
from flows.pipeline import pipeline
from flows.settings import RunSettings
from schemas.errors import IncompleteRun, SourceError, UsageError
from schemas.job_records import JobsManifest
from tasks.outputs.jobs import read_jobs
from tasks.progress import Silent
from tests.doubles.listeners import Announced

pytestmark = pytest.mark.usefixtures("prefect_server")


def run(source: Path, out: Path, announced: Announced | None = None, **settings: object) -> JobsResult:
    return jobs(JobsSettings(source=str(source), out=str(out), **settings), announced or Announced())


@pytest.fixture(scope="module")
def done(dataset: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: object) -> Path:
    out = tmp_path_factory.mktemp("jobs") / "out"
    run(dataset, out)
    return out


def content(out: Path) -> dict[str, str]:
    """Digest of every file of a run over job logs but its manifest, which holds times."""
    files = [path for path in (out / "jobs").rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_both_logs_of_a_dataset_become_tables_that_the_manifest_describes(done: Path):
    manifest = read_jobs(str(done))
    assert [(log.cluster, log.format, log.verdict) for log in manifest.logs] == [
        ("kalos", "kalos", "passed"),
        ("seren", "seren", "passed"),
    ]
    for output in manifest.outputs:
        data = (done / output.path).read_bytes()
        assert (output.size, output.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    there = {str(p.relative_to(done)) for p in (done / "jobs").rglob("*") if p.is_file()}
    assert there == {output.path for output in manifest.outputs} | {"jobs/manifest.json"}
    assert not any(str(done) in log.model_dump_json() for log in manifest.logs)
    assert manifest.logs[0].inputs[0].path == "data/job_trace/trace_kalos.csv"


def test_the_digest_of_a_log_is_that_of_its_bytes(done: Path, dataset: Path):
    from tasks.storage.digest import file_digest
    from tasks.storage.source import stat_file

    for log in read_jobs(str(done)).logs:
        assert log.inputs[0].digest == file_digest(stat_file(str(dataset / log.inputs[0].path)))


def test_tables_hold_the_jobs_that_pandas_reads(done: Path, dataset: Path):
    for cluster in ("seren", "kalos"):
        plain = pd.read_csv(dataset / f"data/job_trace/trace_{cluster}.csv", dtype={"job_id": str})
        table = pd.read_parquet(done / f"jobs/table/{cluster}.parquet")
        assert table["job_id"].tolist() == plain["job_id"].tolist()
        assert table["gpu_num"].tolist() == plain["gpu_num"].tolist()
        start, end = (pd.to_datetime(plain[name], utc=True) for name in ("start_time", "end_time"))
        expected = (end - start).dt.total_seconds()
        assert table["run_s"].dropna().tolist() == expected.dropna().tolist()
    summary = pd.read_csv(done / "jobs/cluster_summary.csv", index_col="id")
    assert summary.index.tolist() == ["Kalos", "Seren"]
    assert summary.loc["Kalos", "avg_run_time_gpu"] == pytest.approx(
        pd.read_csv(dataset / "data/job_trace/trace_kalos.csv").query("gpu_num > 0")["duration"].mean(),
        abs=0.001,
    )


def test_what_is_known_to_differ_from_the_published_is_said(done: Path):
    notes = read_jobs(str(done)).notes
    assert any(
        "213,223 of the published GPU jobs are not in the public log" in note for note in notes["seren"]
    )
    assert any("hold the queue" in note for note in notes["kalos"])


def test_a_second_run_reads_nothing_and_gives_the_same_bytes(done: Path, dataset: Path):
    before, announced = content(done), Announced()
    run(dataset, done, announced)
    assert announced.readings[0].wanted == 0
    assert content(done) == before
    run(dataset, done, announced, force=True)
    assert announced.readings[1].wanted == announced.readings[1].stored
    assert content(done) == before


def test_a_damaged_table_is_made_again(dataset: Path, tmp_path: Path):
    run(dataset, tmp_path)
    before = content(tmp_path)
    (tmp_path / "jobs/table/kalos.parquet").write_bytes(b"PAR1")
    announced = Announced()
    run(dataset, tmp_path, announced)
    assert 0 < announced.readings[0].wanted < announced.readings[0].stored
    assert content(tmp_path) == before


def test_outputs_of_logs_that_are_gone_go_too(dataset: Path, tmp_path: Path):
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(dataset / "data/job_trace", source)
    run(source, out)
    (source / "trace_seren.csv").unlink()
    run(source, out)
    assert not (out / "jobs/table/seren.parquet").exists()
    assert not (out / "jobs/sequence/seren.parquet").exists()
    assert (out / "jobs/table/kalos.parquet").exists()


def test_a_run_that_broke_off_has_no_manifest_and_the_next_one_cleans_up(dataset: Path, tmp_path: Path):
    run(dataset, tmp_path)
    before = content(tmp_path)

    class Breaks(Announced):
        def logged(self, record: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(dataset, tmp_path, Breaks(), force=True)
    with pytest.raises(IncompleteRun, match="no run has finished there"):
        read_jobs(str(tmp_path))
    run(dataset, tmp_path)
    assert content(tmp_path) == before


def test_one_log_that_cannot_be_read_does_not_stop_the_others(dataset: Path, tmp_path: Path, capfd):
    source = tmp_path / "source"
    shutil.copytree(dataset / "data/job_trace", source)
    (source / "trace_lab.csv").write_text(
        "JobID|State|Submit|Start|End\n1|COMPLETED|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T01:00:00\n"
    )
    (source / "trace_lfs.csv").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    (source / "readme.txt").write_text("Nothing of interest, really\n")
    assert exit_code(["jobs", str(source), "--out", str(tmp_path / "out")]) == 3
    printed = capfd.readouterr()
    assert "1 other files are no job logs" in printed.out
    assert "4 job logs: 2 failed, 2 passed" in printed.out
    assert "have no zone" in printed.err
    assert "Git LFS pointer" in printed.err
    verdicts = {log.cluster: log.verdict for log in read_jobs(str(tmp_path / "out")).logs}
    assert verdicts == {"kalos": "passed", "seren": "passed", "lab": "failed", "lfs": "failed"}
    assert exit_code(["jobs", str(source), "--out", str(tmp_path / "out"), "--timezone", "UTC", "-q"]) == 3
    verdicts = {log.cluster: log.verdict for log in read_jobs(str(tmp_path / "out")).logs}
    assert verdicts["lab"] == "warned"


def test_a_source_without_a_job_log_is_an_error_that_says_why(tmp_path: Path):
    (tmp_path / "a.csv").write_text("Time,x-0\n2023-01-01 00:00:00+00:00,1\n")
    with pytest.raises(SourceError, match=r"holds no job log.*no known job log: Time, x-0"):
        run(tmp_path, tmp_path / "out")
    with pytest.raises(UsageError, match="no kind of job log"):
        run(tmp_path / "a.csv", tmp_path / "out", format="pbs")


def test_helios_with_quotas_gives_utilisation_and_a_row_for_all_four_clusters(tmp_path: Path):
    header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    for place, cluster in enumerate(("Venus", "Earth", "Saturn", "Uranus")):
        folder = tmp_path / "data" / cluster
        folder.mkdir(parents=True)
        row = "2020-05-01 00:00:00,2020-05-01 00:00:00,2020-05-01 11:59:59,43199,0"
        lines = [f"{n},u{n},vcA,{4 + place},6,1,COMPLETED,{row}\n" for n in range(2)]
        (folder / "cluster_log.csv").write_text(header + "".join(lines))
        (folder / "cluster_gpu_number.csv").write_text("date,vcA,vcB,total\n2020-05-01,16,8,24\n")
    out = tmp_path / "out"
    run(tmp_path / "data", out)
    summary = pd.read_csv(out / "jobs/cluster_summary.csv", index_col="id")
    assert summary.index.tolist() == ["Earth", "Saturn", "Uranus", "Venus", "Helios"]
    assert summary.loc["Helios", ["job_num", "avg_gpu_num"]].tolist() == [8, 5.5]
    sequence = pd.read_parquet(out / "jobs/sequence/Venus.parquet")
    assert len(sequence) == 1440
    assert sequence["gpu_utilization"].mean() == pytest.approx(0.5 * 8 / 24, abs=0.001)
    vcs = pd.read_parquet(out / "jobs/vcs.parquet").query("cluster == 'Venus'").set_index("vc")
    assert vcs.loc["vcA", "utilization_mean"] == pytest.approx(0.25, abs=0.001)
    assert vcs.loc["vcB", "utilization_mean"] == 0
    pattern = pd.read_parquet(out / "jobs/hourly_pattern.parquet").query("cluster == 'Venus'")
    assert pattern["gpu_utilization"].tolist()[:2] == pytest.approx([8 / 24] * 2, abs=0.001)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, prefect_server: object) -> Path:
    """A run over telemetry and the log of the same two hours, which lacks the jobs of the second."""
    folder = tmp_path_factory.mktemp("whole")
    source = folder / "source"
    (source / "data/utilization/lab").mkdir(parents=True)
    (source / "data/job_trace").mkdir()
    times = pd.date_range("2023-08-15 08:00", periods=480, freq="15s", tz="Asia/Shanghai")
    table = pd.DataFrame({f"10.0.0.1-{gpu}": 100.0 for gpu in range(8)}, index=times.strftime("%F %T+08:00"))
    table.to_csv(source / "data/utilization/lab/GPU_UTIL.csv", index_label="Time")
    (source / "data/job_trace/trace_lab.csv").write_text(
        "JobID|User|Partition|State|Submit|Start|End|AllocTRES\n"
        "1|ann|gpu|COMPLETED|1692057600|1692057600|1692061199|gres/gpu=8\n"
    )
    pipeline(RunSettings(source=str(source), out=str(folder / "out")), Silent())
    return folder / "out"


def test_a_run_holds_the_log_against_the_telemetry_of_the_same_hours(whole: Path):
    hours = pd.read_parquet(whole / "jobs/hours.parquet").dropna(subset="busy_gpus")
    assert hours["running_gpus"].tolist() == [8, 0]
    assert hours["busy_gpus"].tolist() == [8, 8]
    assert hours["unexplained_gpus"].tolist() == [0, 8]
    found = pd.read_parquet(whole / "jobs/integrity.parquet").set_index("measure")["value"]
    assert found["unexplained_share"] == 50
    assert found["shared_hours"] == 2


def test_a_run_leaves_telemetry_and_jobs_with_a_manifest_each(whole: Path):
    assert (whole / "manifest.json").exists()
    assert (
        JobsManifest.model_validate_json((whole / "jobs/manifest.json").read_bytes()).logs[0].cluster == "lab"
    )


def test_a_run_over_named_metrics_reads_no_job_log(dataset: Path, tmp_path: Path):
    result = pipeline(RunSettings(source=str(dataset), out=str(tmp_path), metrics=("GPU_TEMP",)), Silent())
    assert result.jobs is None
    assert not (tmp_path / "jobs").exists()


def test_a_run_over_job_logs_alone_needs_no_telemetry(dataset: Path, tmp_path: Path, capfd):
    source = dataset / "data/job_trace"
    assert exit_code(["run", str(source), "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert [log["cluster"] for log in told["jobs"]["logs"]] == ["kalos", "seren"]


@pytest.mark.parametrize("form", ["parquet", "csv", "swf", "helios"])
def test_jobs_are_exported_from_the_command_line(done: Path, tmp_path: Path, form: str, capfd):
    assert exit_code(["jobs", "export", str(done), "--format", form, "--to", str(tmp_path / "all")]) == 0
    assert len(list((tmp_path / "all").iterdir())) == 2
    one = tmp_path / f"kalos.{form}"
    assert (
        exit_code(["jobs", "export", str(done), "--format", form, "--cluster", "kalos", "--to", str(one)])
        == 0
    )
    assert one.stat().st_size > 1000
    printed = capfd.readouterr().out
    assert f"jobs in {one}" in printed
    assert ("without GPU are left out" in printed) == (form == "swf")


def test_export_of_what_is_not_there_ends_with_an_error_that_names_it(done: Path, tmp_path: Path, capfd):
    arguments = ["--format", "csv", "--to", str(tmp_path / "x.csv")]
    assert exit_code(["jobs", "export", str(done), "--cluster", "mars", *arguments]) == 2
    assert "no jobs of mars" in capfd.readouterr().err
    assert exit_code(["jobs", "export", str(tmp_path), *arguments]) == 1
    assert "no run has finished there" in capfd.readouterr().err


def test_gpus_are_told_as_name_and_number(dataset: Path, tmp_path: Path, capfd):
    assert exit_code(["jobs", str(dataset), "--out", str(tmp_path), "--gpus", "kalos"]) == 2
    assert "NAME=NUMBER" in capfd.readouterr().err
