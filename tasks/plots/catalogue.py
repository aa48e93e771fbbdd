"""Every figure of a run, in the order of the report; to add one, add an entry here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from schemas.errors import UsageError
from tasks.outputs.results import Results
from tasks.plots import cdfs, entities, jobs, overtime, overview
from tasks.plots.plot import NothingToDraw, Plot
from tasks.plots.style import figure_bytes, styled

FOLDER = "figures"

PLOTS: tuple[Plot, ...] = (
    Plot(
        "cdf_job_duration_util",
        "GPU job duration and GPU utilisation",
        "Duration as the log has it (Kalos' counts from submission). Dotted: published, of other clusters.",
        jobs.duration_and_utilization,
        "cdf_job_duration_util.pdf",
    ),
    Plot(
        "cdf_job_gpunum",
        "GPUs per job",
        "Weighted by jobs and by GPU time, gpu_num × duration.",
        jobs.gpus_per_job,
        "cdf_job_gpunum.pdf",
    ),
    Plot(
        "treemap_job_dist",
        "Jobs and GPU time by kind of work",
        "Areas are shares of GPU jobs and of their GPU time as the log has it.",
        jobs.treemap,
        "treemap_job_dist.pdf",
    ),
    Plot(
        "box_gpu_num",
        "GPUs by kind of work",
        "Quartiles and median; whiskers reach the last job within 1.5 interquartile ranges, no outliers.",
        jobs.boxes,
        "box_gpu_num.pdf",
    ),
    Plot(
        "cdf_job_duration_queue",
        "Duration and queueing delay by kind of work",
        "GPU jobs; both times as the log has them.",
        jobs.by_kind,
        "cdf_job_duration_queue.pdf",
    ),
    Plot(
        "cdf_job_jobtime",
        "Run time of GPU jobs",
        "End − start in every cluster, so without the queue that Kalos' durations hold.",
        jobs.run_time,
        "cdf_job_jobtime.pdf",
    ),
    Plot(
        "bar_job_state",
        "How GPU jobs end",
        "Shares of jobs and of GPU time; whatever is neither completed nor cancelled counts as failed.",
        jobs.final_state,
        "bar_job_state.pdf",
    ),
    Plot(
        "cdf_resource_util",
        "Use of GPUs, memory, CPUs and network",
        "All samples of all entities; the network, whose unit is not stated, in percent of its maximum.",
        cdfs.resource_util,
        "cdf_resource_util.pdf",
    ),
    Plot(
        "cdf_power",
        "Power of GPUs and servers",
        "GPU power of August where the run has it, as published.",
        cdfs.power,
        "cdf_power.pdf",
    ),
    Plot(
        "cdf_temperature",
        "Temperature of GPUs",
        "Core and memory; of August where the run has it, as published.",
        cdfs.temperature,
        "cdf_temperature.pdf",
    ),
    Plot(
        "hourly",
        "Utilisation and power hour by hour",
        "Mean utilisation of the GPUs that report, and the power of all of them together.",
        overtime.hourly,
    ),
    Plot(
        "coverage",
        "Coverage",
        "A row a series; white days have no value.",
        overview.coverage,
    ),
    Plot(
        "findings",
        "Findings",
        "How many series and job logs have each finding.",
        overview.findings,
    ),
    Plot(
        "idle",
        "Idle GPUs and nodes",
        "How many GPUs, and nodes over all their GPUs, are idle for at most so much of their samples.",
        entities.idle,
    ),
    Plot(
        "hottest",
        "Hottest and most power-hungry",
        "The ten highest means of each cluster and metric.",
        entities.hottest,
    ),
    Plot(
        "xid_onsets",
        "XID errors",
        "Onsets of a code, not samples that show it; what comes again within 30 s is the same episode.",
        entities.faults,
    ),
    Plot(
        "jobs_beside_telemetry",
        "Are jobs missing?",
        "GPUs that logged jobs hold beside GPUs that were busy at least: those that report × utilisation.",
        overtime.jobs_beside_telemetry,
    ),
    Plot(
        "daily_pattern",
        "The mean day",
        "By local hour: GPUs that jobs hold, and GPU jobs submitted.",
        overtime.daily_pattern,
    ),
    Plot(
        "monthly",
        "Month by month",
        "GPU jobs by local month of submission, and GPUs that jobs hold.",
        overtime.monthly,
    ),
    Plot(
        "user_concentration",
        "Users",
        "What the top users take; on the dotted line all would take the same.",
        entities.concentration,
    ),
    Plot(
        "vc_utilization",
        "Virtual clusters",
        "Share of its quota that jobs hold, over the minutes of the log; the largest quotas.",
        entities.virtual_clusters,
    ),
)
BY_NAME: Mapping[str, Plot] = MappingProxyType({plot.name: plot for plot in PLOTS})


@dataclass(frozen=True)
class Drawn:
    """Content of each file by its path, and the figures that were left out with the reason."""

    files: Mapping[str, bytes]
    skipped: Mapping[str, str]


def draw(results: Results, names: Iterable[str] = ()) -> Drawn:
    """The named figures of a run, or all, each as PDF and PNG.

    Raises:
        UsageError: there is no such figure.
    """
    wanted = tuple(names) or tuple(BY_NAME)
    unknown = sorted(set(wanted) - set(BY_NAME))
    if unknown:
        raise UsageError(f"There is no figure {', '.join(unknown)}.", hint=f"Figures: {', '.join(BY_NAME)}.")
    files: dict[str, bytes] = {}
    skipped: dict[str, str] = {}
    for name in wanted:
        with styled(), warnings.catch_warnings():
            # A sign that the font has not is drawn as a box; the name stands in the tables.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            try:
                figure = BY_NAME[name].draw(results)
            except NothingToDraw as why:
                skipped[name] = str(why)
                continue
            for kind, data in figure_bytes(figure).items():
                files[f"{FOLDER}/{name}.{kind}"] = data
    return Drawn(files, skipped)
