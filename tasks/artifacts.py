"""What a run shows in the Prefect UI: progress, findings, results, links to outputs.

An artifact holds a summary, never the data: tables are cut off at a stated
number of rows, and the files of the run hold the rest.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.context import get_run_context
from prefect.exceptions import MissingContextError

from schemas.figures import FiguresManifest
from schemas.findings import Finding
from schemas.job_records import JobLogRecord
from schemas.series import SeriesRecord
from tasks.progress import Reading
from tasks.storage.source import is_local

MOST_ROWS = 200
_UPDATE_S = 2.0


class ProgressArtifact:
    """A listener that keeps one progress artifact of the flow run: bytes read of bytes planned."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned = 0
        self._read = 0
        self._sent = 0.0
        self._id: UUID | None = None

    def start(self) -> None:
        """Create the artifact; outside a flow run there is none."""
        with contextlib.suppress(MissingContextError):
            get_run_context()
            self._id = create_progress_artifact(0.0, description="Bytes read of the bytes to read")  # type: ignore[assignment]

    def found(self, reading: Reading) -> None:
        """Count the bytes to read."""
        with self._lock:
            self._planned += reading.wanted

    def planned(self, label: str, number: int, size: int) -> None:
        """Count the bytes of further passes."""
        with self._lock:
            self._planned += size if number > 1 else 0

    def read(self, label: str, size: int) -> None:
        """Count bytes that are done; from time to time tell the server."""
        with self._lock:
            self._read += size
            due = time.monotonic() - self._sent > _UPDATE_S
            if due:
                self._sent = time.monotonic()
        if due:
            self._send()

    def judged(self, record: SeriesRecord) -> None:
        """Nothing: findings have a table of their own."""

    def finish(self) -> None:
        """All is read."""
        self._planned = self._read = 1
        self._send()

    def _send(self) -> None:
        if self._id is not None and self._planned:
            update_progress_artifact(self._id, min(100.0, 100 * self._read / self._planned))


def findings_table(findings: Sequence[Finding]) -> None:
    """A table of findings, the heaviest first."""
    weight = {"error": 0, "warning": 1, "info": 2}
    rows: list[dict[str, object]] = [
        {
            "severity": finding.severity,
            "cluster": finding.cluster,
            "metric": finding.metric,
            "rule": finding.rule,
            "count": finding.count,
            "message": finding.message[:300],
        }
        for finding in sorted(findings, key=lambda f: (weight[f.severity], f.cluster, f.metric, f.rule))
    ]
    _table("findings", rows, "What is wrong with the inputs, by severity")


def results_table(records: Sequence[SeriesRecord]) -> None:
    """A table of curves: count, quantiles, share of zeros, verdict."""
    rows: list[dict[str, object]] = [
        {
            "cluster": record.cluster,
            "metric": curve.metric,
            "period": curve.period,
            "values": curve.count,
            **{name: f"{value:g}" for name, value in curve.quantiles.items()},
            "unit": curve.unit,
            "zero share": f"{curve.zero_share:.3f}",
            "verdict": record.verdict,
        }
        for record in records
        for curve in record.curves
    ]
    _table("results", rows, "Quantiles of each metric")


def jobs_table(records: Sequence[JobLogRecord]) -> None:
    """A table of job logs: their jobs, and what they were judged."""
    rows: list[dict[str, object]] = [
        {
            "cluster": record.cluster,
            "kind": record.format,
            "rows": record.rows,
            "jobs": record.jobs,
            "GPU jobs": record.gpu_jobs,
            "CPU jobs": record.cpu_jobs,
            "first submitted": str(record.first_submit or ""),
            "last ended": str(record.last_end or ""),
            "verdict": record.verdict,
        }
        for record in records
    ]
    _table("jobs", rows, "Job logs, each as a table of jobs")


def figures_table(manifest: FiguresManifest) -> None:
    """A table of figures: the files of those drawn, the reason of those left out."""
    rows: list[dict[str, object]] = [
        {"figure": file.path, "bytes": file.size, "left out because": ""} for file in manifest.outputs
    ]
    rows += [{"figure": name, "bytes": 0, "left out because": why} for name, why in manifest.skipped.items()]
    _table("figures", rows, "Figures of the run")


def output_links(out: str) -> None:
    """A link to the output folder."""
    link = out if not is_local(out) else f"file://{out}"
    create_link_artifact(link=link, key="outputs", link_text=out, description="Outputs of the run")


def _table(key: str, rows: list[dict[str, object]], description: str) -> None:
    shown = rows[:MOST_ROWS]
    if len(rows) > len(shown):
        description += f"; {len(rows) - len(shown)} more rows are in the output files"
    create_table_artifact(key=key, table=shown or [{"": "none"}], description=description)
