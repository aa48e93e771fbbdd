"""What holds for the whole process of a run: settings of Prefect and Dask, and of Python.

Prefect sends no analytics, is quiet, and patient with a slow start. Call `prepare`
before it is imported. What the user has set stays as it is.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

_DEFAULTS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # A fresh database takes a quarter of a minute on a slow machine.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    # The embedded server is stopped with the run; what it was still writing is of no interest.
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_CLI_WRAP_LINES": "false",
}


def prepare(verbosity: int = 0) -> None:
    """Set defaults for Prefect and Dask; `verbosity` is -1 (quiet), 0 or 1 (verbose)."""
    level = "INFO" if verbosity > 0 else "CRITICAL"  # what goes wrong is said by the command itself
    for name, value in {**_DEFAULTS, "PREFECT_LOGGING_LEVEL": level}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "warning" if verbosity > 0 else "critical")
    # That a read is tried again is no news to somebody who watches a bar.
    logging.getLogger("stamina").setLevel(logging.WARNING if verbosity > 0 else logging.CRITICAL)


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no garbage while the block imports: what it makes stays, and there is a lot of it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
