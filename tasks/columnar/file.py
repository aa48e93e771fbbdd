"""A Parquet file behind a reader: its schema checked, its columns as arrays.

Times become UTC milliseconds, values doubles with NaN for null. What is wrong
with a file is told as `NotASeries`, whoever wrote it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.errors import AcmetraceError, NotASeries
from schemas.ipmi import TIME_COLUMN
from tasks.series.clock import NAIVE, OFFSET_BASE, parse_zone, zone_table
from tasks.storage.source import FileRef, Reader

_UNITS = {"s": 1000.0, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
_BATCH_CELLS = 1 << 21
_INDEX = "__index_level_0__"


class _RandomFile(io.RawIOBase):
    """The bytes of a reader as a file that can be read from anywhere."""

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader, self._size, self._place = reader, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with memoryview(buffer).cast("B") as view:
            wanted = min(len(view), max(self._size - self._place, 0))
            count = self._reader.read_into(self._place, view[:wanted])
        self._place += count
        return count


class Held:
    """The bytes [start, stop) of a file in memory, the others where they are."""

    def __init__(self, reader: Reader, start: int, stop: int) -> None:
        self._reader, self._start = reader, start
        self._bytes = memoryview(bytearray(max(stop - start, 0)))
        self.size = reader.read_into(start, self._bytes) if len(self._bytes) else 0

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from the byte at `offset` on, as far as the file goes."""
        place = offset - self._start
        if place >= 0 and place + len(buffer) <= self.size:
            buffer[:] = self._bytes[place : place + len(buffer)]
            return len(buffer)
        return self._reader.read_into(offset, buffer)


@dataclass(frozen=True)
class Batch:
    """Consecutive rows: UTC ms (-1 for none), and values by column, shape (columns, rows)."""

    first_row: int
    times: NDArray[np.int64]
    values: NDArray[np.float64]


class SeriesParquet:
    """An open Parquet file that is a series; `timezone` is that of times without one."""

    def __init__(self, reader: Reader, file: FileRef) -> None:
        self._file = file
        if file.size == 0:
            raise NotASeries(f"{file.url} has no bytes.", rule="empty-file")
        try:
            # Buffering ahead would hold a row group twice.
            self._parquet = pq.ParquetFile(_RandomFile(reader, file.size), pre_buffer=False)
            self._schema = self._parquet.schema_arrow
        except AcmetraceError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise NotASeries(
                f"{file.url} is no Parquet file that can be read: {_first_line(error)}.",
                hint="Is it complete? Write or fetch it again.",
            ) from error
        self.time_name = self._time_name()
        self.columns = tuple(name for name in self._schema.names if name != self.time_name)
        self._check_types()

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return int(self._parquet.metadata.num_row_groups)

    @property
    def zone(self) -> int:
        """The zone code of the times, as in `tasks.series.clock`."""
        name = self._schema.field(self.time_name).type.tz
        if name is None:
            return NAIVE
        zone = parse_zone(name)
        offset = zone.utcoffset(None)
        if offset is None:  # it changes: that of the first row is meant
            moment = datetime.fromtimestamp(self._first_ms() / 1000, UTC)
            offset = moment.astimezone(zone).utcoffset() or timedelta()
        return OFFSET_BASE + int(offset.total_seconds() // 60)

    def group_starts(self) -> list[int]:
        """The byte at which each row group begins."""
        starts = []
        for number in range(self.groups):
            chunk = self._parquet.metadata.row_group(number).column(0)
            starts.append(min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset))))
        return starts

    def group_rows(self) -> list[int]:
        """The rows of each row group."""
        return [self._parquet.metadata.row_group(number).num_rows for number in range(self.groups)]

    def group_times(self, timezone: str | None) -> list[tuple[int, int]] | None:
        """First and last UTC ms of each row group by its statistics; None where one has none."""
        at = self._schema.get_field_index(self.time_name)
        found = []
        for number in range(self.groups):
            chunk = self._parquet.metadata.row_group(number).column(at)
            known = chunk.statistics
            if known is None or not known.has_min_max:
                return None
            kind = self._schema.field(self.time_name).type
            both = pa.array([known.min, known.max]).cast(kind)
            found.append(tuple(self._ms(both, timezone).tolist()))
        return found

    def batches(self, groups: range, timezone: str | None, rows: int | None = None) -> Iterator[Batch]:
        """The rows of row groups, a few million cells at a time, or `rows` rows at a time.

        Raises:
            NotASeries: the file is damaged.
        """
        before = sum(self.group_rows()[: groups.start])
        names = [self.time_name, *self.columns]
        size = rows or max(_BATCH_CELLS // max(len(self.columns), 1), 1)
        try:
            # Blocks are read at the same time; threads within one would only add to that.
            found = self._parquet.iter_batches(
                size, row_groups=list(groups), columns=names, use_threads=False
            )
            for batch in found:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                times = self._ms(columns[self.time_name], timezone)
                values = np.empty((len(self.columns), len(times)))
                for place, name in enumerate(self.columns):
                    values[place] = columns[name].to_numpy(zero_copy_only=False)
                yield Batch(before, times, values)
                before += len(times)
        except (pa.ArrowException, OSError) as error:
            raise NotASeries(
                f"{self._file.url} is damaged: {_first_line(error)}.", hint="Write or fetch it again."
            ) from error

    def _first_ms(self) -> int:
        for batch in self._parquet.iter_batches(1, columns=[self.time_name]):
            return max(int(self._ms(batch.column(0), None)[0]), 0)
        return 0

    def _ms(self, column: pa.Array, timezone: str | None) -> NDArray[np.int64]:
        unit, zone = column.type.unit, column.type.tz
        counts = column.cast(pa.int64())
        ticks = counts.fill_null(-1).to_numpy(zero_copy_only=False)
        per_ms = _UNITS[unit]
        ms = ticks * int(per_ms) if per_ms >= 1 else ticks // int(1 / per_ms)
        if zone is None and timezone is not None:
            wall_from, offset_ms = zone_table(timezone)
            ms = ms - offset_ms[np.searchsorted(wall_from, ms, side="right") - 1]
        return np.where(counts.is_null().to_numpy(zero_copy_only=False) | (ticks < 0), -1, ms)

    def _time_name(self) -> str:
        for name in (TIME_COLUMN, _INDEX):
            if name in self._schema.names and pa.types.is_timestamp(self._schema.field(name).type):
                return name
        known = ", ".join(f"{field.name}: {field.type}" for field in list(self._schema)[:3])
        raise NotASeries(
            f"{self._file.url} has no column {TIME_COLUMN} of timestamps (it begins with {known}).",
            hint="A series has a Time column, or a pandas index of times, and one column an entity.",
        )

    def _check_types(self) -> None:
        if len(set(self._schema.names)) < len(self._schema.names):
            raise NotASeries(f"{self._file.url} has two columns of one name.", rule="not-a-series")
        for field in self._schema:
            number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            if field.name != self.time_name and not (number or pa.types.is_null(field.type)):
                raise NotASeries(
                    f"{self._file.url} has the column {field.name!r} of type {field.type}.",
                    hint="The columns of a series are integers or floats; convert or drop it.",
                )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
