"""The order in which the rows of a raw series are written.

Runs that follow each other are one stretch of rows. Stretches that do not
overlap in time are written one after the other, from the earliest; those that
do are merged row by row. Of rows of one time the first in file order counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.errors import NotASeries
from tasks.cleaning.survey import Run

MOST_TANGLED = 4096


@dataclass(frozen=True)
class Stretch:
    """Runs whose rows follow each other in time, in file order."""

    runs: tuple[Run, ...]

    @property
    def first_ms(self) -> int:
        """Time of the first row, UTC ms."""
        return self.runs[0].first_ms

    @property
    def last_ms(self) -> int:
        """Time of the last row, UTC ms."""
        return self.runs[-1].last_ms


def in_order(runs: Sequence[Run]) -> list[tuple[Stretch, ...]]:
    """The stretches in the order of their times; those that overlap are one tuple.

    Raises:
        NotASeries: more stretches overlap than can be merged at once.
    """
    ordered = sorted(enumerate(_stretches(runs)), key=lambda pair: (pair[1].first_ms, pair[0]))
    groups: list[list[tuple[int, Stretch]]] = []
    last = None
    for place, stretch in ordered:
        if last is not None and stretch.first_ms <= last:
            groups[-1].append((place, stretch))
            last = max(last, stretch.last_ms)
        else:
            groups.append([(place, stretch)])
            last = stretch.last_ms
    largest = max((len(group) for group in groups), default=0)
    if largest > MOST_TANGLED:
        raise NotASeries(
            f"{largest:,} stretches of rows overlap in time; at most {MOST_TANGLED:,} can be merged.",
            hint="Its rows are in no order at all: sort the export by time first.",
            rule="disordered-time",
        )
    return [tuple(stretch for _, stretch in sorted(group, key=lambda pair: pair[0])) for group in groups]


def _stretches(runs: Sequence[Run]) -> list[Stretch]:
    found: list[list[Run]] = []
    for run in runs:
        if found and run.first_ms >= found[-1][-1].last_ms:
            found[-1].append(run)
        else:
            found.append([run])
    return [Stretch(tuple(group)) for group in found]
