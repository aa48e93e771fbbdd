"""What each user does, and how much of a cluster few users take: `cluster_user` of HeliosData."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from schemas.jobs import CANCELLED, COMPLETED, FAILED
from tasks.characterise.window import Floats, cpu_jobs, gpu_jobs, numbers

TOP_PERCENT = (1, 5, 10, 25)

# What may be concentrated, and the column of `cluster_user` that has it.
RESOURCES: Mapping[str, str] = {
    "gpu_time": "total_gpu_time",
    "cpu_time": "total_cpu_only_time",
    "gpu_pend_time": "total_gpu_pend_time",
}


def cluster_user(jobs: pd.DataFrame) -> pd.DataFrame:
    """One row a user, most jobs first, then by name; jobs without a user are left out.

    Columns: user; cpu_only, no GPU job; vc_list and vc_list_gpu, the virtual clusters of all and
    of the GPU jobs, by name, joined by a space; vc_num, vc_num_gpu, how many; job_num,
    gpu_job_num, cpu_job_num; avg_{,gpu_,cpu_}run_time and avg_{,gpu_,cpu_}pend_time, mean run
    time and wait; avg_gpu_num and avg_cpu_num, means over all jobs; total_gpu_time;
    total_cpu_time, CPUs × run time of all jobs; total_cpu_only_time, that of the CPU jobs;
    total_gpu_pend_time, waits of the GPU jobs; {completed,cancelled,failed}_{,gpu_,cpu_}percent.

    The last are fractions of 1 in spite of their name, which is the published one, of the
    user's jobs of that kind, also of those without a final state. Failed is only a raw state
    FAILED (not a timeout or a lost node); the other two are states of the table. Means skip
    nulls and are null where there is nothing else; means and fractions of a kind of which the
    user has no job are 0.

    Source: `cluster_user.pkl` of HeliosData as HeliosArtifact derives it.
    """
    jobs = jobs[jobs["user"].notna().to_numpy()]
    gpu, cpu = gpu_jobs(jobs), cpu_jobs(jobs)
    table = _measures(jobs)
    users = pd.Index(table["user"].unique().astype("str"))
    of_all = _statistics(table, users)
    of_gpu, of_cpu = _statistics(table[gpu], users), _statistics(table[cpu], users)
    lists = {"": _vcs(jobs, users), "_gpu": _vcs(jobs[gpu], users)}
    columns: dict[str, object] = {
        "user": users.to_numpy(dtype="str"),
        "cpu_only": of_gpu["jobs"].to_numpy() == 0,
    }
    columns |= {f"vc_list{kind}": vcs["list"].to_numpy(dtype="str") for kind, vcs in lists.items()}
    columns |= {f"vc_num{kind}": vcs["number"].to_numpy(dtype=np.int64) for kind, vcs in lists.items()}
    kinds = {"": of_all, "gpu_": of_gpu, "cpu_": of_cpu}
    columns |= {f"{kind}job_num": of["jobs"].to_numpy(np.int64) for kind, of in kinds.items()}
    for name in ("run", "pend"):
        columns |= {f"avg_{kind}{name}_time": of[name].to_numpy() for kind, of in kinds.items()}
    columns |= {
        "avg_gpu_num": of_all["gpu_num"].to_numpy(),
        "avg_cpu_num": of_all["cpu_num"].to_numpy(),
        "total_gpu_time": of_gpu["gpu_time"].to_numpy(),
        "total_cpu_time": of_all["cpu_time"].to_numpy(),
        "total_cpu_only_time": of_cpu["cpu_time"].to_numpy(),
        "total_gpu_pend_time": of_gpu["pend_time"].to_numpy(),
    }
    for state in ("completed", "cancelled", "failed"):
        columns |= {f"{state}_{kind}percent": of[state].to_numpy() for kind, of in kinds.items()}
    frame = pd.DataFrame(columns)
    return frame.sort_values(["job_num", "user"], ascending=[False, True], ignore_index=True)


def user_concentration(users: pd.DataFrame) -> pd.DataFrame:
    """How much the top 1, 5, 10 and 25 % of the users take of GPU time, CPU time and GPU queueing.

    Columns: resource (gpu_time, cpu_time, gpu_pend_time); top_percent; users, those who have any
    of it; top_users, the top percent of these, rounded up; share, what they have of the whole;
    share_as_drawn, the same as the published figures have it, where every user of the cluster
    counts, also those with nothing: the cumulative share of the users in falling order is drawn
    over i/(n − 1) for user i = 0 … n − 1, and read off at the top percent between two points.
    Shares are null where nobody has any. CPU time is that of CPU jobs.

    Source: Hu et al., SC '21, distribution of the clusters' time and queueing over users;
    `users` is the table of `cluster_user`.
    """
    rows = []
    for resource, column in RESOURCES.items():
        everyone = _falling(numbers(users[column]))
        shares = _cumulated(everyone[everyone > 0])
        drawn = _cumulated(everyone)
        for top in TOP_PERCENT:
            count = -(-top * len(shares) // 100)
            at = np.linspace(0, 100, len(everyone))
            rows.append(
                {
                    "resource": resource,
                    "top_percent": top,
                    "users": len(shares),
                    "top_users": count,
                    "share": shares[count - 1] if count else np.nan,
                    "share_as_drawn": np.interp(top, at, drawn) if count else np.nan,
                }
            )
    return pd.DataFrame(rows)


def user_curve(users: pd.DataFrame) -> pd.DataFrame:
    """The share of GPU time, CPU time and GPU queueing that the top users take, for every number of them.

    Columns: resource; rank, 1 for the user who has most; user_share, the rank over the number of
    users who have any of it; share, what the users to this rank have of the whole.

    Source: as `user_concentration`.
    """
    frames = []
    for resource, column in RESOURCES.items():
        values = _falling(numbers(users[column]))
        shares = _cumulated(values[values > 0])
        rank = np.arange(1, len(shares) + 1, dtype=np.int64)
        frames.append(
            pd.DataFrame(
                {"resource": resource, "rank": rank, "user_share": rank / max(len(rank), 1), "share": shares}
            )
        )
    return pd.concat(frames, ignore_index=True)


def _measures(jobs: pd.DataFrame) -> pd.DataFrame:
    """What is averaged or added up, one row a job."""
    run, wait, cpus = (numbers(jobs[name]) for name in ("run_s", "wait_s", "cpu_num"))
    return pd.DataFrame(
        {
            "user": jobs["user"].astype("category").array,
            "run": run,
            "pend": wait,
            "gpu_num": numbers(jobs["gpu_num"]),
            "cpu_num": cpus,
            "gpu_time": numbers(jobs["gpu_time_s"]),
            "cpu_time": cpus * run,
            "pend_time": wait,
            "completed": (jobs["state"] == COMPLETED).to_numpy(dtype=bool, na_value=False),
            "cancelled": (jobs["state"] == CANCELLED).to_numpy(dtype=bool, na_value=False),
            "failed": (jobs["raw_state"].astype("str").str.upper() == FAILED).to_numpy(
                dtype=bool, na_value=False
            ),
        }
    )


def _statistics(table: pd.DataFrame, users: pd.Index) -> pd.DataFrame:
    """Means and sums by user; a user without rows has 0 everywhere."""
    groups = table.groupby("user", observed=True)
    means = groups[["run", "pend", "gpu_num", "cpu_num", "completed", "cancelled", "failed"]].mean()
    sums = groups[["gpu_time", "cpu_time", "pend_time"]].sum()
    result = pd.concat([groups.size().rename("jobs"), means, sums], axis=1)
    return result.reindex(users, fill_value=0).astype({"jobs": np.int64})


def _vcs(jobs: pd.DataFrame, users: pd.Index) -> pd.DataFrame:
    """The virtual clusters of each user, by name, joined by a space (`list`), and their `number`."""
    pairs = jobs[["user", "vc"]].dropna().drop_duplicates().astype("str").sort_values(["user", "vc"])
    groups = pairs.groupby("user")["vc"]
    names, index = groups.agg(" ".join), users.astype("str")
    return pd.DataFrame(
        {
            "list": names.reindex(index, fill_value=""),
            "number": groups.size().reindex(index, fill_value=0),
        }
    )


def _falling(values: Floats) -> Floats:
    return np.sort(np.nan_to_num(values))[::-1]


def _cumulated(falling: Floats) -> Floats:
    total = np.cumsum(falling)
    return total / total[-1] if len(total) and total[-1] > 0 else np.zeros(len(total))
