"""Comparisons with published numbers, and of two runs, as tables for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from schemas.pickles import WHOLE
from schemas.verification import Compared, Moved, Outcome

_STYLE: dict[Outcome, str] = {
    "agrees": "green",
    "differs": "bold red",
    "known discrepancy": "yellow",
    "not computable": "dim",
}


def verification_table(lines: Sequence[Compared], notes: Sequence[str]) -> Table:
    """A row a number or curve; `why` is the place of its reason in `notes`, from 1.

    `files` is what the public files give where that is another number than the published one. `apart` is
    the difference from them, or the distance of Kolmogorov and Smirnov in percent points.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("what", overflow="fold")
    table.add_column("cluster", no_wrap=True)
    for name in ("value", "published", "apart"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", no_wrap=True)
    for line in lines:
        table.add_row(
            escape(f"{line.id} {line.claim}" + (f" ({line.unit})" if line.unit not in ("", "1") else "")),
            escape(line.cluster),
            number(line.value),
            published(line),
            apart(line),
            f"[{_STYLE[line.outcome]}]{line.outcome}[/]",
            f"{notes.index(line.reason) + 1}" if line.reason else "",
        )
    return table


def published(line: Compared) -> str:
    """The published number, and what the public files give where that is another."""
    if line.public is None or line.public == line.published:
        return number(line.published)
    return "\n".join(filter(None, (number(line.published), f"files {number(line.public)}")))


def apart(line: Compared) -> str:
    """How far a run's value or curve is from the published one."""
    if line.distance_pct is not None:
        return f"{line.distance_pct:.1f} points"
    return "" if line.difference is None else f"{'+' if line.difference > 0 else ''}{number(line.difference)}"


def moved_table(lines: Sequence[Moved]) -> Table:
    """A row each thing that both runs have; `moved` in points of a distribution, or in percent."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("what", "cluster", "period"):
        table.add_column(name, overflow="fold")
    for name in ("first", "second", "moved"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            escape(f"{line.name} ({line.unit})" if line.unit not in ("", "1") else line.name),
            escape(line.cluster),
            escape("" if line.period == WHOLE else line.period),
            number(line.a),
            number(line.b),
            f"{line.moved_pct:.1f}",
        )
    return table


def reasons(lines: Sequence[Compared]) -> list[str]:
    """Every reason once, in the order of the lines."""
    return list(dict.fromkeys(line.reason for line in lines if line.reason))


def outcomes_text(lines: Sequence[Compared]) -> str:
    """How many lines have each verdict, in one line."""
    counts: Counter[Outcome] = Counter(line.outcome for line in lines)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _STYLE if counts[outcome])


def number(value: float | None) -> str:
    """A number with four digits that matter, or all of a count."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
