"""Units of work: one block scanned, one file tallied, each done once and remembered.

A unit's key holds what is read (file, version, range), how (columns, spec) and
with which code. `scan_unit` is what a worker runs; `FileScan` says what a file
needs. Who runs the units, threads or a Dask cluster, is the business of an
`Executor`.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import schemas
import tasks
from tasks.series.head import Head
from tasks.series.period import bytes_of_period
from tasks.series.scan import scan_block
from tasks.series.spec import Block, ScanSpec, cut
from tasks.series.tally import Tally
from tasks.storage.digest import LEAF_BYTES
from tasks.storage.units import UnitStore, unit_key

BLOCKS_A_WORKER = 4
SMALLEST_BLOCK, LARGEST_BLOCK = 16 << 20, 256 << 20


def fitting_block_bytes(file_bytes: int, workers: int) -> int:
    """The block size for a file of `file_bytes` and so many workers, in bytes.

    Four blocks for each worker, so that all end at about the same time. Smaller ones
    than 16 MiB would spend more time on their tallies than on their bytes; of larger
    ones than 256 MiB too much would be lost with a worker. Memory sets no bound, since
    a block passes through a small buffer. Whole MiB: no leaf of a digest is cut.
    """
    wanted = -(-file_bytes // (BLOCKS_A_WORKER * workers * LEAF_BYTES)) * LEAF_BYTES
    return min(max(wanted, SMALLEST_BLOCK), LARGEST_BLOCK)


class Mergeable(Protocol):
    """What a scan gives: it adds up in any order and is stored as bytes."""

    def merge(self, other: Self) -> Self: ...
    def to_bytes(self) -> bytes: ...


def _as_it_is(result: Any) -> Any:
    return result


@dataclass(frozen=True)
class ScanKind:
    """How blocks of one form of file are scanned; the functions are those of a module, so that it pickles.

    `finish` is given the merged result of all files of a series; `period` says which
    bytes of a file a period needs; blocks have at most `largest_block` bytes.
    """

    name: str
    scan: Callable[[Block, tuple[str, ...], ScanSpec], Any]
    load: Callable[[bytes], Any]
    finish: Callable[[Any], Any] = _as_it_is
    period: Callable[[Head, ScanSpec], tuple[int, int] | None] = bytes_of_period
    largest_block: int = LARGEST_BLOCK


WIDE = ScanKind("wide", scan_block, Tally.from_bytes)


@dataclass(frozen=True)
class ScanUnit:
    """One block to scan and the key of its result."""

    block: Block
    spec: ScanSpec
    key: str


@dataclass(frozen=True)
class FileScan:
    """All blocks of one file, scanned with one spec; `key` stands for the merged result."""

    kind: ScanKind
    columns: tuple[str, ...]
    units: tuple[ScanUnit, ...]
    key: str

    @property
    def bytes_to_read(self) -> int:
        """Bytes between the first and the last cut; the stored size of a packed file."""
        blocks = [unit.block for unit in self.units]
        if not blocks or blocks[0].file.compression:
            return sum(block.file.size for block in blocks)
        return blocks[-1].stop - blocks[0].start


class Executor(Protocol):
    """Runs the units of a file anywhere and gives their results merged."""

    def run(self, scan: FileScan, store: UnitStore | None) -> Any: ...


def plan_file(
    kind: ScanKind, head: Head, spec: ScanSpec, block_bytes: int, within: tuple[int, int] | None = None
) -> FileScan:
    """The units of a file, or of the byte range `within` of it."""
    digest = hashlib.sha256("\n".join(head.columns).encode()).hexdigest()
    common: dict[str, object] = {
        "kind": kind.name,
        "columns": digest,
        "spec": spec.key_parts(),
        "code": code_digest(),
    }
    file = head.file
    common |= {"url": file.url, "size": file.size, "version": file.version}
    units = tuple(
        ScanUnit(block, spec, unit_key(**common, start=block.start, stop=block.stop))
        for block in cut(head, block_bytes, within)
    )
    return FileScan(kind, head.columns, units, unit_key(**common, within=list(within or ())))


def scan_unit(
    kind: ScanKind, unit: ScanUnit, columns: tuple[str, ...], place: str, store: UnitStore | None
) -> Any:
    """The result of one unit: the stored one, or a fresh one that is then stored below `place`."""
    key = f"{place}/{unit.key}"
    known = store.get(key) if store else None
    if known is not None:
        return kind.load(known)
    result = kind.scan(unit.block, columns, unit.spec)
    if store:
        store.put(key, result.to_bytes())
    return result


def tally_file(scan: FileScan, executor: Executor, store: UnitStore | None) -> Any:
    """The merged result of a file: the stored one, or made now and then stored in place of its blocks."""
    known = store.get(f"files/{scan.key}") if store else None
    if known is not None:
        return scan.kind.load(known)
    result = executor.run(scan, store)
    if store:
        store.put(f"files/{scan.key}", result.to_bytes())
        store.discard(f"{blocks_of(scan)}/")
    return result


def is_known(scan: FileScan, store: UnitStore | None) -> bool:
    """Whether `tally_file` would read nothing."""
    return store is not None and store.get(f"files/{scan.key}") is not None


def blocks_of(scan: FileScan) -> str:
    """Where the store keeps the blocks of a file that is not finished."""
    return f"blocks/{scan.key}"


def merge_all(results: Iterable[Any]) -> Any:
    """The merge of at least one result."""
    return functools.reduce(lambda left, right: left.merge(right), results)


@dataclass(frozen=True)
class ThreadExecutor:
    """Runs units on threads of this process; the kernel releases the interpreter lock."""

    workers: int = 2

    def run(self, scan: FileScan, store: UnitStore | None) -> Any:
        """Scan all units and merge their results."""
        with ThreadPoolExecutor(self.workers) as pool:
            place = blocks_of(scan)
            results = pool.map(
                lambda unit: scan_unit(scan.kind, unit, scan.columns, place, store), scan.units
            )
            return merge_all(results)


@functools.cache
def code_digest(whole: bool = False) -> str:
    """SHA-256 over the source of what decides a tally; with `whole`, of all tasks and schemas."""
    tasks_root, schemas_root = Path(tasks.__file__).parent, Path(schemas.__file__).parent
    folders = [tasks_root / name for name in ("series", "longform", "cleaning", "columnar", "storage")]
    paths = [path for folder in folders for path in folder.glob("*.py")]
    if whole:
        paths = [path for root in (tasks_root, schemas_root) for path in root.rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
