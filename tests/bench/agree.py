"""Whether all contenders on a file found the same.

Belongs here: the comparison of outcomes and the words for a difference. A benchmark of
methods that answer different questions is worth nothing, so that nobody is let off: the
number of values and all quantiles have to be equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.bench.counts import Outcome

Found = tuple[str, Outcome]


def disagreements(file: str, found: Sequence[Found], judge: str) -> list[str]:
    """A line for each contender that differs from the first outcome of `judge`, or of anybody without it.

    `found` holds names and outcomes in any order, a name as often as it was measured.
    Outcomes without a count have nothing to agree in.
    """
    answers = [(name, outcome) for name, outcome in found if outcome.count is not None]
    if not answers:
        return []
    standard, expected = next((pair for pair in answers if pair[0] == judge), answers[0])
    lines = []
    for name, outcome in answers:
        difference = difference_of(outcome, expected)
        if difference:
            lines.append(f"{file}: {name} disagrees with {standard}: {difference}")
    return list(dict.fromkeys(lines))


def difference_of(outcome: Outcome, expected: Outcome) -> str | None:
    """In which way an outcome differs; None if in none."""
    if outcome.count != expected.count:
        return f"{outcome.count:,} values instead of {expected.count:,}"
    if outcome.curve is None or expected.curve is None:
        return None if outcome.curve is expected.curve else "only one of them has a curve"
    if np.array_equal(outcome.curve, expected.curve):
        return None
    if len(outcome.curve) != len(expected.curve):
        return f"{len(outcome.curve)} quantiles instead of {len(expected.curve)}"
    places = np.flatnonzero(outcome.curve != expected.curve)
    first = int(places[0])
    return (
        f"{len(places)} quantiles differ, first number {first}: "
        f"{float(outcome.curve[first])!r} instead of {float(expected.curve[first])!r}"
    )
