"""What jobs of the clusters are like: duration, size, kind, how they end.

Published counterparts: the job figures of AcmeTrace (Hu et al., NSDI '24); what each shows is
told in its entry of the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from schemas.published import PAI, published_levels, published_pai, published_quantiles
from tasks.outputs.results import Results
from tasks.plots.cdfs import clusters_with, gpu_utilization
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import (
    DASHES,
    GREY,
    PALETTE,
    STATES,
    cdf_axes,
    colour_of,
    dashes_of,
    label_of,
    legend_below,
    panels,
    shortened,
)
from tasks.plots.treemap import squarified

HOUR_S, DAY_S = 3600, 86400
_KINDS = ("Eval", "Pretrain", "SFT", "MLLM", "Debug", "Other")
_MOST_KINDS = 8
_MOST_CLUSTERS = 4  # rows of panels of one figure


def ecdf_of(
    results: Results, measure: str, weight: str = "jobs", kind: str = "all"
) -> dict[str, pd.DataFrame]:
    """The curve (x, share_pct) of each cluster that has jobs of the kind."""
    table = results.table("jobs/ecdf.parquet")
    chosen = table[
        (table["measure"] == measure)
        & (table["weight"] == weight)
        & (table["type"] == kind)
        & table["share_pct"].notna()
    ]
    return {str(cluster): rows for cluster, rows in chosen.groupby("cluster", sort=True, observed=True)}


def duration_and_utilization(results: Results) -> Figure:
    """GPU job duration, and GPU utilisation beside those of Philly and PAI."""
    curves = ecdf_of(results, "duration")
    if not curves and not clusters_with(results, "GPU_UTIL"):
        raise NothingToDraw("the run has neither GPU jobs nor a curve of GPU_UTIL")
    figure, axes = panels(2)
    _by_cluster(axes[0], curves)
    _seconds(axes[0], 21)
    cdf_axes(axes[0], "(a) GPU job duration (s)", ylabel="CDF of jobs (%)")
    pai_levels, pai_values = published_pai()
    others = {
        "philly": (published_quantiles("util_gpu_philly", 1), published_levels() * 100),
        PAI.removeprefix("util_gpu_"): (pai_values, pai_levels),
    }
    gpu_utilization(axes[1], results, others)
    legend_below(figure, axes)
    return figure


def gpus_per_job(results: Results) -> Figure:
    """GPUs of a job, by jobs and by GPU time."""
    curves = ecdf_of(results, "gpu_num")
    if not curves:
        raise NothingToDraw("the run has no GPU jobs")
    figure, axes = panels(2)
    for one, found, text in (
        (axes[0], curves, "(a) GPUs of a job"),
        (axes[1], ecdf_of(results, "gpu_num", "gpu_time"), "(b) GPUs of a job"),
    ):
        # A step line: between two sizes nothing is interpolated.
        _by_cluster(one, {name: rows[rows["x"] >= 1] for name, rows in found.items()}, steps=True)
        one.set_xscale("log", base=2)
        one.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(0, 11, 2)]))
        one.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        one.set_xlim(0.95, 1100)
        cdf_axes(one, text, ylabel="CDF of jobs (%)" if one is axes[0] else "CDF of GPU time (%)")
    legend_below(figure, axes)
    return figure


def run_time(results: Results) -> Figure:
    """Run time of GPU jobs, end − start in every cluster, by jobs and by GPU time."""
    curves = ecdf_of(results, "run")
    if not curves:
        raise NothingToDraw("no GPU job of the run has both a start and an end")
    figure, axes = panels(2)
    _by_cluster(axes[0], curves)
    _by_cluster(axes[1], ecdf_of(results, "run", "own_gpu_time"))
    for one, name in zip(axes, ("(a)", "(b)"), strict=True):
        _seconds(one, 21)
        _marks(one)
        cdf_axes(one, f"{name} Run time, end − start (s)", ylabel="CDF of jobs (%)")
    axes[1].set_ylabel("CDF of GPU time (%)")
    legend_below(figure, axes)
    return figure


def by_kind(results: Results) -> Figure:
    """Duration and queueing delay of each kind of work, a row a cluster."""
    kinds = _kinds(results)
    if not kinds:
        raise NothingToDraw("no job log of the run tells kinds of work")
    figure, axes = panels(2, len(kinds))
    for row, (cluster, names) in enumerate(kinds.items()):
        for column, (measure, last, text) in enumerate(
            (("duration", 21, "Duration (s)"), ("queue", 15, "Queueing delay (s)"))
        ):
            one = axes[2 * row + column]
            for name in names:
                rows = ecdf_of(results, measure, kind=name).get(cluster)
                if rows is not None:
                    one.plot(rows["x"], rows["share_pct"], label=shortened(name), **_kind_look(name, names))
            _seconds(one, last)
            if measure == "duration":
                _marks(one)
            one.set_title(label_of(cluster), loc="left")
            cdf_axes(one, text, ylabel="CDF of jobs (%)")
    legend_below(figure, axes)
    return figure


def treemap(results: Results) -> Figure:
    """Shares of jobs and of GPU time by kind of work, as areas; a row a cluster."""
    kinds = _kinds(results)
    if not kinds:
        raise NothingToDraw("no job log of the run tells kinds of work")
    table = results.table("jobs/types.parquet")
    figure, axes = panels(2, len(kinds), height_in=2.6)
    for row, (cluster, names) in enumerate(kinds.items()):
        told = table[table["cluster"] == cluster].set_index("type")
        for column, (share, text) in enumerate((("jobs_pct", "jobs"), ("gpu_time_pct", "GPU time"))):
            one = axes[2 * row + column]
            shares = told[share].reindex(names).dropna().sort_values(ascending=False, kind="stable")
            _areas(one, shares, names)
            one.set_title(f"{label_of(cluster)}, {text}", loc="left")
    return figure


def boxes(results: Results) -> Figure:
    """GPUs of a job by kind of work: quartiles, whiskers of 1.5 interquartile ranges, median in the box."""
    kinds = _kinds(results)
    if not kinds:
        raise NothingToDraw("no job log of the run tells kinds of work")
    table = results.table("jobs/types.parquet")
    figure, axes = panels(len(kinds))
    for one, (cluster, names) in zip(axes, kinds.items(), strict=True):
        told = table[table["cluster"] == cluster].set_index("type").loc[names]
        stats: list[dict[str, Any]] = [
            {
                "label": shortened(name),
                "whislo": told.at[name, "gpus_low"],
                "q1": told.at[name, "gpus_q1"],
                "med": told.at[name, "gpus_median"],
                "q3": told.at[name, "gpus_q3"],
                "whishi": told.at[name, "gpus_high"],
                "fliers": [],
            }
            for name in names
        ]
        drawn = one.bxp(stats, showfliers=False, patch_artist=True, medianprops={"color": "black", "lw": 1.8})
        for box, name in zip(drawn["boxes"], names, strict=True):
            box.set_facecolor(_kind_look(name, names)["color"])
            box.set_alpha(0.65)
        one.set_yscale("log", base=2)
        one.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        one.set_ylabel("GPUs of a job")
        one.set_title(label_of(cluster), loc="left")
        one.tick_params(axis="x", labelsize=8, rotation=0 if len(names) < 7 else 30)
        one.grid(visible=False, axis="x")
    return figure


def final_state(results: Results) -> Figure:
    """How GPU jobs end: shares of jobs and of GPU time.

    A log that tells the outcome of less than half of its jobs, as PAI's, which has the failed ones
    only, is left out.
    """
    table = results.table("jobs/status.parquet")
    table = table[(table["group"] == "GPU jobs") & (table["jobs"] > 0)]
    told = table.groupby("cluster")["jobs"].sum()
    all_jobs = {log.cluster: log.gpu_jobs for log in (results.jobs.logs if results.jobs else ())}
    table = table[[told[name] >= all_jobs.get(name, 0) / 2 for name in table["cluster"]]]
    if table.empty:
        raise NothingToDraw("the run has no GPU job whose outcome is known")
    clusters = sorted(table["cluster"].unique())
    figure, axes = panels(2, width_in=max(4.2, 0.75 * len(clusters) + 1.5))
    for one, column, text in (
        (axes[0], "job_share", "(a) Share of GPU jobs (%)"),
        (axes[1], "gpu_time_share", "(b) Share of GPU time (%)"),
    ):
        wide = table.pivot(index="cluster", columns="state", values=column).reindex(clusters) * 100
        for number, (state, colour) in enumerate(STATES.items()):
            heights = wide.get(state.upper(), pd.Series(0.0, index=clusters)).fillna(0.0)
            bars = one.bar(
                np.arange(len(clusters)) + (number - 1) * 0.27, heights, 0.25, color=colour, label=state
            )
            one.bar_label(bars, fmt="%.0f" if len(clusters) > 3 else "%.1f", fontsize=7, padding=1)
        one.set_xticks(range(len(clusters)), [label_of(cluster) for cluster in clusters])
        one.tick_params(axis="x", rotation=0 if len(clusters) < 6 else 30)
        one.set_ylabel(text)
        one.set_ylim(0, 105)
        one.grid(visible=False, axis="x")
    legend_below(figure, axes)
    return figure


def _by_cluster(axes: Axes, curves: dict[str, pd.DataFrame], *, steps: bool = False) -> None:
    for cluster, rows in curves.items():
        axes.plot(
            rows["x"],
            rows["share_pct"],
            color=colour_of(cluster, curves),
            ls=dashes_of(cluster, curves),
            drawstyle="steps-post" if steps else "default",
            label=label_of(cluster),
        )
    if not curves:
        axes.text(0.5, 0.5, "no GPU jobs", ha="center", transform=axes.transAxes, color=GREY)


def _seconds(axes: Axes, last: int) -> None:
    """A logarithmic axis of seconds from 1 to 2**last."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([10.0**power for power in range(7)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    axes.set_xlim(1, 2**last)


def _short(seconds: float) -> str:
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if seconds >= size:
            return f"{seconds / size:g}{sign}"
    return f"{seconds:g}"


def _marks(axes: Axes) -> None:
    for at, name in ((HOUR_S, "1 h"), (DAY_S, "1 d")):
        axes.axvline(at, color=GREY, lw=0.8, ls=":")
        axes.annotate(name, (at, 2), fontsize=7, color=GREY, ha="right")


def _kinds(results: Results) -> dict[str, list[str]]:
    """Kinds of work of each cluster that has more than one, the published ones first; not too many."""
    table = results.table("jobs/types.parquet")
    found: dict[str, list[str]] = {}
    for cluster, rows in table.groupby("cluster", sort=True, observed=True):
        counts = rows.set_index("type")["jobs"].sort_values(ascending=False, kind="stable")[:_MOST_KINDS]
        names = [str(name) for name in counts.index]
        if len(names) > 1:
            found[str(cluster)] = sorted(names, key=_place)
    return dict(list(found.items())[:_MOST_CLUSTERS])


def _place(kind: str) -> tuple[int, str]:
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS), kind)


def _kind_look(kind: str, among: Sequence[str]) -> dict[str, Any]:
    """Colour and dashes of a kind of work."""
    own = [name for name in among if name not in _KINDS]
    place = _KINDS.index(kind) if kind in _KINDS else len(_KINDS) + own.index(kind)
    return {"color": PALETTE[place % len(PALETTE)], "ls": DASHES[place % len(DASHES)]}


def _areas(axes: Axes, shares: pd.Series, among: Sequence[str]) -> None:
    axes.set_axis_off()
    axes.set(xlim=(0, 1.6), ylim=(0, 1))
    small: list[str] = []
    for (name, share), (x, y, width, height) in zip(
        shares.items(), squarified(shares.tolist(), 1.6, 1.0), strict=True
    ):
        colour = _kind_look(str(name), among)["color"]
        axes.add_patch(
            Rectangle((x, y), width, height, facecolor=colour, edgecolor="white", alpha=0.75, lw=1.5)
        )
        text = f"{shortened(str(name))}\n{share:.1f} %"
        if width > 0.22 and height > 0.16:
            axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8)
        else:
            small.append(text.replace("\n", " "))
    if small:
        axes.text(0, -0.03, "small: " + ", ".join(small), fontsize=7, va="top", color=GREY)
