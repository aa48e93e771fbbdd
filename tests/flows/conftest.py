"""One Prefect server for all flow tests, and small datasets to run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.environment import prepare

prepare(0)

from prefect.settings import PREFECT_API_URL, PREFECT_HOME  # noqa: E402
from prefect.testing.utilities import prefect_test_harness  # noqa: E402

from tasks.sampling import SampleOptions, write_sample  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Flow tests share one server, so they stay on one worker of a parallel run."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("flows"))


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[dict[str, str]]:
    """A real server with an empty database; gives the environment that leads a child process to it."""
    with prefect_test_harness(server_startup_timeout=180):
        yield {
            **os.environ,
            "PREFECT_API_URL": PREFECT_API_URL.value(),
            "PREFECT_HOME": str(PREFECT_HOME.value()),
        }


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset of both clusters, as `acmetrace sample --rows 240 --gpus 16` makes it."""
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder / "data", SampleOptions(rows=240, gpus=16))
    return folder / "data"


@pytest.fixture(scope="session")
def real() -> Path:
    """The real slices."""
    folder = os.environ.get("ACMETRACE_REAL")
    if not folder:
        pytest.skip("ACMETRACE_REAL is not set: the real slices are not here")
    return Path(folder)
