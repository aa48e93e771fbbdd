"""Jobs and GPUs minute by minute: `cluster_sequence` and the VC sequences of HeliosData."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from tasks.characterise.capacity import Capacity, gpus_by_minute
from tasks.characterise.spans import MILLION, gpu_millionths, pending, running, unplaced
from tasks.characterise.window import Floats, Ints, Window, gpu_jobs, numbers

WIDE = 8  # GPUs of a node: the published VC sequences are split there


@dataclass(frozen=True)
class Occupancy:
    """A sequence, and how many jobs of the table are not in it as their place in time is not known.

    Which these are is said in `tasks.characterise.spans.unplaced`.
    """

    frame: pd.DataFrame
    left_out: int


def cluster_sequence(
    jobs: pd.DataFrame, capacity: Capacity, since: datetime, until: datetime, timezone: str
) -> Occupancy:
    """GPU jobs and GPUs in each minute of a period; `left_out` counts GPU jobs.

    Columns: time (start of the minute, UTC); running_gpujob_num; total_gpu_num, the quota of
    the local day; running_gpu_num; running_gpu_multi and running_gpu_single, GPUs of jobs with
    more than one GPU and with one or less; gpu_utilization, gpu_utilization_multi and
    gpu_utilization_single, fractions of the total.

    A job fills every minute from that of its start to that of its end, both included; one
    that began before or ends after the period counts in the minutes inside. `running_gpu_num`
    is capped at the total and `gpu_utilization` is its ratio to the total; the ratios of the
    two parts are not capped. Ratios have 3 decimals and are null where the total is 0.

    Source: `cluster_sequence.csv` of HeliosData as HeliosArtifact derives it; Hu et al., SC '21.

    Raises
    ------
    UsageError
        If the period holds no time or the capacity says nothing.
    """
    window = Window.of(since, until, timezone)
    spans, gpus, gpu = running(jobs, window), gpu_millionths(jobs), gpu_jobs(jobs)
    single = gpu & (numbers(jobs["gpu_num"]) <= 1)
    of_single, of_multi = (spans.millionths(gpus, part) for part in (single, gpu & ~single))
    total = gpus_by_minute(capacity, window)
    used = np.minimum((of_single + of_multi) / MILLION, total)
    frame = pd.DataFrame(
        {
            "time": window.times(),
            "running_gpujob_num": spans.jobs(gpu),
            "total_gpu_num": total,
            "running_gpu_num": used,
            "running_gpu_multi": of_multi / MILLION,
            "running_gpu_single": of_single / MILLION,
            "gpu_utilization": utilisation(used, total),
            "gpu_utilization_multi": utilisation(of_multi / MILLION, total),
            "gpu_utilization_single": utilisation(of_single / MILLION, total),
        }
    )
    return Occupancy(frame, int((gpu & unplaced(jobs)).sum()))


def vc_sequence(
    jobs: pd.DataFrame,
    capacity: Capacity,
    vc: str | None,
    since: datetime,
    until: datetime,
    timezone: str,
) -> Occupancy:
    """Jobs and GPUs, running and pending, in each minute of a period; `left_out` counts all jobs.

    Of virtual cluster `vc` and its quota, or of the whole cluster if that is None.

    Columns: time (start of the minute, UTC); {total,running,pending}_job_num, all jobs;
    {total,running,pending}_gpujob_num, GPU jobs; total_gpu_num, the quota of the local day;
    running_gpu_num; pending_gpu_num; idle_gpu_num, total less running; gpu_utilization; then
    the GPUs and the GPU jobs split into those of jobs with at least 8 GPUs (`noless_8`) and
    with fewer (`less_8`), where `total` is running and pending together.

    Running is as in `cluster_sequence`: capped at the quota, while its two parts are not.
    Pending is a job that waits for any time, in every minute from that of its submission to
    that of its start, both included; so in the minute of its start it is pending and running.

    Source: the columns are those of `cluster_sequence_vc.csv` in HeliosArtifact, whose code is
    not published. Which minutes are pending is inferred from these files: their pending count
    falls a minute after the running count has risen, and jobs that did not wait never show in it.

    Raises
    ------
    UsageError
        If the period holds no time or the capacity says nothing.
    """
    window = Window.of(since, until, timezone)
    if vc is not None:
        jobs = jobs[(jobs["vc"] == vc).to_numpy(dtype=bool, na_value=False)]
    runs, waits = running(jobs, window), pending(jobs, window)
    gpus, gpu, wide = gpu_millionths(jobs), gpu_jobs(jobs), numbers(jobs["gpu_num"]) >= WIDE
    parts = {"all": np.ones(len(jobs), dtype=np.bool_), "gpu": gpu, "noless_8": wide, "less_8": gpu & ~wide}
    job_num = {part: _of_kinds(runs.jobs(mask), waits.jobs(mask)) for part, mask in parts.items()}
    gpu_num = {
        part: _of_kinds(runs.millionths(gpus, mask), waits.millionths(gpus, mask))
        for part, mask in parts.items()
    }
    total = gpus_by_minute(capacity, window, vc)
    used = np.minimum(gpu_num["all"]["running"] / MILLION, total)
    columns: dict[str, object] = {"time": window.times()}
    for part, name in {"all": "job_num", "gpu": "gpujob_num"}.items():
        columns |= {f"{kind}_{name}": job_num[part][kind] for kind in ("total", "running", "pending")}
    columns |= {
        "total_gpu_num": total,
        "running_gpu_num": used,
        "pending_gpu_num": gpu_num["all"]["pending"] / MILLION,
        "idle_gpu_num": total - used,
        "gpu_utilization": utilisation(used, total),
    }
    halves = [(kind, part) for kind in ("running", "pending", "total") for part in ("noless_8", "less_8")]
    columns |= {f"{kind}_gpu_num_{part}": gpu_num[part][kind] / MILLION for kind, part in halves}
    columns |= {f"{kind}_job_num_{part}": job_num[part][kind] for kind, part in halves}
    return Occupancy(pd.DataFrame(columns), int(unplaced(jobs).sum()))


def running_gpus(jobs: pd.DataFrame, window: Window) -> Floats:
    """GPUs that the jobs hold in each minute of the window, as in `cluster_sequence` but not capped."""
    return running(jobs, window).millionths(gpu_millionths(jobs)) / MILLION


def utilisation(used: Floats | Ints, total: Ints) -> Floats:
    """GPUs in use over GPUs there are, with 3 decimals; NaN where there are none."""
    ratio = np.divide(used, total, out=np.full(len(total), np.nan), where=total > 0)
    rounded: Floats = np.round(ratio, 3)
    return rounded


def _of_kinds(runs: Ints, waits: Ints) -> dict[str, Ints]:
    return {"running": runs, "pending": waits, "total": runs + waits}
