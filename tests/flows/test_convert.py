"""A converted dataset gives the summaries of the original, byte for byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from flows.cli import exit_code
from flows.convert import ConvertResult, ConvertSettings, convert
from flows.settings import RunSettings
from flows.summarize import summarize
from schemas.convert import ConvertManifest
from schemas.errors import UsageError
from tasks.outputs.finished import read_run
from tasks.progress import Silent
from tests.doubles.listeners import Announced

pytestmark = pytest.mark.usefixtures("prefect_server")


def run(source: Path, dest: Path, announced: Announced | None = None, **settings: object) -> ConvertResult:
    return convert(ConvertSettings(source=str(source), dest=str(dest), **settings), announced or Announced())


FEW = ("GPU_UTIL", "SM_ACTIVE", "GPU_AB_Power", "GPU_C_Power", "CPU_D_Power")


def numbers_of(source: Path, out: Path, metrics: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Tables and pickles of a run over `source`."""
    summarize(RunSettings(source=str(source), out=str(out), metrics=metrics), listener=Silent())
    paths = [output.path for output in read_run(out).outputs]
    return {p: (out / p).read_bytes() for p in paths if p.startswith(("summaries/", "util_pkl/"))}


@pytest.mark.parametrize("metrics", [FEW, pytest.param((), marks=pytest.mark.slow, id="all")])
def test_a_dataset_gives_the_same_tables_and_pickles(
    metrics: tuple[str, ...], dataset: Path, tmp_path: Path
) -> None:
    result = run(dataset, tmp_path / "parquet", metrics=metrics)
    assert result.failed == ()
    one = numbers_of(tmp_path / "parquet", tmp_path / "one", metrics)
    assert one == numbers_of(dataset, tmp_path / "other", metrics)
    manifest = ConvertManifest.model_validate_json((tmp_path / "parquet/convert.json").read_bytes())
    for record in manifest.series:
        for output in record.outputs:
            assert (
                hashlib.sha256((tmp_path / "parquet" / output.path).read_bytes()).hexdigest() == output.sha256
            )
    assert {record.status for record in manifest.series} == {"converted", "copied"}


@pytest.mark.slow
def test_the_real_slices_too(real: Path, tmp_path: Path) -> None:
    for name in ("acmetrace", "gpu_duty_cycle"):
        source = real / name
        if name == "gpu_duty_cycle":
            source = source / "GPU_DUTY_CYCLE.csv"
        assert run(source, tmp_path / name / "gpu_duty_cycle").failed == ()
        one = numbers_of(tmp_path / name / "gpu_duty_cycle", tmp_path / name / "one")
        assert one == numbers_of(source, tmp_path / name / "other")


@pytest.mark.slow
def test_a_second_run_reads_nothing(dataset: Path, tmp_path: Path) -> None:
    run(dataset, tmp_path / "parquet", metrics=("GPU_UTIL", "GPU_AB_Power"))
    again = Announced()
    run(dataset, tmp_path / "parquet", again, metrics=("GPU_UTIL", "GPU_AB_Power"))
    assert [reading.wanted for reading in again.readings] == [0]
    (tmp_path / "parquet/data/utilization/kalos/GPU_UTIL.parquet").unlink()
    run(dataset, tmp_path / "parquet", again, metrics=("GPU_UTIL", "GPU_AB_Power"))
    assert (tmp_path / "parquet/data/utilization/kalos/GPU_UTIL.parquet").exists()


def test_parts_become_one_file_that_says_what_it_was_made_of(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "GPU_UTIL-2023-08.csv").write_text("Time,a\n2023-08-31 23:59:45+08:00,5.0\n")
    (folder / "GPU_UTIL-2023-09.csv").write_text("Time,b,a\n2023-09-01 00:00:00+08:00,,7.0\n")
    run(folder, tmp_path / "parquet")
    frame = pd.read_parquet(tmp_path / "parquet/GPU_UTIL.parquet")
    assert frame["a"].tolist() == [5.0, 7.0]
    assert frame["b"].isna().all()
    import pyarrow.parquet as pq

    about = json.loads(pq.read_schema(tmp_path / "parquet/GPU_UTIL.parquet").metadata[b"acmetrace"])
    assert (about["metric"], about["unit"], about["cluster"]) == ("GPU_UTIL", "%", "mine")
    assert [name for name, _, _ in about["sources"]] == ["GPU_UTIL-2023-08.csv", "GPU_UTIL-2023-09.csv"]


def test_one_bad_series_stops_no_other_and_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "GOOD.csv").write_text("Time,a\n2024-01-01T00:00:00Z,1\n")
    (folder / "BAD.csv").write_text("Time,a\n2024-01-01T00:00:00Z,x\n")
    (folder / "PAGE.csv").write_text("<html></html>")
    assert exit_code(["convert", str(folder), str(tmp_path / "out"), "-q"]) == 3
    manifest = ConvertManifest.model_validate_json((tmp_path / "out/convert.json").read_bytes())
    assert {r.series: r.status for r in manifest.series} == {
        "GOOD": "converted",
        "BAD": "failed",
        "PAGE": "failed",
    }
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["GOOD.parquet"]
    finding = manifest.series[0].findings[0]
    assert (finding.rule, finding.examples[0].row, finding.examples[0].value) == ("bad-cell", 1, "x")


def test_a_destination_inside_the_source_is_refused(dataset: Path) -> None:
    with pytest.raises(UsageError, match="is to be read"):
        run(dataset, dataset)
