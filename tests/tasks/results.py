"""Folders of results with chosen tables, written as a run writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.characterisation import JOB_TABLES
from schemas.job_records import JOBS_MANIFEST_NAME, JobLogRecord, JobsManifest
from schemas.manifest import RunManifest
from tasks.characterise.summary import COUNTS, summary_csv
from tasks.outputs.results import Results
from tasks.outputs.tables import TABLES
from tasks.outputs.typed import Model, table_bytes

MODELS: dict[str, Model] = {**TABLES, **{f"jobs/{name}.parquet": model for name, model in JOB_TABLES.items()}}
NOW = datetime(2023, 8, 15, tzinfo=UTC)
LEVELS = np.linspace(0.0, 100.0, 1000)

Maker = Callable[[Mapping[str, pd.DataFrame]], Results]


def results_of(folder: Path, tables: Mapping[str, pd.DataFrame]) -> Results:
    """Results of a run in `folder` that has these tables, by path, and no other.

    A column that may be blank need not be given.
    """
    for path, rows in tables.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(table_bytes(MODELS[path], whole(MODELS[path], rows)))
    manifest = RunManifest(
        code_version="test",
        packages={},
        source="data",
        parameters={},
        started=NOW,
        finished=NOW,
        series=(),
        pickles=(),
        outputs=(),
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    return Results(folder)


def whole(model: Model, rows: pd.DataFrame) -> pd.DataFrame:
    columns = model.to_schema().columns.items()
    blank = {name: np.nan for name, column in columns if column.nullable and name not in rows}
    return rows.assign(**blank)


def curve(cluster: str, metric: str, values: object, period: str = "all") -> pd.DataFrame:
    """A curve of `summaries/curves.parquet` with the quantiles of `values`."""
    quantiles = np.quantile(np.asarray(values, dtype=np.float64), LEVELS / 100)
    return pd.DataFrame(
        {"cluster": cluster, "metric": metric, "period": period, "level_pct": LEVELS, "value": quantiles}
    )


def ecdf(
    cluster: str, measure: str, shares: Mapping[float, float], weight: str = "jobs", type: str = "all"
) -> pd.DataFrame:
    """A curve of `jobs/ecdf.parquet`: share (%) by x."""
    return pd.DataFrame(
        {
            "cluster": cluster,
            "measure": measure,
            "weight": weight,
            "type": type,
            "x": [float(x) for x in shares],
            "share_pct": [float(share) for share in shares.values()],
            "jobs": 10,
        }
    )


def summaries(folder: Path, rows: Mapping[str, Mapping[str, float]]) -> None:
    """`jobs/cluster_summary.csv` with these figures, by the published name of the cluster."""
    (folder / "jobs").mkdir(exist_ok=True)
    (folder / "jobs/cluster_summary.csv").write_bytes(
        summary_csv({name: {**dict.fromkeys(COUNTS, 0), **row} for name, row in rows.items()})
    )


def logs(folder: Path, jobs: Mapping[str, int]) -> None:
    """`jobs/manifest.json` of logs with so many jobs, by cluster."""
    records = [
        JobLogRecord(
            cluster=cluster,
            format="seren",
            timezone="UTC",
            verdict="passed",
            inputs=(),
            rows=count,
            jobs=count,
        )
        for cluster, count in jobs.items()
    ]
    manifest = JobsManifest(
        code_version="test",
        source="data",
        parameters={},
        started=NOW,
        finished=NOW,
        logs=tuple(records),
        outputs=(),
    )
    (folder / "jobs").mkdir(exist_ok=True)
    (folder / JOBS_MANIFEST_NAME).write_text(manifest.model_dump_json())


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
