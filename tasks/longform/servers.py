"""Which type of server a node is, and which rows say otherwise.

The published rule looks at each row: without a blank it is of type A, else B.
Here a node has one type: B has no sensor of memory power, so a node is B where
that is blank in most of its rows. The rule by row puts rows of an A server with
a hole into B; the curve of all GPU servers is the same by both.
"""

from __future__ import annotations

import numpy as np

from schemas.ipmi import IPMI_FILES, ServerType
from tasks.longform.columns import MEMORY
from tasks.longform.tally import LongTally
from tasks.series.counts import IntArray
from tasks.series.tally import Spot


def node_types(name: str, tally: LongTally, has_memory: bool) -> tuple[ServerType | None, ...]:
    """The type of each node of the file `name`, as in `tally.nodes.names`; None where it is not known.

    A file of two types tells them apart only where it has the column of memory power.
    """
    file = IPMI_FILES.get(name)
    if file is None or (len(file.types) > 1 and not has_memory):
        return (None,) * len(tally.nodes)
    if len(file.types) == 1:
        return file.types * len(tally.nodes)
    return tuple("B" if most else "A" for most in _mostly_blank(tally))


def deviant_rows(tally: LongTally) -> IntArray:
    """How many rows of each node look like the other of the types A and B."""
    blanks = tally.nodes.blanks[:, MEMORY]
    filled = tally.nodes.rows - blanks - tally.nodes.bad[:, MEMORY]
    return np.where(_mostly_blank(tally), filled, blanks)


def deviant_spots(tally: LongTally) -> list[Spot]:
    """The first deviant row of each node that has one, in file order."""
    nodes = tally.nodes
    found = []
    for name, blank, rows in zip(nodes.names, _mostly_blank(tally), deviant_rows(tally), strict=True):
        if rows:
            found.append((nodes.with_memory if blank else nodes.without_memory)[name])
    return sorted(found)


def _mostly_blank(tally: LongTally) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return tally.nodes.blanks[:, MEMORY] * 2 > tally.nodes.rows
