"""Text to numbers and times, a column at once; what cannot be read is marked, not guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NO_TIME = np.iinfo(np.int64).min
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
_WHOLE = r"^\d{9,10}$"  # epoch seconds from 1973 on
_MILLISECONDS = r"^\d{12,13}$"


@dataclass(frozen=True)
class Times:
    """Milliseconds since 1970, NO_TIME where blank or unreadable.

    `bad`: rows that are no time; `unzoned`: rows whose zone nobody told; `folded`: rows
    in the hour that a clock shows twice, of which the first is taken, or not at all.
    """

    ms: NDArray[np.int64]
    bad: NDArray[np.bool_]
    unzoned: NDArray[np.bool_]
    folded: NDArray[np.bool_]


def as_numbers(text: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers of a column of text, NaN where blank or unreadable, and which rows are unreadable."""
    column = text.combine_chunks()
    try:
        numbers = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        numbers = pa.array([_number(cell) for cell in column.to_pylist()], pa.float64())
    values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    bad = ~np.isfinite(values) & np.asarray(column.is_valid())
    if bad.any():
        values = np.where(bad, np.nan, values)
    return values, bad


def as_seconds(text: pa.ChunkedArray) -> Times:
    """The times of a column of seconds on a clock of its own, which may be fractions."""
    seconds, bad = as_numbers(text)
    told = np.isfinite(seconds)
    ms = np.full(len(seconds), NO_TIME, np.int64)
    ms[told] = np.rint(seconds[told] * 1000).astype(np.int64)
    return Times(ms, bad, np.zeros(len(ms), bool), np.zeros(len(ms), bool))


def as_times(text: pa.ChunkedArray, zone: str | None) -> Times:
    """The times of a column of text: ISO with or without zone, seconds or milliseconds since 1970.

    Those without a zone are read in `zone` (+08:00 or Asia/Shanghai).
    """
    column = text.combine_chunks()
    valid = np.asarray(column.is_valid())
    nothing = np.zeros(len(column), bool)
    ms = np.full(len(column), NO_TIME, np.int64)
    if not valid.any():
        return Times(ms, nothing, nothing, nothing)
    zoned = _true(pc.match_substring_regex(column, _ZONE))
    zoned &= _true(pc.match_substring(column, ":"))
    folded = nothing.copy()
    if zoned.any():
        _fill(ms, column, zoned, partial(pc.cast, target_type=pa.timestamp("ms", tz="UTC")))
    naive = valid & ~zoned
    if naive.any():
        counted = np.zeros(len(column), bool)
        for pattern, factor in ((_WHOLE, 1000), (_MILLISECONDS, 1)):
            matching = _true(pc.match_substring_regex(column, pattern)) & naive
            if matching.any():
                counted |= matching
                ms[matching] = _whole(column, matching) * factor
        written = naive & ~counted
        if written.any():
            walls = np.full(len(column), NO_TIME, np.int64)
            _fill(walls, column, written, partial(pc.cast, target_type=pa.timestamp("ms")))
            read = walls != NO_TIME
            if zone is None:
                return Times(ms, valid & (ms == NO_TIME) & ~read, read, folded)
            ms[read], folded[read] = _localised(walls[read], zone)
    return Times(ms, valid & (ms == NO_TIME), nothing, folded)


def _fill(
    ms: NDArray[np.int64], column: pa.Array, chosen: NDArray[np.bool_], cast: partial[pa.Array]
) -> None:
    """Read the chosen cells; all at once if they are all good, else one by one of the distinct ones."""
    cells = column.filter(pa.array(chosen))
    try:
        times = cast(cells)
    except pa.ArrowInvalid:
        encoded = pc.dictionary_encode(cells)
        times = pa.concat_arrays([_one(cast, cell) for cell in encoded.dictionary]).take(encoded.indices)
    read = times.cast(pa.int64()).fill_null(NO_TIME)
    ms[chosen] = read.to_numpy(zero_copy_only=False)


def _one(cast: partial[pa.Array], cell: pa.StringScalar) -> pa.Array:
    text = pa.array([cell.as_py().strip()])
    try:
        return cast(text)
    except pa.ArrowInvalid:
        return cast(pa.nulls(1, pa.string()))


def _localised(walls: NDArray[np.int64], zone: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    offset = _fixed_offset_ms(zone)
    if offset is not None:
        return walls - offset, np.zeros(len(walls), bool)
    wall = pa.array(walls.astype("datetime64[ms]"))
    early, late = (
        pc.assume_timezone(wall, zone, ambiguous=choice, nonexistent=choice).cast(pa.int64()).to_numpy()
        for choice in ("earliest", "latest")
    )
    return early, early != late


def _fixed_offset_ms(zone: str) -> int | None:
    match = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone)
    if zone in ("Z", "UTC"):
        return 0
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return (minutes if match[1] == "+" else -minutes) * 60_000


def _whole(column: pa.Array, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = pc.cast(column.filter(pa.array(chosen)), pa.int64()).to_numpy()
    return whole


def _true(mask: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(mask.fill_null(False))


def _number(cell: str | None) -> float | None:
    if cell is None:
        return None
    try:
        return float(cell)
    except ValueError:
        return float("nan")
