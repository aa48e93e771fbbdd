"""The request for a sample, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemas.errors import UsageError
from schemas.ipmi import IPMI_FILES
from schemas.metrics import CATALOGUE
from tasks.sampling.fleet import FULL_FLEET, GPUS_PER_NODE, LARGEST_FLEET
from tasks.sampling.jobs import JOB_TRACE

DEFAULT_ROWS = 1920  # 8 hours
SMALL_FLEET = 64
# From this size on the fleet is the full one: rows are then as wide as the released ones.
FULL_FLEET_FROM_BYTES = 250_000_000
# 47 years of 15-s steps: a longer file would have to start before 1970.
MOST_ROWS = 100_000_000
KNOWN_FILES = (*CATALOGUE, *IPMI_FILES, JOB_TRACE)


@dataclass(frozen=True)
class SampleOptions:
    """What to generate.

    rows: rows of each wide series; None means 1,920 (8 h), or what `size_bytes` asks for.
    clusters: `seren`, `kalos` or both; IPMI files belong to Seren.
    gpus: GPUs of each cluster, a multiple of 8; None means 64, or the full fleet
        (Seren 1,992, Kalos 2,344) where `size_bytes` is 250 MB or more.
    metrics: names of series, IPMI files or `job_trace`; empty means all of them.
    seed: the same options and seed give the same bytes.
    faults: also plant one of each known trap, see `tasks.sampling.faults`.
    raw: write the wide series as exporters do, before they are cleaned; nothing else.
    size_bytes: the wanted size of all files together, met within a few per cent.
    workers: threads that make text.
    helios: also write the job logs of Helios' four clusters with their quotas, and those of
        other traces; they come on top of `size_bytes`.
    jobs: at most so many jobs in each log; by default as many as go with the rows.
    """

    rows: int | None = None
    clusters: tuple[str, ...] = ("seren", "kalos")
    gpus: int | None = None
    metrics: tuple[str, ...] = ()
    seed: int = 0
    faults: bool = False
    raw: bool = False
    size_bytes: int | None = None
    workers: int = 2
    helios: bool = False
    jobs: int | None = None

    def gpus_of(self, cluster: str) -> int:
        """The number of GPUs of a cluster in this sample."""
        if self.gpus is not None:
            return self.gpus
        large = self.size_bytes is not None and self.size_bytes >= FULL_FLEET_FROM_BYTES
        return FULL_FLEET[cluster] if large else SMALL_FLEET


@dataclass(frozen=True)
class WrittenFile:
    """A file of the sample: path relative to its root, size in bytes, rows below the header."""

    path: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class PlantedFault:
    """A place where a rule is broken on purpose. Rows count from 1 below the header, offsets from byte 0.

    The offset is that of the cell, or of the row where a row or its time is at fault.
    """

    file: str
    rule: str
    row: int | None = None
    column: str | None = None
    byte_offset: int | None = None
    value: str | None = None


@dataclass(frozen=True)
class SampleReport:
    """What was written: data files in path order, their total size, and planted faults."""

    files: tuple[WrittenFile, ...]
    total_bytes: int
    faults: tuple[PlantedFault, ...]


def check_options(options: SampleOptions) -> None:
    """Refuses a request that makes no sense.

    Raises:
        UsageError: an unknown cluster or metric, a number out of range, or rows and size together.
    """
    if not options.clusters:
        raise UsageError("No cluster is named.", hint=f"Name one or more of: {', '.join(FULL_FLEET)}.")
    _refuse_unknown("cluster", options.clusters, tuple(FULL_FLEET))
    _refuse_unknown("metric", options.metrics, KNOWN_FILES)
    for name, value in (
        ("rows", options.rows),
        ("size", options.size_bytes),
        ("workers", options.workers),
        ("jobs", options.jobs),
    ):
        if value is not None and value < 1:
            raise UsageError(f"The option {name} is {value}.", hint="It must be 1 or more.")
    if options.rows is not None and options.rows > MOST_ROWS:
        raise UsageError(f"The option rows is {options.rows}.", hint=f"It must be at most {MOST_ROWS:,}.")
    if options.rows is not None and options.size_bytes is not None:
        raise UsageError("Both rows and size are given.", hint="Give one: the other follows from it.")
    if options.raw and (options.faults or options.size_bytes is not None):
        raise UsageError("Raw exports have neither faults nor a given size.", hint="Give the number of rows.")
    if options.raw and options.helios:
        raise UsageError("Raw exports hold no job logs.", hint="Leave out helios, or raw.")
    if options.gpus is not None and (options.gpus % GPUS_PER_NODE or not 0 < options.gpus <= LARGEST_FLEET):
        raise UsageError(
            f"The option gpus is {options.gpus}.",
            hint=f"It must be a multiple of {GPUS_PER_NODE} from {GPUS_PER_NODE} to {LARGEST_FLEET:,}.",
        )


def check_destination(dest: Path) -> None:
    """Refuses a destination that holds anything.

    Raises:
        UsageError: it is a file or a folder that is not empty.
    """
    if dest.exists() and (not dest.is_dir() or any(dest.iterdir())):
        raise UsageError(
            f"The destination {dest} exists and is not an empty folder.",
            hint="Name a new folder, or remove this one first.",
        )


def _refuse_unknown(kind: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"There is no {kind} '{name}'.", hint=f"Known: {', '.join(known)}.")
    if len(set(names)) < len(names):
        raise UsageError(f"A {kind} is named twice: {', '.join(names)}.")
