"""How a Dask cluster comes to be, and goes.

The default is a cluster of threads in this process: the scan releases the
interpreter lock, so threads use all cores without copies between processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

from schemas.errors import UsageError

_CONNECT_S = 30


def default_workers() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_client(scheduler: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """A client of the scheduler at `scheduler`, or of a cluster of `workers` threads in this process.

    What was opened here is closed here; a scheduler somebody else runs stays.

    Raises:
        UsageError: nothing answers at the address.
    """
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"No Dask scheduler answers at {scheduler}: {error}.",
                hint="Start one with `dask scheduler` and give its address, for example tcp://127.0.0.1:8786.",
            ) from error
        try:
            yield client
        finally:
            client.close()  # type: ignore[no-untyped-call]
        return
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1,
            threads_per_worker=workers or default_workers(),
            processes=False,
            # Without an address both would listen on all interfaces.
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        yield client
