"""Distributions of GPU jobs of a run beside those of the published figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from schemas.published import FloatArray, JobCurve, published_job_curves
from schemas.verification import Compared
from tasks.outputs.results import Results
from tasks.verification.headlines import NOT_IN_RUN
from tasks.verification.release import part_of_release

MOST_PCT = 0.15  # the values were read off to 0.1 point and are given with one decimal


def compare_job_curves(results: Results) -> list[Compared]:
    """Each published distribution of GPU jobs beside the run's, at the published points."""
    return [
        _compared(results, curve, x, shares) for curve, (x, shares) in sorted(published_job_curves().items())
    ]


def share_at(results: Results, curve: JobCurve, x: FloatArray) -> FloatArray | None:
    """The shares ≤ each `x` in percent; None where the run lacks the curve or one of the points."""
    table = results.table("jobs/ecdf.parquet")
    of_curve = np.logical_and.reduce([table[name] == value for name, value in curve._asdict().items()])
    shares = table[of_curve].set_index("x")["share_pct"].reindex(x)
    return None if shares.isna().any() else shares.to_numpy(np.float64)


def _compared(results: Results, curve: JobCurve, x: FloatArray, shares: FloatArray) -> Compared:
    of_type = "" if curve.type == "all" else f" of {curve.type}"
    weight = "" if curve.weight == "jobs" else ", by GPU time"
    told: dict[str, Any] = {
        "id": f"{curve.measure}:{curve.weight}:{curve.type}",
        "claim": f"distribution of {_MEASURES[curve.measure]}{of_type}{weight}",
        "cluster": curve.cluster,
        "unit": "",
    }
    own = share_at(results, curve, x)
    if own is None:
        return Compared(**told, outcome="not computable", reason=NOT_IN_RUN)
    told["distance_pct"] = distance = float(np.abs(own - shares).max())
    if distance <= MOST_PCT:
        return Compared(**told, outcome="agrees")
    reason = part_of_release(results, curve.cluster, jobs=True)
    return Compared(**told, outcome="known discrepancy" if reason else "differs", reason=reason)


_MEASURES = {"duration": "durations", "queue": "queueing delays", "gpu_num": "GPUs a job"}
