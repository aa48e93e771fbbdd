"""What is particular to sacct: rows of steps, and GPUs that stand inside a list of resources."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.joblog.audit import Audit
from tasks.joblog.parts import Part

_GPUS = "gpus"
_TRES = ("AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES")
_ASKED = ("ReqTRES", "ReqGRES")
_COUNT = r"=(\d+(?:\.\d+)?)"
_ALL_GPUS = re.compile(rf"(?:^|,)gres/gpu{_COUNT}(?:,|$)")
_TYPED_GPUS = re.compile(rf"(?:^|,)gres/gpu:[^=,]+{_COUNT}")
_OLD_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,=()]+)*[:=](\d+)")
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")


def prepared(part: Part, audit: Audit) -> Part:
    """The jobs among the rows, with their GPUs as a column, and the elapsed time in seconds."""
    ids = part.table.column("JobID").combine_chunks()
    steps = np.asarray(pc.match_substring(ids, ".").fill_null(False))
    if steps.any():
        audit.rows("job-step", steps, part.numbers, part.place, column="JobID", values=_values(ids))
        part = replace(part, table=part.table.filter(pa.array(~steps)), numbers=part.numbers[~steps])
    table = part.table
    table = table.append_column(_GPUS, _gpus(table))
    if "ElapsedRaw" not in table.column_names and "Elapsed" in table.column_names:
        table = table.append_column("ElapsedRaw", _mapped(table.column("Elapsed"), elapsed_s))
    return replace(part, table=table)


def gpus_of(resources: str) -> float:
    """The GPUs in a list of resources: `cpu=64,gres/gpu=8,…`, `gres/gpu:a100=8`, or the old `gpu:8`.

    The untyped count holds those of all types; types are added up only where it is missing.
    """
    whole = _ALL_GPUS.search(resources)
    if whole:
        return float(whole[1])
    found = _TYPED_GPUS.findall(resources) or _OLD_GPUS.findall(resources)
    return float(sum(float(count) for count in found))


def elapsed_s(text: str) -> float:
    """Seconds of `[days-][hours:]minutes:seconds`; NaN where it is something else."""
    match = _ELAPSED.fullmatch(text.strip())
    if match is None:
        return float("nan")
    days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _gpus(table: pa.Table) -> pa.ChunkedArray:
    """GPUs by what was granted, else by what was asked for; no GPU where resources name none."""
    granted = [name for name in _TRES if name in table.column_names and name not in _ASKED]
    asked = [name for name in _ASKED if name in table.column_names]
    columns = [_mapped(table.column(name), gpus_of) for name in (*granted, *asked)]
    if not columns:
        return pa.chunked_array([pa.nulls(table.num_rows, pa.string())])
    return pc.coalesce(*columns) if len(columns) > 1 else columns[0]


def _mapped(column: pa.ChunkedArray, reading: Callable[[str], float]) -> pa.ChunkedArray:
    """`reading` of each distinct text, as text again, so that it is read like any other cell."""
    encoded = pc.dictionary_encode(column.combine_chunks())
    words = pa.array([str(reading(word)) for word in encoded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([words.take(encoded.indices)])


def _values(ids: pa.Array) -> Callable[[int], object]:
    return lambda index: ids[index].as_py()
