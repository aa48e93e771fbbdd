"""The tables of a finished run, read one at a time and only when asked for.

For whatever is made from a run: figures, comparisons, the report. How tables are
written is in `tasks.outputs.tables` and `tasks.outputs.job_files`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schemas.characterisation import JOB_TABLES
from schemas.errors import IncompleteRun
from schemas.job_records import JOBS_MANIFEST_NAME, JobsManifest
from schemas.manifest import MANIFEST_NAME, RunManifest
from schemas.series import SeriesRecord
from tasks.outputs.finished import read_manifest
from tasks.outputs.tables import TABLES
from tasks.outputs.typed import Model, arrow_schema
from tasks.storage.names import safe_name
from tasks.storage.publish import read_bytes

M = TypeVar("M", RunManifest, JobsManifest)

ALL = "all"

_MODELS: Mapping[str, Model] = MappingProxyType(
    {**TABLES, **{f"jobs/{name}.parquet": model for name, model in JOB_TABLES.items()}}
)


class Results:
    """What a run left in `out`, a folder or URL; each table is read once.

    Raises:
        IncompleteRun: neither telemetry nor job logs are finished there, or a manifest is damaged.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = str(out)
        self._tables: dict[str, pd.DataFrame] = {}
        if self.telemetry is None and self.jobs is None:
            raise IncompleteRun(
                f"{out} has no {MANIFEST_NAME}: no run has finished there.",
                hint="Start the run again with the same output folder; work that is done is not done twice.",
            )

    @cached_property
    def telemetry(self) -> RunManifest | None:
        """The manifest of the telemetry; None where none was read."""
        return self._manifest(MANIFEST_NAME, RunManifest)

    @cached_property
    def jobs(self) -> JobsManifest | None:
        """The manifest of the job logs; None where none was read."""
        return self._manifest(JOBS_MANIFEST_NAME, JobsManifest)

    @cached_property
    def records(self) -> tuple[SeriesRecord, ...]:
        """The validated schema of every series."""
        entries = self.telemetry.series if self.telemetry else ()
        data = [read_bytes(self.out, entry.schema_path) for entry in entries]
        return tuple(SeriesRecord.model_validate_json(text) for text in data if text is not None)

    def table(self, path: str) -> pd.DataFrame:
        """A table by its path, such as `summaries/curves.parquet`; without rows where the run has none.

        Columns that an older version did not write are blank.

        Raises:
            KeyError: no run writes such a table.
        """
        if path not in self._tables:
            model = _MODELS[path]
            data = read_bytes(self.out, path)
            empty = arrow_schema(model).empty_table().to_pandas()
            self._tables[path] = (
                empty if data is None else pd.read_parquet(io.BytesIO(data)).reindex(columns=empty.columns)
            )
        return self._tables[path]

    def sequence(self, cluster: str) -> pd.DataFrame | None:
        """The occupancy of a cluster minute by minute; None where its log has no known time."""
        data = read_bytes(self.out, f"jobs/sequence/{safe_name(cluster)}.parquet")
        return None if data is None else pd.read_parquet(io.BytesIO(data))

    def summary(self) -> pd.DataFrame:
        """`cluster_summary.csv`, by the published name of the cluster; without rows where there is none."""
        data = read_bytes(self.out, "jobs/cluster_summary.csv")
        return pd.DataFrame() if data is None else pd.read_csv(io.BytesIO(data), index_col="id")

    def curve(self, cluster: str, metric: str, period: str = ALL) -> pd.DataFrame | None:
        """Levels (`level_pct`) and quantiles (`value`) of a curve, ascending; None where there is none."""
        return self.curves.get((cluster, metric, period))

    def share(self, cluster: str, metric: str, most: float, period: str = ALL) -> float | None:
        """The share of values ≤ `most`, in percent, from the stored quantiles; None without the curve.

        Exact to the step of the levels, about 0.1 point: the last level whose quantile is not above
        `most`, and between two levels as far as the line between their quantiles.
        """
        curve = self.curve(cluster, metric, period)
        return None if curve is None else share_of(curve["level_pct"], curve["value"], most)

    @cached_property
    def curves(self) -> Mapping[tuple[str, str, str], pd.DataFrame]:
        """All curves by cluster, metric and period."""
        table = self.table("summaries/curves.parquet")
        parts = table.groupby(["cluster", "metric", "period"], sort=True, observed=True)
        return {
            (str(cluster), str(metric), str(period)): rows[["level_pct", "value"]].reset_index(drop=True)
            for (cluster, metric, period), rows in parts
        }

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit of each curve, by metric."""
        return {curve.metric: curve.unit for record in self.records for curve in record.curves}

    def _manifest(self, name: str, model: type[M]) -> M | None:
        return None if read_bytes(self.out, name) is None else read_manifest(self.out, name, model)


def share_of(
    level_pct: pd.Series | NDArray[np.float64], value: pd.Series | NDArray[np.float64], most: float
) -> float:
    """The share of values ≤ `most` in percent, read off quantiles `value` at ascending `level_pct`."""
    levels, values = np.asarray(level_pct, np.float64), np.asarray(value, np.float64)
    after = int(np.searchsorted(values, most, side="right"))
    if after == 0:
        return 0.0
    if after == len(values):
        return 100.0
    low, high = values[after - 1], values[after]
    return float(levels[after - 1] + (levels[after] - levels[after - 1]) * (most - low) / (high - low))
