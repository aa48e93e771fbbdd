"""Folders of results with chosen tables, written as a run writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.characterisation import JOB_TABLES
from schemas.manifest import RunManifest
from tasks.outputs.results import Results
from tasks.outputs.tables import TABLES
from tasks.outputs.typed import Model, table_bytes

MODELS: dict[str, Model] = {**TABLES, **{f"jobs/{name}.parquet": model for name, model in JOB_TABLES.items()}}
LEVELS = np.linspace(0.0, 100.0, 1000)


def results_of(folder: Path, tables: Mapping[str, pd.DataFrame]) -> Results:
    """Results of a run in `folder` that has these tables, by path, and no other."""
    for path, rows in tables.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(table_bytes(MODELS[path], rows))
    now = datetime(2023, 8, 15, tzinfo=UTC)
    manifest = RunManifest(
        code_version="test",
        packages={},
        source="data",
        parameters={},
        started=now,
        finished=now,
        series=(),
        pickles=(),
        outputs=(),
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    return Results(folder)


def curve(cluster: str, metric: str, values: object, period: str = "all") -> pd.DataFrame:
    """A curve of `summaries/curves.parquet` with the quantiles of `values`."""
    quantiles = np.quantile(np.asarray(values, dtype=np.float64), LEVELS / 100)
    return pd.DataFrame(
        {"cluster": cluster, "metric": metric, "period": period, "level_pct": LEVELS, "value": quantiles}
    )


def ecdf(cluster: str, measure: str, shares: Mapping[float, float], weight: str = "jobs") -> pd.DataFrame:
    """A curve of `jobs/ecdf.parquet`: share (%) by x."""
    return pd.DataFrame(
        {
            "cluster": cluster,
            "measure": measure,
            "weight": weight,
            "type": "all",
            "x": [float(x) for x in shares],
            "share_pct": [float(share) for share in shares.values()],
            "jobs": 10,
        }
    )


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
