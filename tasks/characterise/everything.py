"""All analyses of one cluster, as tables by the names of `schemas.characterisation`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tasks.characterise.calendar import UTILISATIONS, hourly_pattern, monthly
from tasks.characterise.capacity import gpus_by_minute
from tasks.characterise.ecdf import job_ecdfs
from tasks.characterise.integrity import beside_telemetry, integrity, job_hours
from tasks.characterise.kinds import job_types
from tasks.characterise.occupancy import cluster_sequence, running_gpus, utilisation
from tasks.characterise.status import completion_by_gpus, final_status
from tasks.characterise.summary import SUMMARY_COLUMNS, cluster_summary
from tasks.characterise.throughput import cluster_throughput
from tasks.characterise.users import cluster_user, user_concentration, user_curve
from tasks.characterise.vcs import vc_summary
from tasks.characterise.window import Window

# More GPUs than any cluster has: nothing is capped where the capacity is not known.
_UNLIMITED = 1 << 40
# Minutes are held for the whole period: a job of another decade must not take all memory.
LONGEST = pd.Timedelta(days=1100)
# What a job table must have for all this; names and rows of jobs are not among it.
NEEDED = (
    *("user", "vc", "type", "state", "raw_state", "submit", "start", "end", "run_s", "wait_s"),
    *("gpu_num", "cpu_num", "gpu_time_s", "released_duration_s", "released_queue_s", "released_gpu_time_s"),
)


@dataclass(frozen=True)
class Telemetry:
    """Hourly GPU_UTIL of the cluster (hour, count, mean), its interval, and its first and last time."""

    hourly: pd.DataFrame
    interval_s: float
    first: pd.Timestamp
    last: pd.Timestamp


@dataclass(frozen=True)
class Setting:
    """What is known of a cluster beside its jobs: its GPUs, by day and virtual cluster or as a number."""

    cluster: str
    timezone: str
    gpus: int | None = None
    quota: pd.DataFrame | None = None
    telemetry: Telemetry | None = None


@dataclass(frozen=True)
class Characterisation:
    """The tables of a cluster by name, its summaries, and what a reader of them has to know."""

    tables: dict[str, pd.DataFrame]
    summary: dict[str, float]
    own_summary: dict[str, float]
    notes: tuple[str, ...] = field(default=())


def characterise(jobs: pd.DataFrame, setting: Setting) -> Characterisation:
    """All there is to say of the jobs of one cluster.

    Occupancy covers the days of the quota, or without one those from the first start to the
    last end of a GPU job.
    """
    notes: list[str] = []
    tables: dict[str, pd.DataFrame] = {
        "ecdf": job_ecdfs(jobs),
        "types": job_types(jobs),
        "status": final_status(jobs),
        "completion": completion_by_gpus(jobs),
    }
    users = cluster_user(jobs)
    tables |= {
        "users": users,
        "user_concentration": user_concentration(users),
        "user_curve": user_curve(users),
    }
    period = _period(jobs, setting, notes)
    if period is not None:
        tables |= _over_time(jobs, setting, period, notes)
    named = {name: _with_cluster(table, setting.cluster) for name, table in tables.items()}
    if setting.quota is not None:
        named["quota"] = setting.quota.assign(cluster=setting.cluster)
    return Characterisation(named, cluster_summary(jobs), cluster_summary(jobs, "own"), tuple(notes))


def _over_time(
    jobs: pd.DataFrame, setting: Setting, period: Window, notes: list[str]
) -> dict[str, pd.DataFrame]:
    since, until, zone = period.since, period.until, setting.timezone
    known = setting.quota if setting.quota is not None else setting.gpus
    if known is None:
        notes.append("the number of GPUs is not known: occupancy is in GPUs, and no share of anything")
    found = cluster_sequence(jobs, _UNLIMITED if known is None else known, since, until, zone)
    if found.left_out:
        notes.append(f"{found.left_out:,} GPU jobs have no known place in time and are in no occupancy")
    sequence = found.frame.astype({"total_gpu_num": "float64"})
    if known is None:
        sequence[["total_gpu_num", *UTILISATIONS]] = np.nan
    hours = job_hours(sequence)
    telemetry = setting.telemetry
    hourly = _NOTHING if telemetry is None else telemetry.hourly
    hours = beside_telemetry(hours, hourly, 0.0 if telemetry is None else telemetry.interval_s)
    window = None if telemetry is None else (telemetry.first, telemetry.last)
    return {
        "sequence": sequence,
        "vc_sequence": _vc_changes(jobs, setting, period),
        "throughput": cluster_throughput(jobs, since, until, zone),
        "hourly_pattern": hourly_pattern(sequence, jobs, zone),
        "monthly": monthly(sequence, jobs, zone),
        "vcs": vc_summary(jobs, setting.quota, since, until, zone),
        "hours": hours,
        "integrity": integrity(jobs, hours, window),
    }


def _period(jobs: pd.DataFrame, setting: Setting, notes: list[str]) -> Window | None:
    zone = setting.timezone
    if setting.quota is not None and len(setting.quota):
        first_day, last_day = (
            pd.Timestamp(str(day)) for day in (setting.quota["date"].min(), setting.quota["date"].max())
        )
        return Window.of(first_day, last_day + pd.Timedelta(days=1), zone)
    gpu = jobs[(jobs["gpu_num"] > 0).to_numpy(dtype=bool, na_value=False)]
    begins, ends = gpu["start"].dropna(), gpu["end"].dropna()
    if begins.empty or ends.empty or ends.max() < begins.min():
        notes.append("no GPU job has both a start and an end: there is no occupancy")
        return None
    first, last = begins.min(), max(ends.max(), begins.max())
    if last - first > LONGEST:
        ordered = begins.sort_values()
        first = ordered.iloc[len(ordered) // 200]
        last = min(ends.sort_values().iloc[-1 - len(ends) // 200], first + LONGEST)
        notes.append(f"the log spans more than {LONGEST.days} days: occupancy covers {first:%F} to {last:%F}")
    days = [time.tz_convert(zone).tz_localize(None).floor("D") for time in (first, last)]
    return Window.of(days[0], days[1] + pd.Timedelta(days=1), zone)


def _vc_changes(jobs: pd.DataFrame, setting: Setting, period: Window) -> pd.DataFrame:
    """The occupancy of each virtual cluster, with a row for each minute in which it changes."""
    rows_of = {str(vc): rows for vc, rows in jobs.groupby("vc", observed=True).indices.items()}
    quota = setting.quota
    names = set(rows_of) | (set() if quota is None else {str(vc) for vc in quota["vc"].unique()})
    parts = []
    for vc in sorted(names):
        used = running_gpus(jobs.iloc[rows_of.get(vc, np.empty(0, np.intp))], period)
        total = None if quota is None else gpus_by_minute(quota, period, vc)
        if total is not None:
            used = np.minimum(used, total)
        changed = np.ones(len(used), bool)
        changed[1:] = used[1:] != used[:-1]
        if total is not None:
            changed[1:] |= total[1:] != total[:-1]
        shares = np.full(len(used), np.nan) if total is None else utilisation(used, total)
        parts.append(
            pd.DataFrame(
                {
                    "vc": vc,
                    "time": period.times()[changed],
                    "total_gpu_num": np.nan if total is None else total[changed].astype(np.float64),
                    "running_gpu_num": used[changed],
                    "gpu_utilization": shares[changed],
                }
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _with_cluster(table: pd.DataFrame, cluster: str) -> pd.DataFrame:
    table.insert(0, "cluster", cluster)
    return table


_NOTHING = pd.DataFrame(
    {
        "hour": pd.Series(dtype="datetime64[ms, UTC]"),
        "count": pd.Series(dtype="float64"),
        "mean": pd.Series(dtype="float64"),
    }
)
__all__ = ["NEEDED", "SUMMARY_COLUMNS", "Characterisation", "Setting", "Telemetry", "characterise"]
