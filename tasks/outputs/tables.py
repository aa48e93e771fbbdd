"""The summary tables of a run as Parquet bytes.

The pandera models of `schemas.summaries` are the contract: they name the columns,
their types, units and meanings, and every table is checked against its model
before it is written. The same summaries give the same bytes, in whatever order
they come. Where the bytes go is in `tasks.outputs.run`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from schemas.summaries import Curves, Entities, Episodes, Hourly
from schemas.telemetry import TELEMETRY_TABLES
from tasks.outputs.pickles import curves_by_key
from tasks.outputs.typed import Model, arrow_schema, table_bytes
from tasks.series.summary import Curve, SeriesSummary
from tasks.telemetry.tables import Factors, telemetry_tables

SUMMARY_TABLES: Mapping[str, Model] = MappingProxyType(
    {
        "summaries/curves.parquet": Curves,
        "summaries/entities.parquet": Entities,
        "summaries/hourly.parquet": Hourly,
        "summaries/episodes.parquet": Episodes,
    }
)
_ORDER: Mapping[Model, list[str]] = MappingProxyType(
    {
        Curves: ["cluster", "metric", "period", "level_pct"],
        Entities: ["cluster", "metric", "entity"],
        Hourly: ["cluster", "metric", "hour"],
        Episodes: ["cluster", "metric", "onset", "entity"],
    }
)
TABLES: Mapping[str, Model] = MappingProxyType({**SUMMARY_TABLES, **TELEMETRY_TABLES})


def build_tables(summaries: Iterable[SeriesSummary], factors: Factors = Factors()) -> dict[str, bytes]:
    """The tables by their path in the output folder; without rows where nothing was summarised.

    Raises:
        UsageError: two series give the same curve.
        AcmetraceError: rows break the contract of their table.
    """
    ordered = sorted(summaries, key=lambda summary: (summary.record.cluster, summary.record.series))
    frames = {
        Curves: _curve_rows(curve for summary in ordered for curve in summary.curves),
        Entities: _rows(Entities, [summary.entities for summary in ordered]),
        Hourly: _rows(Hourly, [summary.hourly for summary in ordered]),
        Episodes: _rows(Episodes, [summary.episodes for summary in ordered]),
    }
    told = {"units": json.dumps(_units(ordered), sort_keys=True, ensure_ascii=False)}
    tables = {
        path: table_bytes(model, frames[model], order=_ORDER[model], told=told)
        for path, model in SUMMARY_TABLES.items()
    }
    return tables | _telemetry(frames, ordered, factors)


def _telemetry(
    frames: Mapping[Model, pd.DataFrame], summaries: Sequence[SeriesSummary], factors: Factors
) -> dict[str, bytes]:
    """What the tables say of the cluster."""
    # In the order in which they are written, so that sums do not depend on the order of the series.
    entities, hourly, episodes = (
        frames[model].sort_values(_ORDER[model], kind="stable", ignore_index=True)
        for model in (Entities, Hourly, Episodes)
    )
    made = telemetry_tables(entities, hourly, episodes, _intervals(summaries), factors)
    return {path: table_bytes(TELEMETRY_TABLES[path], rows) for path, rows in made.items()}


def _intervals(summaries: Iterable[SeriesSummary]) -> dict[tuple[str, str], float]:
    """The sampling interval in s by cluster and metric: the contract's, or else the one that was seen."""
    found: dict[tuple[str, str], float] = {}
    for summary in summaries:
        record = summary.record
        interval = record.contract.metric.interval_s or record.observed.interval_s or 0.0
        if len(summary.hourly):
            found |= {(record.cluster, str(name)): interval for name in summary.hourly["metric"].unique()}
    return found


def _curve_rows(curves: Iterable[Curve]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "cluster": curve.cluster,
                "metric": curve.metric,
                "period": curve.period,
                "level_pct": curve.levels * 100,
                "value": np.asarray(curve.values, dtype=np.float64),
            }
        )
        for curve in curves_by_key(curves).values()
        if curve.count > 0
    ]
    return _rows(Curves, parts)


def _rows(model: Model, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    # Frames without a row have columns without a type; joined, they would spoil those of the others.
    filled = [part for part in parts if len(part)]
    if not filled:
        empty: pd.DataFrame = arrow_schema(model).empty_table().to_pandas()
        return empty
    return pd.concat(filled, ignore_index=True)


def _units(summaries: Sequence[SeriesSummary]) -> dict[str, str]:
    metrics = {s.record.contract.metric.name: s.record.contract.metric.unit for s in summaries}
    return metrics | {curve.metric: curve.unit for s in summaries for curve in s.described().record.curves}
