"""How many GPUs there are: a quota by day and virtual cluster, or a fixed number."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.errors import UsageError
from tasks.characterise.window import Ints, Window

# A table as `schemas.jobs.Quota` of one cluster, or the number of GPUs of whatever is asked for.
Capacity = pd.DataFrame | int


def gpus_by_day(capacity: Capacity, days: NDArray[np.datetime64], vc: str | None = None) -> Ints:
    """GPUs on each of the local days, of virtual cluster `vc` or of all together.

    A day that the quota does not name takes the nearest that it does, of two the
    earlier. A virtual cluster has 0 GPUs on a day that names only others.

    Raises
    ------
    UsageError
        If the quota is empty or the fixed number negative.
    """
    if not isinstance(capacity, pd.DataFrame):
        if capacity < 0:
            raise UsageError(f"A capacity of {capacity} GPUs is impossible.", hint="Give 0 or more GPUs.")
        return np.full(len(days), int(capacity), dtype=np.int64)
    if capacity.empty:
        raise UsageError("The quota names no day.", hint="Give a quota file with rows, or a number of GPUs.")
    known = np.unique(capacity["date"].to_numpy(dtype="datetime64[D]"))
    rows = capacity if vc is None else capacity[(capacity["vc"] == vc).to_numpy()]
    place = np.searchsorted(known, rows["date"].to_numpy(dtype="datetime64[D]"))
    gpus = np.zeros(len(known), dtype=np.int64)
    np.add.at(gpus, place, rows["gpus"].to_numpy(dtype=np.int64))
    return gpus[_nearest(known, days)]


def gpus_by_minute(capacity: Capacity, window: Window, vc: str | None = None) -> Ints:
    """GPUs in each minute of the window: those of its local day."""
    days, where = np.unique(window.days(), return_inverse=True)
    return gpus_by_day(capacity, days, vc)[where]


def _nearest(known: NDArray[np.datetime64], days: NDArray[np.datetime64]) -> NDArray[np.intp]:
    after = np.clip(np.searchsorted(known, days), 0, len(known) - 1)
    before = np.clip(after - 1, 0, None)
    earlier = np.abs(days - known[before]) <= np.abs(known[after] - days)
    return np.where(earlier, before, after)
