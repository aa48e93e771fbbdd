"""What the first series and the outputs of a run load, beside modules.

All of this would happen by itself, but later: here it happens while the server
of the run starts.
"""

from __future__ import annotations

import importlib

from tasks.outputs.tables import TABLES
from tasks.series.clock import time_of


def load_ahead() -> None:
    """Load compiled code, the contracts of the tables, and what Prefect imports at its first flow."""
    time_of(b"2023-08-15T00:00:00Z", None)
    for model in TABLES.values():
        model.to_schema()
    importlib.import_module("fastapi.encoders")
