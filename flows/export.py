"""Series of a Prometheus server to a dataset in the released layout, as a flow."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prefect import flow
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.errors import UsageError
from schemas.export import ExportManifest
from schemas.ipmi import FOLDER_CLUSTER
from schemas.metrics import CATALOGUE, EXPORT_ONLY, Metric, load_catalogue
from schemas.version import code_version, package_versions
from tasks.export import (
    Exporter,
    ExportListener,
    SilentExport,
    carried_over,
    check_server,
    export_metric,
    finish,
)
from tasks.prometheus.chunks import Fetcher
from tasks.prometheus.client import PrometheusClient, Server, server_url
from tasks.prometheus.credentials import read_credentials
from tasks.prometheus.metric import Target
from tasks.prometheus.spans import span_of
from tasks.prometheus.wide import offset_of
from tasks.series.clock import parse_zone
from tasks.series.spec import parse_instant
from tasks.storage.names import safe_name
from tasks.storage.publish import check_writable, local_folder
from tasks.storage.units import UnitStore

METRICS_AT_ONCE = 2  # the rows of one are written while another is asked for

_DURATION = re.compile(r"(\d+)\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_ZONE_AT_END = re.compile(r"(Z|[+-]\d{2}:?\d{2})$", re.IGNORECASE)


def parse_duration(text: str | int) -> int:
    """Seconds of `15s`, `1m`, `30`.

    Raises:
        ValueError: the text is no duration of whole seconds.
    """
    match = _DURATION.fullmatch(str(text).strip())
    if not match or not int(match[1]):
        raise ValueError(f"'{text}' is not a duration; write 15s, 1m or a number of seconds")
    return int(match[1]) * _SECONDS[match[2]]


class ExportSettings(BaseModel):
    """What is exported, from where and to where. Times are ISO; the period is [since, until).

    Credentials are not part of it: files are named, or the environment has them.
    `window_s` is that of rates, by default four steps and at least a minute.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prometheus: str
    dest: str
    since: str
    until: str
    step_s: int = Field(default=15, ge=1)
    window_s: int | None = Field(default=None, ge=1)
    metrics: tuple[str, ...] = ()
    cluster: str = "mine"
    timezone: str | None = None
    catalogue: str | None = None
    token_file: str | None = None
    basic_auth_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    at_once: int = Field(default=4, ge=1, le=32)
    force: bool = False

    @field_validator("step_s", "window_s", mode="before")
    @classmethod
    def _duration(cls, value: str | int | None) -> int | None:
        return None if value is None else parse_duration(value)

    @field_validator("cluster")
    @classmethod
    def _is_a_folder(cls, value: str) -> str:
        if safe_name(value) != value or value in FOLDER_CLUSTER:
            raise ValueError(f"'{value}' cannot be the name of a folder; take letters, digits, - and _")
        return value

    def server(self, environment: Mapping[str, str]) -> Server:
        """The server, with the credentials of the named files or the environment.

        Raises:
            UsageError: address or credentials are wrong.
        """
        credentials = read_credentials(
            environment, token_file=self.token_file, basic_auth_file=self.basic_auth_file
        )
        return Server(server_url(self.prometheus), credentials, self.ca_file, self.cert_file, self.key_file)

    def chosen(self) -> dict[str, Metric]:
        """The metrics to export, by name: those asked for, or all that have a query.

        Raises:
            UsageError: a metric has no query, or the catalogue is not valid.
        """
        catalogue = load_catalogue(self.catalogue) if self.catalogue else CATALOGUE
        known = {name: m for name, m in {**EXPORT_ONLY, **catalogue}.items() if m.prometheus}
        for name in self.metrics:
            if name not in known:
                raise UsageError(
                    f"There is no query for the metric {name}.",
                    hint=f"There are {', '.join(known)}; --catalogue adds others: [{name}.prometheus] query.",
                )
        return {name: known[name] for name in dict.fromkeys(self.metrics or known)}

    def target(self) -> Target:
        """The instants to ask for, and where and how files are written.

        Raises:
            UsageError: a time, the zone or the folder is wrong, or the period has not ended.
        """
        zone = self.timezone or _zone_of(self.since)
        since_ms, until_ms = (parse_instant(text, self.timezone) for text in (self.since, self.until))
        if until_ms > datetime.now(UTC).timestamp() * 1000:
            raise UsageError(
                f"The period ends in the future: --until {self.until}.",
                hint="Samples may still come; end it before now.",
            )
        root = local_folder(self.dest)
        if root is None:
            raise UsageError(f"{self.dest} is no local folder.", hint="Export to a folder and copy it.")
        span = span_of(since_ms, until_ms, self.step_s)
        window_s = self.window_s or max(4 * self.step_s, 60)
        url = server_url(self.prometheus)
        return Target(url, root, self.cluster, span, window_s, offset_of(parse_zone(zone), span))

    def draft(self, target: Target) -> ExportManifest:
        """The record of the export before anything is done."""
        now = datetime.now(UTC)
        since, until = (
            datetime.fromtimestamp(parse_instant(text, self.timezone) / 1000, UTC)
            for text in (self.since, self.until)
        )
        return ExportManifest(
            code_version=code_version(),
            packages=package_versions(),
            server=target.url,
            cluster=self.cluster,
            since=since,
            until=until,
            first_instant=datetime.fromtimestamp(target.span.start_s, UTC),
            step_s=self.step_s,
            window_s=target.window_s,
            timezone=_offset_text(target.offset),
            started=now,
            finished=now,
            metrics=(),
            outputs=(),
        )


@dataclass(frozen=True)
class ExportResult:
    """A finished export: its folder, its record, and what is to be looked at.

    `missing` are metrics that were asked for by name and are not there, `suspicious`
    those with which something is wrong.
    """

    dest: str
    manifest: ExportManifest
    missing: tuple[str, ...]
    suspicious: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether there is nothing to look at."""
        return not self.missing and not self.suspicious


@flow(
    name="export",
    flow_run_name="export {settings.prometheus}",
    task_runner=ThreadPoolTaskRunner(max_workers=METRICS_AT_ONCE),  # type: ignore[arg-type]
    validate_parameters=True,
    persist_result=False,
)
def export(settings: ExportSettings, listener: ExportListener | None = None) -> ExportResult:
    """Write the metrics of a Prometheus server as wide series to `settings.dest`, and a record of it last.

    Raises:
        UsageError: the settings are wrong, or the server does not let us in.
        SourceError: the server has none of the metrics in the period.
        ReadFailed: the server went away; what is done is kept.
    """
    metrics, target = settings.chosen(), settings.target()
    draft = settings.draft(target)
    kept = carried_over(target.root, draft, tuple(metrics))
    check_writable(target.root)
    store = UnitStore(target.root / ".state")
    if settings.force:
        store.discard("export/")
    with PrometheusClient(settings.server(os.environ), settings.at_once) as client:
        check_server(client)
        fetcher = Fetcher(client, store, settings.at_once)
        exporter = Exporter(metrics, target, fetcher, listener or SilentExport())
        try:
            futures = [export_metric.submit(name, exporter) for name in metrics]
            results = [future.result() for future in as_completed(futures)]
        except BaseException:
            # Also an interrupt: without this the task runner would wait for all metrics.
            exporter.stop()
            raise
    manifest = finish(target.root, draft, [*results, *kept], exporter.before)
    exported = {result.metric for result in results if result.status == "exported"}
    missing = tuple(name for name in settings.metrics if name not in exported)
    suspicious = tuple(sorted(result.metric for result in results if result.suspicious))
    return ExportResult(settings.dest, manifest, missing, suspicious)


def _zone_of(since: str) -> str:
    match = _ZONE_AT_END.search(since.strip())
    return match[1] if match and match[1].upper() != "Z" else "+00:00"


def _offset_text(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
