"""Job tables in the Standard Workload Format, for the simulators of the Parallel Workloads Archive.

Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive",
JPDC 74 (2014), and the format's definition 2.2: a line a job in order of submission,
18 whole numbers, −1 where nothing is known, times in seconds after UnixStartTime.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.jobs import CANCELLED, COMPLETED, FAILED
from schemas.manifest import OutputFile
from tasks.joblog.schema import load_jobs
from tasks.storage.publish import growing_file

Ints = NDArray[np.int64]
UNKNOWN = -1
# Field 11; the format has 5 for a job that was cancelled before or after it began.
STATUS = {FAILED: 0, COMPLETED: 1, CANCELLED: 5}
_LINES = 50_000
_NEEDED = (
    *("job_id", "user", "vc", "type", "state", "submit", "run_s", "wait_s"),
    *("gpu_num", "cpu_num"),
)


@dataclass(frozen=True)
class SwfReport:
    """What was written, and the jobs that have no line: CPU jobs, and those without a submission time."""

    output: OutputFile
    jobs: int
    without_gpus: int
    without_submit: int


def export_swf(
    table: str, folder: str, name: str, *, cluster: str, processors: str = "gpus", timezone: str = "UTC"
) -> SwfReport:
    """The job table at `table` as an SWF file.

    A processor is a GPU, and jobs without one have no line; with processors "cpus" it is a CPU,
    and all have. Numbers are rounded to whole ones, fractions of a GPU up. Users (12), types
    (14, executable) and virtual clusters (15, queue) are numbered by name from 1; the header
    tells which number is which. A job whose run or wait is not known has −1 there.

    Raises:
        UsageError: `processors` is neither, or no job can be written.
        IncompleteRun: there is no table.
    """
    if processors not in ("gpus", "cpus"):
        raise UsageError(f"A processor is no {processors}.", hint="Choose gpus or cpus.")
    jobs = load_jobs(table, _NEEDED)
    held = jobs["gpu_num" if processors == "gpus" else "cpu_num"].to_numpy(float, na_value=np.nan)
    submitted = jobs["submit"].notna().to_numpy()
    wanted = held > 0 if processors == "gpus" else np.ones(len(jobs), bool)
    jobs, held = jobs[wanted & submitted], held[wanted & submitted]
    if jobs.empty:
        raise UsageError(f"{cluster} has no job that could be written as SWF with processors {processors}.")
    order = np.lexsort((jobs["job_id"].to_numpy(dtype=str), jobs["submit"].astype("int64").to_numpy()))
    jobs, held = jobs.iloc[order], held[order]
    with growing_file(folder, name) as file:
        file.write(_header(jobs, held, cluster, processors, timezone).encode())
        for text in _lines(_fields(jobs, held)):
            file.write(text.encode())
        output = file.output(name)
    return SwfReport(output, len(jobs), int((~wanted).sum()), int((wanted & ~submitted).sum()))


def _fields(jobs: pd.DataFrame, held: NDArray[np.float64]) -> NDArray[np.int64]:
    """The 18 fields of each job, a row a job."""
    count = len(jobs)
    submit = _seconds(jobs["submit"])
    fields = np.full((count, 18), UNKNOWN, np.int64)
    fields[:, 0] = np.arange(1, count + 1)
    fields[:, 1] = submit - submit[0]
    fields[:, 2] = _whole(np.rint(jobs["wait_s"].to_numpy(float)))
    fields[:, 3] = _whole(np.rint(jobs["run_s"].to_numpy(float)))
    fields[:, 4] = fields[:, 7] = _whole(np.ceil(held))
    fields[:, 10] = [STATUS.get(state, UNKNOWN) for state in jobs["state"].astype("object")]
    for place, column in ((11, "user"), (13, "type"), (14, "vc")):
        fields[:, place] = _numbered(jobs[column])[1]
    fields[:, 15] = 1
    return fields


def _header(
    jobs: pd.DataFrame, held: NDArray[np.float64], cluster: str, processors: str, timezone: str
) -> str:
    submit = _seconds(jobs["submit"])
    first, last = (datetime.fromtimestamp(int(second), UTC) for second in (submit[0], submit[-1]))
    run = jobs["run_s"].to_numpy(float)
    told = {
        "Version": "2.2",
        "Computer": cluster,
        "Conversion": "acmetrace jobs export",
        "MaxJobs": len(jobs),
        "MaxRecords": len(jobs),
        "Preemption": "No",
        "UnixStartTime": int(submit[0]),
        "TimeZoneString": timezone,
        "StartTime": f"{first:%a %b %d %H:%M:%S %Z %Y}",
        "EndTime": f"{last:%a %b %d %H:%M:%S %Z %Y}",
        "MaxProcs": int(np.nanmax(np.ceil(held))) if np.isfinite(held).any() else UNKNOWN,
        "MaxRuntime": int(np.nanmax(run)) if np.isfinite(run).any() else UNKNOWN,
    }
    lines = [f"; {name}: {value}" for name, value in told.items()]
    lines.append(
        f"; Note: a processor is a {'GPU' if processors == 'gpus' else 'CPU'}; MaxProcs is the largest job"
    )
    for label, column in (("Queue", "vc"), ("Note: User", "user"), ("Note: Executable", "type")):
        lines += [
            f"; {label}: {number} {_line(word)}" for number, word in enumerate(_numbered(jobs[column])[0], 1)
        ]
    return "\n".join(lines) + "\n"


def _numbered(column: pd.Series) -> tuple[list[str], Ints]:
    """The words of a column by name, and the number of each row's from 1, −1 where it has none."""
    texts = column.astype("object")
    words = sorted({str(word) for word in column.dropna().unique()})
    number = {word: place for place, word in enumerate(words, 1)}
    return words, np.array([number.get(text, UNKNOWN) for text in texts], np.int64)


def _lines(fields: NDArray[np.int64]) -> Iterator[str]:
    for first in range(0, len(fields), _LINES):
        rows = fields[first : first + _LINES].tolist()
        yield "".join(" ".join(map(str, row)) + "\n" for row in rows)


def _seconds(times: pd.Series) -> Ints:
    seconds: Ints = times.dt.as_unit("ms").astype("int64").to_numpy() // 1000
    return seconds


def _whole(values: NDArray[np.float64]) -> Ints:
    return np.where(np.isfinite(values), np.nan_to_num(values), UNKNOWN).astype(np.int64)


def _line(word: str) -> str:
    """A name on one line of a header."""
    return " ".join(word.split())
