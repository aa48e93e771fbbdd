"""The command line: exit codes, what goes where, interruption, help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flows
import schemas
import tasks
from flows.cli import app, exit_code

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from flows.cli import main; main()"]


def acmetrace(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=200, check=False, env=environment
    )


@pytest.fixture(scope="module")
def finished(dataset: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Path:
    """The output folder of a run on one cluster."""
    out = tmp_path_factory.mktemp("finished") / "out"
    assert exit_code(["run", str(dataset), "--out", str(out), "--cluster", "kalos", "-q"]) == 0
    return out


def test_the_packages_are_ours() -> None:
    for package in (flows, tasks, schemas):
        assert Path(package.__file__).is_relative_to(ROOT)


@pytest.mark.parametrize("command", [name for name in app if not name.startswith("-")])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"acmetrace {command}" in said
    assert "--json" in said


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The modules that a fresh interpreter has after `code`."""
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)", *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["pull", "--help"], ["--version"]])
def test_help_loads_nothing_that_takes_long(arguments: list[str]) -> None:
    heavy = {"pydantic", "numpy", "pandas", "pandera", "pyarrow", "numba", "dask", "distributed", "prefect"}
    heavy |= {"rich.markdown", "markdown_it", "pygments"}
    code = "from flows.cli import exit_code; exit_code(sys.argv[1:])"
    assert loaded_by(code, *arguments) & heavy == set()


def test_show_loads_nothing_that_takes_long(finished: Path) -> None:
    heavy = {"pandas", "pandera", "numba", "dask", "distributed", "prefect", "aiohttp"}
    code = "import flows.cli\nfrom flows.show import run_rows, run_table\nrun_table(run_rows(sys.argv[1]))"
    assert loaded_by(code, str(finished)) & heavy == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["run"],
        ["run", "somewhere", "--out", "out", "--workers", "many"],
        ["run", "somewhere", "--out", "out", "--block-size", "12 parsecs"],
        ["run", "somewhere", "--out", "out", "--since", "yesterday"],
        ["run", "somewhere", "--out", "out", "--since", "2023-08-01"],
        ["run", "somewhere", "--out", "out", "--timezone", "Atlantis/Capital"],
        ["sample", "somewhere", "--size", "big"],
        ["sample", "somewhere", "--raw", "--faults"],
        ["pull", "somewhere", "--source", "atlantis"],
        ["pull", "somewhere", "--sha256", "0" * 64],
        ["pull", "somewhere", "--url", "ftp://127.0.0.1/x.zip"],
        ["pull", "somewhere", "--workers", "0"],
        ["clean", "somewhere"],
        ["convert", "somewhere"],
        ["export", "somewhere", "--prometheus", "http://127.0.0.1:1"],
    ],
)
def test_bad_usage_ends_with_2_before_any_work(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(arguments) == 2
    assert capfd.readouterr().err.strip()
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_is_not_there_ends_with_2_and_says_so(
    tmp_path: Path, prefect_server: object, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["run", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]) == 2
    assert "There is nothing at" in capfd.readouterr().err


def test_a_failed_input_ends_with_3(tmp_path: Path, prefect_server: object) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "GOOD.csv").write_text("Time,a\n2024-01-01T00:00:00Z,1\n")
    (folder / "PAGE.csv").write_text("<html></html>")
    assert exit_code(["run", str(folder), "--out", str(tmp_path / "out"), "-q"]) == 3
    assert exit_code(["show", str(tmp_path / "out")]) == 3


def test_validate_judges_and_publishes_no_summary(
    dataset: Path, tmp_path: Path, prefect_server: object, capfd: pytest.CaptureFixture[str]
) -> None:
    file = str(dataset / "data/utilization/kalos/GPU_UTIL.csv")
    assert exit_code(["validate", file, "--out", str(tmp_path / "out"), "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert [series["verdict"] for series in result["series"]] == ["passed"]
    record = json.loads((tmp_path / "out/schemas/kalos/GPU_UTIL.json").read_text())
    assert record["verdict"] == "passed"
    assert not (tmp_path / "out/summaries").exists()


def test_json_on_stdout_is_all_there_is(
    dataset: Path, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    done = acmetrace(
        "summarize",
        str(dataset),
        "--out",
        str(tmp_path / "out"),
        "--metric",
        "GPU_UTIL",
        "--json",
        environment=prefect_server,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {series["series"] for series in result["series"]} == {"GPU_UTIL"}
    assert result["series"][0]["curves"][0]["count"] > 1000


@pytest.mark.slow
def test_quiet_says_nothing(dataset: Path, tmp_path: Path, prefect_server: dict[str, str]) -> None:
    file = str(dataset / "data/utilization/kalos/GPU_UTIL.csv")
    done = acmetrace("run", file, "--out", str(tmp_path / "out"), "--quiet", environment=prefect_server)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_show_prints_a_row_for_each_curve(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["show", str(finished), "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    util = next(row for row in rows if row["metric"] == "GPU_UTIL")
    assert util["n"] > 1000
    assert util["p1"] <= util["p50"] <= util["p99"] <= 100
    assert {row["metric"] for row in rows} >= {"FB_USED_PCT", "NODE_CPU_UTILIZATION"}


def test_show_of_an_unfinished_run_says_how_to_go_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["show", str(tmp_path)]) == 1
    assert "no run has finished there" in capfd.readouterr().err


def test_show_names_the_metrics_there_are(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["show", str(finished), "--metric", "NOPE"]) == 2
    assert "GPU_UTIL" in capfd.readouterr().err


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file that takes some seconds in blocks of 64 kB."""
    exit_code(
        ["sample", str(tmp_path / "large"), "--rows", "20000", "--gpus", "64", "--metric", "GPU_UTIL", "-q"]
    )
    return tmp_path / "large"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stops_cleanly_and_goes_on_later(
    stop: signal.Signals, large: Path, tmp_path: Path
) -> None:
    """With the embedded server: no process is left, no half-written output, and the next run completes."""
    out = tmp_path / "out"
    environment = {**os.environ, "PREFECT_HOME": str(tmp_path / "prefect")}
    environment.pop("PREFECT_API_URL", None)
    arguments = ["run", str(large), "--out", str(out), "--block-size", "32KiB", "--workers", "1", "-q"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 120
    while not (out / ".state/blocks").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    if stop is signal.SIGINT:
        os.killpg(process.pid, stop)  # as a terminal does: every process of the foreground gets it
    else:
        process.send_signal(stop)
    assert process.wait(60) == 130
    group = subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True, check=False)
    assert group.stdout == ""
    assert [path for path in out.rglob("*") if path.is_file() and path.suffix != ".unit"] == []
    assert acmetrace(*arguments, environment=environment).returncode == 0
    assert (out / "manifest.json").exists()


@pytest.mark.slow
def test_after_kill_9_the_next_run_uses_the_finished_blocks(
    large: Path, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    out = tmp_path / "out"
    arguments = ["run", str(large), "--out", str(out), "--block-size", "32KiB", "--workers", "1", "-q"]
    process = subprocess.Popen([*COMMAND, *arguments], env=prefect_server)
    deadline = time.monotonic() + 120
    while len(list(out.glob(".state/blocks/*/*.unit"))) < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob(".state/blocks/*/*.unit")}
    assert len(kept) >= 20
    assert not (out / "manifest.json").exists()
    assert acmetrace(*arguments, environment=prefect_server).returncode == 0
    undisturbed = tmp_path / "undisturbed"
    other = [*arguments[:3], str(undisturbed), *arguments[4:]]
    assert acmetrace(*other, environment=prefect_server).returncode == 0
    for table in ("curves", "entities", "hourly"):
        name = f"summaries/{table}.parquet"
        assert (out / name).read_bytes() == (undisturbed / name).read_bytes()
