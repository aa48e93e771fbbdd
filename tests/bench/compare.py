"""Two runs against each other: did a requirement's figure get worse?

Belongs here: what may be compared, and what counts as worse. Only ratios are compared;
seconds of two days or machines say more about those than about the code.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.results import Ratio, Results

TOLERANCE = 0.20  # shared machines scatter by half of it
WORSE, INCOMPARABLE = 1, 2


@dataclass(frozen=True)
class Comparison:
    """Lines to print and the exit code: 0 as good, 1 something is worse, 2 not to be compared."""

    lines: tuple[str, ...]
    code: int


def compare(old: Results, new: Results) -> Comparison:
    """The changes of all ratios from one run to another."""
    obstacle = _obstacle(old, new)
    if obstacle:
        return Comparison((f"cannot be compared: {obstacle}",), INCOMPARABLE)
    after = {ratio.name: ratio for ratio in new.ratios}
    lines, worse, lost, seen = [], False, False, 0
    for before in old.ratios:
        now = after.get(before.name)
        if before.value is None:
            continue
        if now is None or now.value is None:
            lost = True
            lines.append(f"{before.name}: {before.value:.2f} {before.unit}, not measured now")
            continue
        seen += 1
        loss = _loss(before, before.value, now.value)
        bad = loss > TOLERANCE
        worse = worse or bad
        lines.append(
            f"{before.name}: {before.value:.2f} -> {now.value:.2f} {before.unit}, "
            f"{abs(loss):.0%} {'worse' if loss > 0 else 'better'}{'  <-- WORSE' if bad else ''}"
        )
    if not seen:
        return Comparison(("cannot be compared: the runs have no ratio in common", *lines), INCOMPARABLE)
    if old.machine.get("cpu") != new.machine.get("cpu"):
        lines.append("note: the runs are of different processors")
    # What is no longer measured may hide anything: that is no "as good".
    return Comparison(tuple(lines), WORSE if worse else INCOMPARABLE if lost else 0)


def _obstacle(old: Results, new: Results) -> str | None:
    if old.format_version != new.format_version:
        return f"formats {old.format_version} and {new.format_version}"
    if old.scale != new.scale:
        return f"scales {old.scale:g} and {new.scale:g}"
    for name, run in (("old", old), ("new", new)):
        if run.problems:
            return f"the {name} run has problems: {'; '.join(run.problems)}"
    return None


def _loss(ratio: Ratio, old: float, new: float) -> float:
    """By which share of the old value the new one is worse; negative where it is better."""
    if old == new:
        return 0.0
    change = (new - old) / abs(old) if old else float("inf") * (1 if new > old else -1)
    return -change if ratio.better == "higher" else change
