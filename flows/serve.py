"""The process of the Prefect server that a run starts for itself; `flows.server` starts it.

It is Prefect's own temporary server, on loopback and without UI, and without
what a single run never uses. It writes one line to stdout: its address once it
answers, or an empty one where a server is configured and none is needed. It
ends at SIGTERM, and when its stdin closes because the run's process is gone.

A script of its own, not imported by anything: it needs Prefect and the standard
library only.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading

_FOR_ONE_RUN = {
    "PREFECT__SERVER_EPHEMERAL": "1",  # Prefect's own marks of a temporary server in a process of its own
    "PREFECT__SERVER_FINAL": "1",
    "PREFECT_UI_ENABLED": "0",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",  # automations, with a second copy of the server
    "PREFECT_SERVER_API_BLOCKS_REGISTER_ON_START": "false",  # block types, which a run has none of
}


def main() -> None:
    """Serve until told to stop."""
    threading.Thread(target=_stop_with_the_run, daemon=True).start()
    for name, value in _FOR_ONE_RUN.items():
        os.environ.setdefault(name, value)
    # What is imported stays: looking for garbage among it takes a fifth of the time to start.
    gc.disable()
    from prefect.settings import get_current_settings

    if get_current_settings().api.url is not None:
        print(flush=True)
        return

    import uvicorn
    from prefect.server.api.server import create_app

    class Server(uvicorn.Server):
        """Says its address when it is ready."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(f"http://127.0.0.1:{listening.getsockname()[1]}/api", flush=True)

    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(create_app(), log_level="error", lifespan="on"))
    gc.freeze()
    gc.enable()
    server.run(sockets=[listening])


def _stop_with_the_run() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
