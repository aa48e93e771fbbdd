"""The files that are measured: which there are, where they lie, and how they come to be.

Belongs here: sizes, folders and generation. A file is made once and used by every later
run, so that runs of different days measure the same bytes; delete its folder to renew it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.raw import COLUMNS, write_raw
from tests.bench.registry import Form

if TYPE_CHECKING:
    from tasks.sampling import SampleOptions

ROOT = Path(__file__).parents[2]
MEGABYTE = 1_000_000
# Below this a file would be hardly more than its header of thousands of names.
SMALLEST_BYTES = 400_000
_SEREN_GPUS = 1992
_SPARE = 1.1  # of the disk: sizes are met within a few per cent
_CHUNK = 8 << 20


class BenchError(Exception):
    """The harness cannot do what it is asked; the text says why."""


@dataclass(frozen=True)
class Content:
    """A file to measure on: its name here and in the release, its size at scale 1, what is in it."""

    name: str
    series: str
    megabytes: int
    what: str
    form: Form = "wide"
    raw: bool = False


CONTENTS = {
    content.name: content
    for content in (
        Content("GPU_UTIL", "GPU_UTIL", 1000, "whole numbers from 0 to 100"),
        Content("SM_ACTIVE", "SM_ACTIVE", 1000, "three decimals"),
        Content("FB_USED", "FB_USED", 1000, "whole numbers up to 81,920"),
        Content("RAW", "PIPE_TENSOR_ACTIVE", 300, "floats of 16 to 17 digits, all different", raw=True),
        Content("IPMI", "GPU_AB_Power", 300, "long form, a row for each server and instant", form="ipmi"),
        Content("GPU_UTIL-quarter", "GPU_UTIL", 250, "for memory against size"),
        Content("GPU_UTIL-double", "GPU_UTIL", 2000, "for what the whole command adds"),
    )
}


@dataclass(frozen=True)
class BenchFile:
    """A content in a size; `small` is the tenth that slow methods get."""

    content: Content
    scale: float
    small: bool = False

    @property
    def bytes_wanted(self) -> int:
        """The size asked of the generator."""
        wanted = int(self.content.megabytes * MEGABYTE * self.scale / (10 if self.small else 1))
        return max(wanted, SMALLEST_BYTES)

    @property
    def label(self) -> str:
        """Name of its folder: contents of one series share a file where their sizes meet."""
        return f"{self.content.series}-{self.bytes_wanted / MEGABYTE:g}MB"

    @property
    def path(self) -> Path:
        """Where the file lies, or would; alone in its folder, which has the cluster's name."""
        folder = "ipmi" if self.content.form == "ipmi" else "kalos"
        return data_folder() / self.label / "data" / "utilization" / folder / f"{self.content.series}.csv"


def data_folder() -> Path:
    """`$ACMETRACE_BENCH_DATA`, or `bench-data` in the checkout."""
    return Path(os.environ.get("ACMETRACE_BENCH_DATA") or ROOT / "bench-data").absolute()


def provide(files: Iterable[BenchFile], say: Callable[[str], None] = lambda line: None) -> None:
    """Make those of `files` that are not there.

    Raises:
        BenchError: the disk has no room for them.
    """
    absent = {file.label: file for file in files if not file.path.is_file()}
    if not absent:
        return
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    needed = int(sum(file.bytes_wanted for file in absent.values()) * _SPARE)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(
            f"{folder} has {free / 1e9:.1f} GB free, the files to measure on take {needed / 1e9:.1f} GB: "
            "make room, point ACMETRACE_BENCH_DATA elsewhere, or choose a smaller --scale."
        )
    for file in absent.values():
        say(f"making {file.label}")
        _make(file)


def _make(file: BenchFile) -> None:
    """Under a name of this process first: a run that breaks off leaves no half file to be trusted later."""
    # Here and not above: a contender's process knows this module, and would carry the sampler's compiler.
    from tasks.sampling import write_sample

    final = data_folder() / file.label
    part = final.with_name(f"{file.label}.part-{os.getpid()}")
    try:
        if file.content.raw:
            write_raw(part / file.path.relative_to(final), file.bytes_wanted)
        else:
            write_sample(part, _options(file))
        part.rename(final)
    except OSError as error:
        raise BenchError(f"{file.label} could not be made: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _options(file: BenchFile) -> SampleOptions:
    from tasks.sampling import SampleOptions

    ipmi = file.content.form == "ipmi"
    return SampleOptions(
        clusters=("seren",) if ipmi else ("kalos",),
        gpus=_SEREN_GPUS if ipmi else COLUMNS,
        metrics=(file.content.series,),
        size_bytes=file.bytes_wanted,
    )


def warm(path: Path) -> None:
    """Read the file once, so that the first contender does not pay for the disk alone."""
    with path.open("rb", buffering=0) as file:
        while file.read(_CHUNK):
            pass
