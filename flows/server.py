"""The Prefect server a run starts for itself where no other is configured.

It is Prefect's own temporary server, started so that a Ctrl-C in a terminal,
which goes to every process of the foreground, does not take it down before the
run has told it how it ended. Prefect stops it when the run's process ends.
"""

from __future__ import annotations

import signal
import subprocess
from typing import Any

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import get_current_settings


class _ShieldedServer(SubprocessASGIServer):
    """Prefect's temporary server without the terminal's interrupts."""

    def _run_uvicorn_command(self) -> subprocess.Popen[Any]:
        # A child inherits the signals that are blocked here, and keeps them blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super()._run_uvicorn_command()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ensure_server() -> None:
    """Start the temporary server unless a server is configured; Prefect finds it as its own."""
    if get_current_settings().api.url is None:
        _ShieldedServer().start()
