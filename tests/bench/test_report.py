"""What is made of measurements: medians, ratios, comparison, README, and the way through a process."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="the benchmark's extra is not installed: psutil")

from rich.console import Console

from tests.bench import report
from tests.bench.compare import INCOMPARABLE, WORSE, compare
from tests.bench.counts import Outcome
from tests.bench.data import CONTENTS, BenchError, BenchFile, provide
from tests.bench.measure import measure
from tests.bench.plan import plan
from tests.bench.ratios import ratios_of
from tests.bench.registry import Contender
from tests.bench.results import Measurement, Ratio, Results, load, medians_of


def results(speedup: float | None = 10.0, memory: float | None = 300.0) -> Results:
    """A run with one figure in each direction."""
    measurements = tuple(
        Measurement("GPU_UTIL", name, "GPU_UTIL-1MB", 1_000_000, 0, 3.0, 5_000_000, work_s=work)
        for name, work in (("ours-2", 0.5), ("polars", 4.0))
    )
    return Results(
        date="2026-01-01T00:00:00+00:00",
        scale=0.1,
        machine={"cpu": "C", "cores": 2, "ram_gb": 8.0, "kernel": "K", "python": "3", "versions": {"a": "1"}},
        measurements=measurements,
        medians=medians_of(measurements),
        ratios=(
            Ratio("speed", speedup, 8, "higher"),
            Ratio("memory", memory, 600, "lower", "MB"),
        ),
    )


@pytest.mark.parametrize(
    ("speedup", "memory", "code"),
    [
        (10.0, 300.0, 0),
        (8.1, 355.0, 0),
        (20.0, 100.0, 0),
        (7.9, 300.0, WORSE),
        (10.0, 365.0, WORSE),
        (None, 300.0, INCOMPARABLE),
        (None, None, INCOMPARABLE),
    ],
)
def test_a_regression_is_found_in_both_directions(
    speedup: float | None, memory: float | None, code: int
) -> None:
    found = compare(results(), results(speedup, memory))
    assert found.code == code
    assert any("WORSE" in line for line in found.lines) == (code == WORSE)


def test_a_difference_of_seconds_may_be_zero_or_negative() -> None:
    seconds = (Ratio("over", 0.0, 15, "lower", "s"),)
    before = replace(results(), ratios=seconds)
    assert compare(before, before).code == 0
    assert compare(before, replace(before, ratios=(replace(seconds[0], value=2.0),))).code == WORSE
    assert compare(before, replace(before, ratios=(replace(seconds[0], value=-2.0),))).code == 0


def test_other_scales_and_runs_with_problems_are_not_compared() -> None:
    assert compare(results(), replace(results(), scale=1.0)).code == INCOMPARABLE
    assert compare(results(), replace(results(), problems=("x",))).code == INCOMPARABLE


def test_a_result_file_comes_back(tmp_path: Path) -> None:
    results().save(tmp_path / "new" / "a.json")
    assert load(tmp_path / "new" / "a.json") == results()
    (tmp_path / "b.json").write_text('{"format_version": 1}')
    with pytest.raises(BenchError, match="no result"):
        load(tmp_path / "b.json")


def test_ratios_follow_from_medians() -> None:
    ratios = {ratio.name: ratio for ratio in ratios_of(results().medians)}
    assert ratios["GPU_UTIL: ours-2 / polars, MB/s"].value == 8.0
    assert ratios["GPU_UTIL: ours-2 / polars, MB/s"].verdict == "met"
    assert ratios["GPU_UTIL: peak memory of ours-2"].value == 5.0
    assert ratios["RAW: ours-2 / polars, MB/s"].verdict == "not measured"


def test_only_the_block_between_the_markers_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n")
    report.renew_readme(results(), readme)
    text = readme.read_text()
    assert text.startswith(f"above\n{report.BEGIN}\n| File |")
    assert text.endswith(f"\n{report.END}\nbelow\n")
    assert "old" not in text
    report.renew_readme(results(), readme)
    assert readme.read_text() == text


@pytest.mark.parametrize("text", ["", report.BEGIN, f"{report.END} {report.BEGIN}", report.BEGIN * 2])
def test_a_readme_without_the_markers_is_refused(text: str) -> None:
    with pytest.raises(BenchError, match="bench:begin"):
        report.put_between(text, "new")


def test_problems_are_shown() -> None:
    screen = io.StringIO()
    report.show(replace(results(), problems=("FILE: dask disagrees",)), Console(file=screen, width=150))
    assert "PROBLEM: FILE: dask disagrees" in screen.getvalue()


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACMETRACE_BENCH_DATA", str(tmp_path))
    with pytest.raises(BenchError, match="make room"):
        provide([BenchFile(CONTENTS["GPU_UTIL"], scale=1e9)])
    assert not list(tmp_path.iterdir())


def test_slow_methods_get_a_tenth_and_ours_is_checked_on_it() -> None:
    entries = plan(1.0, ["GPU_UTIL"], ["reference", "ours-2"]).entries
    assert [(one.contender.name, one.file.label, one.checks) for one in entries] == [
        ("ours-2", "GPU_UTIL-1000MB", False),
        ("reference", "GPU_UTIL-100MB", False),
        ("ours-2", "GPU_UTIL-100MB", True),
    ]


def test_a_command_is_watched_and_ended_in_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    quick = Contender("quick", "", command=lambda path, out: ["true"], read_back=lambda out: Outcome(7))
    assert measure(quick, file).outcome.count == 7
    wrong = replace(quick, command=lambda path, out: ["sh", "-c", "echo why >&2; exit 3"])
    assert measure(wrong, file).failure == "exit code 3: why"
    slow = replace(quick, command=lambda path, out: ["sleep", "60"], timeout_s=0.2)
    found = measure(slow, file)
    assert found.timed_out
    assert found.failure == "over 0.2 s"
    assert found.peak_bytes > 0
