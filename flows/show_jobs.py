"""A readable table of the job logs of a finished run, from its published files alone."""

from __future__ import annotations

import csv
import io
from typing import Any

import pyarrow.parquet as pq
from rich.markup import escape
from rich.table import Table

from flows.console import verdict_text
from flows.show import sparkline
from schemas.published.clusters import title_of
from tasks.outputs.jobs import read_jobs
from tasks.storage.publish import read_bytes

_WIDE = 105
_POINTS = 12


def jobs_rows(out: str, clusters: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """One row a job log of the run in `out`; times by the log's own start and end.

    Keys: cluster, jobs, gpu_jobs, run_p50_s, wait_p50_s, gpus_mean, completed, cancelled, failed
    (shares of the GPU time, of 1), gpu_hours, occupancy_pct, unexplained_pct, durations (share of
    GPU jobs that run at most 2^0 … 2^21 s, at 12 of these), verdict. None where not known.

    Raises:
        IncompleteRun: no job logs were finished there.
    """
    manifest = read_jobs(out)
    summary = _summary(out)
    told = _integrity(out)
    curves = _durations(out)
    rows = []
    for log in manifest.logs:
        if clusters and log.cluster not in clusters:
            continue
        figures = summary.get(title_of(log.cluster), {})
        measures = told.get(log.cluster, {})
        rows.append(
            {
                "cluster": log.cluster,
                "jobs": log.jobs,
                "gpu_jobs": log.gpu_jobs,
                "run_p50_s": figures.get("med_run_time_gpu"),
                "wait_p50_s": figures.get("med_que_time_gpu"),
                "gpus_mean": figures.get("avg_gpu_num"),
                "completed": figures.get("complete_rate_gpu_time"),
                "cancelled": figures.get("cancel_rate_gpu_time"),
                "failed": figures.get("fail_rate_gpu_time"),
                "gpu_hours": measures.get("logged_gpu_time"),
                "occupancy_pct": measures.get("logged_occupancy"),
                "unexplained_pct": measures.get("unexplained_share"),
                "durations": curves.get(log.cluster, []),
                "verdict": log.verdict,
            }
        )
    return rows


def jobs_table(rows: list[dict[str, Any]], width: int = 120) -> Table:
    """The rows as a rich table for a terminal of `width` characters; a narrow one leaves columns out."""
    wide = width >= _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("job log", no_wrap=True)
    headings = ["jobs", "GPU jobs", "run p50", "wait p50", "GPUs"]
    headings += ["GPU·h", "done/cancelled/failed of it"] if wide else []
    for name in (*headings, "occupied"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("run ≤ 1 s … 24 d", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        shares = [row[name] for name in ("completed", "cancelled", "failed")]
        more = [
            "" if row["gpu_hours"] is None else f"{row['gpu_hours']:,.0f}",
            "" if None in shares else "/".join(f"{share:.0%}" for share in shares),
        ]
        occupied = row["occupancy_pct"]
        table.add_row(
            escape(row["cluster"]),
            f"{row['jobs']:,}",
            f"{row['gpu_jobs']:,}",
            _seconds(row["run_p50_s"]),
            _seconds(row["wait_p50_s"]),
            "" if row["gpus_mean"] is None else f"{row['gpus_mean']:.1f}",
            *(more if wide else []),
            "" if occupied is None else f"{occupied:.1f}%",
            *([sparkline(row["durations"])] if wide else []),
            verdict_text(row["verdict"]),
        )
    return table


def _summary(out: str) -> dict[str, dict[str, float]]:
    data = read_bytes(out, "jobs/cluster_summary_own_times.csv") or b""
    rows = csv.DictReader(io.StringIO(data.decode()))
    return {row.pop("id"): {name: float(cell) for name, cell in row.items() if cell} for row in rows}


def _integrity(out: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in _rows(out, "jobs/integrity.parquet"):
        if row["value"] is not None:
            found.setdefault(row["cluster"], {})[row["measure"]] = row["value"]
    return found


def _durations(out: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in _rows(out, "jobs/ecdf.parquet"):
        if (row["measure"], row["type"], row["weight"]) == ("run", "all", "jobs") and row[
            "share_pct"
        ] is not None:
            found.setdefault(row["cluster"], []).append(row["share_pct"])
    step = {cluster: (len(shares) - 1) / (_POINTS - 1) for cluster, shares in found.items()}
    return {
        cluster: [shares[round(point * step[cluster])] for point in range(_POINTS)]
        for cluster, shares in found.items()
    }


def _rows(out: str, path: str) -> list[dict[str, Any]]:
    data = read_bytes(out, path)
    if data is None:
        return []
    found: list[dict[str, Any]] = pq.ParquetFile(io.BytesIO(data)).read().to_pylist()
    return found


def _seconds(value: float | None) -> str:
    """A time in the unit that suits it: 45 s, 12 min, 3.4 h, 2.1 d."""
    if value is None:
        return ""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if value >= 2 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} s"
