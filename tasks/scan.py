"""Running the units of a scan on a Dask cluster.

Blocks go to the Dask client one by one; their tallies are merged in a tree on
the workers, so that only one small result comes back. How the cluster comes to
be is the business of `flows.cluster`.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from schemas.errors import Stopped, WorkerLost
from tasks.series.units import FileScan, ScanKind, ScanUnit, blocks_of, merge_all, scan_unit
from tasks.storage.units import UnitStore

FAN_IN = 8
_RETRIES = 2
_PATIENCE_S = (2, 10, 60, 600)  # a large result takes its time to come


_Finished = queue.SimpleQueue["Future[Any] | None"]


@dataclass(frozen=True)
class _Context:
    """What the units of a file share; it goes to each worker once."""

    kind: ScanKind
    columns: tuple[str, ...]
    place: str
    store: UnitStore | None


def _share(context: _Context) -> _Context:
    return context


def _scan(unit: ScanUnit, context: _Context) -> Any:
    return scan_unit(context.kind, unit, context.columns, context.place, context.store)


class DaskExecutor:
    """Runs units on the workers of `client`; `on_bytes` is told the bytes of each finished unit.

    Not a dataclass, so that an orchestrator that inspects arguments leaves it alone.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._on_bytes: Callable[[int], None] = lambda size: None
        self._stopped = threading.Event()
        self._waiting: set[_Finished] = set()

    def with_bytes(self, on_bytes: Callable[[int], None]) -> DaskExecutor:
        """The same executor telling somebody else."""
        other = copy.copy(self)
        other._on_bytes = on_bytes
        return other

    def stop(self) -> None:
        """Give up all work that is running or still to come; `run` raises `Stopped`. For any thread."""
        self._stopped.set()
        for finished in list(self._waiting):
            finished.put(None)

    def run(self, scan: FileScan, store: UnitStore | None) -> Any:
        """Scan all units and merge their results.

        Raises:
            WorkerLost: workers died again and again while they held the same unit.
            Stopped: `stop` was called.
            Whatever the scan of a block raises.
        """
        self.check_stopped()
        client, tag = self._client, scan.key[:16]
        shared = _Context(scan.kind, scan.columns, blocks_of(scan), store)
        context = client.submit(_share, shared, key=f"context-{tag}")
        sizes: dict[Any, int] = {}
        futures: list[Future[Any]] = []
        for unit in scan.units:
            key = f"scan-{unit.key[:32]}"
            futures.append(client.submit(_scan, unit, context, key=key, pure=False, retries=_RETRIES))
            block = unit.block
            sizes[key] = block.file.size if block.file.compression else block.stop - block.start
        root = self._merge_tree(futures, tag)
        finished: _Finished = queue.SimpleQueue()
        for future in (*futures, root):
            future.add_done_callback(finished.put)  # type: ignore[no-untyped-call]
        self._waiting.add(finished)
        try:
            return self._wait(finished, root, sizes)
        except (KilledWorker, FutureCancelledError) as error:
            raise WorkerLost(
                f"Workers died while they scanned {scan.units[0].block.file.url}: {error}.",
                hint="They were probably out of memory: use smaller blocks (--block-size) or fewer threads.",
            ) from error
        finally:
            self._waiting.discard(finished)
            # Work nobody wants any more is forgotten by the scheduler.
            for future in (root, *futures, context):
                future.release()  # type: ignore[no-untyped-call]

    def _wait(self, finished: _Finished, root: Future[Any], sizes: dict[Any, int]) -> Any:
        """The result of `root`, telling the bytes of each unit as it is done."""
        while True:
            self.check_stopped()
            future = finished.get()
            if future is None:
                continue
            if future is root or future.status != "finished":
                return self._result(future)
            self._on_bytes(sizes[future.key])

    def _result(self, future: Future[Any]) -> Any:
        """What a future gave. Its client may be closed meanwhile, and would then let us wait for ever."""
        for seconds in itertools.chain(_PATIENCE_S, itertools.repeat(_PATIENCE_S[-1])):
            with contextlib.suppress(TimeoutError):
                return future.result(timeout=seconds)
            if future.status == "error":
                future.result()  # the work itself ran into a TimeoutError
            self.check_stopped()
        raise AssertionError("the times do not end")

    def check_stopped(self) -> None:
        """Raise `Stopped` after `stop`."""
        if self._stopped.is_set():
            raise Stopped("The run was stopped.", hint="Finished work is kept; run again to go on.")

    def _merge_tree(self, futures: list[Future[Any]], tag: str) -> Future[Any]:
        level = futures
        depth = 0
        while len(level) > 1 or depth == 0:
            depth += 1
            level = [
                self._client.submit(
                    merge_all, level[i : i + FAN_IN], key=f"merge-{tag}-{depth}-{i}", pure=False
                )
                for i in range(0, len(level), FAN_IN)
            ]
        return level[0]
