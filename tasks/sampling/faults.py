"""Planted faults: one of each known trap, in files of their own.

The files stand in the folder of a cluster `faulty`, named after known metrics,
so that the files of the real clusters stay healthy. The one exception is the
IPMI file of the A and B servers, in which one row of an A server lacks two
readings, as happens in the release. Rules are those of `schemas.findings.RULES`;
those that only an accident while reading can break (a file that changes, a disk
that fails) are not planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from tasks.sampling.edited import EditedTable, table_of
from tasks.sampling.options import PlantedFault
from tasks.sampling.source import Chunk, Source
from tasks.sampling.wide import wide_path, wide_source

FAULT_CLUSTER = "faulty"
PLANTED_NAME = "planted_faults.json"

_GPUS, _ROWS = 16, 240
_MIXED_ROW = 2
_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:7c5a7845da1d66448fa668342e4ecb622fd9a005118080660ec3ad2788d4c9bf\n"
    "size 843403137\n"
)
_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>429 Too Many Requests</title></head><body>Slow down.</body></html>\n"
)
_NO_SERIES = "instance,device,value\n172.31.0.10,3,97.0\n172.31.0.11,4,98.0\n"


@dataclass(frozen=True)
class FaultyFile:
    """A file to be written as it is, and the faults in it."""

    source: Source
    faults: tuple[PlantedFault, ...]


def faulty_files(seed: int) -> tuple[FaultyFile, ...]:
    """The files of the cluster `faulty`, about 200 kB together."""
    edited = tuple(_edited(metric, seed) for metric in _EDITS)
    return edited + tuple(_raw(metric, rule, text) for metric, (rule, text) in _RAW.items())


def with_mixed_node(source: Source) -> FaultyFile:
    """The IPMI file of the A and B servers with one row of an A server that looks like B."""
    first = next(source.chunks())
    table = table_of(replace(source, chunks=lambda: iter((first,))))
    for column in ("CPU_Power", "Memory_Power"):
        table.lines[_MIXED_ROW][table.lines[0].index(column)] = ""
    table.note("mixed-type-node", _MIXED_ROW, 0)
    spoiled = table.text()[len(source.header) :]

    def chunks() -> Iterator[Chunk]:
        pieces = source.chunks()
        next(pieces)
        yield lambda: spoiled
        yield from pieces

    return FaultyFile(replace(source, chunks=chunks), table.faults(source.path))


def _edited(metric: str, seed: int) -> FaultyFile:
    known = "GPU_UTIL" if metric == "MYSTERY_GAUGE" else metric
    table = table_of(wide_source("kalos", known, _GPUS, _ROWS, seed))
    _EDITS[metric](table)
    path = wide_path(FAULT_CLUSTER, metric)
    return FaultyFile(_source(path, table.text(), table.rows), table.faults(path))


def _raw(metric: str, rule: str, text: str) -> FaultyFile:
    path = wide_path(FAULT_CLUSTER, metric)
    return FaultyFile(_source(path, text.encode(), 0), (PlantedFault(path, rule),))


def _source(path: str, text: bytes, rows: int) -> Source:
    return Source(path=path, rows=rows, header=b"", chunks=lambda: iter((lambda: text,)))


def _spoil_header(table: EditedTable) -> None:
    names = table.lines[0]
    for line in table.lines[1:]:
        line[5] = ""
    table.note("blank-column", column=names[5])
    table.add_column("duplicate-column", names[3], like=3)
    table.add_column("suffixed-column", f"{names[4]}.1", like=4)
    table.add_column("odd-column", "Unnamed: 7", like=7)


def _spoil_rows(table: EditedTable) -> None:
    for line in table.lines[201:]:
        line[0] = _shifted(line[0], timedelta(hours=1))
    table.note("gap", 201, 0, "Time")
    table.note("ragged-row", 20, 0)
    del table.lines[20][-2:]
    table.note("ragged-row", 40, 0)
    table.lines[40].append("1.0")
    table.set_time("bad-time", 60, "2023-08-15 25:61:00+08:00")
    utc = datetime.fromisoformat(table.lines[80][0]).astimezone(UTC)
    table.set_time("mixed-zones", 80, utc.isoformat(sep=" "))
    table.set_time("duplicate-time", 100, table.lines[99][0])
    table.set_time("disordered-time", 120, _shifted(table.lines[120][0], -timedelta(minutes=10)))


def _spoil_cells(table: EditedTable) -> None:
    table.set_cell("bad-cell", 30, 2, "ERR!")
    table.set_cell("bad-cell", 31, 6, "61.4.2")
    table.set_cell("out-of-range", 50, 3, "6553.5")
    table.set_cell("out-of-range", 51, 4, "-1.0")


def _spoil_many_cells(table: EditedTable) -> None:
    table.note("too-many-bad-cells")
    for row in range(10, 130, 10):
        table.set_cell("bad-cell", row, 1 + row // 10 % 8, "ERR!")


def _blank_most(table: EditedTable) -> None:
    for row, line in enumerate(table.lines[1:]):
        line[1:] = [text if (row + place) % 5 == 0 else "" for place, text in enumerate(line[1:])]
    table.note("low-coverage")


def _stretch(table: EditedTable) -> None:
    start = table.lines[1][0]
    for row, line in enumerate(table.lines[1:]):
        line[0] = _shifted(start, timedelta(minutes=row))
    table.note("wrong-interval")


def _pair_rows(table: EditedTable) -> None:
    # Pairs of sampling slots, not of rows: slots are missing here and there.
    held: dict[int, list[str]] = {}
    for line in table.lines[1:]:
        pair = int(datetime.fromisoformat(line[0]).timestamp()) // 30
        line[1:] = held.setdefault(pair, line[1:])
    table.note("repeated-pairs")


def _drop_zone(table: EditedTable) -> None:
    for line in table.lines[1:]:
        line[0] = line[0][:19]
    table.note("no-zone", 1, 0, "Time")


def _be_unknown(table: EditedTable) -> None:
    table.note("unknown-metric")


def _shifted(time: str, by: timedelta) -> str:
    return (datetime.fromisoformat(time) + by).isoformat(sep=" ")


_EDITS: Mapping[str, Callable[[EditedTable], None]] = MappingProxyType(
    {
        "GPU_UTIL": _spoil_rows,
        "SM_ACTIVE": _spoil_header,
        "POWER_USAGE": _spoil_cells,
        "MEM_COPY_UTIL": _spoil_many_cells,
        "GPU_TEMP": _blank_most,
        "FB_USED": _stretch,
        "MEMORY_TEMP": _pair_rows,
        "XID_ERRORS": _drop_zone,
        "MYSTERY_GAUGE": _be_unknown,
    }
)
_RAW: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "FB_FREE": ("empty-file", ""),
        "DRAM_ACTIVE": ("header-only", "Time,172.31.0.10-0,172.31.0.10-1\n"),
        "SM_OCCUPANCY": ("lfs-pointer", _POINTER),
        "PIPE_TENSOR_ACTIVE": ("html-page", _PAGE),
        "NODE_CPU_UTILIZATION": ("not-a-series", _NO_SERIES),
    }
)
