"""A server to ask, a proxy before it, and what it takes to export from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import stamina

from schemas.export import ExportedMetric
from schemas.metrics import CATALOGUE, EXPORT_ONLY, Metric
from tasks.prometheus.chunks import Fetcher
from tasks.prometheus.client import PrometheusClient, Server
from tasks.prometheus.metric import Target, export_one
from tasks.prometheus.spans import Span
from tasks.storage.retries import ATTEMPTS
from tasks.storage.units import UnitStore
from tests.doubles import fleet
from tests.doubles.prometheus import Prometheus, Proxy, proxy

PERIOD = Span(fleet.START, fleet.SCRAPES, fleet.INTERVAL)

Export = Callable[..., ExportedMetric]


@pytest.fixture
def between(monitored: Prometheus) -> Iterator[Proxy]:
    """A proxy before the server; patience without waiting."""
    with proxy(monitored.url) as state, stamina.set_testing(True, attempts=ATTEMPTS):
        yield state


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Exports a metric of the catalogue from a server into `tmp_path`."""

    def run(url: str, metric: str | Metric, span: Span = PERIOD, at_once: int = 4) -> ExportedMetric:
        found = {**CATALOGUE, **EXPORT_ONLY}[metric] if isinstance(metric, str) else metric
        target = Target(url, tmp_path, "mine", span, 60, timedelta())
        with PrometheusClient(Server(url)) as client:
            fetcher = Fetcher(client, UnitStore(tmp_path / ".state"), at_once)
            return export_one(found, target, fetcher)

    return run
