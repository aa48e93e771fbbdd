"""Philly's original log: a JSON list of jobs, each with the attempts to run it.

Records are decoded one after the other, so that the list is never held whole. A
job runs from the start of its first attempt to the end of its last one and holds
the GPUs of the first attempt that tells any.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.joblog.audit import Audit
from tasks.joblog.parts import BLANKS, Part
from tasks.storage.digest import LeafDigests
from tasks.storage.reference import Reader

_PIECE = 4 << 20
# A job of a thousand attempts on a thousand GPUs takes less.
LONGEST_RECORD = 64 << 20
_JOBS_A_PART = 50_000
_FIELDS = (
    "job_id",
    "user",
    "vc",
    "gpu_num",
    "node_num",
    "state",
    "submit_time",
    "start_time",
    "end_time",
    "attempts",
)


def read_json_parts(reader: Reader, audit: Audit, digests: LeafDigests | None = None) -> Iterator[Part]:
    """The jobs of the log as text, like the rows of a CSV.

    Raises:
        ReadFailed: as the reader.
    """
    rows: list[tuple[str | None, ...]] = []
    first = number = 1
    for record in _records(reader, digests):
        if isinstance(record, dict):
            rows.append(_row(record))
        else:
            # What is no job keeps its number, so that rows can be found again.
            rows.append((None,) * len(_FIELDS))
            audit.one("ragged-row", row=number, value=record)
        number += 1
        if len(rows) == _JOBS_A_PART:
            yield _part(rows, first)
            rows, first = [], number
    yield _part(rows, first)


def prepared(part: Part, audit: Audit) -> Part:
    """The same; jobs of several attempts are noted."""
    tries = np.asarray(part.table.column("attempts").cast(pa.int64()).fill_null(0))
    audit.rows(
        "retried-job", tries > 1, part.numbers, part.place, values=lambda index: f"{tries[index]} attempts"
    )
    return part


def _records(reader: Reader, digests: LeafDigests | None) -> Iterator[Any]:
    decoder, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace")
    text, position, place, ended = "", 0, 0, False
    while True:
        while place < len(text) and text[place] in "[], \t\r\n\ufeff":
            place += 1
        try:
            record, place = decoder.raw_decode(text, place)
        except RecursionError:
            yield text[place : place + 200]
            return
        except json.JSONDecodeError:
            if ended or len(text) - place > LONGEST_RECORD:
                if text[place:].strip():
                    yield text[place : place + 200]  # cut in the middle of a record, or no JSON from here on
                return
            buffer = bytearray(_PIECE)
            count = reader.read_into(position, memoryview(buffer))
            if digests is not None:
                digests.add(position, memoryview(buffer)[:count])
            position += count
            ended = count < _PIECE
            text, place = text[place:] + utf8.decode(bytes(buffer[:count]), final=ended), 0
        else:
            yield record


def _row(job: dict[str, Any]) -> tuple[str | None, ...]:
    attempts = [attempt for attempt in job.get("attempts") or () if isinstance(attempt, dict)]
    held = next((detail for attempt in attempts if (detail := _servers(attempt))), [])
    gpus = sum(len(server.get("gpus") or ()) for server in held)
    return (
        _text(job.get("jobid")),
        _text(job.get("user")),
        _text(job.get("vc")),
        str(gpus) if held else None,
        str(len(held)) if held else None,
        _text(job.get("status")),
        _text(job.get("submitted_time")),
        next((start for attempt in attempts if (start := _text(attempt.get("start_time")))), None),
        _text(attempts[-1].get("end_time")) if attempts else None,
        str(len(attempts)),
    )


def _servers(attempt: dict[str, Any]) -> list[dict[str, Any]]:
    return [server for server in attempt.get("detail") or () if isinstance(server, dict)]


def _text(value: Any) -> str | None:
    text = "" if value is None else str(value)
    return None if text in BLANKS else text


def _part(rows: list[tuple[str | None, ...]], first: int) -> Part:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_FIELDS)
    table = pa.table(
        {name: pa.array(cells, pa.string()) for name, cells in zip(_FIELDS, columns, strict=True)}
    )
    numbers = np.arange(first, first + len(rows), dtype=np.int64)
    jobs = np.asarray(table.column("attempts").is_valid())
    return Part(table.filter(pa.array(jobs)), numbers[jobs], (), first, b"", 0)
