"""Headline numbers of AcmeTrace, each with what the public files give for it, and how it is reckoned.

From Hu et al., NSDI '24, its `cluster_summary.csv`, its published pickles, and values read off
its vector figures (to 0.1 point); CC-BY-4.0. Where the paper's text and the public files
disagree, `known` says so: such a number is shown, not forced.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.pickles import AUGUST, WHOLE


@dataclass(frozen=True)
class Quantile:
    """A quantile of a curve; level in percent."""

    metric: str
    level_pct: float
    period: str = WHOLE


@dataclass(frozen=True)
class Share:
    """The share of samples at most `most`, or above it, in percent."""

    metric: str
    most: float
    period: str = WHOLE
    above: bool = False


@dataclass(frozen=True)
class MeanRatio:
    """The mean of the quantiles of one metric over that of another; `percent` gives it in percent."""

    metric: str
    over: str
    percent: bool = False


@dataclass(frozen=True)
class Summary:
    """A column of `cluster_summary.csv`; `percent` turns a fraction into percent."""

    column: str
    percent: bool = False


@dataclass(frozen=True)
class SummaryRatio:
    """A column of `cluster_summary.csv` over its mean in the rows of other clusters, weighted by GPU jobs."""

    column: str
    over: tuple[str, ...]


@dataclass(frozen=True)
class JobShare:
    """The share of GPU jobs, or of their GPU time, with a measure of at most `most`, or above it; percent."""

    measure: str
    most: float
    weight: str = "jobs"
    type: str = "all"
    above: bool = False


@dataclass(frozen=True)
class OfType:
    """A column of the table of kinds of work."""

    type: str
    column: str


@dataclass(frozen=True)
class LogCheck:
    """A measure of `jobs/integrity.parquet`."""

    measure: str


@dataclass(frozen=True)
class NotReleased:
    """Nothing public gives it; the reason."""

    reason: str


Quantity = Quantile | Share | MeanRatio | Summary | SummaryRatio | JobShare | OfType | LogCheck | NotReleased


@dataclass(frozen=True)
class Headline:
    """A number: `published` is the paper's, `public` what the public files give; None where it has none."""

    id: str
    claim: str
    cluster: str
    quantity: Quantity
    published: float | None
    public: float | None
    unit: str
    known: str = ""


_SEREN_JOBS = "the public log lacks 213,223 of the GPU jobs that the published summary counts"
_SWAPPED = "the text's values look swapped between the clusters; the published curves give 99 and 98"
_LOWER = "the text says about 40 % for both; the published curves give 50.2 and 33.3"


def _pair(
    name: str,
    claim: str,
    quantity: Quantity,
    seren: tuple[float | None, float | None],
    kalos: tuple[float | None, float | None],
    unit: str,
    *,
    seren_known: str = "",
    kalos_known: str = "",
) -> tuple[Headline, Headline]:
    """One claim on both clusters; (published, public) of each."""
    return (
        Headline(name, claim, "seren", quantity, *seren, unit, seren_known),
        Headline(name, claim, "kalos", quantity, *kalos, unit, kalos_known),
    )


def _summary(
    name: str, claim: str, column: str, seren: float, kalos: float, unit: str, *, percent: bool = False
) -> tuple[Headline, Headline]:
    """A claim that the published summary holds; Seren's row describes the full log."""
    return _pair(
        name, claim, Summary(column, percent), (seren, None), (kalos, kalos), unit, seren_known=_SEREN_JOBS
    )


HEADLINES: tuple[Headline, ...] = (
    *_pair("A01", "CPU jobs", Summary("cpu_job_num"), (367_737, 367_737), (42_506, 42_506), "jobs"),
    *_pair(
        "A02",
        "GPU jobs",
        Summary("gpu_job_num"),
        (663_813, 450_590),
        (19_907, 19_907),
        "jobs",
        seren_known=_SEREN_JOBS,
    ),
    *_summary("A03", "mean GPUs of a GPU job", "avg_gpu_num", 5.68, 26.77, "GPUs"),
    *_summary("A04", "mean duration of GPU jobs", "avg_run_time_gpu", 1414.335, 1259.689, "s"),
    *_summary("A04", "median duration of GPU jobs", "med_run_time_gpu", 122, 124, "s"),
    *_summary("A05", "mean queueing delay of GPU jobs", "avg_que_time_gpu", 445.984, 214.179, "s"),
    *_summary("A05", "median queueing delay of GPU jobs", "med_que_time_gpu", 1, 17, "s"),
    *(
        Headline(
            "A06",
            "mean duration of GPU jobs, over AcmeTrace's",
            cluster,
            SummaryRatio("avg_run_time_gpu", ("seren", "kalos")),
            published,
            public,
            "1",
            _SEREN_JOBS if published is None else "",
        )
        for cluster, published, public in (
            ("philly", 12.8, 12.77),
            ("helios", None, 4.72),
            ("pai", None, 3.4),
        )
    ),
    *(
        Headline(
            "A07",
            "median duration of GPU jobs, over Seren's",
            cluster,
            SummaryRatio("med_run_time_gpu", ("seren",)),
            published,
            public,
            "1",
        )
        for cluster, published, public in (("philly", 7.2, 7.16), ("helios", 1.7, 1.69), ("pai", None, 3.94))
    ),
    *_pair(
        "A08", "GPU jobs of at most 128 s", JobShare("duration", 128), (None, 48.909), (None, 50.475), "%"
    ),
    *_pair(
        "A08", "GPU jobs of at most 1,024 s", JobShare("duration", 1024), (None, 88.032), (None, 85.94), "%"
    ),
    *_pair(
        "A09",
        "median GPU utilisation",
        Quantile("GPU_UTIL", 50),
        (97, 99),
        (99, 98),
        "%",
        seren_known=_SWAPPED,
        kalos_known=_SWAPPED,
    ),
    *_pair("A10", "samples with idle GPUs", Share("GPU_UTIL", 0), (None, 31.4), (None, 25.8), "%"),
    *_pair(
        "A10",
        "samples above 95 % utilisation",
        Share("GPU_UTIL", 95, above=True),
        (None, 62.0),
        (None, 62.9),
        "%",
    ),
    *_pair("A11", "jobs above 8 GPUs", JobShare("gpu_num", 8, above=True), (None, 3.25), (None, 6.08), "%"),
    *_pair("A11", "jobs with one GPU", JobShare("gpu_num", 1), (None, 54.04), (None, 86.28), "%"),
    *_pair(
        "A12",
        "GPU time of jobs with one GPU",
        JobShare("gpu_num", 1, weight="gpu_time"),
        (None, 1.35),
        (None, 0.16),
        "%",
    ),
    Headline(
        "A12",
        "GPU time of jobs with 256 GPUs or more",
        "kalos",
        JobShare("gpu_num", 255, weight="gpu_time", above=True),
        96,
        96.2,
        "%",
    ),
    *_pair(
        "A13", "pretraining, of the GPU jobs", OfType("Pretrain", "jobs_pct"), (0.9, 0.89), (3.2, 3.22), "%"
    ),
    *_pair(
        "A13", "evaluation, of the GPU jobs", OfType("Eval", "jobs_pct"), (None, 64.85), (None, 92.82), "%"
    ),
    *_pair(
        "A14",
        "pretraining, of the GPU time",
        OfType("Pretrain", "gpu_time_pct"),
        (69.5, 69.49),
        (94.0, 95.48),
        "%",
        kalos_known="the text says 94.0 %, the published figure shows 95.48 %",
    ),
    *_pair("A15", "median GPUs of evaluation", OfType("Eval", "gpus_median"), (None, 1), (None, 1), "GPUs"),
    *_pair(
        "A15",
        "median GPUs of pretraining",
        OfType("Pretrain", "gpus_median"),
        (None, 128),
        (None, 512),
        "GPUs",
    ),
    *_pair(
        "A16",
        "pretraining jobs above 131,072 s",
        JobShare("duration", 131_072, type="Pretrain", above=True),
        (None, 2.8),
        (None, 3.3),
        "%",
    ),
    *_pair(
        "A17",
        "evaluation jobs that wait at most 1 s",
        JobShare("queue", 1, type="Eval"),
        (None, 47.6),
        (None, 0.0),
        "%",
    ),
    *_pair(
        "A19",
        "median SM activity",
        Quantile("SM_ACTIVE", 50),
        (40, 50.157),
        (40, 33.262),
        "%",
        seren_known=_LOWER,
        kalos_known=_LOWER,
    ),
    *_pair(
        "A19",
        "median tensor activity",
        Quantile("PIPE_TENSOR_ACTIVE", 50),
        (None, 13.965),
        (None, 9.313),
        "%",
    ),
    *_pair(
        "A20", "median GPU memory in use", Quantile("FB_USED_PCT", 50), (None, 39.282), (None, 75.411), "%"
    ),
    Headline(
        "A20", "samples above 75 % GPU memory", "kalos", Share("FB_USED_PCT", 75, above=True), 50, 50.2, "%"
    ),
    *_pair(
        "A21",
        "samples below 50 % host memory",
        Share("NODE_MEMORY_UTILIZATION", 50),
        (None, 98.8),
        (None, 99.9),
        "%",
    ),
    *_pair(
        "A22",
        "median CPU utilisation",
        Quantile("NODE_CPU_UTILIZATION", 50),
        (None, 7.983),
        (None, 20.115),
        "%",
    ),
    Headline("A23", "samples with an idle network", "seren", Share("NODE_IB_SEND", 0), 60, 63.4, "%"),
    *_pair("A24", "GPUs at 70 W or less", Share("POWER_USAGE", 70, AUGUST), (30, 30.1), (30, 28.3), "%"),
    *_pair(
        "A25",
        "GPUs above 400 W",
        Share("POWER_USAGE", 400, AUGUST, above=True),
        (22.1, 8.0),
        (12.5, 12.6),
        "%",
        seren_known="the text says 22.1 %, the published curve gives 8.0 %",
    ),
    Headline(
        "A26",
        "mean power, GPU server over CPU server",
        "seren",
        MeanRatio("SERVER_POWER_GPU", "SERVER_POWER_CPU"),
        5,
        5.04,
        "1",
    ),
    Headline(
        "A27",
        "power of the CPUs, of a GPU server's",
        "seren",
        MeanRatio("CPU_POWER", "SERVER_POWER_GPU", percent=True),
        11.2,
        None,
        "%",
    ),
    Headline(
        "A27",
        "power of the GPUs, of a GPU server's",
        "seren",
        NotReleased("the power files have no meter of the GPUs"),
        66.7,
        None,
        "%",
    ),
    *_pair(
        "A28", "cores above 65 °C", Share("GPU_TEMP", 65, AUGUST, above=True), (None, 4.5), (None, 1.4), "%"
    ),
    *_pair(
        "A28",
        "GPU memory above 65 °C",
        Share("MEMORY_TEMP", 65, AUGUST, above=True),
        (None, 6.9),
        (None, 1.9),
        "%",
    ),
    *_summary("A29", "GPU jobs completed", "complete_rate_gpu", 49.7, 54.1, "%", percent=True),
    *_summary("A29", "GPU jobs cancelled", "cancel_rate_gpu", 7.5, 6.2, "%", percent=True),
    *_summary("A29", "GPU jobs failed", "fail_rate_gpu", 42.9, 39.7, "%", percent=True),
    *_summary("A30", "GPU time of completed jobs", "complete_rate_gpu_time", 21.2, 31.3, "%", percent=True),
    *_summary("A30", "GPU time of cancelled jobs", "cancel_rate_gpu_time", 66.4, 60.7, "%", percent=True),
    *_summary("A30", "GPU time of failed jobs", "fail_rate_gpu_time", 12.4, 8.0, "%", percent=True),
    Headline(
        "A31",
        "energy in May 2023",
        "seren",
        NotReleased("the power files begin on 15 May on their first node"),
        673,
        None,
        "MWh",
    ),
    Headline(
        "A32",
        "evaluation jobs that fail by an error",
        "kalos",
        OfType("Eval", "failed_pct"),
        6.7,
        None,
        "%",
        "the log gives a job's exit state, the text counts errors",
    ),
    Headline(
        "A33",
        "GPU time lost to infrastructure failures",
        "seren",
        NotReleased("causes of failures come from logs that are not released"),
        82,
        None,
        "%",
    ),
    Headline("A34", "GPUs that logged jobs hold", "kalos", LogCheck("logged_occupancy"), None, 28, "%"),
)
