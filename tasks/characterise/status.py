"""How jobs ended, by their number and by their GPU time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from schemas.jobs import STATES
from tasks.characterise.window import cpu_jobs, gpu_jobs, numbers

ALL_GPU_JOBS, CPU_JOBS = "GPU jobs", "CPU jobs"

# The largest number of GPUs of each class; the last has no limit.
CLASS_LIMITS = (1, 2, 4, 8, 16, 32, 64)
CLASSES = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", ">64")


def final_status(jobs: pd.DataFrame) -> pd.DataFrame:
    """How jobs of a group ended; jobs without a final state are left out.

    Columns: group: GPU jobs, CPU jobs, then the GPU jobs by number of GPUs (1, which holds
    fractions of a GPU, too, 2, 3-4, 5-8, 9-16, 17-32, 33-64, >64); state: COMPLETED, CANCELLED,
    FAILED; jobs; job_share, of the group's jobs; gpu_time_s, sum over those whose is known;
    gpu_time_share, of the group's. Every group has a row for each state. Shares are null where
    the group has no job, or no GPU time.

    Source: Hu et al., SC '21, final status of jobs and of GPU time; a job that is neither
    completed nor cancelled counts as failed there.
    """
    gpu, size = gpu_jobs(jobs), np.searchsorted(CLASS_LIMITS, numbers(jobs["gpu_num"]))
    groups = {ALL_GPU_JOBS: gpu, CPU_JOBS: cpu_jobs(jobs)} | {
        name: gpu & (size == place) for place, name in enumerate(CLASSES)
    }
    table = pd.DataFrame(
        {"state": jobs["state"].to_numpy(dtype=object), "gpu_time_s": numbers(jobs["gpu_time_s"])}
    )
    frames = []
    for name, mask in groups.items():
        by_state = table[mask].groupby("state")["gpu_time_s"]
        counts = by_state.size().reindex(STATES, fill_value=0).to_numpy(dtype=np.int64)
        times = by_state.sum().reindex(STATES, fill_value=0).to_numpy(dtype=np.float64)
        frames.append(
            pd.DataFrame(
                {
                    "group": name,
                    "state": list(STATES),
                    "jobs": counts,
                    "job_share": counts / counts.sum() if counts.sum() else np.nan,
                    "gpu_time_s": times,
                    "gpu_time_share": times / times.sum() if times.sum() else np.nan,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def completion_by_gpus(jobs: pd.DataFrame) -> pd.DataFrame:
    """How GPU jobs ended, by their exact number of GPUs, ascending; jobs without a final state are left out.

    Columns: gpu_num; jobs; completed, cancelled, failed, fractions of these.

    Source: Hu et al., SC '21, final status of GPU jobs by number of GPUs.
    """
    known = jobs["state"].notna().to_numpy() & gpu_jobs(jobs)
    state = jobs["state"].to_numpy(dtype=object)[known]
    gpu_num = numbers(jobs["gpu_num"])[known]
    table = pd.DataFrame({name.lower(): state == name for name in STATES})
    groups = table.groupby(gpu_num)
    shares = groups.mean().astype(np.float64)
    frame = pd.concat([groups.size().rename("jobs").astype(np.int64), shares], axis=1)
    return frame.rename_axis("gpu_num").reset_index().astype({"gpu_num": np.float64})
