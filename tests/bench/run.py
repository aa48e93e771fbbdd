"""A whole run: files, rounds, agreement, results.

Belongs here: the order of things. Contenders take turns in every round, so that a busy
minute of the machine falls on all of them and not on the one that was last.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import statistics
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.bench.agree import Found, disagreements
from tests.bench.data import BenchFile, provide, warm
from tests.bench.machine import facts, parallel_gain
from tests.bench.measure import Sample, measure
from tests.bench.plan import OURS, Entry, Plan
from tests.bench.ratios import ratios_of
from tests.bench.results import Measurement, Results, medians_of

SUMS = "tests.bench.sums"
Say = Callable[[str], None]


class _Run:
    """What comes together while a run goes on."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.measurements: list[Measurement] = []
        self.problems: list[str] = []
        self.gains: list[float] = []
        self._outcomes: dict[str, list[Found]] = {}

    def content(self, name: str, entries: list[Entry]) -> None:
        """All rounds of a content."""
        for path in dict.fromkeys(entry.file.path for entry in entries):
            warm(path)
        for round_ in range(max(entry.rounds for entry in entries)):
            self._say(f"{name}, round {round_ + 1}")
            for entry in entries:
                if round_ < entry.rounds and not self._hopeless(entry):
                    self._take(entry, round_, measure(entry.contender, entry.file.path))
            self.gains.append(parallel_gain())

    def agreement(self) -> None:
        """Name everybody who found something else than the others."""
        for label, found in self._outcomes.items():
            self.problems += disagreements(label, found, OURS)

    def _hopeless(self, entry: Entry) -> bool:
        """Whether it failed before: it would fail again and take as long."""
        return any(
            one.failure and one.contender == entry.contender.name and one.file == entry.file.label
            for one in self.measurements
        )

    def _take(self, entry: Entry, round_: int, sample: Sample) -> None:
        name, label = entry.contender.name, entry.file.label
        self._outcomes.setdefault(label, []).append((name, sample.outcome))
        if sample.failure and not sample.timed_out:
            self.problems.append(f"{label}: {name} failed: {sample.failure}")
        self.measurements.append(
            Measurement(
                content=entry.file.content.name,
                contender=name,
                file=label,
                file_bytes=entry.file.path.stat().st_size,
                round=round_,
                process_s=sample.process_s,
                peak_bytes=sample.peak_bytes,
                work_s=sample.work_s,
                count=sample.outcome.count,
                curve=sample.outcome.digest,
                failure=sample.failure,
                timed_out=sample.timed_out,
                checks=entry.checks,
            )
        )


def carry_out(plan: Plan, say: Say = lambda line: None) -> Results:
    """Measure everything in the plan.

    Raises:
        BenchError: a file cannot be made.
    """
    provide({entry.file for entry in plan.entries}, say)
    run = _Run(say)
    for name, entries in plan.contents().items():
        run.content(name, entries)
    run.agreement()
    medians = medians_of(run.measurements)
    gain = statistics.median(run.gains)
    return Results(
        date=datetime.now().astimezone().isoformat(timespec="seconds"),
        scale=plan.scale,
        machine=facts(),
        measurements=tuple(run.measurements),
        medians=medians,
        ratios=ratios_of(medians, gain, _sums_cost(plan, say)),
        problems=tuple(run.problems),
        left_out=plan.left_out,
        parallel_gain=gain,
    )


def _sums_cost(plan: Plan, say: Say) -> float | None:
    """What entity and hour sums cost; None where their benchmark or the file for it is not there."""
    path = _sums_file(plan)
    if path is None or not plan.sums or importlib.util.find_spec(SUMS) is None:
        return None
    say("sums against counts alone")
    with contextlib.suppress(ImportError):  # it follows the kernel closely; the kernel may have moved on
        return float(importlib.import_module(SUMS).measure(path))
    return None


def _sums_file(plan: Plan) -> Path | None:
    """The file of GPU_UTIL, where ours is measured on it."""
    files: list[BenchFile] = [
        entry.file
        for entry in plan.entries
        if entry.file.content.name == "GPU_UTIL" and entry.contender.name == OURS and not entry.checks
    ]
    return files[0].path if files else None
