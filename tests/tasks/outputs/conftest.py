"""Builders of small summaries, and the published reference the outputs are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.findings import Verdict
from schemas.manifest import InputFile, RunManifest
from schemas.metrics import CATALOGUE, inferred
from schemas.pickles import DERIVED_CURVES, LEVELS, WHOLE, periods_of
from schemas.series import Observed, SeriesContract, SeriesRecord
from tasks.outputs.run import publish_run
from tasks.series.summary import Curve, SeriesSummary

LEVELS_AT = np.linspace(0.0, 1.0, LEVELS)

CurveBuilder = Callable[..., Curve]
SummaryBuilder = Callable[..., SeriesSummary]
Publisher = Callable[..., RunManifest]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "oldnumpy: loads our pickles in an environment with NumPy 1.24 (slow)")


def _curve(
    cluster: str, metric: str, period: str = WHOLE, *, samples: Sequence[float] = (0.0, 1.0, 4.0)
) -> Curve:
    values = np.quantile(samples, LEVELS_AT) if len(samples) else np.empty(0)
    return Curve(
        cluster=cluster,
        metric=metric,
        period=period,
        levels=LEVELS_AT,
        values=values,
        count=len(samples),
        zero_share=0.5,
        marks={},
    )


def _summary(
    cluster: str = "seren",
    series: str = "GPU_UTIL",
    *,
    samples: Sequence[float] = (0.0, 1.0, 4.0),
    entities: Sequence[str] = ("10.140.0.1-1", "10.140.0.1-0"),
    verdict: Verdict = "passed",
) -> SeriesSummary:
    metric = CATALOGUE.get(series) or inferred(series)
    start = datetime(2023, 8, 1, tzinfo=UTC)
    record = SeriesRecord(
        cluster=cluster,
        series=series,
        contract=SeriesContract(metric=metric),
        entities=tuple(entities),
        observed=Observed(
            files=(f"{cluster}/{series}.csv",),
            bytes=100,
            bytes_read=100,
            rows=2,
            columns=len(entities),
            values=len(samples),
            blanks=1,
            first_time=start,
            last_time=start,
        ),
        findings=(),
        verdict=verdict,
        code_version="1",
    )
    if not len(samples):
        return SeriesSummary(record, (), pd.DataFrame(), pd.DataFrame())
    names = [metric.name, *(derived.name for derived in DERIVED_CURVES.get(metric.name, ()))]
    periods = [WHOLE, *periods_of(cluster, metric.name)]
    shared = {"cluster": cluster, "metric": metric.name}
    numbers = {"mean": 1.5, "min": 0.0, "max": 4.0}
    return SeriesSummary(
        record=record,
        curves=tuple(_curve(cluster, name, period, samples=samples) for name in names for period in periods),
        entities=pd.DataFrame(
            [
                {
                    **shared,
                    "entity": name,
                    "node": name.rpartition("-")[0],
                    "count": 2,
                    "blank": 0,
                    **numbers,
                    "zero_share": 0.5,
                }
                for name in entities
            ]
        ),
        hourly=pd.DataFrame(
            [
                {**shared, "hour": pd.Timestamp(start) + pd.Timedelta(hours=h), "count": 2, **numbers}
                for h in (1, 0)
            ]
        ).astype({"hour": "datetime64[ms, UTC]"}),
    )


@pytest.fixture
def make_curve() -> CurveBuilder:
    return _curve


@pytest.fixture
def make_summary() -> SummaryBuilder:
    return _summary


@pytest.fixture
def summaries() -> list[SeriesSummary]:
    """Two clusters and an unknown metric; enough for some of the pickles, not for all."""
    return [
        _summary("seren", "POWER_USAGE", samples=(35.5, 61.2, 400.0)),
        _summary("kalos", "FB_USED", samples=(0.0, 40_960.0, 81_920.0)),
        _summary("kalos", "GPU_UTIL", samples=(0.0, 98.0, 98.0, 100.0)),
        _summary("kalos", "disk io/ü", samples=(3.0,)),
        _faulty("seren"),
    ]


def _faulty(cluster: str) -> SeriesSummary:
    """A latched gauge with two episodes."""
    times = pd.to_datetime([1_692_084_615_000, 1_692_084_660_000], unit="ms", utc=True).as_unit("ms")
    episodes = pd.DataFrame(
        {
            "cluster": cluster,
            "metric": "XID_ERRORS",
            "entity": ["10.0.0.1-0", "10.0.0.1-1"],
            "node": "10.0.0.1",
            "value": [43.0, 31.0],
            "onset": times,
            "end": times,
            "samples": [1, 2],
            "onset_seen": [True, False],
        }
    )
    return replace(_summary(cluster, "XID_ERRORS", samples=(0.0, 43.0)), episodes=episodes)


@pytest.fixture
def publish() -> Publisher:
    def run(out: str | Path, summaries: Sequence[SeriesSummary], **changes: object) -> RunManifest:
        inputs = {
            (s.record.cluster, s.record.series): (
                InputFile(path=f"{s.record.series}.csv", size=1, version="v"),
            )
            for s in summaries
        }
        arguments: dict[str, object] = {
            "source": "https://example.org/dataset",
            "parameters": {"window": None, "block_mib": 16},
            "started": datetime(2024, 1, 1, tzinfo=UTC),
        }
        return publish_run(out, summaries, inputs, **(arguments | changes))  # type: ignore[arg-type]

    return run
