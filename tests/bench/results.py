"""What a run measured, as records that go to a result file and come back from it.

Belongs here: the form of result files, and medians. A file keeps every measurement, so
that a doubtful median can be looked into later without measuring again.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.data import MEGABYTE, BenchError

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Measurement:
    """One process. `curve` is a digest; `checks` marks ours on a tenth, whose time is no result."""

    content: str
    contender: str
    file: str
    file_bytes: int
    round: int
    process_s: float
    peak_bytes: int
    work_s: float | None = None
    count: int | None = None
    curve: str | None = None
    failure: str | None = None
    timed_out: bool = False
    checks: bool = False

    @property
    def paced_s(self) -> float:
        """The seconds speed is counted from: the work alone where it can be told apart."""
        return self.process_s if self.work_s is None else self.work_s


@dataclass(frozen=True)
class Median:
    """A contender on a content over all rounds; None where every round failed.

    peak_bytes is the median too; worst_peak_bytes that of the hungriest round.
    """

    content: str
    contender: str
    file: str
    rounds: int
    paced_s: float | None
    process_s: float | None
    mb_per_s: float | None
    peak_bytes: int
    worst_peak_bytes: int
    failure: str | None = None


@dataclass(frozen=True)
class Ratio:
    """A figure with a requirement. `better` says which way; a value of None was not measured."""

    name: str
    value: float | None
    limit: float
    better: str
    unit: str = "x"
    aim: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the requirement is met; None where nothing is known."""
        if self.value is None:
            return None
        return self.value >= self.limit if self.better == "higher" else self.value <= self.limit

    @property
    def verdict(self) -> str:
        """The same in a word or two."""
        return {True: "met", False: "missed", None: "not measured"}[self.met]


@dataclass(frozen=True)
class Results:
    """A run: when, at which scale, on which machine, and everything that was measured."""

    date: str
    scale: float
    machine: dict[str, Any]
    measurements: tuple[Measurement, ...]
    medians: tuple[Median, ...]
    ratios: tuple[Ratio, ...]
    problems: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    parallel_gain: float | None = None
    format_version: int = field(default=FORMAT_VERSION)

    def save(self, path: Path) -> None:
        """Write the run as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        found = asdict(self)
        for ratio, record in zip(self.ratios, found["ratios"], strict=True):
            record["verdict"] = ratio.verdict
        path.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(path: Path) -> Results:
    """A run that `Results.save` wrote.

    Raises:
        BenchError: there is no such file, or it is none of this version.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format_version"] != FORMAT_VERSION:
            raise BenchError(f"{path} has format {found['format_version']}, expected {FORMAT_VERSION}")
        for record in found["ratios"]:
            record.pop("verdict", None)
        records = {"measurements": Measurement, "medians": Median, "ratios": Ratio}
        found |= {name: tuple(kind(**record) for record in found[name]) for name, kind in records.items()}
        found |= {name: tuple(found[name]) for name in ("problems", "left_out")}
        return Results(**found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path} is no result of a benchmark run: {error}") from error


def medians_of(measurements: Iterable[Measurement]) -> tuple[Median, ...]:
    """The medians of each contender on each content, in the order of their first measurement."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for one in measurements:
        if not one.checks:
            groups.setdefault((one.content, one.contender), []).append(one)
    return tuple(_median(group) for group in groups.values())


def _median(group: list[Measurement]) -> Median:
    good, first = [one for one in group if one.failure is None], group[0]
    peaks = [one.peak_bytes for one in good or group]
    paced = statistics.median(one.paced_s for one in good) if good else None
    return Median(
        content=first.content,
        contender=first.contender,
        file=first.file,
        rounds=len(good),
        paced_s=paced,
        process_s=statistics.median(one.process_s for one in good) if good else None,
        mb_per_s=first.file_bytes / MEGABYTE / paced if paced else None,
        peak_bytes=int(statistics.median(peaks)),
        worst_peak_bytes=max(peaks),
        failure=next((one.failure for one in group if one.failure), None),
    )
