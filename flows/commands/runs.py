"""`acmetrace summarize`, `validate` and `run`: the flows over all series of a source."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from flows.commands.common import INPUT_FAILED, OK, Talk, err, first_problem, print_json, say
from flows.commands.jobs import jobs_as_json, print_jobs
from schemas.errors import UsageError

if TYPE_CHECKING:
    from flows.settings import RunSettings
    from flows.summarize import RunResult

_SCAN = Group("What is read, and how", sort_key=1)


@Parameter(name="*")
@dataclass(frozen=True)
class Scan:
    """What a scan reads and how."""

    cluster: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", group=_SCAN)] = ()
    """Only these clusters."""
    metric: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", group=_SCAN)] = ()
    """Only these metrics."""
    since: Annotated[str | None, Parameter(group=_SCAN)] = None
    """Only rows from this time on: 2023-08-01T00:00:00+08:00."""
    until: Annotated[str | None, Parameter(group=_SCAN)] = None
    """Only rows before this time."""
    timezone: Annotated[str | None, Parameter(group=_SCAN)] = None
    """Zone of times that have none: +08:00 or Asia/Shanghai."""
    raw: Annotated[bool, Parameter(negative="", group=_SCAN)] = False
    """The series are raw exports: clean them while they are counted, as acmetrace clean would."""
    catalogue: Annotated[Path | None, Parameter(group=_SCAN)] = None
    """TOML file with metrics of your own."""
    max_bad_share: Annotated[float, Parameter(group=_SCAN)] = 0.001
    """Share of unreadable cells above which a file is judged failed (0.001)."""
    min_coverage: Annotated[float, Parameter(group=_SCAN)] = 0.5
    """Share of filled cells below which coverage is called low (0.5)."""
    gap_intervals: Annotated[float, Parameter(group=_SCAN)] = 1.5
    """Sampling intervals from which on a step is a gap (1.5)."""
    pue: Annotated[float, Parameter(group=_SCAN)] = 1.25
    """Power usage effectiveness of the data centre, for its energy (1.25)."""
    kg_per_kwh: Annotated[float, Parameter(group=_SCAN)] = 0.478
    """Emission factor of its electricity, kg CO2e a kWh (0.478)."""
    workers: Annotated[int | None, Parameter(group=_SCAN)] = None
    """Threads to scan with; all cores by default."""
    scheduler: Annotated[str | None, Parameter(group=_SCAN)] = None
    """Address of a running Dask scheduler to use instead."""
    block_size: Annotated[str | None, Parameter(group=_SCAN)] = None
    """Bytes of a unit of work, such as 64MiB; by default what fits the file and the workers."""
    force: Annotated[bool, Parameter(negative="", group=_SCAN)] = False
    """Forget finished work and read everything again."""

    def settings(self, source: str, out: str) -> RunSettings:
        """The checked settings of a run."""
        from pydantic import ValidationError

        from flows.settings import RunSettings
        from schemas.series import Thresholds

        try:
            return RunSettings(
                source=source,
                out=out,
                clusters=self.cluster,
                metrics=self.metric,
                since=self.since,
                until=self.until,
                timezone=self.timezone,
                catalogue=str(self.catalogue) if self.catalogue else None,
                thresholds=Thresholds(
                    bad_cell_share=self.max_bad_share,
                    low_coverage_share=self.min_coverage,
                    gap_intervals=self.gap_intervals,
                ),
                pue=self.pue,
                kg_per_kwh=self.kg_per_kwh,
                workers=self.workers,
                scheduler=self.scheduler,
                block_bytes=self.block_size,
                force=self.force,
                raw=self.raw,
            )
        except ValidationError as error:
            raise UsageError(first_problem(error)) from error


def summarize(source: str, *, out: str, scan: Scan = Scan(), talk: Talk = Talk()) -> int:
    """Summarise telemetry: exact curves, entities, hours, validated schemas, util_pkl.

    Parameters
    ----------
    source
        A dataset folder, any folder of series files, one file, or an fsspec URL of these.
    out
        Folder or URL for the outputs.
    """
    return _run("summarize", scan, source, out, talk)


def validate(source: str, *, out: str | None = None, scan: Scan = Scan(), talk: Talk = Talk()) -> int:
    """Scan and judge only: every finding, a verdict for each series, no summaries.

    Parameters
    ----------
    source
        A dataset folder, any folder of series files, one file, or an fsspec URL of these.
    out
        Folder to keep finished work and the validated schemas in; a temporary one by default.
    """
    if out is not None:
        return _run("validate", scan, source, out, talk)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="acmetrace-") as folder:
        return _run("validate", scan, source, folder, talk, kept=False)


def run(source: str, *, out: str, scan: Scan = Scan(), talk: Talk = Talk()) -> int:
    """Run the whole pipeline on a dataset: everything there is, in order.

    Parameters
    ----------
    source
        A dataset folder, any folder of series files, one file, or an fsspec URL of these.
    out
        Folder or URL for the outputs.
    """
    return _run("run", scan, source, out, talk)


def _run(command: str, scan: Scan, source: str, folder: str, talk: Talk, *, kept: bool = True) -> int:
    """Run the flow behind a command and print what it gave; `kept`: its outputs stay."""
    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:  # first, because nothing else takes as long to start
        with without_collection():
            settings = scan.settings(source, folder)
            settings.scan_options()  # what is wrong with them is said before any work

            from tasks.storage.publish import check_writable

            check_writable(folder)

            from flows.console import watch
            from flows.pipeline import pipeline
            from flows.ready import load_ahead
            from flows.summarize import summarize as summarize_flow

            load_ahead()
        with watch(err, talk.verbosity) as listener, server.in_use():
            logs = None
            if command == "run":
                result = pipeline(settings, listener)
                telemetry, logs = result.telemetry, result.jobs
            else:
                telemetry = summarize_flow(
                    settings, "judge" if command == "validate" else "publish", listener
                )
    if talk.json:
        told = {} if telemetry is None else _as_json(telemetry, kept=kept)
        print_json(told if logs is None else {**told, "jobs": jobs_as_json(logs)})
    elif not talk.quiet:
        if telemetry is not None:
            _print_result(telemetry, kept=kept)
        if logs is not None:
            print_jobs(logs, folder, talk.verbosity)
        if kept:
            say(f"Next: acmetrace show {shlex.quote(folder)}")
    return INPUT_FAILED if (telemetry and telemetry.failed) or (logs and logs.failed) else OK


def _as_json(result: RunResult, *, kept: bool) -> dict[str, Any]:
    return {
        "out": result.out if kept else None,
        "series": [
            {
                "cluster": record.cluster,
                "series": record.series,
                "verdict": record.verdict,
                "observed": record.observed.model_dump(mode="json"),
                "curves": [curve.model_dump(mode="json") for curve in record.curves],
                "findings": [finding.model_dump(mode="json") for finding in record.findings],
            }
            for record in result.records
        ],
        "pickles": [entry.model_dump(mode="json") for entry in result.manifest.pickles],
    }


def _print_result(result: RunResult, *, kept: bool) -> None:
    verdicts = Counter(record.verdict for record in result.records)
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    say(f"{len(result.records)} series: {said}")
    if not kept:
        return
    written = sum(entry.status == "written" for entry in result.manifest.pickles)
    say(f"{len(result.manifest.outputs)} files, {written} pickles in {result.out}")
