"""From when to when jobs run and wait, in minutes of a window, and their counts in each.

What a log does not tell is decided here: when a job without start or end runs or
waits, and which jobs have no known place in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.jobs import CANCELLED
from tasks.characterise.window import Ints, Mask, Window, numbers

# The schedulers' words for a job that runs and for one that waits, in capitals.
RUNNING_WORDS = frozenset({"RUNNING"})
WAITING_WORDS = frozenset({"PENDING", "WAITING"})

# GPUs are added up in whole millionths, so that no order of the jobs changes a sum.
MILLION = 1_000_000


@dataclass(frozen=True)
class Spans:
    """Row `rows[i]` of the table fills the minutes from `first[i]` up to, but not including, `stop[i]`."""

    rows: Ints
    first: Ints
    stop: Ints
    minutes: int

    def jobs(self, mask: Mask | None = None) -> Ints:
        """Jobs in each minute of the window, of the rows that `mask` holds."""
        return self._count(slice(None) if mask is None else mask[self.rows], None)

    def millionths(self, gpus: Ints, mask: Mask | None = None) -> Ints:
        """Millionths of GPUs in each minute, of the rows that `mask` holds; `gpus` has one for every row."""
        held = slice(None) if mask is None else mask[self.rows]
        return self._count(held, gpus[self.rows[held]])

    def _count(self, held: slice | Mask, weights: Ints | None) -> Ints:
        rise, fall = (
            np.bincount(edges[held], weights, minlength=self.minutes + 1).astype(np.int64)
            for edges in (self.first, self.stop)
        )
        counts: Ints = np.cumsum(rise - fall)[:-1]
        return counts


def running(jobs: pd.DataFrame, window: Window) -> Spans:
    """A job runs in every minute from that of its start to that of its end, both included.

    One without end runs on to the end of the window if its raw state says RUNNING.
    """
    begin, end = jobs["start"], jobs["end"]
    goes_on = _says(jobs, end.isna().to_numpy(), RUNNING_WORDS)
    placed = begin.notna().to_numpy() & (goes_on | _true(end >= begin))
    return _spans(begin, end, goes_on, placed, window)


def pending(jobs: pd.DataFrame, window: Window) -> Spans:
    """A job that waits for any time is pending from its submission to its start, both minutes included.

    One that never started is pending until its end, and without an end to that of the
    window if its raw state says that it waits.
    """
    begin, end = jobs["submit"], jobs["start"].where(jobs["start"].notna(), jobs["end"])
    goes_on = _says(jobs, end.isna().to_numpy(), WAITING_WORDS)
    placed = begin.notna().to_numpy() & (goes_on | _true(end > begin))
    return _spans(begin, end, goes_on, placed, window)


def unplaced(jobs: pd.DataFrame) -> Mask:
    """Jobs whose place in time is not known, whatever the window.

    These began and have no end, unless their raw state says RUNNING; or end before they
    start; or have no start, unless they were cancelled at a known time or wait.
    """
    begin, end = jobs["start"], jobs["end"]
    started, ended = begin.notna().to_numpy(), end.notna().to_numpy()
    ran = started & (_says(jobs, ~ended, RUNNING_WORDS) | _true(end >= begin))
    withdrawn = ended & _true(jobs["state"] == CANCELLED)
    waits = _says(jobs, ~started & ~ended, WAITING_WORDS)
    result: Mask = ~(ran | (~started & (withdrawn | waits)))
    return result


def gpu_millionths(jobs: pd.DataFrame) -> Ints:
    """GPUs of each job in whole millionths, 0 where not known."""
    return np.round(np.nan_to_num(numbers(jobs["gpu_num"])) * MILLION).astype(np.int64)


def _spans(begin: pd.Series, end: pd.Series, goes_on: Mask, placed: Mask, window: Window) -> Spans:
    rows, minutes = np.flatnonzero(placed), window.minutes
    first = np.clip(window.bins(begin.iloc[rows]), 0, minutes)
    stop = np.clip(window.bins(end.iloc[rows]) + 1, 0, minutes)
    return Spans(rows, first, np.where(goes_on[rows], minutes, stop), minutes)


def _says(jobs: pd.DataFrame, where: Mask, words: frozenset[str]) -> Mask:
    """Of the rows `where`, those whose raw state is one of `words`; usually few need looking at."""
    says = np.zeros(len(jobs), dtype=np.bool_)
    says[where] = _true(jobs["raw_state"][where].astype("str").str.upper().isin(words))
    return says


def _true(comparison: pd.Series) -> Mask:
    return comparison.to_numpy(dtype=bool, na_value=False)
