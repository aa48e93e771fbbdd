"""An output folder: whole or visibly unfinished, cleaned of what is no longer made, verifiable."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from schemas.errors import IncompleteRun, UsageError
from schemas.manifest import RunManifest
from schemas.series import SeriesRecord
from schemas.version import RECORDED, code_version
from tasks.outputs.finished import read_run, verify_run
from tasks.outputs.pickles import load_pairs
from tasks.outputs.run import JOURNAL_NAME
from tasks.series.summary import SeriesSummary
from tasks.storage.publish import list_files, read_bytes, remove, write_bytes

Publisher = Callable[..., RunManifest]


@pytest.fixture(params=["local", "memory"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "out") if request.param == "local" else f"memory://{uuid.uuid4().hex}"


def test_the_manifest_names_every_file_of_the_folder(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    manifest = publish(out, summaries)
    assert list_files(out) == tuple(sorted(["manifest.json", *(output.path for output in manifest.outputs)]))
    assert {
        "datapackage.json",
        "summaries/curves.parquet",
        "schemas/series.schema.json",
        "schemas/kalos/GPU_UTIL.json",
        "util_pkl/gpu_power_seren.pkl",
    } <= {output.path for output in manifest.outputs}


def test_the_returned_manifest_is_the_written_one(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    manifest = publish(out, summaries, parameters={"folder": Path("a"), "levels": (1, 2)})
    assert read_run(out) == manifest
    assert manifest.parameters == {"folder": "a", "levels": [1, 2]}


def test_the_manifest_traces_a_run_to_its_inputs_and_code(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    started = datetime(2024, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))
    manifest = publish(out, summaries, started=started)
    assert manifest.started == started
    assert manifest.started.utcoffset() == timedelta(0) < manifest.finished - started
    assert manifest.code_version == code_version()
    assert set(manifest.packages) <= set(RECORDED)
    assert {"numpy", "pandas", "pyarrow"} <= set(manifest.packages)
    entry = next(entry for entry in manifest.series if entry.series == "GPU_UTIL")
    assert [file.path for file in entry.inputs] == ["GPU_UTIL.csv"]
    assert len(manifest.pickles) == 13


def test_records_are_published_under_safe_names(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    manifest = publish(out, summaries)
    assert len({entry.schema_path for entry in manifest.series}) == len(summaries)
    for entry in manifest.series:
        record = SeriesRecord.model_validate_json(read_bytes(out, entry.schema_path) or b"")
        assert (record.cluster, record.series) == (entry.cluster, entry.series)
        assert entry.schema_path.isascii()
        assert entry.schema_path.count("/") == 2


def test_hostile_cluster_names_stay_in_the_folder(
    tmp_path: Path, publish: Publisher, make_summary: Callable[..., SeriesSummary]
) -> None:
    names = ["../../escaped", "/tmp/escaped", "..", "a\\..\\b", "a\x00b", ""]
    publish(tmp_path / "out", [make_summary(name, "GPU_UTIL") for name in names])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(verify_run(tmp_path / "out").series) == len(names)


def test_pickles_hold_the_numbers_of_the_summaries(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    publish(out, summaries)
    x, _ = load_pairs(read_bytes(out, "util_pkl/gpu_power_seren.pkl") or b"")
    assert x.tobytes() == summaries[0].curves[0].values.tobytes()


def test_equal_runs_differ_in_the_manifest_only(
    tmp_path: Path, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    one = publish(tmp_path / "one", summaries)
    other = publish(tmp_path / "other", summaries[::-1])
    assert one.outputs == other.outputs
    assert one.series == other.series


def test_a_run_without_series_is_a_run(out: str, publish: Publisher) -> None:
    publish(out, [])
    assert verify_run(out).series == ()


def test_a_failed_series_is_listed_with_its_verdict(
    out: str, publish: Publisher, make_summary: Callable[..., SeriesSummary]
) -> None:
    manifest = publish(out, [make_summary(samples=(), verdict="failed")])
    assert [entry.verdict for entry in manifest.series] == ["failed"]
    assert all(entry.status == "left out" for entry in manifest.pickles)


def test_a_later_run_removes_what_it_no_longer_makes_and_nothing_else(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    publish(out, summaries)
    write_bytes(out, "util_pkl/mine.pkl", b"kept")
    publish(out, [s for s in summaries if s.record.cluster == "kalos"])
    files = list_files(out)
    assert "util_pkl/gpu_power_seren.pkl" not in files
    assert "schemas/seren/POWER_USAGE.json" not in files
    assert "util_pkl/util_gpu_kalos.pkl" in files
    assert "util_pkl/mine.pkl" in files
    verify_run(out)


@pytest.mark.parametrize(
    "blocked", ["schemas/finding.schema.json", "util_pkl/util_gpu_kalos.pkl", "datapackage.json"]
)
def test_a_publication_that_breaks_off_leaves_no_manifest_and_the_next_cleans_up(
    tmp_path: Path, publish: Publisher, summaries: list[SeriesSummary], blocked: str
) -> None:
    publish(tmp_path, summaries[:1])
    (tmp_path / blocked).unlink(missing_ok=True)
    (tmp_path / blocked).mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        publish(tmp_path, summaries[1:])
    with pytest.raises(IncompleteRun, match="no run has finished"):
        read_run(tmp_path)
    (tmp_path / blocked).rmdir()
    manifest = publish(tmp_path, [])
    assert list_files(tmp_path) == tuple(
        sorted(["manifest.json", *(output.path for output in manifest.outputs)])
    )


def test_what_cannot_be_built_leaves_the_older_run_whole(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    manifest = publish(out, summaries)
    with pytest.raises(UsageError, match="more than once"):
        publish(out, [*summaries, summaries[0]])
    with pytest.raises(UsageError, match="parameters"):
        publish(out, summaries[:1], parameters={"client": object()})
    assert verify_run(out) == manifest


def test_a_manifest_that_names_files_outside_removes_nothing(
    tmp_path: Path, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    out = tmp_path / "out"
    publish(out, summaries)
    (tmp_path / "precious").write_bytes(b"kept")
    forged = json.loads((out / "manifest.json").read_bytes())
    forged["outputs"][0]["path"] = "../precious"
    (out / "manifest.json").write_text(json.dumps(forged))
    (out / JOURNAL_NAME).write_text(json.dumps({"files": ["../precious"]}))
    with pytest.raises(IncompleteRun, match="not the manifest"):
        read_run(out)
    publish(out, summaries)
    assert (tmp_path / "precious").read_bytes() == b"kept"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 2}', b"\xff"])
def test_a_folder_with_a_damaged_manifest_is_unfinished_and_can_be_published_to(
    out: str, publish: Publisher, content: bytes
) -> None:
    write_bytes(out, "manifest.json", content)
    write_bytes(out, JOURNAL_NAME, content)
    with pytest.raises(IncompleteRun, match="not the manifest of a run"):
        read_run(out)
    publish(out, [])
    verify_run(out)


def test_a_folder_that_does_not_exist_has_no_run(tmp_path: Path) -> None:
    with pytest.raises(IncompleteRun, match="same output folder"):
        verify_run(tmp_path / "nowhere")


def test_verification_names_changed_and_missing_files(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    manifest = publish(out, summaries)
    assert verify_run(out) == manifest
    data = read_bytes(out, "summaries/curves.parquet") or b""
    write_bytes(out, "summaries/curves.parquet", data[:-1] + bytes([data[-1] ^ 1]))
    remove(out, "datapackage.json")
    with pytest.raises(IncompleteRun, match=r"2 of \d+ files") as caught:
        verify_run(out)
    assert "datapackage.json is missing" in str(caught.value)
    assert "summaries/curves.parquet has other content" in str(caught.value)


def test_verification_shows_the_first_of_many_differences(
    out: str, publish: Publisher, summaries: list[SeriesSummary]
) -> None:
    for output in publish(out, summaries).outputs:
        remove(out, output.path)
    with pytest.raises(IncompleteRun, match=r" and \d+ more"):
        verify_run(out)
