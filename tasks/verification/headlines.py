"""The headline numbers of a run, and the verdict on each beside the published one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from schemas.published.clusters import title_of
from schemas.published.headlines import (
    HEADLINES,
    Headline,
    JobShare,
    LogCheck,
    MeanRatio,
    NotReleased,
    OfType,
    Quantile,
    Share,
    Summary,
    SummaryRatio,
)
from schemas.verification import Compared
from tasks.outputs.results import Results
from tasks.verification.release import part_of_release

NOT_IN_RUN = "the run has not what it is reckoned from"
POINT = 0.1  # tolerance of a share or percent: the step of the published levels
RELATIVE = 0.001  # tolerance of all else


def compare_headlines(results: Results) -> list[Compared]:
    """Every published headline number beside that of the run, in their order."""
    return [_compared(results, headline) for headline in HEADLINES]


def value_of(results: Results, headline: Headline) -> float | None:
    """The number of the run; None where it has not what is needed.

    Shares of samples are read off 1,000 quantiles, so they are exact to 0.1 point.
    """
    cluster, quantity = headline.cluster, headline.quantity
    match quantity:
        case Quantile(metric, level, period):
            return _quantile(results, cluster, metric, level, period)
        case Share(metric, most, period, above):
            share = results.share(cluster, metric, most, period)
            return None if share is None else 100 - share if above else share
        case MeanRatio(metric, over, percent):
            mean, base = (_mean(results, cluster, name) for name in (metric, over))
            return mean / base * (100 if percent else 1) if mean is not None and base else None
        case Summary(column, percent):
            value = _summary(results, cluster, column)
            return value * 100 if value is not None and percent else value
        case SummaryRatio(column, over):
            value, base = _summary(results, cluster, column), _summary_mean(results, over, column)
            return value / base if value is not None and base else None
        case JobShare():
            return _job_share(results, cluster, quantity)
        case OfType(kind, column):
            rows = results.table("jobs/types.parquet")
            return _first(rows[(rows["cluster"] == cluster) & (rows["type"] == kind)], column)
        case LogCheck(measure):
            rows = results.table("jobs/integrity.parquet")
            return _first(rows[(rows["cluster"] == cluster) & (rows["measure"] == measure)], "value")
        case NotReleased():
            return None


def _compared(results: Results, headline: Headline) -> Compared:
    value = value_of(results, headline)
    told = {
        "id": headline.id,
        "claim": headline.claim,
        "cluster": headline.cluster,
        "unit": headline.unit,
        "value": value,
        "published": headline.published,
        "public": headline.public,
    }
    if value is None:
        quantity = headline.quantity
        why = quantity.reason if isinstance(quantity, NotReleased) else NOT_IN_RUN
        return Compared(**told, outcome="not computable", reason=why)
    near = [_near(value, found, headline.unit) for found in (headline.public, headline.published)]
    if any(near):
        if headline.known and not near[1]:
            return Compared(**told, outcome="known discrepancy", reason=headline.known)
        return Compared(**told, outcome="agrees")
    jobs = isinstance(headline.quantity, Summary | SummaryRatio | JobShare | OfType | LogCheck)
    reason = part_of_release(results, headline.cluster, jobs=jobs)
    if reason or (headline.known and headline.public is None):
        return Compared(**told, outcome="known discrepancy", reason=reason or headline.known)
    return Compared(**told, outcome="differs")


def _near(value: float, reference: float | None, unit: str) -> bool:
    if reference is None:
        return False
    return abs(value - reference) <= max(POINT if unit == "%" else 0.0, RELATIVE * abs(reference)) + 1e-9


def _quantile(results: Results, cluster: str, metric: str, level: float, period: str) -> float | None:
    """The quantile at a level, on a line between two stored levels."""
    curve = results.curve(cluster, metric, period)
    if curve is None:
        return None
    levels, values = curve["level_pct"].to_numpy(), curve["value"].to_numpy()
    after = min(int(levels.searchsorted(level)), len(levels) - 1)
    before = max(after - 1, 0) if levels[after] > level else after
    if before == after:
        return float(values[after])
    share = (level - levels[before]) / (levels[after] - levels[before])
    return float(values[before] + share * (values[after] - values[before]))


def _mean(results: Results, cluster: str, metric: str) -> float | None:
    """The mean of the quantiles, by the trapezoid rule."""
    curve = results.curve(cluster, metric)
    return None if curve is None else float(np.trapezoid(curve["value"], curve["level_pct"]) / 100)


def _summary(results: Results, cluster: str, column: str) -> float | None:
    table, title = results.summary(), title_of(cluster)
    return _known(table[column][title]) if title in table.index else None


def _summary_mean(results: Results, clusters: tuple[str, ...], column: str) -> float | None:
    values = [_summary(results, cluster, column) for cluster in clusters]
    jobs = [_summary(results, cluster, "gpu_job_num") for cluster in clusters]
    if any(number is None for number in (*values, *jobs)) or not sum(jobs):  # type: ignore[arg-type]
        return None
    return float(np.average(np.array(values, float), weights=np.array(jobs, float)))


def _job_share(results: Results, cluster: str, asked: JobShare) -> float | None:
    table = results.table("jobs/ecdf.parquet")
    rows = table[
        (table["cluster"] == cluster)
        & (table["measure"] == asked.measure)
        & (table["weight"] == asked.weight)
        & (table["type"] == asked.type)
        & (table["x"] == asked.most)
    ]
    share = _first(rows, "share_pct")
    return None if share is None else 100 - share if asked.above else share


def _first(rows: pd.DataFrame, column: str) -> float | None:
    return None if rows.empty else _known(rows[column].iloc[0])


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
