"""`acmetrace jobs`: job logs to one canonical table, and what they say of their clusters."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, err, first_problem, print_json, say
from schemas.errors import UsageError

if TYPE_CHECKING:
    from flows.jobs import JobsResult

jobs_app = App(name="jobs", help="Read job logs into one table, characterise their clusters, export jobs.")


@jobs_app.default
def jobs(
    source: str,
    *,
    out: str,
    cluster: Names = (),
    format: str | None = None,
    timezone: str | None = None,
    gpus: Names = (),
    telemetry: str | None = None,
    max_bad_share: float = 0.001,
    force: Annotated[bool, Parameter(negative="")] = False,
    talk: Talk = Talk(),
) -> int:
    """Read job logs into one canonical table, and characterise their clusters.

    Reads AcmeTrace's logs of Seren and Kalos, Helios' cluster_log.csv, Philly's JSON and CSV, PAI's CSV,
    and what sacct --parsable2 prints.

    Parameters
    ----------
    source
        A log, a folder with logs, or an fsspec URL of these.
    out
        Folder or URL for the outputs; they go below jobs/.
    cluster
        Only the logs of these clusters.
    format
        The kind of the log, where its columns do not tell: seren, kalos, helios, philly, pai, sacct.
    timezone
        Zone of times that have none: +08:00 or Asia/Shanghai.
    gpus
        GPUs of a cluster, as NAME=NUMBER; needed for shares of the capacity.
    telemetry
        Output folder of a run over the telemetry of the same clusters, to hold the logs against; by
        default that of this command.
    max_bad_share
        Share of unreadable cells above which a log is judged failed (0.001).
    force
        Read again what was read before.
    """
    from pydantic import ValidationError

    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        with without_collection():
            from flows.console import watch
            from flows.jobs import JobsSettings
            from flows.jobs import jobs as jobs_flow
            from tasks.storage.publish import check_writable

            try:
                settings = JobsSettings(
                    source=source,
                    out=out,
                    clusters=cluster,
                    format=format,
                    timezone=timezone,
                    gpus=_numbers(gpus),
                    telemetry=telemetry,
                    max_bad_share=max_bad_share,
                    force=force,
                )
            except ValidationError as error:
                raise UsageError(first_problem(error)) from error
            check_writable(out)
        with watch(err, talk.verbosity) as listener, server.in_use():
            result = jobs_flow(settings, listener)
    if talk.json:
        print_json(jobs_as_json(result))
    elif not talk.quiet:
        print_jobs(result, out, talk.verbosity)
        say(f"Next: acmetrace show {shlex.quote(out)}")
    return INPUT_FAILED if result.failed else OK


@jobs_app.command
def export(
    out: str,
    *,
    format: Literal["parquet", "csv", "swf", "helios"],
    to: str,
    cluster: Names = (),
    processors: Literal["gpus", "cpus"] = "gpus",
    talk: Talk = Talk(),
) -> int:
    """Write the jobs of a finished run in another form.

    Parameters
    ----------
    out
        Output folder of acmetrace jobs or run.
    format
        parquet: the job table; csv: the same as text; swf: the Standard Workload Format of the
        Parallel Workloads Archive; helios: the form of Helios' cluster_log.csv.
    to
        File to write; for several clusters a folder, with a file each.
    cluster
        Only these clusters.
    processors
        What a processor of swf is: a GPU, which leaves out CPU jobs, or a CPU.
    """
    from flows.environment import without_collection

    with without_collection():
        from tasks.joblog.export import export_jobs

    reports = export_jobs(out, format, to, cluster, processors)
    if talk.json:
        print_json([report.as_json() for report in reports])
    elif not talk.quiet:
        for report in reports:
            said = f"; {report.note}" if report.note else ""
            say(f"{report.cluster}: {report.jobs:,} jobs in {report.path}{said}")
    return OK


def print_jobs(result: JobsResult, folder: str, verbosity: int) -> None:
    """What a run over job logs gave to `folder`, on stdout."""
    manifest = result.manifest
    verdicts = Counter(record.verdict for record in manifest.logs)
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    count = sum(record.jobs for record in manifest.logs)
    for cluster, notes in manifest.notes.items():
        for note in notes:
            say(f"{cluster}: {note}")
    if manifest.skipped:
        say(
            f"{len(manifest.skipped)} other files are no job logs"
            + ("" if verbosity > 0 else " (-v names them)")
        )
        for reason in manifest.skipped.values() if verbosity > 0 else ():
            say(f"  {reason}")
    logs = "job log" if len(manifest.logs) == 1 else "job logs"
    say(f"{len(manifest.logs)} {logs}: {said}; {count:,} jobs")
    say(f"{len(manifest.outputs)} files in {folder.rstrip('/')}/jobs")


def _numbers(gpus: tuple[str, ...]) -> dict[str, int]:
    told = {}
    for text in gpus:
        name, mark, number = text.rpartition("=")
        if not mark or not number.isdigit() or int(number) == 0:
            raise UsageError(f"--gpus {text} is not NAME=NUMBER.", hint="For example --gpus kalos=2416.")
        told[name] = int(number)
    return told


def jobs_as_json(result: JobsResult) -> dict[str, Any]:
    """The manifest of a run over job logs, without its list of files."""
    return {"out": result.out, **result.manifest.model_dump(mode="json", exclude={"outputs"})}
