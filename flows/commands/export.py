"""`acmetrace export`: series of a Prometheus server as a dataset of one's own cluster."""

from __future__ import annotations

import shlex
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter
from rich.markup import escape

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, err, first_problem, print_json, say
from schemas.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from flows.export import ExportResult
    from schemas.export import ExportedMetric

_SERVER = Group("The server", sort_key=1)
_SAID_WARNINGS = 3


def export(
    dest: str,
    *,
    prometheus: Annotated[str, Parameter(group=_SERVER)],
    since: str,
    until: str,
    step: str = "15s",
    metric: Names = (),
    cluster: str = "mine",
    timezone: str | None = None,
    window: str | None = None,
    catalogue: Path | None = None,
    token_file: Annotated[Path | None, Parameter(group=_SERVER)] = None,
    basic_auth_file: Annotated[Path | None, Parameter(group=_SERVER)] = None,
    ca_file: Annotated[Path | None, Parameter(group=_SERVER)] = None,
    client_cert: Annotated[Path | None, Parameter(group=_SERVER)] = None,
    client_key: Annotated[Path | None, Parameter(group=_SERVER)] = None,
    at_once: Annotated[int, Parameter(group=_SERVER)] = 4,
    force: Annotated[bool, Parameter(negative="")] = False,
    talk: Talk = Talk(),
) -> int:
    """Export the metrics of a Prometheus server as a dataset in the released layout.

    A token, or a user and a password, are taken from ACMETRACE_PROMETHEUS_TOKEN, or
    ACMETRACE_PROMETHEUS_USER and ACMETRACE_PROMETHEUS_PASSWORD, or from a file.

    Parameters
    ----------
    dest
        Folder for the dataset; an export that was broken off goes on there.
    prometheus
        Address that the server's API stands below: http://host:9090.
    since
        First instant: 2023-08-01T00:00:00+08:00.
    until
        End of the period; it is not part of it.
    step
        Time between two rows (15s).
    metric
        Only these metrics of the catalogue; all that the server has by default.
    cluster
        Name of the cluster (mine).
    timezone
        Zone that times are written in; by default that of --since.
    window
        Window of rates; by default four steps, and at least a minute.
    catalogue
        TOML file with metrics of your own, or other queries.
    token_file
        File with a bearer token.
    basic_auth_file
        File with user:password.
    ca_file
        Certificate of who signed that of the server, as PEM.
    client_cert
        Our own certificate, as PEM.
    client_key
        Its key, as PEM.
    at_once
        Queries at a time (4).
    force
        Forget finished chunks and ask for everything again.
    """
    from pydantic import ValidationError

    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        with without_collection():
            import os

            from flows.export import ExportSettings
            from flows.export import export as export_flow

            try:
                settings = ExportSettings(
                    prometheus=prometheus,
                    dest=dest,
                    since=since,
                    until=until,
                    step_s=step,
                    window_s=window,
                    metrics=metric,
                    cluster=cluster,
                    timezone=timezone,
                    catalogue=_text(catalogue),
                    token_file=_text(token_file),
                    basic_auth_file=_text(basic_auth_file),
                    ca_file=_text(ca_file),
                    cert_file=_text(client_cert),
                    key_file=_text(client_key),
                    at_once=at_once,
                    force=force,
                )
            except ValidationError as error:
                raise UsageError(first_problem(error)) from error
            # What is wrong with them is said before any work.
            settings.server(os.environ)
            settings.chosen()
            settings.target()

            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            "exporting",
            BarColumn(),
            TextColumn("{task.percentage:.0f} %, {task.fields[samples]:,} samples"),
            TimeRemainingColumn(),
        )
        shown = talk.verbosity == 0 and err.is_terminal
        with (
            Progress(*columns, console=err, transient=True, disable=not shown) as progress,
            server.in_use(),
        ):
            listener = _Listener(err, progress, len(settings.chosen()), talk.verbosity)
            result = export_flow(settings, listener)
    if talk.json:
        found = {"dest": result.dest, "missing": result.missing, "suspicious": result.suspicious}
        print_json({**found, **result.manifest.model_dump(mode="json")})
    elif not talk.quiet:
        _print_result(result)
    return OK if result.complete else INPUT_FAILED


class _Listener:
    """Shows one bar for all metrics, and a line for each that is done."""

    def __init__(self, console: Console, progress: Progress, metrics: int, verbosity: int) -> None:
        self._console = console
        self._progress = progress
        self._verbosity = verbosity
        self._metrics = metrics
        self._samples = 0
        self._lock = threading.Lock()
        self._done: dict[str, float] = {}
        self._rows: dict[str, int] = {}
        self._bar = progress.add_task("export", total=float(metrics), samples=0)

    def planned(self, metric: str, rows: int) -> None:
        """Remember what a metric is made of."""
        with self._lock:
            self._rows[metric] = rows

    def fetched(self, metric: str, rows: int, samples: int) -> None:
        """Move the bar on by the part of a metric that has come."""
        with self._lock:
            self._done[metric] = min(self._done.get(metric, 0.0) + rows / self._rows[metric], 1.0)
            self._samples += samples
            self._show()

    def finished(self, result: ExportedMetric) -> None:
        """Say in a line what was exported, and what is wrong with it."""
        with self._lock:
            self._done[result.metric] = 1.0
            self._show()
        if self._verbosity >= 0:
            for line in metric_lines(result):
                self._console.print(line, highlight=False, soft_wrap=True)

    def _show(self) -> None:
        self._progress.update(self._bar, completed=sum(self._done.values()), samples=self._samples)


def metric_lines(result: ExportedMetric) -> list[str]:
    """What came of a metric, as lines of rich markup."""
    name = escape(result.metric)
    if result.status == "failed":
        return [f"[bold red]failed[/] {name}: {escape(result.reason)}"]
    if result.status == "absent":
        return [f"[dim]absent[/] {name}: {escape(result.reason)}"]
    lines = [
        f"[green]exported[/] {name}: {result.rows:,} rows of {result.entities:,}"
        f" {'entity' if result.entities == 1 else 'entities'}, {result.values:,} values"
    ]
    if result.conflicts:
        text = (
            f"{result.conflicts:,} cells are left blank: label sets of one entity have different values"
            f" at the same time (first: {result.conflict})"
        )
        lines.append(f"  [yellow]warning[/] {escape(text)}")
    if result.infinite:
        lines.append(f"  [yellow]warning[/] {result.infinite:,} samples are infinite; they are left blank")
    lines += [
        f"  [yellow]warning[/] the server says: {escape(text)}" for text in result.warnings[:_SAID_WARNINGS]
    ]
    return lines


def _print_result(result: ExportResult) -> None:
    from flows.console import binary_size

    manifest = result.manifest
    counts = Counter(metric.status for metric in manifest.metrics)
    said = ", ".join(
        f"{counts[status]} {status}" for status in ("exported", "absent", "failed") if counts[status]
    )
    say(f"{_many(len(manifest.metrics), 'metric')}: {said}")
    if result.missing:
        say(f"Missing of what was asked for: {', '.join(result.missing)}")
    size = binary_size(sum(file.size for file in manifest.outputs))
    say(f"{_many(len(manifest.outputs), 'file')}, {size} in {result.dest}")
    say(f"Next: acmetrace run {shlex.quote(result.dest)} --out out")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
