"""A readable table of a finished run, from its published files alone."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from flows.console import verdict_text
from schemas.errors import UsageError
from schemas.pickles import WHOLE
from schemas.series import SeriesRecord
from tasks.outputs.finished import read_run
from tasks.storage.publish import read_bytes

_SHOWN = ("p1", "p25", "p50", "p75", "p99")
_SHOWN_NARROW = ("p1", "p50", "p99")
_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 12
_WIDE = 105

_CurveKey = tuple[str, str, str]


def run_rows(out: str, clusters: tuple[str, ...] = (), metrics: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """One row a curve, and one a series without curves, of the run in `out`.

    Keys: cluster, series, metric, period, unit, n, blanks, p1 … p99, zero_share (of 1),
    verdict, findings, curve (values at 12 evenly spaced levels).

    Raises:
        IncompleteRun: no run has finished there.
        UsageError: a named cluster or metric is not in the run.
    """
    manifest = read_run(out)
    curves = _curves(out)
    rows: list[dict[str, Any]] = []
    for entry in manifest.series:
        record = SeriesRecord.model_validate_json(read_bytes(out, entry.schema_path) or b"")
        rows += _rows_of(record, curves)
    _require("cluster", clusters, {row["cluster"] for row in rows}, out)
    _require("metric", metrics, {row["metric"] for row in rows} | {row["series"] for row in rows}, out)
    return [
        row
        for row in rows
        if (not clusters or row["cluster"] in clusters)
        and (not metrics or row["metric"] in metrics or row["series"] in metrics)
    ]


def run_table(rows: list[dict[str, Any]], width: int = 120) -> Table:
    """The rows as a rich table for a terminal of `width` characters; a narrow one leaves columns out."""
    wide = width >= _WIDE
    marks = _SHOWN if wide else _SHOWN_NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("metric", no_wrap=True)
    headings = ["n", *(["blanks"] if wide else []), *marks, "zero"]
    for name in headings:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("p0 … p100", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    previous = None
    for row in rows:
        if row["cluster"] != previous:
            table.add_row(f"[bold]{escape(row['cluster'])}")
        previous = row["cluster"]
        period = "" if row["period"] in (None, "all") else f" {row['period']}"
        unit = f" [dim]{escape(row['unit'])}[/]" if wide and row["unit"] else ""
        table.add_row(
            f"  {escape(row['metric'])}{period}{unit}",
            _count(row["n"]),
            *(["" if row["blanks"] is None else _count(row["blanks"])] if wide else []),
            *(_number(row.get(name)) for name in marks),
            "" if row["zero_share"] is None else f"{row['zero_share']:.1%}",
            sparkline(row["curve"]),
            verdict_text(row["verdict"]),
        )
    return table


def sparkline(values: list[float]) -> str:
    """Values as a row of bars between their least and greatest."""
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[round((value - low) / span * (len(_BLOCKS) - 1))] for value in values)


def _curves(out: str) -> dict[_CurveKey, NDArray[np.float64]]:
    """The values of each curve, float64[levels]; none where only records were published."""
    data = read_bytes(out, "summaries/curves.parquet")
    if data is None:
        return {}
    # Without pandas, which takes longer to import than all else that is done here.
    table = pq.ParquetFile(io.BytesIO(data)).read()
    keys = list(zip(*(table[name].to_pylist() for name in ("cluster", "metric", "period")), strict=True))
    values = np.array(table["value"].to_pylist())
    edges = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    return {keys[a]: values[a:b] for a, b in zip(edges, [*edges[1:], len(keys)], strict=True)}


def _rows_of(record: SeriesRecord, curves: dict[_CurveKey, NDArray[np.float64]]) -> list[dict[str, Any]]:
    common = {
        "cluster": record.cluster,
        "series": record.series,
        "verdict": record.verdict,
        "findings": len(record.findings),
    }
    if not record.curves:
        empty = {"metric": record.series, "period": None, "unit": None, "n": record.observed.values}
        return [{**common, **empty, "blanks": record.observed.blanks, "zero_share": None, "curve": []}]
    one_metric = record.contract.metric.source != "ipmi"
    rows = []
    for curve in record.curves:
        values = curves[(record.cluster, curve.metric, curve.period)]
        points = values[np.linspace(0, len(values) - 1, _POINTS).round().astype(int)]
        facts = {"metric": curve.metric, "period": curve.period, "unit": curve.unit, "n": curve.count}
        rows.append(
            {
                **common,
                **facts,
                # A file of several metrics counts blanks as a whole; they belong to no single curve.
                "blanks": record.observed.blanks if one_metric and curve.period == WHOLE else None,
                **{name: curve.quantiles[name] for name in _SHOWN},
                "zero_share": curve.zero_share,
                "curve": points.tolist(),
            }
        )
    return rows


def _count(number: int) -> str:
    """A count, shortened from 10,000 on: 1840, 112.7k, 1.2G."""
    for factor, unit in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if number >= factor:
            return f"{number / (1000 if unit == 'k' else factor):.1f}{unit}"
    return str(number)


def _number(value: float | None) -> str:
    """A value in four significant digits; whole numbers, and values from 1,000 on, without decimals."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def _require(kind: str, wanted: tuple[str, ...], there: set[str], out: str) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UsageError(
            f"The run in {out} has no {kind} {', '.join(missing)}.",
            hint=f"It has {', '.join(sorted(there))}.",
        )
