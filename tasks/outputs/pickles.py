"""The published pickles: which can be made from a run's curves, and their bytes.

A pickle is a list [x1, y1, x2, y2, …] of float64 arrays: x the quantiles of a
curve, y its levels in percent. `schemas.summaries.PICKLES` says which curves go
where. Reading pickles, ours or others', is in `tasks.outputs.unpickling`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.manifest import PickleEntry
from schemas.pickles import LEVELS, PICKLES, WHOLE, Pair, PickleLayout
from tasks.outputs.unpickling import load_pairs
from tasks.series.summary import Curve

__all__ = ["build_pickles", "curves_by_key", "dump_pairs", "load_pairs"]

FloatArray = NDArray[np.float64]
CurveKey = tuple[str, str, str]

# Any protocol above 4 needs a Python that the readers of the published files may not have.
_PROTOCOL = 4
_LEVELS: FloatArray = np.linspace(0.0, 1.0, LEVELS)


def dump_pairs(arrays: Sequence[FloatArray]) -> bytes:
    """A pickled list of 1-D float64 arrays that plain `pickle.load` reads with NumPy 1.22 … 2.x.

    NumPy's own pickles name private modules that move between versions. These name
    `numpy.array` and `numpy.frombuffer` only; what they load as is an ordinary array,
    writable and owner of its memory. Equal arrays give equal bytes.

    Raises:
        UsageError: an array is not 1-D or not float64.
    """
    for place, array in enumerate(arrays):
        if array.ndim != 1 or array.dtype != np.float64:
            raise UsageError(f"Array {place} is {array.dtype} of shape {array.shape}, not 1-D float64.")
    return pickle.dumps([_Array(array) for array in arrays], protocol=_PROTOCOL)


def build_pickles(curves: Iterable[Curve]) -> list[tuple[PickleEntry, bytes | None]]:
    """Every published pickle, in the order of `PICKLES`: its entry, and its bytes if it can be made.

    A pair uses its wanted period where a curve of it holds values, else the whole
    file. A pickle is left out as a whole if a pair has no curve; its entry says which.

    Raises:
        UsageError: two curves have the same cluster, metric and period.
    """
    found = {key: curve for key, curve in curves_by_key(curves).items() if _has_values(curve)}
    return [_build(layout, found) for layout in PICKLES]


def curves_by_key(curves: Iterable[Curve]) -> dict[CurveKey, Curve]:
    """The curves under (cluster, metric, period).

    Raises:
        UsageError: two curves share a key, so that neither can be trusted.
    """
    keyed: dict[CurveKey, Curve] = {}
    for curve in curves:
        key = (curve.cluster, curve.metric, curve.period)
        if key in keyed:
            raise UsageError(
                f"Two series give a curve of {curve.metric} of {curve.cluster}, period {curve.period}.",
                hint="Give each cluster its own name, or leave one of the files out.",
            )
        keyed[key] = curve
    return keyed


def _build(layout: PickleLayout, found: Mapping[CurveKey, Curve]) -> tuple[PickleEntry, bytes | None]:
    chosen = [_choose(pair, found) for pair in layout.pairs]
    missing = [_name(pair) for pair, curve in zip(layout.pairs, chosen, strict=True) if curve is None]
    if missing:
        reason = f"no values for {', '.join(dict.fromkeys(missing))}"
        return PickleEntry(name=layout.name, status="left out", reason=reason, note=layout.note), None
    used = [curve for curve in chosen if curve is not None]
    arrays = [array for curve in used for array in (curve.values, _LEVELS * 100)]
    entry = PickleEntry(
        name=layout.name, status="written", periods=tuple(curve.period for curve in used), note=layout.note
    )
    return entry, dump_pairs(arrays)


def _choose(pair: Pair, found: Mapping[CurveKey, Curve]) -> Curve | None:
    wanted = found.get((pair.cluster, pair.metric, pair.period))
    return wanted or found.get((pair.cluster, pair.metric, WHOLE))


def _has_values(curve: Curve) -> bool:
    return curve.count > 0 and curve.values.shape == (LEVELS,) and np.array_equal(curve.levels, _LEVELS)


def _name(pair: Pair) -> str:
    periods = pair.period if pair.period == WHOLE else f"{pair.period} or {WHOLE}"
    return f"{pair.metric} of {pair.cluster} (period {periods})"


class _Bytes:
    """In the stream: numpy.frombuffer(data, "<f8")."""

    def __init__(self, array: FloatArray) -> None:
        self.data = array.astype("<f8").tobytes()

    def __reduce__(self) -> tuple[object, ...]:
        return np.frombuffer, (self.data, "<f8")


class _Array:
    """In the stream: numpy.array(<bytes>, "f8"), a copy that can be written to."""

    def __init__(self, array: FloatArray) -> None:
        self.stored = _Bytes(array)

    def __reduce__(self) -> tuple[object, ...]:
        return np.array, (self.stored, "f8")
