"""The Prefect tasks of an export: look at the server, export each metric, write the record last."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote
from pydantic import ValidationError

from schemas.errors import QueryRefused, SourceError, UsageError
from schemas.export import EXPORT_NAME, ExportedMetric, ExportManifest
from schemas.metrics import Metric
from tasks.prometheus.chunks import Fetcher
from tasks.prometheus.client import PrometheusClient
from tasks.prometheus.metric import Target, export_one
from tasks.storage.names import check_relative
from tasks.storage.publish import read_bytes, remove, remove_stale_temporaries, write_bytes


@runtime_checkable
class ExportListener(Protocol):
    """Is told of an export; calls come from several threads."""

    def planned(self, metric: str, rows: int) -> None:
        """So many rows (instants) of a metric will be asked for."""

    def fetched(self, metric: str, rows: int, samples: int) -> None:
        """A chunk of a metric is there."""

    def finished(self, result: ExportedMetric) -> None:
        """A metric is done."""


class SilentExport:
    """Listens to nothing."""

    def planned(self, metric: str, rows: int) -> None:
        """Say nothing."""

    def fetched(self, metric: str, rows: int, samples: int) -> None:
        """Say nothing."""

    def finished(self, result: ExportedMetric) -> None:
        """Say nothing."""


class Exporter:
    """What all metrics of an export share.

    Not a dataclass, so that an orchestrator that inspects arguments leaves it alone.
    """

    def __init__(
        self, metrics: Mapping[str, Metric], target: Target, fetcher: Fetcher, listener: ExportListener
    ) -> None:
        self.metrics = metrics
        self.target = target
        earlier = read_export(target.root)
        self.before = tuple(output.path for output in earlier.outputs) if earlier else ()
        self._fetcher = fetcher
        self._listener = listener

    def export(self, name: str) -> ExportedMetric:
        """Export one metric, as `tasks.prometheus.metric.export_one`."""
        result = export_one(
            self.metrics[name],
            self.target,
            self._fetcher,
            lambda rows: self._listener.planned(name, rows),
            lambda rows, samples: self._listener.fetched(name, rows, samples),
            self._withdraw,
        )
        self._listener.finished(result)
        return result

    def stop(self) -> None:
        """Ask for nothing more."""
        self._fetcher.stop()

    def _withdraw(self) -> None:
        """Take the record of an earlier export away: its files are about to change."""
        remove(self.target.root, EXPORT_NAME)


@task(name="check server", cache_policy=NO_CACHE, persist_result=False)
def _check_server(client: Any) -> None:
    client.check()


def check_server(client: PrometheusClient) -> None:
    """See that the server is one, and lets us in.

    Raises:
        UsageError: it is none, or does not.
        ReadFailed: it cannot be reached.
    """
    _check_server(quote(client))


@task(name="export", task_run_name="export {name}", cache_policy=NO_CACHE, persist_result=False)
def export_metric(name: str, exporter: Exporter) -> ExportedMetric:
    """Export the metric `name`.

    Raises:
        ReadFailed, UsageError, Stopped: as `export_one`.
    """
    return exporter.export(name)


def carried_over(root: Path, draft: ExportManifest, asked: Sequence[str]) -> tuple[ExportedMetric, ...]:
    """Metrics of an earlier export to `root` that are not `asked` for now and whose files stay.

    `draft` holds the parameters of the export that is about to begin.

    Raises:
        UsageError: the folder holds an export that this one cannot stand beside.
    """
    earlier = read_export(root)
    if earlier is None:
        return ()
    if earlier.cluster != draft.cluster:
        raise UsageError(
            f"{root} holds an export of the cluster {earlier.cluster}.",
            hint="Give another folder, or the same --cluster.",
        )
    others = tuple(m for m in earlier.metrics if m.metric not in asked and m.status == "exported")
    if others and not earlier.same_period(draft):
        names = ", ".join(m.metric for m in others)
        raise UsageError(
            f"{root} holds {names} of another period, step, zone or server, which would stay.",
            hint="Give another folder, or export all of these metrics again.",
        )
    return tuple(m for m in others if m.file and (root / check_relative(m.file.path)).exists())


def read_export(root: Path) -> ExportManifest | None:
    """The record of the finished export in `root`; None where there is none that can be read."""
    data = read_bytes(root, EXPORT_NAME)
    with contextlib.suppress(ValidationError):
        return ExportManifest.model_validate_json(data) if data else None
    return None


@task(name="record", cache_policy=NO_CACHE, persist_result=False)
def _finish(root: Path, content: Any, before: tuple[str, ...]) -> ExportManifest:
    draft, results = content
    ordered = tuple(sorted(results, key=lambda result: result.metric))
    outputs = tuple(sorted((r.file for r in ordered if r.file), key=lambda file: file.path))
    manifest: ExportManifest = draft.model_copy(
        update={"finished": datetime.now(UTC), "metrics": ordered, "outputs": outputs}
    )
    for path in {*before} - {output.path for output in outputs}:
        remove(root, path)
    remove_stale_temporaries(root)
    write_bytes(root, EXPORT_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    rows: list[dict[str, object]] = [
        {
            "metric": result.metric,
            "status": result.status,
            "entities": result.entities,
            "rows": result.rows,
            "values": result.values,
            "blanks": result.blanks,
            "remark": result.reason or result.conflict or "; ".join(result.warnings),
        }
        for result in ordered
    ]
    create_table_artifact(key="export", table=rows, description="Metrics of the export")
    return manifest


def finish(
    root: Path, draft: ExportManifest, results: Sequence[ExportedMetric], before: Sequence[str]
) -> ExportManifest:
    """Write the record of an export, and remove files of `before` that it no longer has.

    Raises:
        SourceError: the server has none of the metrics.
        QueryRefused: none could be exported.
        UsageError: the record cannot be written.
    """
    if not any(result.status == "exported" for result in results):
        for result in results:
            if result.status == "failed":
                raise QueryRefused(f"No metric could be exported. {result.metric}: {result.reason}")
        raise SourceError(
            f"{draft.server} has no sample of {', '.join(result.metric for result in results)}"
            f" from {draft.since.isoformat()} to {draft.until.isoformat()}.",
            hint="Is the period right, and are these the names of your exporters? --catalogue gives others.",
        )
    return _finish(root, quote((draft, results)), tuple(before))
