"""What a run looks like in a terminal: one bar a series, a total, findings as they come.

Everything here goes to stderr; stdout is for results.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from schemas.cleaning import CleanedSeries
from schemas.convert import ConvertedSeries
from schemas.findings import Finding, Severity
from schemas.job_records import JobLogRecord
from schemas.series import SeriesRecord
from tasks.progress import Reading

_STYLE: dict[Severity, str] = {"error": "bold red", "warning": "yellow", "info": "dim"}
_VERDICT_STYLE = {"passed": "green", "warned": "yellow", "failed": "bold red", "no data": "dim"}


def verdict_text(verdict: str) -> str:
    """A verdict with its colour, as rich markup."""
    style = _VERDICT_STYLE[verdict]
    return f"[{style}]{verdict}[/]"


class Speed(TransferSpeedColumn):
    """The rate in the binary units of the sizes beside it."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{binary_size(speed)}/s", style="progress.data.speed")


def binary_size(size: float) -> str:
    """A size in binary units: 312.5 MiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


class TerminalListener:
    """Shows the events of a run on a console; `verbosity` below 0 shows nothing, above 0 also infos."""

    def __init__(self, console: Console, progress: Progress, verbosity: int) -> None:
        self._console = console
        self._progress = progress
        self._verbosity = verbosity
        self._lock = threading.Lock()
        self._total = progress.add_task("[bold]starting", total=None)
        self._bars: dict[str, TaskID] = {}
        self._bytes = 0

    def found(self, reading: Reading) -> None:
        """Say what will be read, and set the size of the whole."""
        with self._lock:
            self._bytes += reading.wanted
            self._progress.update(self._total, description="[bold]total", total=self._bytes)
        if self._verbosity >= 0:
            self._console.print(escape(reading_text(reading)), highlight=False, soft_wrap=True)

    def planned(self, label: str, number: int, size: int) -> None:
        """Show a bar for a pass that reads anything; a further pass adds to the whole."""
        if not size:
            return
        name = escape(label if number == 1 else f"{label} (pass {number})")
        with self._lock:
            if label in self._bars:
                self._progress.remove_task(self._bars.pop(label))
            self._bars[label] = self._progress.add_task(name, total=size)
            if number > 1:
                self._bytes += size
                self._progress.update(self._total, total=self._bytes)

    def read(self, label: str, size: int) -> None:
        """Move the bars on."""
        with self._lock:
            if label in self._bars:
                self._progress.advance(self._bars[label], size)
            self._progress.advance(self._total, size)

    def judged(self, record: SeriesRecord) -> None:
        """Replace the bar by one line, and a line for each finding that matters."""
        observed = record.observed
        facts = f"{observed.rows:,} rows, {observed.values:,} values" if observed.rows else "no rows"
        self._done(
            f"{record.cluster}/{record.series}",
            verdict_text(record.verdict),
            facts,
            record.findings,
            named=len(observed.files) > 1,
        )

    def cleaned(self, record: CleanedSeries) -> None:
        """Replace the bar by one line, and a line for each finding."""
        style = {"cleaned": "green", "failed": "bold red", "left out": "dim"}[record.status]
        self._done(
            f"{record.cluster}/{record.series}",
            f"[{style}]{record.status}[/]",
            cleaned_text(record),
            record.findings,
            named=len(record.inputs) > 1,
        )

    def converted(self, record: ConvertedSeries) -> None:
        """Replace the bar by one line, and a line for each finding."""
        style = {"converted": "green", "copied": "dim", "failed": "bold red"}[record.status]
        facts = f"{record.rows:,} rows, {record.columns:,} columns, {record.row_groups:,} row groups"
        if record.status != "converted":
            facts = "long form, as it is" if record.status == "copied" else "not written"
        self._done(
            f"{record.cluster}/{record.series}",
            f"[{style}]{record.status}[/]",
            facts,
            record.findings,
            named=len(record.inputs) > 1,
        )

    def logged(self, record: JobLogRecord) -> None:
        """Replace the bar by one line, and a line for each finding that matters."""
        kinds = f"{record.gpu_jobs:,} with GPUs, {record.cpu_jobs:,} without"
        rows = "row" if record.left_out == 1 else "rows"
        left = f"; {record.left_out:,} {rows} left out" if record.left_out else ""
        self._done(
            f"{record.cluster}/job log",
            verdict_text(record.verdict),
            f"{record.jobs:,} jobs ({kinds}){left}" if record.rows else "no jobs",
            record.findings,
            named=False,
        )

    def _done(
        self, label: str, verdict: str, facts: str, findings: Sequence[Finding], *, named: bool
    ) -> None:
        with self._lock:
            bar = self._bars.pop(label, None)
            if bar is not None:
                self._progress.remove_task(bar)
        if self._verbosity < 0:
            return
        self._console.print(f"{verdict} {escape(label)}: {facts}", highlight=False)
        for finding in findings:
            if finding.severity != "info" or self._verbosity > 0:
                text = finding_text(finding, named=named)
                self._console.print(f"  {text}", highlight=False, soft_wrap=True)


def cleaned_text(record: CleanedSeries) -> str:
    """What became of the rows and columns of a raw series, in one line."""
    if record.status != "cleaned":
        return "long form, not cleaned" if record.status == "left out" else "not written"
    left_out = {
        "of a time that was there": record.duplicates,
        "in the broken window": record.window_rows,
        "blank": record.blank_rows,
    }
    said = [f"{count:,} {why}" for why, count in left_out.items() if count]
    rows = f"{record.rows_written:,} of {record.rows:,} rows" + (f" ({', '.join(said)})" if said else "")
    blank = f" ({len(record.blank_columns):,} blank left out)" if record.blank_columns else ""
    order = "" if record.in_order else ", put in order"
    return f"{rows}, {record.columns:,} columns{blank}{order}"


def reading_text(reading: Reading) -> str:
    """What a run will read, in one line."""
    of = f"{binary_size(reading.stored)} in {reading.files} files of {reading.source}"
    if not reading.wanted:
        return f"Nothing to read of {of}: all is known"
    done = f" ({binary_size(reading.done)} were read before)" if reading.done else ""
    return f"Reading {binary_size(reading.wanted - reading.done)} of {of}{done}"


def finding_text(finding: Finding, *, named: bool = False) -> str:
    """A finding in one line of rich markup, with its first place; the file of that if `named`."""
    where = ""
    if finding.examples:
        first = finding.examples[0]
        parts = [first.file.rsplit("/", 1)[-1] if named else ""]
        parts += [f"row {first.row:,}" if first.row else "", f"column {first.column}" if first.column else ""]
        parts += [f"byte {first.byte_offset:,}" if first.byte_offset is not None else ""]
        parts += [f"value {first.value!r}" if first.value is not None else ""]
        place = ", ".join(part for part in parts if part)
        where = f" (first: {escape(place)})" if place else ""
    style = _STYLE[finding.severity]
    return (
        f"[{style}]{finding.severity}[/] {finding.rule} × {finding.count:,}: {escape(finding.message)}{where}"
    )


@contextmanager
def watch(console: Console, verbosity: int) -> Iterator[TerminalListener]:
    """A listener that draws on `console` while the block runs; bars only on a terminal."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        Speed(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # Logs and bars do not go together.
        disable=verbosity != 0 or not console.is_terminal,
        speed_estimate_period=60,
    )
    with progress:
        yield TerminalListener(console, progress, verbosity)
