"""Constant memory: an export four times as long needs no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doubles.prometheus import Prometheus

_EXPORT = """
import resource, sys
from datetime import timedelta
from pathlib import Path
from schemas.metrics import Metric
from schemas.prometheus import PrometheusQuery
from tasks.prometheus import spans
from tasks.prometheus.chunks import Fetcher
from tasks.prometheus.client import PrometheusClient, Server
from tasks.prometheus.metric import Target, export_one
from tasks.storage.units import UnitStore

spans.SAMPLES_A_CHUNK = 100_000
url, dest, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
# Series that need no samples: the time in many colours.
series = (f'label_replace(vector(time() % {n + 7}), "host", "n{n}", "", "")' for n in range(40))
query = PrometheusQuery(query=" or ".join(series), entity="{host}")
metric = Metric(name="CLOCK", meaning="", source="inferred", unit="s", decimals=3, prometheus=query)
target = Target(url, dest, "mine", spans.Span(1_714_953_600, rows, 15), 60, timedelta())
with PrometheusClient(Server(url)) as client:
    result = export_one(metric, target, Fetcher(client, UnitStore(dest / ".state"), 4))
print(result.values, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(url: str, dest: Path, rows: int) -> int:
    """The peak memory of an export of 40 series and so many rows, in KiB."""
    command = [sys.executable, "-c", _EXPORT, url, str(dest), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values, memory = map(int, done.stdout.split())
    assert values == 40 * rows
    return memory


@pytest.mark.slow
def test_a_longer_period_needs_no_more_memory(monitored: Prometheus, tmp_path: Path) -> None:
    short = peak(monitored.url, tmp_path / "short", 10_000)
    long = peak(monitored.url, tmp_path / "long", 40_000)
    assert long < 1.15 * short
