"""How many jobs and GPUs are submitted, started and ended: `cluster_throughput` of HeliosData."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd

from tasks.characterise.spans import MILLION, gpu_millionths
from tasks.characterise.window import Ints, Mask, Window, gpu_jobs

EVENTS = ("submit", "start", "end")


def cluster_throughput(
    jobs: pd.DataFrame, since: datetime, until: datetime, timezone: str, minutes: int = 10
) -> pd.DataFrame:
    """Jobs and GPUs that were submitted, began and ended in each bin of some minutes.

    Columns: time (start of the bin, UTC); then for submit, start and end: `<event>_job_all`, all
    jobs; `<event>_gpu_job`, GPU jobs; `<event>_gpu_num`, GPUs of these. A bin holds the times from
    its start up to, but not including, that of the next; the last one ends with the period.

    Source: `cluster_throughput.csv` of HeliosData as HeliosArtifact derives it; Hu et al., SC '21.

    Raises
    ------
    UsageError
        If the period holds no time.
    """
    window = Window.of(since, until, timezone)
    starts = window.times(minutes)
    gpu, gpus = gpu_jobs(jobs), gpu_millionths(jobs)
    inside = {event: window.holds(jobs[event]) for event in EVENTS}
    bins = {event: window.bins(jobs[event], minutes) for event in EVENTS}

    def count(event: str, rows: Mask, weights: Ints | None = None) -> Ints:
        held = inside[event] & rows
        of_held = None if weights is None else weights[held]
        return np.bincount(bins[event][held], of_held, minlength=len(starts)).astype(np.int64)

    columns: dict[str, object] = {"time": starts}
    columns |= {f"{event}_job_all": count(event, inside[event]) for event in EVENTS}
    columns |= {f"{event}_gpu_job": count(event, gpu) for event in EVENTS}
    columns |= {f"{event}_gpu_num": count(event, gpu, gpus) / MILLION for event in EVENTS}
    return pd.DataFrame(columns)
