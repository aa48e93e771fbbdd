"""The command line. Each command is a few lines around a flow or a function of `tasks`.

Exit codes: 0 all good; 1 failed; 2 bad usage; 3 finished, but an input was
judged failed; 130 interrupted, as shells expect. Results go to stdout,
everything else to stderr. Imports that take long happen inside the commands, so
that `--help` is quick.
"""

from __future__ import annotations

import gc
import json
import shlex
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter
from rich.console import Console
from rich.markup import escape

from schemas.errors import AcmetraceError, SourceError, UsageError
from schemas.version import code_version

if TYPE_CHECKING:
    from pydantic import ValidationError

    from flows.settings import RunSettings
    from flows.summarize import RunResult

OK, FAILED, BAD_USAGE, INPUT_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

out = Console()
err = Console(stderr=True)

app = App(
    name="acmetrace",
    help="Exact distributions of GPU cluster telemetry, at the speed of the disk.",
    help_epilogue=(
        "Exit codes: 0 all good, 1 failed, 2 bad usage, 3 finished but an input was judged failed, "
        "130 interrupted."
    ),
    version=code_version,
    # Markdown, the default, takes longer to import than all else that help needs.
    help_format="plaintext",
    console=out,
    error_console=err,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(show_default=False),
)

_OUTPUT = Group("What is printed", sort_key=2)
_SCAN = Group("What is read, and how", sort_key=1)


@Parameter(name="*")
@dataclass(frozen=True)
class Talk:
    """How much a command says."""

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", group=_OUTPUT)] = False
    """Say nothing but errors."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative="", group=_OUTPUT)] = False
    """Say more: all findings, and the logs of the flow."""
    json: Annotated[bool, Parameter(name="--json", negative="", group=_OUTPUT)] = False
    """Print the result as JSON on stdout, for other programs."""

    @property
    def verbosity(self) -> int:
        """-1 quiet, 0 normal, 1 verbose."""
        return 1 if self.verbose else -1 if self.quiet else 0


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
    catalogue: Annotated[Path | None, Parameter(group=_SCAN)] = None
    """TOML file with metrics of your own."""
    max_bad_share: Annotated[float, Parameter(group=_SCAN)] = 0.001
    """Share of unreadable cells above which a file is judged failed (0.001)."""
    min_coverage: Annotated[float, Parameter(group=_SCAN)] = 0.5
    """Share of filled cells below which coverage is called low (0.5)."""
    gap_intervals: Annotated[float, Parameter(group=_SCAN)] = 1.5
    """Sampling intervals from which on a step is a gap (1.5)."""
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
                workers=self.workers,
                scheduler=self.scheduler,
                block_bytes=self.block_size,
                force=self.force,
            )
        except ValidationError as error:
            raise UsageError(_first_problem(error)) from error


@app.command
def sample(
    dest: Path,
    *,
    rows: int | None = None,
    size: str | None = None,
    clusters: str = "seren,kalos",
    gpus: int | None = None,
    metric: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    seed: int = 0,
    faults: Annotated[bool, Parameter(negative="")] = False,
    workers: int | None = None,
    talk: Talk = Talk(),
) -> int:
    """Write a synthetic dataset in the released layout.

    Parameters
    ----------
    dest
        Folder to write to; it must be empty or absent.
    rows
        Samples per series (15 s apart). Without rows and size the sample is small.
    size
        Size of the whole dataset, such as 4GB; sets the number of rows.
    clusters
        Clusters to write, separated by commas.
    gpus
        GPUs per cluster, a multiple of 8.
    metric
        Only these series.
    seed
        The same seed gives the same bytes.
    faults
        Plant one of each known fault, and list them in planted_faults.json.
    workers
        Threads to write with.
    """
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeElapsedColumn, TransferSpeedColumn

    from flows.cluster import default_workers
    from flows.settings import parse_size
    from tasks.sampling import SampleOptions, write_sample

    try:
        size_bytes = parse_size(size) if size else None
    except ValueError as error:
        raise UsageError(f"--size: {error}.") from error
    options = SampleOptions(
        rows=rows,
        clusters=tuple(name.strip() for name in clusters.split(",") if name.strip()),
        gpus=gpus,
        metrics=metric,
        seed=seed,
        faults=faults,
        size_bytes=size_bytes,
        workers=workers or default_workers(),
    )
    columns = ("writing", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=err, transient=True, disable=talk.quiet or not err.is_terminal
    ) as progress:
        bar = progress.add_task("sample", total=size_bytes)
        report = write_sample(dest, options, lambda count: progress.advance(bar, count))
    if talk.json:
        _print_json(
            {
                "dest": str(dest),
                "bytes": report.total_bytes,
                "files": [{"path": f.path, "bytes": f.bytes, "rows": f.rows} for f in report.files],
                "faults": len(report.faults),
            }
        )
    elif not talk.quiet:
        planted = f", {len(report.faults)} planted faults" if report.faults else ""
        out.print(
            f"{len(report.files)} files, {report.total_bytes / 1e6:,.1f} MB{planted} in {dest}",
            highlight=False,
        )
        out.print(f"Next: acmetrace run {dest} --out out", highlight=False)
    return OK


@app.command
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


@app.command
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


@app.command
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


@app.command
def show(
    out_: Annotated[str, Parameter(name="out")],
    *,
    cluster: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    metric: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    talk: Talk = Talk(),
) -> int:
    """Show a finished run: counts, quantiles, share of zeros, curve and verdict of each series.

    Parameters
    ----------
    out_
        Output folder or URL of a finished run.
    cluster
        Only these clusters.
    metric
        Only these metrics.
    """
    from flows.show import run_rows, run_table

    rows = run_rows(out_, cluster, metric)
    if talk.json:
        _print_json(rows)
    else:
        out.print(run_table(rows, out.width))
    return INPUT_FAILED if any(row["verdict"] == "failed" for row in rows) else OK


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
            if command == "run":
                result = pipeline(settings, listener)
            else:
                result = summarize_flow(settings, "judge" if command == "validate" else "publish", listener)
    if talk.json:
        _print_json(_as_json(result, kept=kept))
    elif not talk.quiet:
        _print_result(result, kept=kept)
    return INPUT_FAILED if result.failed else OK


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
    _say(f"{len(result.records)} series: {said}")
    if not kept:
        return
    written = sum(entry.status == "written" for entry in result.manifest.pickles)
    _say(f"{len(result.manifest.outputs)} files, {written} pickles in {result.out}")
    _say(f"Next: acmetrace show {shlex.quote(result.out)}")


def _say(text: str) -> None:
    out.print(text, highlight=False, markup=False, soft_wrap=True)


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}."


def main() -> None:
    """The console command: run, and end with the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill stops as cleanly as Ctrl-C
    code = exit_code(sys.argv[1:])
    gc.freeze()  # else Python looks for garbage among all that was imported: a second, for nothing
    sys.exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run the command line with `arguments` and give its exit code."""
    try:
        code = app(arguments, exit_on_error=False)
    except CycloptsError:
        return BAD_USAGE  # cyclopts has said what is wrong
    except (UsageError, SourceError) as error:
        err.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return BAD_USAGE
    except AcmetraceError as error:
        err.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return FAILED
    except KeyboardInterrupt:
        err.print("Interrupted. Finished work is kept; the same command goes on from there.", highlight=False)
        return INTERRUPTED
    return code if isinstance(code, int) else OK
