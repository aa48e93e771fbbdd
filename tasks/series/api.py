"""The short way in: one series file to its curve, without flow, cluster or output folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from schemas.errors import NotASeries, UsageError
from tasks.columnar import kind_of_files, read_any_head
from tasks.series.discover import discover
from tasks.series.options import ScanOptions
from tasks.series.summary import SeriesSummary
from tasks.series.units import ThreadExecutor
from tasks.series.wide import heads_of, plan_series, summarise_series


def summary_of_file(path: str | Path, *, timezone: str | None = None, workers: int = 2) -> SeriesSummary:
    """Record, curves, entity and hour tables of one series file.

    Raises:
        SourceError, NotASeries: there is no such file, or it is no series.
        FileChanged, ReadFailed: it changed or broke off while it was read.
    """
    found = discover(str(path))
    if len(found) != 1:
        raise UsageError(
            f"{path} holds {len(found)} series, expected one file.", hint="Give one of its files."
        )
    (series,) = found
    heads = heads_of(series, None, read_any_head)
    options = ScanOptions(timezone=timezone, workers=workers)
    planned = plan_series(series, heads, options, kind_of_files(series.files))
    return summarise_series(planned, ThreadExecutor(workers))


def curve_of_file(path: str | Path, *, timezone: str | None = None, workers: int = 2) -> pd.DataFrame:
    """The curve of one series file: 1,000 rows of level_pct (percent) and value (the metric's unit).

    Raises:
        NotASeries: the file is no series, or too much of it is unreadable.
        Further as `summary_of_file`.
    """
    summary = summary_of_file(path, timezone=timezone, workers=workers)
    if not summary.curves:
        reasons = "; ".join(finding.message for finding in summary.record.findings)
        raise NotASeries(f"{path} gives no curve ({summary.record.verdict}): {reasons}.")
    curve = summary.curves[0]
    return pd.DataFrame({"level_pct": curve.levels * 100, "value": curve.values})
