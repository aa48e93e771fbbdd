"""One metric from server to file: planned, fetched in chunks, laid side by side, described."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from schemas.errors import EntityUnclear, QueryRefused, QueryTooLarge
from schemas.export import ExportedMetric
from schemas.metrics import Metric
from schemas.prometheus import GPU_ENTITY, NODE_ENTITY, STEP, WINDOW
from tasks.prometheus.chunks import Asked, Fetcher
from tasks.prometheus.labels import natural_key
from tasks.prometheus.parts import Notes, Part, Rule
from tasks.prometheus.spans import Span
from tasks.prometheus.wide import write_wide
from tasks.storage.names import safe_name

_MOST_WARNINGS = 10


@dataclass(frozen=True)
class Target:
    """What all metrics of an export share: the instants, and where and how files are written."""

    url: str
    root: Path
    cluster: str
    span: Span
    window_s: int
    offset: timedelta


def asked_of(metric: Metric, target: Target) -> Asked:
    """What is asked of the server for a metric that has a query."""
    found = metric.prometheus
    if found is None:
        raise ValueError(f"{metric.name} has no query")
    usual = GPU_ENTITY if metric.entity == "gpu" else NODE_ENTITY
    rule = Rule(found.entity or usual, found.scale, metric.scale, metric.decimals)
    return Asked(target.url, found.text(target.span.step_s, target.window_s), rule)


def export_one(
    metric: Metric,
    target: Target,
    fetcher: Fetcher,
    on_planned: Callable[[int], None] = lambda rows: None,
    on_part: Callable[[int, int], None] = lambda rows, samples: None,
    before_write: Callable[[], None] = lambda: None,
) -> ExportedMetric:
    """Export a metric to root/data/utilization/<cluster>/<METRIC>.csv; no file where there is no value.

    `on_planned` is told the rows (instants) to ask for, `on_part` rows and samples of
    each chunk; `before_write` is called before the file changes. What is wrong with this
    metric alone makes it a failed one.

    Raises:
        ReadFailed, UsageError: the server cannot be asked, or the file cannot be written.
        Stopped: the fetcher was stopped.
    """
    asked = asked_of(metric, target)
    unit = (metric.prometheus and metric.prometheus.unit) or metric.unit
    result = ExportedMetric(metric=metric.name, status="absent", query=asked.query, unit=unit)
    seen = _Seen()

    def found(part: Part) -> None:
        seen.add(part)
        on_part(part.span.rows, part.notes.samples)

    try:
        chunks = fetcher.plan(asked, target.span)
        on_planned(target.span.rows)
        spans = fetcher.fetch(asked, chunks, found)
    except (QueryRefused, QueryTooLarge, EntityUnclear) as error:
        return result.model_copy(update={"status": "failed", "reason": str(error)})
    notes = seen.notes
    facts = {
        "series": seen.series,
        "samples": notes.samples,
        "not_numbers": notes.not_numbers,
        "infinite": notes.infinite,
        "conflicts": notes.conflicts,
        "conflict": notes.conflict,
        "warnings": notes.warnings[:_MOST_WARNINGS],
    }
    if not seen.entities:
        reason = "all its samples are NaN or infinite" if notes.samples else _absent(metric, target)
        return result.model_copy(update={**facts, "reason": reason})
    relative = f"data/utilization/{target.cluster}/{safe_name(metric.name)}.csv"
    parts = (fetcher.load(asked, span) for span in spans)
    entities = sorted(seen.entities, key=natural_key)
    before_write()
    written = write_wide(target.root, relative, parts, entities, target.offset)
    return result.model_copy(
        update={
            **facts,
            "status": "exported",
            "entities": len(entities),
            "rows": written.rows,
            "values": written.values,
            "blanks": written.blanks,
            "first_time": written.first,
            "last_time": written.last,
            "file": written.file,
        }
    )


def _absent(metric: Metric, target: Target) -> str:
    reason = "the server has no sample of it in the period"
    query = metric.prometheus.query if metric.prometheus else ""
    if WINDOW in query or STEP in query:
        reason += f", or never two within the window of its rate (--window, {target.window_s} s)"
    return reason


@dataclass
class _Seen:
    """What the parts of a metric add up to."""

    entities: set[str] = field(default_factory=set)
    notes: Notes = field(default=Notes())
    _series: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, part: Part) -> None:
        new = part.notes
        with self._lock:
            old = self.notes
            self.entities.update(part.entities)
            self._series.update(new.series)
            self.notes = replace(
                old,
                samples=old.samples + new.samples,
                not_numbers=old.not_numbers + new.not_numbers,
                infinite=old.infinite + new.infinite,
                conflicts=old.conflicts + new.conflicts,
                conflict=min(filter(None, (old.conflict, new.conflict)), default=""),
                warnings=tuple(sorted({*old.warnings, *new.warnings})),
            )

    @property
    def series(self) -> int:
        return len(self._series)
