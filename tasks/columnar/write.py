"""A series to one Parquet file: typed, sorted by time, in row groups, in constant memory.

Blocks of text become columns of doubles in several threads; rows are written in
the order of the file, which is that of time. A cell that cannot be read would be
lost without a trace in a typed column, so it ends the conversion, and is located.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.errors import NotASeries
from schemas.findings import EXAMPLES_KEPT, Example
from schemas.ipmi import TIME_COLUMN
from tasks.cleaning.kernel import EVENTS, room_for
from tasks.cleaning.survey import Trouble
from tasks.columnar.kernel import fill_lines
from tasks.series.clock import EPOCH_MS, EPOCH_S, NAIVE, zone_label, zone_table
from tasks.series.feed import CHUNK_BYTES, cell_text, feed
from tasks.series.head import Head
from tasks.series.spec import Block, cut
from tasks.storage.publish import Growing
from tasks.storage.source import open_reader

BLOCK_BYTES = 8 << 20
GROUP_CELLS = 8 << 20  # of a row group: 64 MiB of doubles
_AHEAD = 2  # blocks a thread may be ahead of the writer
_RULES = ("bad-cell", "bad-time", "ragged-row")
_TEXT_SHOWN = 40
_HARD_ROOM = 1 << 16


@dataclass(frozen=True)
class Written:
    """What a conversion wrote, or what stood in its way."""

    rows: int
    values: int
    row_groups: int
    columns: int
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True)
class _Part:
    """The rows of a block: UTC ms, values by column; lines and troubles of it."""

    times: NDArray[np.int64]
    values: NDArray[np.float64]
    lines: int
    troubles: tuple[Trouble, ...]


def write_parquet(
    heads: Sequence[Head],
    file: Growing,
    *,
    timezone: str | None,
    workers: int,
    about: dict[str, Any],
    group_cells: int = GROUP_CELLS,
    block_bytes: int = BLOCK_BYTES,
    on_bytes: Callable[[int], None] = lambda size: None,
) -> Written:
    """Write all rows of the files that begin with `heads` to `file`; `about` goes into its metadata as JSON.

    With troubles, what was written is worth nothing.

    Raises:
        NotASeries: rows are not in the order of time, or their times have no zone and none is given.
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
    """
    columns = tuple(dict.fromkeys(name for head in heads for name in head.columns))
    schema = _schema(heads, columns, timezone, about)
    writer = pq.ParquetWriter(
        cast(BinaryIO, file),
        schema,
        compression="zstd",
        write_statistics=[TIME_COLUMN],
        store_schema=True,
    )
    group = _Group(columns, max(group_cells // max(len(columns), 1), 1), schema, writer)
    troubles: list[Trouble] = []
    with writer:
        for head in heads:
            places = np.array([columns.index(name) for name in head.columns], np.int64)
            before = 0
            for part in _parts(head, timezone, workers, block_bytes, on_bytes):
                troubles += [_moved(trouble, before) for trouble in part.troubles]
                before += part.lines
                if not troubles:
                    group.add(part, places, head)
        group.finish()
    return Written(group.rows, group.filled, group.groups, len(columns), _joined(troubles))


def _schema(
    heads: Sequence[Head], columns: tuple[str, ...], timezone: str | None, about: dict[str, Any]
) -> pa.Schema:
    zones = {head.zone for head in heads if head.has_rows}
    if NAIVE in zones and timezone is None:
        head = next(head for head in heads if head.naive)
        raise NotASeries(
            f"The times of {head.file.url} have no zone.",
            hint="Say which they are in: --timezone Asia/Shanghai, or --timezone +08:00.",
            rule="no-zone",
            place=head.first_time(),
        )
    zone = min(zones, default=EPOCH_S)
    if zone == NAIVE:
        name = timezone
    else:
        name = "UTC" if zone in (EPOCH_S, EPOCH_MS) or zone < 0 else zone_label(zone)
    fields = [pa.field(TIME_COLUMN, pa.timestamp("ms", name), nullable=False)]
    fields += [pa.field(column, pa.float64()) for column in columns]
    return pa.schema(fields, {b"acmetrace": json.dumps(about, sort_keys=True).encode()})


class _Group:
    """Collects rows until they are a row group."""

    def __init__(
        self, columns: tuple[str, ...], room: int, schema: pa.Schema, writer: pq.ParquetWriter
    ) -> None:
        self._schema, self._writer = schema, writer
        self._times = np.empty(room, np.int64)
        self._values = np.empty((len(columns), room))
        self._used = 0
        self._last = -1
        self.rows = self.filled = self.groups = 0

    def add(self, part: _Part, places: NDArray[np.int64], head: Head) -> None:
        """Append the rows of a part, whose columns go to `places`."""
        times = part.times
        if len(times) and (times[0] < self._last or (np.diff(times) < 0).any()):
            raise NotASeries(
                f"The rows of {head.file.url} are not in the order of time.",
                hint="Raw exports are sorted by acmetrace clean; sort others by their Time column first.",
                rule="disordered-time",
            )
        done = 0
        while done < len(times):
            count = min(len(times) - done, len(self._times) - self._used)
            new = slice(self._used, self._used + count)
            self._times[new] = times[done : done + count]
            self._values[:, new] = np.nan
            self._values[places, new] = part.values[:, done : done + count]
            self._used += count
            done += count
            if self._used == len(self._times):
                self.finish()
        self._last = int(times[-1]) if len(times) else self._last

    def finish(self) -> None:
        """Write what has been collected."""
        if not self._used:
            return
        times = pa.array(self._times[: self._used]).cast(self._schema.field(0).type)
        values = [pa.array(column[: self._used], from_pandas=True) for column in self._values]
        batch = pa.record_batch([times, *values], schema=self._schema)
        self._writer.write_batch(batch, row_group_size=self._used)
        self.rows += self._used
        self.filled += sum(len(column) - column.null_count for column in values)
        self.groups += 1
        self._used = 0


def _parts(
    head: Head, timezone: str | None, workers: int, block_bytes: int, on_bytes: Callable[[int], None]
) -> Iterator[_Part]:
    """The rows of a file's blocks, in order, a few blocks ahead."""
    blocks = cut(head, block_bytes)
    with ThreadPoolExecutor(workers) as pool:
        on_their_way: deque[tuple[Future[_Part], Block]] = deque()
        try:
            for block in blocks:
                on_their_way.append((pool.submit(_read, head, block, timezone), block))
                if len(on_their_way) > workers * _AHEAD:
                    yield _next(on_their_way, on_bytes)
            while on_their_way:
                yield _next(on_their_way, on_bytes)
        finally:
            for future, _ in on_their_way:
                future.cancel()


def _next(on_their_way: deque[tuple[Future[_Part], Block]], on_bytes: Callable[[int], None]) -> _Part:
    future, block = on_their_way.popleft()
    part = future.result()
    on_bytes(block.file.size if block.file.compression else block.stop - block.start)
    return part


def _read(head: Head, block: Block, timezone: str | None) -> _Part:
    with open_reader(block.file, block.stop) as reader:
        filler = _Filler(head, block, timezone)
        feed(filler, reader, CHUNK_BYTES)
        return filler.part()


class _Filler:
    """Takes the lines of a block from `feed` into columns."""

    def __init__(self, head: Head, block: Block, timezone: str | None) -> None:
        self.head = head
        self.block = block
        self.bytes_read = 0
        self.leaves = b""
        self._zone = zone_table(timezone)
        columns = len(head.columns)
        self._cells = room_for(columns)
        self._rows = max((1 << 20) // max(columns, 1), 64)
        self._hard = np.empty((max(_HARD_ROOM, columns), 3), np.int64)
        self._events = np.zeros(EVENTS, np.int64)
        self._places = np.zeros((EVENTS, EXAMPLES_KEPT, 3), np.int64)
        self._done: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._lines = 0
        self._troubles: list[Trouble] = []
        self._begin()

    def _begin(self) -> None:
        self._times = np.empty(self._rows, np.int64)
        self._values = np.empty((len(self.head.columns), self._rows))
        self._used = 0

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Read lines as `tasks.series.feed.LineScan` says."""
        while not peek and place < stop:
            place, self._used, self._lines, asked = fill_lines(
                array,
                place,
                stop,
                *self._zone,
                *self._cells,
                self._times,
                self._values,
                self._used,
                self._lines,
                self._events,
                self._places,
                self._hard,
            )
            for row, column, at in self._hard[:asked].tolist():
                self._values[column, row] = float(cell_text(array, at))
            self._fold_events(array, base)
            if self._used == self._rows:
                self._done.append((self._times, self._values))
                self._begin()
        return place

    def _fold_events(self, array: NDArray[np.uint8], base: int) -> None:
        for kind in np.flatnonzero(self._events).tolist():
            places = []
            for line, column, at in self._places[kind, : min(self._events[kind], EXAMPLES_KEPT)].tolist():
                name = self.head.columns[column] if column >= 0 else TIME_COLUMN if kind == 1 else None
                text = cell_text(array, at)[:_TEXT_SHOWN] if name is not None else None
                places.append(
                    Example(
                        file=self.block.file.url, row=line, column=name, byte_offset=base + at, value=text
                    )
                )
            self._troubles.append(Trouble(_RULES[kind], int(self._events[kind]), tuple(places)))
            self._events[kind] = 0

    def part(self) -> _Part:
        """All rows of the block."""
        self._done.append((self._times[: self._used], self._values[:, : self._used]))
        return _Part(
            np.concatenate([times for times, _ in self._done]),
            np.concatenate([values for _, values in self._done], axis=1),
            self._lines,
            tuple(self._troubles),
        )


def _moved(trouble: Trouble, lines: int) -> Trouble:
    """The trouble of a block with rows counted from the file's first."""
    places = (place.model_copy(update={"row": (place.row or 0) + lines}) for place in trouble.places)
    return Trouble(trouble.rule, trouble.count, tuple(places))


def _joined(troubles: Sequence[Trouble]) -> tuple[Trouble, ...]:
    found: dict[str, Trouble] = {}
    for trouble in troubles:
        known = found.get(trouble.rule, Trouble(trouble.rule, 0, ()))
        places = (*known.places, *trouble.places)[:EXAMPLES_KEPT]
        found[trouble.rule] = Trouble(trouble.rule, known.count + trouble.count, places)
    return tuple(found.values())
