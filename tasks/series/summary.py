"""The result of one series: what the outputs are written from.

Both readers (wide files in `tasks.series`, IPMI files in `tasks.longform`) end
here. A failed series carries its record and no number.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.pickles import DERIVED_CURVES
from schemas.series import CurveFacts, SeriesRecord

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

    `entities`, `hourly` and, of a latched gauge, `episodes` have the columns of
    `schemas.summaries.Entities`, `Hourly` and `Episodes`; with a failed or empty series
    they and `curves` are empty.
    """

    record: SeriesRecord
    curves: tuple[Curve, ...]
    entities: pd.DataFrame
    hourly: pd.DataFrame
    episodes: pd.DataFrame = field(default_factory=pd.DataFrame)

    def described(self) -> SeriesSummary:
        """The same with the curves' facts in the record."""
        metric = self.record.contract.metric
        units = {derived.name: derived.unit for derived in DERIVED_CURVES.get(metric.name, ())}
        facts = tuple(
            CurveFacts(
                metric=curve.metric,
                period=curve.period,
                unit=units.get(curve.metric, metric.unit),
                count=curve.count,
                zero_share=curve.zero_share,
                quantiles={f"p{level * 100:g}": value for level, value in curve.marks.items()},
            )
            for curve in self.curves
        )
        return replace(self, record=self.record.model_copy(update={"curves": facts}))

    def to_bytes(self) -> bytes:
        """The summary as an npz archive: the record as JSON, arrays, and both tables as Parquet."""
        arrays: dict[str, NDArray[Any]] = {"record": _text(self.record.model_dump_json())}
        facts = []
        for number, curve in enumerate(self.curves):
            arrays[f"levels.{number}"], arrays[f"values.{number}"] = curve.levels, curve.values
            marks = [[level, value] for level, value in curve.marks.items()]
            facts.append([curve.cluster, curve.metric, curve.period, curve.count, curve.zero_share, marks])
        arrays["curves"] = _text(json.dumps(facts))
        for name in _FRAMES:
            frame = getattr(self, name)
            if len(frame):
                arrays[name] = np.frombuffer(frame.to_parquet(index=False), np.uint8)
        target = io.BytesIO()
        np.savez(target, allow_pickle=False, **arrays)
        return target.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> SeriesSummary:
        """The inverse of `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        curves = tuple(
            Curve(
                cluster=cluster,
                metric=metric,
                period=period,
                levels=arrays[f"levels.{number}"],
                values=arrays[f"values.{number}"],
                count=count,
                zero_share=zero_share,
                marks=dict(marks),
            )
            for number, (cluster, metric, period, count, zero_share, marks) in enumerate(
                json.loads(arrays["curves"].tobytes())
            )
        )
        frames = [
            pd.read_parquet(io.BytesIO(arrays[name].tobytes())) if name in arrays else pd.DataFrame()
            for name in _FRAMES
        ]
        record = SeriesRecord.model_validate_json(arrays["record"].tobytes())
        return cls(record, curves, *frames)


_FRAMES = ("entities", "hourly", "episodes")


def pack(summaries: list[SeriesSummary]) -> bytes:
    """Several summaries as one npz archive."""
    parts = {str(n): np.frombuffer(summary.to_bytes(), np.uint8) for n, summary in enumerate(summaries)}
    target = io.BytesIO()
    np.savez(target, allow_pickle=False, **parts)
    return target.getvalue()


def unpack(data: bytes) -> list[SeriesSummary]:
    """The inverse of `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return [SeriesSummary.from_bytes(archive[name].tobytes()) for name in archive.files]


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)
