"""Prefect's settings for a run of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flows.environment import prepare


def test_nothing_is_reported_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK"):
        monkeypatch.delenv(name, raising=False)
    prepare()
    code = "from prefect.settings import get_current_settings as s; print(s().server.analytics_enabled)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "False"


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")
    prepare()
    code = "from prefect.settings import get_current_settings as s; print(s().logging.level)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "DEBUG"


@pytest.mark.parametrize(
    "package", ["tasks.series.api", "tasks.longform", "tasks.sampling", "tasks.outputs.run"]
)
def test_the_folders_of_tasks_run_without_prefect(package: str) -> None:
    code = (
        f"import sys, {package}; print(sorted({{'prefect', 'distributed', 'cyclopts'}} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


def test_help_needs_none_of_the_heavy_packages() -> None:
    code = (
        "import sys; from flows.cli import exit_code; exit_code(['--help']);"
        "print(sorted({'prefect', 'distributed', 'pandas', 'numba'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
