"""A period cut into minutes and local days, and which minute of it a time falls in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.errors import UsageError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MINUTE_MS = 60_000


@dataclass(frozen=True)
class Window:
    """The minutes from the one that holds `since` to the last that begins before `until`; both in UTC."""

    since: pd.Timestamp
    until: pd.Timestamp
    timezone: str

    @classmethod
    def of(cls, since: datetime, until: datetime, timezone: str) -> Window:
        """The window between two times; those that name no zone are local.

        Raises
        ------
        UsageError
            If it holds no time.
        """
        first, last = (_in_utc(time, timezone) for time in (since, until))
        if first >= last:
            raise UsageError(
                f"The period from {since} to {until} holds no time.", hint="Choose an end after its start."
            )
        return cls(first.floor("min"), last.ceil("min"), timezone)

    @property
    def minutes(self) -> int:
        return int((self.until - self.since) // pd.Timedelta(minutes=1))

    def times(self, step: int = 1) -> pd.DatetimeIndex:
        """Starts of the bins of `step` minutes, UTC, in milliseconds."""
        return pd.date_range(
            self.since, self.until, freq=pd.Timedelta(minutes=step), inclusive="left", unit="ms"
        )

    def days(self) -> NDArray[np.datetime64]:
        """The local day of each minute."""
        local = self.times().tz_convert(self.timezone).tz_localize(None)
        return local.to_numpy().astype("datetime64[D]")

    def bins(self, times: pd.Series, step: int = 1) -> Ints:
        """The bin of `step` minutes each time falls in; below 0 before the window, and where null."""
        since_ms = round(self.since.timestamp() * 1000)
        passed = pd.DatetimeIndex(times).as_unit("ms").asi8 - since_ms
        return np.where(times.isna().to_numpy(), -1, passed // (step * MINUTE_MS))

    def holds(self, times: pd.Series) -> Mask:
        """Which of the times are in the window."""
        bins = self.bins(times)
        return (bins >= 0) & (bins < self.minutes)


def _in_utc(time: datetime, timezone: str) -> pd.Timestamp:
    stamp = pd.Timestamp(time)
    return (stamp.tz_localize(timezone) if stamp.tz is None else stamp).tz_convert("UTC")


def numbers(column: pd.Series) -> Floats:
    """The column as float64, NaN where null."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def gpu_jobs(jobs: pd.DataFrame) -> Mask:
    """Which rows are GPU jobs."""
    result: Mask = numbers(jobs["gpu_num"]) > 0
    return result


def cpu_jobs(jobs: pd.DataFrame) -> Mask:
    """Which rows are CPU jobs."""
    result: Mask = numbers(jobs["gpu_num"]) == 0
    return result
