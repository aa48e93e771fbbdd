"""Running the units of a scan on a Dask cluster.

Blocks go to the Dask client one by one; their tallies are merged in a tree on
the workers, so that only one small result comes back. How the cluster comes to
be is the business of `flows.cluster`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, as_completed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from schemas.errors import WorkerLost
from tasks.series.units import FileScan, ScanKind, ScanUnit, blocks_of, merge_all, scan_unit
from tasks.storage.units import UnitStore

FAN_IN = 8
_RETRIES = 2


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

    def __init__(self, client: Client, on_bytes: Callable[[int], None] = lambda size: None) -> None:
        self._client = client
        self._on_bytes = on_bytes

    def with_bytes(self, on_bytes: Callable[[int], None]) -> DaskExecutor:
        """The same executor telling somebody else."""
        return DaskExecutor(self._client, on_bytes)

    def run(self, scan: FileScan, store: UnitStore | None) -> Any:
        """Scan all units and merge their results.

        Raises:
            WorkerLost: workers died again and again while they held the same unit.
            Whatever the scan of a block raises.
        """
        client, tag = self._client, scan.key[:16]
        context = client.submit(
            _share, _Context(scan.kind, scan.columns, blocks_of(scan), store), key=f"context-{tag}"
        )
        sizes: dict[str, int] = {}
        futures: list[Future[Any]] = []
        for unit in scan.units:
            key = f"scan-{unit.key[:32]}"
            futures.append(client.submit(_scan, unit, context, key=key, pure=False, retries=_RETRIES))
            block = unit.block
            sizes[key] = block.file.size if block.file.compression else block.stop - block.start
        root = self._merge_tree(futures, tag)
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                if future.status == "finished":
                    self._on_bytes(sizes[future.key])
                else:
                    break
            return root.result()
        except (KilledWorker, FutureCancelledError) as error:
            raise WorkerLost(
                f"Workers died while they scanned {scan.units[0].block.file.url}: {error}.",
                hint="They were probably out of memory: use smaller blocks (--block-size) or fewer threads.",
            ) from error
        finally:
            client.cancel([root, *futures, context])  # type: ignore[no-untyped-call]

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
