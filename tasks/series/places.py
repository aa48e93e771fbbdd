"""Noting in a compiled loop what is wrong: how often, and where first."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT


@njit(nogil=True, cache=True)
def note(
    events: NDArray[np.int64], places: NDArray[np.int64], kind: int, line: int, column: int, place: int
) -> None:
    """Count an event of `kind` and keep the places of the first ones; `line` counts from 1 in the block."""
    seen = events[kind]
    if seen < EXAMPLES_KEPT:
        places[kind, seen, 0] = line
        places[kind, seen, 1] = column
        places[kind, seen, 2] = place
    events[kind] = seen + 1
