"""All tables of this folder from the tables of a run, by the paths of `schemas.telemetry`."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tasks.telemetry.entities import extremes, idle
from tasks.telemetry.faults import fault_codes, fault_hours
from tasks.telemetry.hours import KG_PER_KWH, PUE, Interval, cluster_hours, energy


@dataclass(frozen=True)
class Factors:
    """What energy is multiplied by: power usage effectiveness, and kg CO2e a kWh."""

    pue: float = PUE
    kg_per_kwh: float = KG_PER_KWH


def telemetry_tables(
    entities: pd.DataFrame,
    hourly: pd.DataFrame,
    episodes: pd.DataFrame,
    intervals: Interval,
    factors: Factors = Factors(),
) -> dict[str, pd.DataFrame]:
    """Path and rows of each table; without rows where the run has nothing of the kind."""
    made = {
        "telemetry/idle.parquet": (idle, entities, ()),
        "telemetry/extremes.parquet": (extremes, entities, ()),
        "telemetry/cluster_hours.parquet": (cluster_hours, hourly, (intervals,)),
        "telemetry/energy.parquet": (energy, hourly, (intervals, factors.pue, factors.kg_per_kwh)),
        "telemetry/fault_codes.parquet": (fault_codes, episodes, ()),
        "telemetry/fault_hours.parquet": (fault_hours, episodes, ()),
    }
    return {
        path: make(table, *rest) if len(table) else pd.DataFrame()  # type: ignore[operator]
        for path, (make, table, rest) in made.items()
    }
