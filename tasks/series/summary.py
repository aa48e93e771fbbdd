"""The result of one series: what the outputs are written from.

Both readers (wide files in `tasks.series`, IPMI files in `tasks.longform`) end
here. A failed series carries its record and no number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.series import SeriesRecord

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Quantiles of all values of a metric in a period.

    `values[i]`, in the metric's unit, is the quantile at `levels[i]` (fractions
    of 1, ascending; `np.linspace(0, 1, 1000)`) of `count` values, of which
    `zero_share` are zero. `marks` holds quantiles at further levels.
    """

    cluster: str
    metric: str
    period: str
    levels: FloatArray
    values: FloatArray
    count: int
    zero_share: float
    marks: dict[float, float]


@dataclass(frozen=True)
class SeriesSummary:
    """One series' record, curves, and its rows of the entities and hourly tables.

    `entities` and `hourly` have the columns of `schemas.summaries.Entities` and
    `Hourly`; with a failed or empty series they and `curves` are empty.
    """

    record: SeriesRecord
    curves: tuple[Curve, ...]
    entities: pd.DataFrame
    hourly: pd.DataFrame
