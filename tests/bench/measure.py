"""One measurement: a process, its time, the memory of its tree, and what it found.

Belongs here: both ends of a measurement, the process that works (`work_once`) and the one
that watches it (`measure`). Each measurement is a process of its own, because a used
interpreter has warm caches and a grown heap that the next contender would inherit.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.bench.counts import Outcome
from tests.bench.data import ROOT
from tests.bench.registry import Contender

SAMPLE_S = 0.02
# Finding the children means a look at every process of the machine, which a measured
# contender would feel 50 times a second.
_LOOKS_PER_CENSUS = 5
_WARM_LINES = 40
PRINTED = "printed"


@dataclass(frozen=True)
class Sample:
    """What one process told. `work_s` is None for a command, `failure` says what went wrong."""

    process_s: float
    peak_bytes: int
    work_s: float | None = None
    outcome: Outcome = field(default_factory=Outcome)
    failure: str | None = None
    timed_out: bool = False


def work_once(contender: Contender, path: Path) -> dict[str, Any]:
    """Let an in-process contender warm up on the head of the file, then time it on the whole."""
    if contender.work is None:
        raise ValueError(f"{contender.name} is a command")
    with tempfile.TemporaryDirectory() as folder:
        contender.work(head_of(path, Path(folder)))
    begin = time.perf_counter()
    outcome = contender.work(path)
    return {"work_s": time.perf_counter() - begin, **outcome.to_json()}


def head_of(path: Path, folder: Path) -> Path:
    """The first lines as a file of their own, under the same names, which decide how it is read."""
    head = folder / path.parent.name / path.name
    head.parent.mkdir()
    with path.open("rb") as source:
        head.write_bytes(b"".join(itertools.islice(source, _WARM_LINES)))
    return head


def measure(contender: Contender, path: Path) -> Sample:
    """Run a contender on a file in a process of its own and watch it."""
    path = path.absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if contender.command is not None:
            arguments = contender.command(path, folder)
        else:
            arguments = [sys.executable, "-m", "tests.bench", "one", contender.name, str(path)]
        seen = watched(arguments, folder, contender.timeout_s)
        if seen.failure is not None:
            return seen
        if contender.command is None:
            told = json.loads((folder / PRINTED).read_text().splitlines()[-1])
            return Sample(seen.process_s, seen.peak_bytes, told["work_s"], Outcome.from_json(told))
        return Sample(seen.process_s, seen.peak_bytes, outcome=contender.read_back(folder))


def watched(arguments: list[str], folder: Path, timeout_s: float) -> Sample:
    """Run a command and watch it; what it prints goes into `folder`."""
    printed, complaint = folder / PRINTED, folder / "complaint"
    with printed.open("wb") as out, complaint.open("wb") as err:
        begin = time.perf_counter()
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT)
        watch = _Watch(process.pid, timeout_s)
        watch.start()
        code = process.wait()
        seconds = time.perf_counter() - begin
        watch.stop()
    if watch.timed_out:
        return Sample(seconds, watch.peak, failure=f"over {timeout_s:g} s", timed_out=True)
    if code:
        last = complaint.read_text(errors="replace").strip().splitlines()[-1:]
        return Sample(seconds, watch.peak, failure=f"exit code {code}: {' '.join(last)}")
    return Sample(seconds, watch.peak)


class _Watch(threading.Thread):
    """Samples the memory of a process and its descendants, and ends them after the time allowed.

    A page that two of them share counts twice, and mapped pages of a file count as well.
    """

    def __init__(self, pid: int, timeout_s: float) -> None:
        super().__init__(daemon=True)
        self.peak, self.timed_out = 0, False
        self._pid, self._timeout_s, self._ended = pid, timeout_s, threading.Event()

    def run(self) -> None:
        begin, tree = time.monotonic(), list[psutil.Process]()
        for look in itertools.count():
            if look % _LOOKS_PER_CENSUS == 0:
                tree = _tree(self._pid)
            self.peak = max(self.peak, sum(_rss(process) for process in tree))
            if time.monotonic() - begin > self._timeout_s and not self._ended.is_set():
                self.timed_out = True
                _end(_tree(self._pid))
            if self._ended.wait(SAMPLE_S):
                return

    def stop(self) -> None:
        """The process has ended."""
        self._ended.set()
        self.join()


def _tree(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    return []


def _rss(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def _end(tree: list[psutil.Process]) -> None:
    for process in reversed(tree):
        with contextlib.suppress(psutil.Error):
            process.kill()
