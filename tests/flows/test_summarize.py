"""The flow `summarize` on real slices and generated data, with a real server and a real Dask cluster."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

from flows.settings import RunSettings
from flows.summarize import RunResult, state_of, summarize
from schemas.dataset import DatasetFile, DatasetManifest
from schemas.findings import EXAMPLES_KEPT
from schemas.series import SeriesRecord
from tasks.outputs.finished import verify_run
from tasks.progress import Reading
from tasks.series.discover import discover
from tasks.series.head import read_head
from tasks.series.options import ScanOptions
from tasks.series.scan import scan_block
from tasks.series.wide import plan_series
from tasks.storage.digest import file_digest
from tasks.storage.source import stat_file

pytestmark = pytest.mark.usefixtures("prefect_server")


class Recorder:
    """A listener that remembers the passes that read anything."""

    def __init__(self) -> None:
        self.passes: list[str] = []
        self.records: list[SeriesRecord] = []
        self.reading: Reading | None = None

    def found(self, reading: Reading) -> None:
        self.reading = reading

    def planned(self, label: str, number: int, size: int) -> None:
        if size:
            self.passes.append(label)

    def read(self, label: str, size: int) -> None:
        pass

    def judged(self, record: SeriesRecord) -> None:
        self.records.append(record)


def run(source: Path, out: Path, recorder: Recorder | None = None, **settings: object) -> RunResult:
    return summarize(
        RunSettings(source=str(source), out=str(out), **settings), listener=recorder or Recorder()
    )


def numbers_of(out: Path) -> dict[str, bytes]:
    """Every output but those that hold times of the run."""
    manifest = verify_run(out)
    return {output.path: (out / output.path).read_bytes() for output in manifest.outputs}


REAL_FILES = (
    "acmetrace/data/utilization/kalos/GPU_TEMP.csv",
    "acmetrace/data/utilization/kalos/GPU_UTIL.csv",
    "acmetrace/data/utilization/kalos/POWER_USAGE.csv",
    "acmetrace/data/utilization/kalos/XID_ERRORS.csv",
    "acmetrace/data/utilization/seren/NODE_CPU_UTILIZATION.csv",
    "acmetrace_snapshot/data/utilization/kalos/GPU_TEMP.csv",
    "acmetrace_snapshot/data/utilization/kalos/GPU_UTIL.csv",
    "gpu_duty_cycle/GPU_DUTY_CYCLE.csv",
)


@pytest.fixture(scope="session")
def real_runs(
    real: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: object
) -> dict[str, Path]:
    """The output folders of runs on each real dataset."""
    folder = tmp_path_factory.mktemp("real")
    names = ("acmetrace", "acmetrace_snapshot", "gpu_duty_cycle")
    for name in names:
        run(real / name, folder / name)
    return {name: folder / name for name in names}


@pytest.mark.parametrize("file", REAL_FILES)
def test_a_run_on_a_real_slice_gives_its_known_numbers(
    file: str, real: Path, real_runs: dict[str, Path]
) -> None:
    expected = json.loads((real / "expected.json").read_text())
    facts, levels = expected["files"][file], expected["quantile_levels"]
    cluster, name = Path(file).parent.name, Path(file).stem
    out = real_runs[Path(file).parts[0]]
    record = SeriesRecord.model_validate_json((out / f"schemas/{cluster}/{name}.json").read_bytes())
    seen = record.observed
    assert (seen.rows, seen.columns) == (facts["rows"], facts["columns"])
    assert (seen.values, seen.blanks) == (facts["non_null"], facts["blank"])
    assert (seen.low, seen.high) == (facts["min"], facts["max"])
    assert seen.first_time == pd.Timestamp(facts["first_time"])
    assert seen.last_time == pd.Timestamp(facts["last_time"])
    whole = next(curve for curve in record.curves if curve.metric == name and curve.period == "all")
    known = dict(zip(levels, facts["quantiles"], strict=True))
    marks = {f"p{level * 100:g}": value for level, value in known.items() if 0 < level < 1}
    assert {mark: whole.quantiles[mark] for mark in marks} == marks
    curves = pd.read_parquet(out / "summaries/curves.parquet")
    curve = curves.query("cluster == @cluster and metric == @name and period == 'all'")["value"].to_numpy()
    assert (curve[0], curve[-1]) == (known[0], known[1])


def test_a_file_with_a_header_only_is_no_failure(real_runs: dict[str, Path]) -> None:
    record = json.loads((real_runs["acmetrace"] / "schemas/kalos/DRAM_ACTIVE.json").read_text())
    assert record["verdict"] == "no data"
    assert [finding["rule"] for finding in record["findings"]] == ["header-only"]


def test_readings_in_equal_pairs_are_noticed_in_real_data(real_runs: dict[str, Path]) -> None:
    record = json.loads((real_runs["acmetrace"] / "schemas/kalos/POWER_USAGE.json").read_text())
    assert "repeated-pairs" in [finding["rule"] for finding in record["findings"]]


def test_every_curve_equals_that_of_pandas_on_the_flat_values(dataset: Path, tmp_path: Path) -> None:
    run(dataset, tmp_path / "out", clusters=("kalos",))
    curves = pd.read_parquet(tmp_path / "out/summaries/curves.parquet")
    wide = [
        path
        for path in sorted((dataset / "data/utilization/kalos").glob("*.csv"))
        if path.stem != "DRAM_ACTIVE"
    ]
    assert len(wide) > 10
    for path in wide:
        flat = pd.read_csv(path).drop(columns="Time").melt()["value"].dropna()
        expected = flat.quantile(np.linspace(0, 1, 1000)).to_numpy()
        found = curves.query("metric == @path.stem and period == 'all'")["value"].to_numpy()
        assert np.array_equal(found, expected), path.stem


def test_a_second_run_reads_no_data_and_gives_the_same_bytes(dataset: Path, tmp_path: Path) -> None:
    first, second = Recorder(), Recorder()
    run(dataset, tmp_path / "out", first)
    before = numbers_of(tmp_path / "out")
    run(dataset, tmp_path / "out", second)
    assert len(first.passes) > 20
    assert second.passes == []
    assert numbers_of(tmp_path / "out") == before


def test_a_changed_file_alone_is_scanned_again(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(dataset, copy)
    run(copy, tmp_path / "out", clusters=("kalos",))
    changed = copy / "data/utilization/kalos/GPU_UTIL.csv"
    text = changed.read_text().splitlines(keepends=True)
    changed.write_text("".join(text[:-1]))
    again = Recorder()
    run(copy, tmp_path / "out", again, clusters=("kalos",))
    assert again.passes == ["kalos/GPU_UTIL"]


def test_force_reads_everything_again(dataset: Path, tmp_path: Path) -> None:
    settings = {"clusters": ("kalos",), "metrics": ("GPU_UTIL",)}
    run(dataset, tmp_path / "out", **settings)
    again = Recorder()
    run(dataset, tmp_path / "out", again, force=True, **settings)
    assert again.passes == ["kalos/GPU_UTIL"]


@pytest.mark.parametrize(("block", "workers"), [("4KiB", 1), ("100KiB", 3)])
def test_the_result_depends_neither_on_blocks_nor_on_workers(
    block: str, workers: int, dataset: Path, tmp_path: Path
) -> None:
    settings = {"metrics": ("GPU_UTIL", "POWER_USAGE", "NODE_CPU_UTILIZATION")}
    run(dataset, tmp_path / "whole", **settings)
    run(dataset, tmp_path / "cut", block_bytes=block, workers=workers, **settings)
    tables = ("summaries/curves.parquet", "summaries/entities.parquet", "summaries/hourly.parquet")
    whole, cut = numbers_of(tmp_path / "whole"), numbers_of(tmp_path / "cut")
    assert {path for path in whole if path.endswith(".pkl")} == {
        path for path in cut if path.endswith(".pkl")
    }
    for path in [*tables, *(path for path in whole if path.endswith(".pkl"))]:
        assert whole[path] == cut[path], path


def test_a_scheduler_of_ones_own_gives_the_same_bytes(dataset: Path, tmp_path: Path) -> None:
    settings = {"metrics": ("GPU_UTIL",), "block_bytes": "100KiB"}
    run(dataset, tmp_path / "here", **settings)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        run(dataset, tmp_path / "there", scheduler=cluster.scheduler_address, **settings)
    assert numbers_of(tmp_path / "here") == numbers_of(tmp_path / "there")


def test_a_finished_block_is_used_and_not_scanned_again(dataset: Path, tmp_path: Path) -> None:
    """A run that was killed leaves blocks; a marked one shows up in the result of the next run."""
    source = dataset / "data/utilization/kalos/GPU_UTIL.csv"
    out, size = tmp_path / "out", 8_000
    (series,) = discover(str(source))
    planned = plan_series(series, (read_head(series.files[0]),), ScanOptions(block_bytes=size))
    (scan,) = planned.scans
    unit = scan.units[1]
    tally = scan_block(unit.block, scan.columns, unit.spec)
    marked = type(tally)(**{**vars(tally), "rows": tally.rows + 1_000_000})
    state_of(str(out)).put(f"blocks/{scan.key}/{unit.key}", marked.to_bytes())
    result = run(source, out, block_bytes=size)
    assert result.records[0].observed.rows == 1_000_240


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "GOOD.csv").write_text("Time,a,b\n2024-01-01T00:00:00Z,1,2\n")
    (folder / "PAGE.csv").write_text("<!DOCTYPE html><html>not found</html>")
    result = run(folder, tmp_path / "out")
    assert {record.series: record.verdict for record in result.records} == {
        "GOOD": "passed",
        "PAGE": "failed",
    }
    curves = pd.read_parquet(tmp_path / "out/summaries/curves.parquet")
    assert set(curves["metric"]) == {"GOOD"}


def test_a_failed_series_publishes_no_number(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "BAD.csv").write_text("Time,a,b\n" + "2024-01-01T00:00:00Z,1,oops\n" * 5)
    run(folder, tmp_path / "out")
    for name in ("curves", "entities", "hourly"):
        assert len(pd.read_parquet(tmp_path / f"out/summaries/{name}.parquet")) == 0
    record = json.loads((tmp_path / "out/schemas/mine/BAD.json").read_text())
    assert record["verdict"] == "failed"
    assert record["curves"] == []


@pytest.mark.parametrize("block", ["10kB", "64MiB"])
def test_the_manifest_names_the_bytes_of_every_input(block: str, dataset: Path, tmp_path: Path) -> None:
    run(dataset, tmp_path / "out", metrics=("GPU_UTIL", "GPU_AB_Power"), block_bytes=block)
    series = verify_run(tmp_path / "out").series
    inputs = [file for entry in series for file in entry.inputs]
    assert {Path(file.path).stem for file in inputs} == {"GPU_UTIL", "GPU_AB_Power"}
    for file in inputs:
        assert file.digest == file_digest(stat_file(str(dataset / file.path)))


def test_a_file_read_in_part_has_no_digest(tmp_path: Path) -> None:
    rows = "".join(f"{1_690_819_200 + 15 * i},{'7,' * 600}7\n" for i in range(4000))
    (tmp_path / "A.csv").write_text(f"Time,{','.join(f'n{i}' for i in range(601))}\n{rows}")
    run(tmp_path / "A.csv", tmp_path / "out", since="2023-08-01T10:00:00Z")
    ((part,),) = (entry.inputs for entry in verify_run(tmp_path / "out").series)
    assert part.digest is None


def test_rows_of_a_period_are_those_pandas_selects(dataset: Path, tmp_path: Path) -> None:
    source = dataset / "data/utilization/seren/GPU_TEMP.csv"
    frame = pd.read_csv(source)
    times = pd.to_datetime(frame.pop("Time"))
    since, until = times[60], times[180]
    run(source, tmp_path / "out", since=since.isoformat(), until=until.isoformat())
    flat = frame[(times >= since) & (times < until)].melt()["value"].dropna()
    curves = pd.read_parquet(tmp_path / "out/summaries/curves.parquet")
    found = curves.query("period == 'all'")["value"].to_numpy()
    assert np.array_equal(found, flat.quantile(np.linspace(0, 1, 1000)).to_numpy())


def test_the_whole_dataset_of_a_pickle_gives_its_curve_back(tmp_path: Path) -> None:
    from schemas.published import published_quantiles

    folder = tmp_path / "data/utilization/kalos"
    folder.mkdir(parents=True)
    values = published_quantiles("gpu_power_kalos", 1)
    rows = "".join(
        f"2023-08-01 00:{i // 60:02d}:{i % 60:02d}+08:00,{v!r}\n" for i, v in enumerate(values.tolist())
    )
    (folder / "POWER_USAGE.csv").write_text("Time,172.31.0.1-0\n" + rows)
    run(tmp_path / "data", tmp_path / "out")
    from tasks.outputs.pickles import load_pairs

    x, y = load_pairs((tmp_path / "out/util_pkl/gpu_power_kalos.pkl").read_bytes())
    assert np.allclose(x, values, rtol=0, atol=1e-9)
    assert np.array_equal(y, np.linspace(0, 1, 1000) * 100)


def test_prefect_shows_names_cached_tasks_and_artifacts(dataset: Path, tmp_path: Path) -> None:
    settings = {"clusters": ("kalos",), "metrics": ("GPU_UTIL", "GPU_TEMP")}
    for _ in range(2):
        state = summarize(
            RunSettings(source=str(dataset), out=str(tmp_path / "out"), **settings), return_state=True
        )
    run_id = state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_id])))
        artifacts = client.request(
            "POST", "/artifacts/filter", json={"flow_runs": {"id": {"any_": [str(run_id)]}}}
        )
    states = {run.name: run.state_name for run in runs}
    assert states["summarize kalos/GPU_UTIL"] == "Cached"
    assert states["summarize kalos/GPU_TEMP"] == "Cached"
    assert {"findings", "results", "outputs"} <= {artifact["key"] for artifact in artifacts.json()}
    (progress,) = [artifact for artifact in artifacts.json() if artifact["type"] == "progress"]
    assert progress["data"] == 100


def test_parquet_tables_open_with_pandas_alone(dataset: Path, tmp_path: Path) -> None:
    run(dataset, tmp_path / "out", metrics=("GPU_UTIL",))
    hourly = pd.read_parquet(io.BytesIO((tmp_path / "out/summaries/hourly.parquet").read_bytes()))
    assert str(hourly["hour"].dt.tz) == "UTC"
    entities = pd.read_parquet(tmp_path / "out/summaries/entities.parquet")
    assert hourly["count"].sum() == entities["count"].sum()


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, list[dict[str, object]]]:
    """A sample with one of each known fault, and the list of what was planted."""
    from tasks.sampling import SampleOptions, write_sample

    folder = tmp_path / "faulty"
    write_sample(folder, SampleOptions(rows=240, gpus=16, metrics=("GPU_UTIL",), faults=True))
    return folder, json.loads((folder / "planted_faults.json").read_text())


def test_every_planted_fault_is_found_where_it_was_planted(
    planted: tuple[Path, list[dict[str, object]]], tmp_path: Path, same_place: Callable[..., bool]
) -> None:
    source, faults = planted
    result = run(source, tmp_path / "out")
    missed = [fault for fault in faults if not same_place(source, fault, result.records)]
    assert len(faults) > 15
    assert missed == []


@pytest.fixture
def same_place() -> Callable[..., bool]:
    """Whether some record has a finding of the fault's rule that counts its file, row, column and offset."""

    def found(source: Path, fault: dict[str, object], records: tuple[SeriesRecord, ...]) -> bool:
        file = str(source / str(fault["file"]))
        places = ("row", "column", "byte_offset")
        for record in records:
            for finding in record.findings:
                if finding.rule != fault["rule"] or file not in record.observed.files:
                    continue
                known = [name for name in places if fault[name] is not None]
                if not known or len(finding.examples) == EXAMPLES_KEPT < finding.count:
                    return True
                for example in finding.examples:
                    if all(getattr(example, name) == fault[name] for name in known):
                        return True
        return False

    return found


@pytest.mark.slow
def test_a_file_that_breaks_off_is_told_and_stops_no_other(dataset: Path, tmp_path: Path) -> None:
    """Also not the other IPMI files of its cluster, whose curves are made together."""
    import gzip

    copy = tmp_path / "data"
    shutil.copytree(dataset, copy)
    whole = copy / "data/utilization/ipmi/CPU_D_Power.csv"
    packed = gzip.compress(whole.read_bytes())
    whole.unlink()
    (copy / "data/utilization/ipmi/CPU_D_Power.csv.gz").write_bytes(packed[:-30])
    metrics = ("GPU_AB_Power", "GPU_C_Power", "CPU_D_Power", "GPU_UTIL")
    result = run(copy, tmp_path / "out", clusters=("seren",), metrics=metrics)
    verdicts = {record.series: record.verdict for record in result.records}
    assert verdicts.pop("CPU_D_Power") == "failed"
    assert set(verdicts.values()) <= {"passed", "warned"}
    (failed,) = result.failed
    assert [finding.rule for finding in failed.findings] == ["unreadable"]
    curves = pd.read_parquet(tmp_path / "out/summaries/curves.parquet")
    assert "SERVER_POWER_GPU" in set(curves["metric"])
    assert "SERVER_POWER_CPU" not in set(curves["metric"])


def test_published_paths_are_relative_to_the_source(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "A.csv").write_text("Time,a\n2024-01-01T00:00:00Z,oops\n")
    (folder / "B.csv").write_text("<html></html>")
    run(folder, tmp_path / "out")
    for path in [*(tmp_path / "out/schemas/mine").glob("*.json"), tmp_path / "out/datapackage.json"]:
        assert str(tmp_path) not in path.read_text().replace(f'"{folder}"', "")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [entry["inputs"][0]["path"] for entry in manifest["series"]] == ["A.csv", "B.csv"]


def test_names_that_look_alike_once_made_safe_stay_apart(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("MY METRIC \u00fc", "MY METRIC \u00e9"):
        (folder / f"{name}.csv").write_text("Time,a\n2024-01-01T00:00:00Z,1\n")
    result = run(folder, tmp_path / "out")
    assert [record.verdict for record in result.records] == ["passed", "passed"]
    assert pd.read_parquet(tmp_path / "out/summaries/curves.parquet")["metric"].nunique() == 2


def test_a_run_names_the_commit_of_a_pulled_dataset_unless_other_files_lie_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "pulled/data"
    folder.mkdir(parents=True)
    (folder / "A.csv").write_text("Time,a\n2024-01-01T00:00:00Z,1\n")
    size = (folder / "A.csv").stat().st_size
    pulled = DatasetManifest(
        code_version="0",
        repo="someone/traces",
        revision="main",
        commit="ab" * 20,
        finished=datetime.now(UTC),
        files=(DatasetFile(path="data/A.csv", size=size, sha256="0" * 64, etag="0"),),
    )
    (tmp_path / "pulled/dataset.json").write_text(pulled.model_dump_json())
    assert run(folder, tmp_path / "out").manifest.dataset == f"someone/traces@{'ab' * 20}"
    (folder / "B.csv").write_text("Time,a\n2024-01-01T00:00:00Z,1\n")
    assert run(folder, tmp_path / "out").manifest.dataset == "", "B.csv is not of the dataset"
