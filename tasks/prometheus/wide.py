"""Chunks to one wide file in the released layout, written row by row and whole or not at all.

`Time,<entity>,…`, one line an instant that has any value, times in one zone,
blank where there is none. Numbers are the shortest text of their doubles.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.manifest import OutputFile
from tasks.prometheus.parts import Part
from tasks.prometheus.spans import Span
from tasks.storage.names import check_relative

_WRITE_CELLS = 1 << 18


@dataclass(frozen=True)
class Written:
    """A wide file: what it is, its rows, cells with a value and cells without, first and last time (UTC)."""

    file: OutputFile
    rows: int
    values: int
    blanks: int
    first: datetime
    last: datetime


def offset_of(zone: tzinfo, span: Span) -> timedelta:
    """The one offset from UTC that `zone` has in all of the period.

    Raises:
        UsageError: clocks change in the period.
    """
    step = max(span.rows // 1000, 1) * span.step_s
    places = {*range(span.start_s, span.last_s + 1, min(step, 86_400)), span.last_s}
    offsets = {datetime.fromtimestamp(place, UTC).astimezone(zone).utcoffset() for place in places}
    if len(offsets) != 1:
        raise UsageError(
            f"Clocks of {zone} change in the period.",
            hint="Give one offset for all times: --timezone +00:00.",
        )
    return offsets.pop() or timedelta()


def write_wide(
    root: Path, relative: str, parts: Iterable[Part], entities: Sequence[str], offset: timedelta
) -> Written:
    """Write the values of `parts`, in the order of time, as root/relative with the columns `entities`.

    The parts hold at least one value.

    Raises:
        UsageError: the file cannot be written.
    """
    target = root / check_relative(relative)
    temporary = target.parent / f".{uuid.uuid4().hex}.part"
    digest, size = hashlib.sha256(), 0
    rows = values = 0
    first = last = 0
    places = {name: place for place, name in enumerate(entities)}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                for block in _blocks(parts, places, offset):
                    file.write(block.text)
                    digest.update(block.text)
                    size += len(block.text)
                    if block.rows:
                        first, last = first or block.first_s, block.last_s
                    rows += block.rows
                    values += block.values
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="Check permissions and free space, or choose another folder.",
        ) from error
    described = OutputFile(path=relative, size=size, sha256=digest.hexdigest())
    times = (datetime.fromtimestamp(place, UTC) for place in (first, last))
    return Written(described, rows, values, rows * len(entities) - values, *times)


@dataclass(frozen=True)
class _Block:
    text: bytes
    rows: int = 0
    values: int = 0
    first_s: int = 0
    last_s: int = 0


def _blocks(parts: Iterable[Part], places: dict[str, int], offset: timedelta) -> Iterable[_Block]:
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(["Time", *places])
    yield _Block(header.getvalue().encode())
    zone = _zone_text(offset)
    for part in parts:
        where = np.array([places[name] for name in part.entities], np.int64)
        full = np.flatnonzero(~np.isnan(part.values).all(axis=1))
        most = max(_WRITE_CELLS // len(places), 1)
        for start in range(0, len(full), most):
            rows = full[start : start + most]
            table = np.full((len(rows), len(places)), np.nan)
            table[:, where] = part.values[rows]
            seconds = part.span.start_s + rows * part.span.step_s
            text = _text(_times(seconds, offset, zone), table)
            count = int(np.count_nonzero(~np.isnan(table)))
            yield _Block(text, len(rows), count, int(seconds[0]), int(seconds[-1]))


def _text(times: Sequence[str], table: NDArray[np.float64]) -> bytes:
    """Lines of a table. The text of a number is made once for all cells that hold it."""
    codes, distinct = pd.factorize(table.ravel())
    # A cell without a value has the code -1: the last text.
    texts = np.array([*map(repr, distinct.tolist()), ""], object)
    cells = texts[codes].reshape(table.shape).tolist()
    lines = (f"{time},{','.join(row)}\n" for time, row in zip(times, cells, strict=True))
    return "".join(lines).encode()


def _times(seconds: NDArray[np.int64], offset: timedelta, zone: str) -> list[str]:
    local = (seconds + int(offset.total_seconds())).astype("datetime64[s]")
    return [f"{text.replace('T', ' ')}{zone}" for text in np.datetime_as_string(local, unit="s").tolist()]


def _zone_text(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
