"""The head of a series file: header, columns, and a sample of its first rows.

Reading the head tells whether a file is a series at all, how its cells look and
where its rows begin. Which cells are right or wrong is not decided here.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.errors import NotASeries
from schemas.findings import Example
from schemas.ipmi import NODE_COLUMN, TIME_COLUMN, TOTAL_COLUMN
from tasks.series.clock import NAIVE, UNKNOWN_ZONE, time_of
from tasks.storage.source import FileRef, Reader, open_reader

SAMPLE_BYTES = 256 << 10
MOST_HEADER_BYTES = 64 << 20
MOST_COLUMNS = 1_000_000
MOST_NAME_CHARS = 1_000

_BOM = b"\xef\xbb\xbf"
_POINTER = b"version https://git-lfs.github.com/spec/"
_HTML = re.compile(rb"\s*(<!doctype|<html|<\?xml|<head|<body)", re.IGNORECASE)


@dataclass(frozen=True)
class Head:
    """The header of `file` and what its first rows look like.

    `names` are the value columns as written, `columns` the same made unique as
    pandas does (`A`, `A.1`). Rows begin at byte `data_start`. `sample` holds the
    first whole rows; `zone` is the zone code of the first one. `names_start` is the
    byte where `names` begin, or None where names are quoted. Both name lists hold
    the time column only where it does not stand first.
    """

    file: FileRef
    names: tuple[str, ...]
    columns: tuple[str, ...]
    data_start: int
    sample: bytes
    zone: int
    names_start: int | None

    @property
    def has_rows(self) -> bool:
        """Whether any row was seen."""
        return bool(self.sample.strip())

    @property
    def naive(self) -> bool:
        """Whether the times carry no zone."""
        return self.zone == NAIVE

    def name_offsets(self) -> Sequence[int | None]:
        """The byte offset of each of `names`; None for all where the header is quoted."""
        if self.names_start is None:
            return [None] * len(self.names)
        lengths = (len(name.encode()) + 1 for name in self.names)
        return list(itertools.accumulate(lengths, initial=self.names_start))[:-1]

    def first_time(self) -> Example:
        """Where the first row's time stands, and its text, for a wide file."""
        blank = len(self.sample) - len(self.sample.lstrip(b"\r\n"))
        text = self.sample[blank:].split(b"\n", 1)[0].split(b",", 1)[0]
        return Example(
            file=self.file.url,
            row=1,
            column=TIME_COLUMN,
            byte_offset=self.data_start + blank,
            value=text.decode("utf-8", "replace").strip()[:40],
        )

    def to_bytes(self) -> bytes:
        """All but the file, as packed JSON and the sample."""
        meta = json.dumps([self.names, self.columns, self.data_start, self.zone, self.names_start]).encode()
        return zlib.compress(len(meta).to_bytes(8, "big") + meta + self.sample, 1)

    @classmethod
    def from_bytes(cls, file: FileRef, data: bytes) -> Head:
        """The inverse of `to_bytes` for the same version of `file`."""
        text = zlib.decompress(data)
        stop = 8 + int.from_bytes(text[:8], "big")
        names, columns, data_start, zone, names_start = json.loads(text[8:stop])
        return cls(file, tuple(names), tuple(columns), data_start, text[stop:], zone, names_start)


def read_head(file: FileRef, time_column: str = "Time") -> Head:
    """Read header and first rows of `file`.

    Raises:
        NotASeries: the file is empty, a pointer, a web page, binary, or has no header
            that starts with `time_column`; `rule` names which.
        FileChanged, ReadFailed: as the source says.
    """
    with open_reader(file) as reader:
        text, ended = _first_bytes(reader, file)
    return _parse(file, text, ended, time_column)


def _first_bytes(reader: Reader, file: FileRef) -> tuple[bytes, bool]:
    """The header line and a sample behind it that holds a whole row, if there is one; whether that is all."""
    text, wanted = b"", SAMPLE_BYTES
    while True:
        more = bytearray(wanted)
        count = reader.read_into(len(text), memoryview(more))
        text += more[:count]
        if count < wanted:
            return text, True
        newline = text.find(b"\n")
        sampled = newline >= 0 and len(text) - newline > SAMPLE_BYTES // 2
        if sampled and (text.find(b"\n", newline + 1) >= 0 or len(text) > MOST_HEADER_BYTES):
            return text, False
        if newline < 0 and len(text) > MOST_HEADER_BYTES:
            raise NotASeries(f"{file.url} has no line end in its first {len(text):,} bytes.")
        wanted = len(text)


def _parse(file: FileRef, text: bytes, ended: bool, time_column: str) -> Head:
    if not text:
        raise NotASeries(f"{file.url} has no bytes.", rule="empty-file")
    if text.startswith(_POINTER):
        raise NotASeries(
            f"{file.url} is a Git LFS pointer of {len(text)} bytes, not the data.",
            hint="Fetch the file itself, for example with `git lfs pull` or from the dataset hub.",
            rule="lfs-pointer",
        )
    if _HTML.match(text):
        raise NotASeries(
            f"{file.url} is a web page, not the data.",
            hint="The download was answered with a page; fetch the file again.",
            rule="html-page",
        )
    if b"\0" in text:
        raise NotASeries(f"{file.url} holds binary data (a zero byte at {text.index(0)}).")
    start = len(_BOM) if text.startswith(_BOM) else 0
    newline = text.find(b"\n", start)
    stop = newline if newline >= 0 else len(text)
    names = _split_header(file, text[start:stop])
    place = 0
    if names[0] != time_column:
        # In long form (IPMI files) columns stand in any order.
        if not {time_column, NODE_COLUMN, TOTAL_COLUMN} <= set(names):
            shown = names[0][:40]
            raise NotASeries(
                f"{file.url} starts with the column '{shown}', expected '{time_column}'.",
                hint="A series file is Time,<entity>,<entity>,… with one row a sample.",
            )
        place = names.index(time_column)
    data_start = min(stop + 1, len(text))
    sample = text[data_start:]
    if not ended:
        sample = sample[: sample.rfind(b"\n") + 1]
    return Head(
        file=file,
        names=tuple(names if place else names[1:]),
        columns=_unique(names)[0 if place else 1 :],
        data_start=data_start,
        sample=sample,
        zone=_zone_of(sample, place),
        names_start=_names_start(text[start:stop], start, place),
    )


def _split_header(file: FileRef, line: bytes) -> list[str]:
    try:
        text = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise NotASeries(f"{file.url} has a header that is not UTF-8 (byte {error.start}).") from error
    names = next(csv.reader([text]), [""]) if '"' in text else text.split(",")
    if len(names) > MOST_COLUMNS:
        raise NotASeries(f"{file.url} has {len(names):,} columns, at most {MOST_COLUMNS:,} are read.")
    longest = max(map(len, names))
    if longest > MOST_NAME_CHARS:
        raise NotASeries(
            f"{file.url} has a column name of {longest:,} characters, at most {MOST_NAME_CHARS:,} are read.",
            hint="Is the first line the header?",
        )
    return [names[0].strip(), *names[1:]]


def _unique(names: list[str]) -> tuple[str, ...]:
    """Repeated names get `.1`, `.2`, … as in pandas' reader."""
    taken, seen, unique = set(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        candidate, number = name, seen[name] - 1
        if number:
            while f"{name}.{number}" in taken:
                number += 1
            candidate = f"{name}.{number}"
            taken.add(candidate)
        unique.append(candidate)
    return tuple(unique)


def _names_start(line: bytes, start: int, place: int) -> int | None:
    if b'"' in line:
        return None
    return start if place else start + len(line.split(b",", 1)[0]) + 1


def _zone_of(sample: bytes, place: int) -> int:
    """The zone code of the first row's time, or UNKNOWN_ZONE."""
    line = sample.lstrip(b"\r\n").split(b"\n", 1)[0]
    line = b",".join(line.split(b",", place)[place:])
    if not line:
        return UNKNOWN_ZONE
    ms, zone = time_of(line, "UTC")
    return zone if ms >= 0 else UNKNOWN_ZONE
