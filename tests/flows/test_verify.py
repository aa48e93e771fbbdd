"""`acmetrace verify` and `compare`: what is printed, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.cli import exit_code
from schemas.published.clusters import PUBLISHED_CLUSTERS
from tests.tasks.results import curve, ecdf, logs, results_of

CURVES, ECDF = "summaries/curves.parquet", "jobs/ecdf.parquet"


def verified(folder: Path, read: int) -> int:
    results_of(folder, {ECDF: ecdf("seren", "gpu_num", {8: 50})})
    logs(folder, {"seren": read})
    return exit_code(["verify", str(folder)])


def test_a_part_of_the_release_passes_and_says_once_that_it_is_a_part(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert verified(tmp_path, 5) == 0
    said = capfd.readouterr().out
    assert said.count("seren: the run has 5 of the 818,327 released jobs") == 1
    assert "known discrepancy" in said


def test_the_whole_release_with_another_number_ends_with_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert verified(tmp_path, PUBLISHED_CLUSTERS["seren"].log_jobs or 0) == 1
    assert "1 differs" in capfd.readouterr().out


def test_json_has_every_number_with_its_verdict(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    results_of(tmp_path, {CURVES: curve("seren", "GPU_UTIL", [99.0])})
    assert exit_code(["verify", str(tmp_path), "--json"]) == 0
    lines = json.loads(capfd.readouterr().out)
    median = next(line for line in lines if (line["id"], line["cluster"]) == ("A09", "seren"))
    assert (median["value"], median["published"], median["difference"]) == (99, 97, 0)
    assert {line["outcome"] for line in lines} >= {"known discrepancy", "not computable"}


def test_compare_names_what_moved_most(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, hot in (("a", 40), ("b", 80)):
        (tmp_path / name).mkdir()
        results_of(tmp_path / name, {CURVES: curve("seren", "GPU_TEMP", [20, hot, 90])})
    assert exit_code(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    said = capfd.readouterr().out
    assert "1 of 1 moved" in said
    assert "GPU_TEMP" in said


def test_a_folder_without_a_run_cannot_be_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "no run has finished there" in capfd.readouterr().err
