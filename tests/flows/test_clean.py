"""Raw exports to the released form: what is written, remembered and refused, and how it is summarised."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flows.clean import CleanResult, CleanSettings, clean
from flows.cli import exit_code
from schemas.cleaning import CleanManifest
from schemas.errors import UsageError
from schemas.metrics import CATALOGUE
from tasks.cleaning.rules import rule_of
from tasks.progress import Reading, Silent
from tasks.sampling import SampleOptions, write_sample
from tests.tasks.cleaning.oracle import cleaned_by_pandas
from tests.tasks.cleaning.test_cleaning import many_rows, series_of

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder in the released layout with one raw series in two parts and one that cannot be read."""
    folder = tmp_path / "raw/data/utilization/mine"
    folder.mkdir(parents=True)
    lines = many_rows(400, 20)
    first, second = series_of(lines[200:], lines[:210])
    (folder / "SM_ACTIVE-2023-07.csv").write_text(first)
    (folder / "SM_ACTIVE-2023-08.csv").write_text(second)
    (folder / "GPU_UTIL.csv").write_text("Time,a\n1690848000,5\n1690848015,five\n")
    return tmp_path / "raw"


class Announced(Silent):
    """Remembers what a run says it will read."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def found(self, reading: Reading) -> None:
        self.readings.append(reading)


def run(raw: Path, dest: Path, announced: Announced | None = None, **settings: object) -> CleanResult:
    return clean(CleanSettings(source=str(raw), dest=str(dest), **settings), announced or Announced())


def test_parts_become_one_series_as_pandas_would_write_it(raw: Path, tmp_path: Path) -> None:
    result = run(raw, tmp_path / "clean")
    record = result.manifest.series[1]
    written = tmp_path / "clean/data/utilization/mine/SM_ACTIVE.csv"
    texts = [path.read_text() for path in sorted(raw.rglob("SM_ACTIVE*"))]
    assert written.read_text() == cleaned_by_pandas(texts, rule_of(CATALOGUE["SM_ACTIVE"]))
    assert (record.rows, record.rows_written, record.duplicates, record.in_order) == (410, 400, 10, False)
    assert record.output is not None
    assert record.output.sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
    assert [file.path for file in record.inputs] == [
        "data/utilization/mine/SM_ACTIVE-2023-07.csv",
        "data/utilization/mine/SM_ACTIVE-2023-08.csv",
    ]


def test_one_series_that_cannot_be_read_stops_no_other_and_writes_nothing(raw: Path, tmp_path: Path) -> None:
    assert exit_code(["clean", str(raw), str(tmp_path / "clean"), "-q"]) == 3
    manifest = CleanManifest.model_validate_json((tmp_path / "clean/clean.json").read_bytes())
    assert [record.status for record in manifest.series] == ["failed", "cleaned"]
    (finding,) = manifest.series[0].findings
    assert (finding.rule, finding.examples[0].row, finding.examples[0].value) == ("bad-cell", 2, "five")
    assert not (tmp_path / "clean/data/utilization/mine/GPU_UTIL.csv").exists()


def test_a_second_run_reads_nothing_and_a_changed_file_is_cleaned_again(raw: Path, tmp_path: Path) -> None:
    run(raw, tmp_path / "clean", metrics=("SM_ACTIVE",))
    written = tmp_path / "clean/data/utilization/mine/SM_ACTIVE.csv"
    before = (written.stat().st_mtime_ns, written.read_bytes())
    again = Announced()
    run(raw, tmp_path / "clean", again, metrics=("SM_ACTIVE",))
    assert [reading.wanted for reading in again.readings] == [0]
    assert (written.stat().st_mtime_ns, written.read_bytes()) == before
    part = raw / "data/utilization/mine/SM_ACTIVE-2023-08.csv"
    part.write_text("".join(part.read_text().splitlines(keepends=True)[:-20]))
    run(raw, tmp_path / "clean", again, metrics=("SM_ACTIVE",))
    assert again.readings[-1].wanted > 0
    assert written.read_bytes() != before[1]
    written.unlink()
    run(raw, tmp_path / "clean", again, metrics=("SM_ACTIVE",))
    assert written.exists()


def test_what_was_cleaned_before_is_not_scaled_twice(raw: Path, tmp_path: Path) -> None:
    run(raw, tmp_path / "clean", metrics=("SM_ACTIVE",))
    again = run(tmp_path / "clean", tmp_path / "twice")
    (record,) = again.manifest.series
    assert (record.status, record.findings[0].rule) == ("failed", "not-raw")


def test_a_destination_inside_the_source_is_refused(raw: Path) -> None:
    with pytest.raises(UsageError, match="is to be read"):
        run(raw, raw)


def test_cleaned_series_are_summarised_like_any_other(raw: Path, tmp_path: Path) -> None:
    run(raw, tmp_path / "clean", metrics=("SM_ACTIVE",))
    out = tmp_path / "out"
    assert exit_code(["summarize", str(tmp_path / "clean"), "--out", str(out), "-q"]) == 0
    record = json.loads((out / "schemas/mine/SM_ACTIVE.json").read_text())
    assert record["observed"]["rows"] == 400
    assert record["observed"]["high"] <= 100
    assert record["observed"]["zones"] == ["+08:00"]


def test_a_raw_sample_becomes_the_released_one(tmp_path: Path) -> None:
    options = SampleOptions(rows=240, gpus=16, clusters=("seren",), metrics=FEW)
    write_sample(tmp_path / "released", options)
    write_sample(tmp_path / "raw", replace(options, raw=True))
    result = run(tmp_path / "raw", tmp_path / "clean")
    assert result.failed == ()
    for record in result.manifest.series:
        assert record.output is not None
        made, wanted = (pd.read_csv(tmp_path / root / record.output.path) for root in ("clean", "released"))
        pd.testing.assert_frame_equal(made, wanted, check_dtype=False, check_exact=True)
        text = (tmp_path / "clean" / record.output.path).read_text()
        if CATALOGUE[record.series].decimals:
            assert text == (tmp_path / "released" / record.output.path).read_text()


FEW = ("SM_ACTIVE", "POWER_USAGE", "GPU_TEMP", "NODE_MEMORY_UTILIZATION")


@pytest.mark.parametrize(
    ("block_size", "metrics"),
    [
        ("4KiB", FEW),
        pytest.param("4KiB", (), marks=pytest.mark.slow),
        pytest.param("64MiB", (), marks=pytest.mark.slow),
    ],
)
def test_raw_exports_are_counted_as_if_they_had_been_cleaned(
    block_size: str, metrics: tuple[str, ...], tmp_path: Path
) -> None:
    options = SampleOptions(rows=240, gpus=16, clusters=("seren",), metrics=metrics, raw=True)
    write_sample(tmp_path / "raw", options)
    folder = tmp_path / "raw/data/utilization/seren"
    for path in sorted(folder.glob("*.csv")):
        _make_messy(path)
    run(tmp_path / "raw", tmp_path / "clean")
    outs = [tmp_path / "counted", tmp_path / "summarised"]
    how = ["--block-size", block_size, "-q"]
    assert exit_code(["run", str(tmp_path / "raw"), "--raw", "--out", str(outs[0]), *how]) == 0
    assert exit_code(["run", str(tmp_path / "clean"), "--out", str(outs[1]), *how]) == 0
    for name in ("curves", "entities", "hourly"):
        counted, summarised = (pd.read_parquet(out / f"summaries/{name}.parquet") for out in outs)
        pd.testing.assert_frame_equal(counted, summarised, check_exact=True)
    pickles = [{path.name: path.read_bytes() for path in out.glob("util_pkl/*")} for out in outs]
    assert pickles[0] == pickles[1]
    for path in sorted((outs[0] / "schemas/seren").glob("*.json")):
        counted, summarised = (json.loads((out / "schemas/seren" / path.name).read_text()) for out in outs)
        for told in (counted, summarised):
            for name in ("files", "digests", "bytes", "bytes_read"):
                del told["observed"][name]
            for finding in told["findings"]:
                del finding["examples"]
        assert counted == summarised


def _make_messy(path: Path) -> None:
    """Add a blank column, a blank row, a repeated row and a repeated blank row."""
    header, *lines = path.read_text().splitlines()
    time, *cells = lines[100].split(",")
    blank = "," * len(cells)
    lines = [f"{line}," for line in lines]
    lines.insert(101, f"{time}{blank},9")
    lines.insert(101, f"{time}{blank},")
    lines.insert(60, f"{int(lines[60].split(',')[0]) - 7}{blank},")
    path.write_text("\n".join([f"{header},10.9.9.9-0", *lines]) + "\n")


def test_raw_rows_out_of_order_are_refused_with_what_to_do(raw: Path, tmp_path: Path) -> None:
    assert exit_code(["run", str(raw), "--raw", "--out", str(tmp_path / "out"), "-q"]) == 3
    record = json.loads((tmp_path / "out/schemas/mine/SM_ACTIVE.json").read_text())
    (finding,) = record["findings"]
    assert finding["rule"] == "disordered-time"
    assert "acmetrace clean puts rows in order" in finding["message"]


def test_what_is_wrong_with_a_raw_export_is_located_in_it(tmp_path: Path) -> None:
    lines = many_rows(3000, 5)
    lines[1500] = f"{lines[1500].split(',')[0]},0.5,junk,0.5,7.5,0.5"
    lines[1600] = "noon,1,1,1,1,1"
    lines[1700] = lines[1700] + ",0.5"
    (tmp_path / "SM_ACTIVE.csv").write_text(series_of(lines, columns=5)[0])
    out = str(tmp_path / "out")
    source = str(tmp_path / "SM_ACTIVE.csv")
    assert exit_code(["validate", source, "--raw", "--out", out, "--block-size", "4KiB", "-q"]) in (0, 3)
    (path,) = (tmp_path / "out/schemas").glob("*/SM_ACTIVE.json")
    findings = {finding["rule"]: finding["examples"] for finding in json.loads(path.read_text())["findings"]}
    text = (tmp_path / "SM_ACTIVE.csv").read_bytes()
    for rule, line in (("bad-cell", 1500), ("out-of-range", 1500), ("bad-time", 1600), ("ragged-row", 1700)):
        offset = findings[rule][0]["byte_offset"]
        assert text[offset:].startswith(lines[line].encode()), rule
    assert findings["bad-cell"][0]["value"] == "junk"
