"""The README tells the truth: its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


# What sacct prints, as the README takes it for granted: a job and its step, and three more.
GPUS, CPUS = "cpu=16,gres/gpu=8,node=1", "cpu=2,node=1"
DAY = "2024-05-06T"
SACCT = "\n".join(
    [
        "JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|AllocTRES|ReqTRES",
        f"101|ann|gpu|COMPLETED|{DAY}08:00:00|{DAY}08:00:05|{DAY}09:00:05|3600|1|16|{GPUS}|{GPUS}",
        f"101.batch|||COMPLETED|{DAY}08:00:05|{DAY}08:00:05|{DAY}09:00:05|3600|1|16|{GPUS}|",
        f"102|bob|gpu|TIMEOUT|{DAY}08:10:00|{DAY}08:30:00|{DAY}10:30:00|7200|1|16|{GPUS}|{GPUS}",
        f"103|bob|cpu|CANCELLED by 1001|{DAY}08:20:00|{DAY}08:20:01|{DAY}08:21:00|59|1|2|{CPUS}|{CPUS}",
        f"104|ann|gpu|RUNNING|{DAY}09:00:00|{DAY}09:00:09|Unknown|60|1|16|{GPUS}|{GPUS}",
        "",
    ]
)


@dataclass(frozen=True)
class Example:
    """A command of the README and the output shown below it."""

    command: str
    shown: str


def examples() -> Iterator[Example]:
    """The commands of all console blocks, in order."""
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Example(command, shown)


def matches(shown: str, said: str) -> bool:
    """Whether every line shown was said; `...` stands for anything, and series end in any order."""
    lines = [line.rstrip() for line in said.splitlines()]
    for wanted in shown.rstrip().splitlines():
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.rstrip().split("...")))
        if not any(pattern.fullmatch(line) for line in lines):
            return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two files that the README takes for granted."""
    place = tmp_path_factory.mktemp("readme")
    (place / "mine").mkdir()
    (place / "mine/POWER.csv").write_text("Time,node-a,node-b\n1690848000,211.5,198.0\n1690848060,240.1,\n")
    (place / "lab.txt").write_text(SACCT)
    toml = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert toml
    (place / "metrics.toml").write_text(toml[1])
    return place


@pytest.fixture(scope="module")
def environment(prefect_server: dict[str, str]) -> dict[str, str]:
    """A shell in which `acmetrace` is the one of this interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**prefect_server, "PATH": path, "COLUMNS": "100"}


@pytest.mark.slow
def test_every_command_prints_what_the_readme_shows(folder: Path, environment: dict[str, str]) -> None:
    found = list(examples())
    assert len(found) >= 7
    wrong = []
    for example in found:
        words = shlex.split(example.command)
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 3), f"{example.command}\n{done.stdout}{done.stderr}"
        said = done.stderr + done.stdout
        if not matches(example.shown, said):
            wrong.append(f"$ {example.command}\n{said}\n-- shown --\n{example.shown}")
    assert not wrong, "\n".join(wrong)


def test_the_python_example_prints_what_the_readme_shows(folder: Path, environment: dict[str, str]) -> None:
    code = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert code
    if not (folder / "data").exists():
        subprocess.run(shlex.split(next(examples()).command), cwd=folder, env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-c", code[1]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == code[2]


def test_every_command_is_shown_in_the_readme() -> None:
    from flows.cli import app

    commands = [name for name in app if not name.startswith("-")]
    assert len(commands) >= 5
    for name in commands:
        assert f"acmetrace {name}" in README


def test_links_lead_to_files_that_are_there() -> None:
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


@pytest.mark.slow
def test_make_run_works_in_a_fresh_clone(tmp_path: Path) -> None:
    """The first command of a newcomer, with no cache of ours."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "VIRTUAL_"))
    }
    environment["PREFECT_HOME"] = str(tmp_path / "prefect")
    done = subprocess.run(
        ["make", "run"], cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "out/manifest.json").exists()
    assert f"Results are in {clone}/out" in done.stdout
    shutil.rmtree(clone)
