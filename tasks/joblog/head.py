"""What kind of job log a file is, told from its first bytes.

The separator and the columns come from the header; where the columns fit more than
one contract, the words in the column of states decide. A file that fits none is
refused with the contract that comes nearest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from schemas.errors import NotAJobLog, UsageError
from schemas.findings import Example
from schemas.joblogs import FORMATS, JobLogFormat
from schemas.joblogs.slurm import SACCT
from tasks.joblog.parts import BLANKS, Columns
from tasks.storage.source import FileRef, open_reader

HEAD_BYTES = 1 << 18
_SEPARATORS = ",|;\t"
_LFS = b"version https://git-lfs"


@dataclass(frozen=True)
class LogHead:
    """What a log is: its kind, its columns, and whether it is JSON."""

    kind: JobLogFormat
    columns: Columns
    json: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns of the contract that become something and are not there, in the contract's order."""
        if self.json:
            return ()
        there = set(self.columns.names)
        told = {column.becomes for column in self.kind.columns if column.name in there}
        return tuple(
            column.name
            for column in self.kind.columns
            if column.becomes and column.name not in there and column.becomes not in told
            if column.name not in ("gpus", "cluster")
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns that the contract does not know, in the order of the log."""
        return tuple(name for name in self.columns.names if name not in self.kind.column_names)


def read_head(ref: FileRef, wanted: str | None = None) -> LogHead:
    """The kind of the log at `ref`; `wanted` is the name of one that the user gave.

    Raises:
        NotAJobLog: it is none of the known kinds, or of more than one.
        UsageError: there is no kind of the name.
        ReadFailed, FileChanged: as `open_reader`.
    """
    if wanted is not None and wanted not in FORMATS:
        raise UsageError(f"There is no kind of job log '{wanted}'.", hint=f"Known: {', '.join(FORMATS)}.")
    buffer = bytearray(HEAD_BYTES)
    with open_reader(ref) as reader:
        data = bytes(buffer[: reader.read_into(0, memoryview(buffer))])
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    text = data[start:].lstrip(b"\r\n")
    start = len(data) - len(text)
    _refuse_other(ref, text)
    if text[:1] in (b"[", b"{"):
        return _json_head(ref, text, wanted)
    line, ended, _ = text.partition(b"\n")
    if not ended and len(data) == HEAD_BYTES:
        raise _not_a_log(ref, f"has a first line of more than {HEAD_BYTES:,} bytes")
    columns = _columns(ref, line.rstrip(b"\r"), start + min(len(line) + 1, len(text)))
    rows = _rows(text[len(line) + 1 :], columns)
    return LogHead(_kind(ref, columns, rows, wanted), columns)


def recognisable(names: Iterable[str]) -> bool:
    """Whether columns of these names may be those of a job log."""
    there = set(names)
    return any(kind.needed <= there for kind in FORMATS.values())


def _refuse_other(ref: FileRef, text: bytes) -> None:
    if not text:
        raise _not_a_log(ref, "has no bytes", rule="empty-file")
    if text.startswith(_LFS):
        raise _not_a_log(
            ref, "is a Git LFS pointer, not the file", hint="Pull the dataset.", rule="lfs-pointer"
        )
    if text[:1] == b"<":
        raise _not_a_log(ref, "is a web page or XML", rule="html-page")
    if b"\0" in text[:4096]:
        raise _not_a_log(ref, "is no text")


def _json_head(ref: FileRef, text: bytes, wanted: str | None) -> LogHead:
    kind = FORMATS["philly-json"]
    known = all(f'"{key}"'.encode() in text for key in kind.needed)
    if wanted != kind.name and (not known or wanted is not None):
        raise _not_a_log(ref, f"is JSON, but not {kind.title}: it has no {', '.join(sorted(kind.needed))}")
    return LogHead(kind, Columns((), "", 0), json=True)


def _columns(ref: FileRef, line: bytes, start: int) -> Columns:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_a_log(ref, f"has a header that is no UTF-8: {error}") from error
    separator = max(_SEPARATORS, key=text.count)
    if not text.count(separator):
        raise _not_a_log(ref, f"has no header: its first line is {text[:60]!r}")
    names = next(csv.reader(io.StringIO(text), delimiter=separator))
    names = [name.strip() for name in names]
    if separator == "|" and names[-1] == "":
        # sacct --parsable ends every line with a separator.
        names[-1] = "(end of line)"
    names = [name or f"(column {number})" for number, name in enumerate(names, 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _not_a_log(ref, f"has the column {', '.join(twice)} more than once")
    return Columns(tuple(names), separator, start)


def _rows(text: bytes, columns: Columns) -> list[dict[str, str]]:
    lines = text.decode("utf-8", "replace").splitlines()[:2000]
    rows = csv.reader(lines, delimiter=columns.separator)
    return [dict(zip(columns.names, row, strict=True)) for row in rows if len(row) == len(columns.names)]


def _kind(ref: FileRef, columns: Columns, rows: list[dict[str, str]], wanted: str | None) -> JobLogFormat:
    there = set(columns.names)
    if wanted is not None:
        kind = FORMATS[wanted]
        least = {"gpu_num", "plan_gpu", "AllocTRES", "AllocGRES", "submit_time", "Submit"} & kind.column_names
        if not (least & there):
            raise _not_a_log(ref, f"has none of the columns {', '.join(sorted(least))} of {kind.title}")
        return kind
    fitting = [kind for kind in FORMATS.values() if kind.needed <= there]
    if not fitting:
        raise _not_a_log(ref, _nearest(there), hint=_how_to(there))
    best = max(_fit(kind, there, rows) for kind in fitting)
    chosen = [kind for kind in fitting if _fit(kind, there, rows) == best]
    if len(chosen) > 1:
        raise NotAJobLog(
            f"{ref.url} may be {' or '.join(kind.title for kind in chosen)}.",
            hint=f"Say which: --format {' or '.join(kind.name for kind in chosen)}.",
            rule="unclear-format",
            place=Example(file=ref.url),
        )
    return chosen[0]


def _fit(kind: JobLogFormat, there: set[str], rows: list[dict[str, str]]) -> tuple[bool, int, int, int]:
    """How well a contract fits, best last: the words of its states, its own columns, all its columns."""
    known = {*kind.states, *kind.unfinished}
    state = next(column.name for column in kind.columns if column.becomes == "raw_state")
    words = [row[state].split(" ")[0] for row in rows if row.get(state, "") not in BLANKS]
    strange = sum(word not in known for word in words)
    return (2 * strange <= len(words), len(kind.marks & there), len(kind.column_names & there), -strange)


def _nearest(there: set[str]) -> str:
    kind = max(FORMATS.values(), key=lambda kind: (len(kind.needed & there), len(kind.column_names & there)))
    missing = ", ".join(sorted(kind.needed - there))
    return (
        f"has the columns of no known job log: {', '.join(sorted(there))}"[:300]
        + f". The nearest is {kind.title}, but {missing} is missing"
    )


def _how_to(there: set[str]) -> str:
    if {"JobID", "State"} <= there:
        return f"Ask sacct for these columns: {SACCT}."
    if {"duration", "gpu_num"} & there:
        return f"If you know what it is, say so: --format {' | '.join(FORMATS)}."
    return f"Known are {', '.join(FORMATS)}; one of them can be forced with --format."


def _not_a_log(ref: FileRef, what: str, *, hint: str = "", rule: str = "not-a-job-log") -> NotAJobLog:
    return NotAJobLog(f"{ref.url} {what}.", hint=hint, rule=rule, place=Example(file=ref.url))
