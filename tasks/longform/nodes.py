"""What is counted of each node of an IPMI file besides its values.

Rows, blanks, times, and the first rows with and without a reading of memory
power, which tell server types apart. What a type is, is decided in
`tasks.longform.servers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.longform.columns import POWER_COLUMNS
from tasks.series.clock import LATEST_MS
from tasks.series.counts import IntArray
from tasks.series.tally import Spot

_WIDTH = len(POWER_COLUMNS)


def _none(*shape: int) -> IntArray:
    return np.zeros(shape, np.int64)


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts of each node that has a row; `names` ascending, "" is the node of rows that name none.

    `blank_rows` counts rows with any blank cell, as the published rule looks at
    them; `blanks` and `bad`, int64[n, 10], blank and unreadable cells by power
    column. `without_memory` and `with_memory` hold the first row of a node whose
    memory power is blank, or is a number.
    """

    names: tuple[str, ...] = ()
    rows: IntArray = field(default_factory=lambda: _none(0))
    blank_rows: IntArray = field(default_factory=lambda: _none(0))
    first_ms: IntArray = field(default_factory=lambda: _none(0))
    last_ms: IntArray = field(default_factory=lambda: _none(0))
    blanks: IntArray = field(default_factory=lambda: _none(0, _WIDTH))
    bad: IntArray = field(default_factory=lambda: _none(0, _WIDTH))
    without_memory: Mapping[str, Spot] = field(default_factory=dict)
    with_memory: Mapping[str, Spot] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def merge(self, other: NodeFacts) -> NodeFacts:
        """The facts of all rows of both."""
        names = tuple(sorted({*self.names, *other.names}))
        at = (self.numbers_in(names), other.numbers_in(names))

        def added(left: IntArray, right: IntArray) -> IntArray:
            both = _none(len(names), *left.shape[1:])
            both[at[0]] += left
            both[at[1]] += right
            return both

        first, last = np.full(len(names), LATEST_MS, np.int64), np.full(len(names), -1, np.int64)
        for place, facts in zip(at, (self, other), strict=True):
            first[place] = np.minimum(first[place], facts.first_ms)
            last[place] = np.maximum(last[place], facts.last_ms)
        return NodeFacts(
            names,
            added(self.rows, other.rows),
            added(self.blank_rows, other.blank_rows),
            first,
            last,
            added(self.blanks, other.blanks),
            added(self.bad, other.bad),
            _earliest(self.without_memory, other.without_memory),
            _earliest(self.with_memory, other.with_memory),
        )

    def numbers_in(self, names: tuple[str, ...]) -> IntArray:
        """The place in `names`, which has them all, of each own name."""
        places = {name: place for place, name in enumerate(names)}
        return np.array([places[name] for name in self.names], np.int64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays, as for `np.savez`; names and spots as JSON text."""
        text = {
            "names": self.names,
            "without_memory": [[name, asdict(spot)] for name, spot in self.without_memory.items()],
            "with_memory": [[name, asdict(spot)] for name, spot in self.with_memory.items()],
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return arrays | {"text": np.frombuffer(json.dumps(text).encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NodeFacts:
        """The inverse of `to_arrays`."""
        text = json.loads(arrays["text"].tobytes())
        rows, blank_rows, first_ms, last_ms, blanks, bad = (arrays[name] for name in _ARRAYS)
        return cls(
            tuple(text["names"]),
            rows,
            blank_rows,
            first_ms,
            last_ms,
            blanks,
            bad,
            {name: Spot(**spot) for name, spot in text["without_memory"]},
            {name: Spot(**spot) for name, spot in text["with_memory"]},
        )


_ARRAYS = ("rows", "blank_rows", "first_ms", "last_ms", "blanks", "bad")


def _earliest(left: Mapping[str, Spot], right: Mapping[str, Spot]) -> dict[str, Spot]:
    both = dict(left)
    for name, spot in right.items():
        known = both.get(name)
        if known is None or (spot.file, spot.offset) < (known.file, known.offset):
            both[name] = spot
    return dict(sorted(both.items()))
