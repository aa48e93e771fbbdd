"""The Prefect server a run starts for itself where no other is configured.

It takes longer to start than everything else, so it starts first, in a process
of its own (`flows.serve`), while this process imports what a run needs. A
Ctrl-C in a terminal goes to every process of the foreground, but does not take
it down before the run has told it how it ended.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import ServerFailed

_SCRIPT = Path(__file__).with_name("serve.py")
_STOP_S = 5


class OwnServer:
    """Starts a server at once, unless one is configured; `in_use` leads Prefect to it.

    As a context manager it stops a server that nobody used. One that was used serves to
    the end of this process, where Prefect sends its last events.
    """

    def __init__(self) -> None:
        self._process = None if _is_configured() else _start()
        self._used = False
        atexit.register(self._stop)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Wait until the server answers; it is then the one that Prefect uses in this process.

        Raises:
            ServerFailed: it does not start, or not in time.
        """
        from prefect.context import refresh_global_settings_context
        from prefect.settings import (
            PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED,
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
            PREFECT_UI_URL,
            get_current_settings,
            temporary_settings,
        )

        url = ""
        if self._process is not None:
            url = _line_of(self._process, get_current_settings().server.ephemeral.startup_timeout_seconds)
            self._used = True
        if not url:
            yield
            return
        os.environ["PREFECT_API_URL"] = url
        refresh_global_settings_context()
        own = {
            PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED: False,
            # Nobody asks this server for runs that went silent, and the end of a run waits for the heart.
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
            PREFECT_UI_URL: "",  # there is none to send a user to
        }
        with temporary_settings(own):
            yield

    def __enter__(self) -> OwnServer:
        return self

    def __exit__(self, *error: object) -> None:
        if not self._used:
            self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_configured() -> bool:
    """Whether a server is known to be configured.

    To know for sure takes the import of Prefect, a quarter of the time that the server
    needs to start. Where Prefect is not imported yet, the new process finds it out.
    """
    if "prefect" not in sys.modules:
        return bool(os.environ.get("PREFECT_API_URL"))
    from prefect.settings import get_current_settings

    return get_current_settings().api.url is not None


def _start() -> subprocess.Popen[str]:
    # A child inherits the signals that are blocked here, and keeps them blocked.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # -P: a file in the current folder must not take the place of a package.
        return subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _line_of(process: subprocess.Popen[str], timeout_s: float) -> str:
    """The line that `flows.serve` writes, without its end."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], timeout_s)
    line = process.stdout.readline() if ready else ""
    if not line:
        how = "ended before it answered" if ready else f"did not answer within {timeout_s:g} s"
        raise ServerFailed(
            f"The Prefect server of this run {how}.",
            hint="Set PREFECT_SERVER_LOGGING_LEVEL=INFO to see why, or use another with PREFECT_API_URL.",
        )
    return line.strip()
