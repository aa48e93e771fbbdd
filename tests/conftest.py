"""One Prefect server for all tests that need it, a small dataset, and the real slices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from flows.environment import prepare
from tests.doubles.hub import HubServer, hub_server

if TYPE_CHECKING:
    from tests.doubles.prometheus import Prometheus

prepare(0)

# A slow or busy machine is no defect of what is tested.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[dict[str, str]]:
    """A real server with an empty database; gives the environment that leads a child process to it."""
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        leads = {"PREFECT_API_URL": PREFECT_API_URL.value(), "PREFECT_HOME": str(PREFECT_HOME.value())}
        yield {**os.environ, **leads}


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset of both clusters, as `acmetrace sample --rows 240 --gpus 16` makes it."""
    from tasks.sampling import SampleOptions, write_sample

    folder = tmp_path_factory.mktemp("dataset") / "data"
    write_sample(folder, SampleOptions(rows=240, gpus=16))
    return folder


@pytest.fixture(scope="session")
def real() -> Path:
    """The real slices."""
    folder = os.environ.get("ACMETRACE_REAL")
    if not folder:
        pytest.skip("ACMETRACE_REAL is not set: the real slices are not here")
    return Path(folder)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder with the published pickles and `published_quantiles.csv`."""
    folder = os.environ.get("ACMETRACE_REFERENCE")
    if not folder:
        pytest.skip("ACMETRACE_REFERENCE is not set: it names the folder with the published pickles")
    return Path(folder)


@pytest.fixture(scope="session")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A real Prometheus with the samples of `tests.doubles.fleet`: two hours of a small cluster."""
    from tests.doubles import fleet
    from tests.doubles.prometheus import is_installed, prometheus

    if not is_installed():
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    with prometheus(tmp_path_factory.mktemp("monitored"), [*fleet.gpus(), *fleet.nodes()]) as server:
        yield server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A hub on loopback, to which the environment leads the real client."""
    from huggingface_hub import HfFileSystem

    with hub_server() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.delenv("HF_TOKEN", raising=False)
        HfFileSystem.clear_instance_cache()
        yield hub
        HfFileSystem.clear_instance_cache()
