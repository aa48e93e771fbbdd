"""Results for people: tables in the terminal, Markdown, and the block in the README.

Belongs here: wording and layout. Nothing is computed here that a result file does not hold.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.data import MEGABYTE, BenchError
from tests.bench.results import Median, Ratio, Results

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
SPEEDS = ("File", "Method", "MB/s", "s", "Peak MB", "Rounds")
REQUIREMENTS = ("Requirement", "Measured", "Limit", "Aim", "Verdict")
_COLOURS = {"met": "green", "missed": "red", "not measured": "dim"}


def show(results: Results, console: Console) -> None:
    """Print a run."""
    speeds = Table(*SPEEDS, title=f"Scale {results.scale:g}")
    for row in _speed_rows(results):
        speeds.add_row(*row)
    console.print(speeds)
    requirements = Table(*REQUIREMENTS, title="Requirements")
    for ratio in results.ratios:
        *cells, verdict = _ratio_row(ratio)
        requirements.add_row(*cells, f"[{_COLOURS[verdict]}]{verdict}[/]")
    console.print(requirements)
    for line in _machine_lines(results):
        console.print(line, markup=False, highlight=False)
    for line in results.left_out:
        console.print(f"left out: {line}", markup=False)
    for line in results.problems:
        console.print(f"PROBLEM: {line}", markup=False, style="bold red")


def markdown(results: Results) -> str:
    """A run as Markdown, without a heading: it goes into texts that have their own."""
    parts = [_markdown_table(SPEEDS, _speed_rows(results))]
    parts.append(_markdown_table(REQUIREMENTS, [_ratio_row(ratio) for ratio in results.ratios]))
    parts.append("\n".join(f"- {line}" for line in _machine_lines(results)))
    if results.left_out:
        parts.append("\n".join(f"- Left out: {line}" for line in results.left_out))
    if results.problems:
        parts.append("\n".join(f"- **Problem: {line}**" for line in results.problems))
    return "\n\n".join(parts) + "\n"


def put_between(text: str, block: str) -> str:
    """`text` with `block` in place of what stands between the two markers, which stay.

    Raises:
        BenchError: the markers are not there once each and in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise BenchError(f"the text needs the lines {BEGIN} and {END}, once each and in this order")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{block.strip()}\n{END}{after}"


def renew_readme(results: Results, path: Path) -> None:
    """Put a run into the README.

    Raises:
        BenchError: it has no place for it, or the run has problems.
    """
    if results.problems:
        raise BenchError("a run with problems does not go into the README")
    path.write_text(put_between(path.read_text(encoding="utf-8"), markdown(results)), encoding="utf-8")


def _speed_rows(results: Results) -> list[tuple[str, ...]]:
    return [_speed_row(median) for median in results.medians]


def _speed_row(median: Median) -> tuple[str, ...]:
    seconds = median.failure or "" if median.paced_s is None else f"{median.paced_s:.2f}"
    speed = "" if median.mb_per_s is None else f"{median.mb_per_s:,.0f}"
    peak = f"{median.peak_bytes / MEGABYTE:,.0f}"
    return median.file, median.contender, speed, seconds, peak, str(median.rounds)


def _ratio_row(ratio: Ratio) -> tuple[str, ...]:
    sign = "≥" if ratio.better == "higher" else "≤"
    name = f"{ratio.name} ({ratio.note})" if ratio.note else ratio.name
    aim = "" if ratio.aim is None else f"{ratio.aim:g} {ratio.unit}"
    value = "" if ratio.value is None else f"{ratio.value:,.2f} {ratio.unit}"
    return name, value, f"{sign} {ratio.limit:g} {ratio.unit}", aim, ratio.verdict


def _machine_lines(results: Results) -> list[str]:
    machine = results.machine
    versions = ", ".join(f"{name} {version or 'absent'}" for name, version in machine["versions"].items())
    lines = [
        f"{machine['cpu']}, {machine['cores']} processors, {machine['ram_gb']:g} GB; {machine['kernel']}; "
        f"Python {machine['python']}; {versions}",
        f"Measured {results.date} at scale {results.scale:g}; medians, each measurement a process of its "
        "own, files in the page cache. s is the work after imports and a warm-up, for wc and summarize the "
        "whole process.",
    ]
    if results.parallel_gain is not None:
        lines.append(
            f"Two threads do {results.parallel_gain:.2f} times the arithmetic of one on this machine, "
            "without touching memory; the second thread of ours can hardly gain more."
        )
    return lines


def _markdown_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
