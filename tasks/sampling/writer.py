"""Writing: chunks are made in threads, written in order, and a file appears whole or not at all."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, groupby
from pathlib import Path

from tasks.sampling.source import Chunk, Source

Progress = Callable[[int], None]


def write_sources(
    sources: Iterable[Source],
    root: Path,
    pool: ThreadPoolExecutor,
    ahead: int,
    progress: Progress | None = None,
) -> Iterator[tuple[Source, int]]:
    """Writes files below `root`, one after the other, and yields each with its size in bytes.

    At most `ahead` + 1 chunks exist at a time, also across the end of a file,
    which bounds memory and keeps the pool busy. `progress` is called with the
    number of bytes of each piece written. A file is written under a temporary
    name beside its place and renamed when it is complete.
    """
    for source, pieces in groupby(_in_order(sources, pool, ahead), key=lambda piece: piece[0]):
        yield source, _write(root / source.path, (future.result() for _, future in pieces), progress)


def _write(path: Path, pieces: Iterable[memoryview | bytes], progress: Progress | None) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_path = path.with_name(f".{path.name}.part")
    size = 0
    try:
        with partial_path.open("wb") as out:
            for piece in pieces:
                out.write(piece)
                size += len(piece)
                if progress is not None:
                    progress(len(piece))
        os.replace(partial_path, path)
    finally:
        partial_path.unlink(missing_ok=True)
    return size


def _in_order(
    sources: Iterable[Source], pool: ThreadPoolExecutor, ahead: int
) -> Iterator[tuple[Source, Future[memoryview | bytes]]]:
    waiting: deque[tuple[Source, Future[memoryview | bytes]]] = deque()
    try:
        for source in sources:
            head: Chunk = partial(bytes, source.header)
            for chunk in chain((head,), source.chunks()):
                waiting.append((source, pool.submit(chunk)))
                if len(waiting) > ahead:
                    yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        for _, future in waiting:
            future.cancel()
