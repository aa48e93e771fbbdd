"""The Prefect server that a run starts for itself: when it starts, where it listens, when it goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flows.cli import exit_code

START = "from flows.server import OwnServer\nserver = OwnServer()\n"
USE = "with server, server.in_use():\n    "
SAY_URL = (
    "from prefect.settings import get_current_settings; print(get_current_settings().api.url, flush=True)"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Prefect home; the first server in it makes the database."""
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """That of a process for which no server is configured."""
    chosen = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    return {**chosen, "PREFECT_HOME": str(home)}


def python(code: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A process that runs `code`."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.slow
def test_a_run_has_a_server_on_loopback_that_goes_with_it_even_when_it_is_killed(
    environment: dict[str, str],
) -> None:
    with python(START + USE + f"{SAY_URL}; input()", environment) as run:
        url = line_of(run)
        (server,) = psutil.Process(run.pid).children()
        listening = [s.laddr for s in server.net_connections("tcp") if s.status == psutil.CONN_LISTEN]
        run.kill()
        server.wait(30)
    assert [f"http://{address.ip}:{address.port}/api" for address in listening] == [url]
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.slow
def test_a_server_ends_when_its_run_ends(environment: dict[str, str]) -> None:
    code = START + "print(server._process.pid, flush=True)\n" + USE + "pass"
    with python(code, environment) as run:
        pid = int(line_of(run))
        assert run.wait(200) == 0
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("where", ["environment", "profile"])
def test_a_configured_server_is_used_and_no_other_started(
    where: str, environment: dict[str, str], tmp_path: Path
) -> None:
    url = "http://127.0.0.1:9/api"
    if where == "environment":
        environment["PREFECT_API_URL"] = url
    else:
        environment["PREFECT_HOME"] = str(tmp_path)
        profile = f'active = "lab"\n[profiles.lab]\nPREFECT_API_URL = "{url}"\n'
        (tmp_path / "profiles.toml").write_text(profile)
    left = "import psutil; print(psutil.wait_procs(psutil.Process().children(), 60)[1])"
    with python(START + USE + f"{SAY_URL}; {left}", environment) as run:
        assert line_of(run) == url
        assert line_of(run) == "[]"


def test_bad_usage_leaves_no_server_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert exit_code(["run", str(tmp_path), "--out", str(tmp_path / "out"), "--since", "yesterday"]) == 2
    assert {child.pid for child in psutil.Process().children()} <= before


@pytest.mark.slow
def test_a_server_that_does_not_start_is_an_error_that_says_what_to_do(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{tmp_path}"
    code = "import sys; from flows.cli import exit_code; sys.exit(exit_code(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(tmp_path), "--out", str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 1
    assert "PREFECT_API_URL" in done.stderr


@pytest.mark.slow
def test_files_in_the_current_folder_do_not_disturb_the_server(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "uvicorn.py").write_text("raise SystemExit('not the package')")
    code = f"import os; os.chdir({str(tmp_path)!r})\n" + START + USE + SAY_URL
    with python(code, environment) as run:
        assert line_of(run).startswith("http://127.0.0.1:")


@pytest.mark.slow
def test_a_run_does_not_load_the_server_into_its_own_process() -> None:
    code = (
        "import sys\nfrom flows.environment import prepare\nprepare()\n"
        "import flows.server, flows.pipeline, flows.ready\nflows.ready.load_ahead()\n"
        "print(sorted({'prefect.server.api.server', 'sqlalchemy', 'uvicorn'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
