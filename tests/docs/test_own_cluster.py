"""The walk-through for one's own cluster tells the truth: its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_readme import matches
from tests.doubles.prometheus import Prometheus

PAGE = (Path(__file__).parents[2] / "docs/own-cluster.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_command_prints_what_the_page_shows(
    monitored: Prometheus, prefect_server: dict[str, str], tmp_path: Path
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**prefect_server, "PATH": path, "COLUMNS": "100"}
    toml = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert toml
    (tmp_path / "site.toml").write_text(toml[1])
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(parts) >= 7
    for part in parts:
        command, _, shown = part.partition("\n")
        words = shlex.split(command.replace("http://prometheus:9090", monitored.url))
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == (3 if "MEM_CLOCK" in command else 0), done.stderr
        said = done.stderr + done.stdout
        assert matches(shown, said), f"$ {command}\n{said}\n-- shown --\n{shown}"


def test_every_metric_of_the_table_is_in_the_catalogue() -> None:
    from schemas.metrics import CATALOGUE, EXPORT_ONLY

    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = {name for line in rows for name in re.findall(r"`([A-Z_]+)`", line.split("|")[1])}
    assert named <= {*CATALOGUE, *EXPORT_ONLY}
    assert {name for name, metric in CATALOGUE.items() if metric.entity == "node"} <= named
