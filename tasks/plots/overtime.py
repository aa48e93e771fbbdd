"""Clusters over time: by hour, by hour of day, by month, and jobs beside telemetry."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from tasks.outputs.results import Results
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    colour_of,
    dashes_of,
    date_axis,
    label_of,
    legend_below,
    panels,
)

WIDE_IN = 8.4


def hourly(results: Results) -> Figure:
    """Mean utilisation of GPUs and CPUs, and power, hour by hour."""
    table = results.table("telemetry/cluster_hours.parquet")
    table = table[table["metric"].isin(["GPU_UTIL", "POWER_USAGE"])]
    if table.empty:
        raise NothingToDraw("the run has neither GPU_UTIL nor POWER_USAGE")
    wanted = (
        ("GPU_UTIL", "mean", 1, "GPU utilisation (%)"),
        ("POWER_USAGE", "total", 1000, "power of GPUs (kW)"),
    )
    among = sorted(table["cluster"].unique())
    # A column a cluster: their periods may lie months apart.
    figure, axes = panels(len(among), 2, width_in=max(WIDE_IN / len(among), 3.4), height_in=2.2)
    for row, (metric, column, divisor, text) in enumerate(wanted):
        for place, cluster in enumerate(among):
            one = axes[row * len(among) + place]
            rows = table[(table["metric"] == metric) & (table["cluster"] == cluster)].sort_values("hour")
            values = _gapped(rows.set_index("hour")[column] / divisor)
            one.plot(values.index, values, color=colour_of(cluster, among), lw=1.2)
            one.set_ylabel(text if place == 0 else "")
            one.set_ylim(bottom=0)
            if row == 0:
                one.set_title(label_of(cluster), loc="left")
            if len(values):
                date_axis(one)
            else:
                one.text(0.5, 0.5, f"no {metric}", ha="center", transform=one.transAxes, color=GREY)
    return figure


def daily_pattern(results: Results) -> Figure:
    """The mean day: utilisation as jobs hold GPUs, and GPU jobs submitted, by local hour."""
    table = results.table("jobs/hourly_pattern.parquet")
    if table.empty:
        raise NothingToDraw("no job log of the run has known times")
    among = sorted(table["cluster"].unique())
    figure, axes = panels(2)
    for cluster in among:
        rows = table[table["cluster"] == cluster]
        look = {"color": colour_of(cluster, among), "ls": dashes_of(cluster, among)}
        if rows["gpu_utilization"].notna().any():
            axes[0].plot(rows["hour"], rows["gpu_utilization"] * 100, label=label_of(cluster), **look)
        axes[1].plot(rows["hour"], rows["submit_gpu_job"], label=label_of(cluster), **look)
    axes[0].set_ylabel("GPUs that jobs hold (%)")
    axes[1].set_ylabel("GPU jobs submitted an hour")
    for one in axes:
        one.set_ylim(bottom=0)
        one.set_xticks(range(0, 24, 4))
        one.set_xlabel("local hour of day")
    legend_below(figure, axes)
    return figure


def monthly(results: Results) -> Figure:
    """GPU jobs with one GPU and with more, and utilisation, month by month; a panel a cluster."""
    table = results.table("jobs/monthly.parquet")
    table = table[table["gpu_job_num"] > 0]
    if table.empty:
        raise NothingToDraw("no job log of the run has GPU jobs with known times")
    among = sorted(table["cluster"].unique())
    columns = min(len(among), 3)
    figure, axes = panels(columns, -(-len(among) // columns), height_in=2.6)
    for one, cluster in zip(axes, among, strict=False):
        rows = table[table["cluster"] == cluster].sort_values("month").tail(24)
        one.bar(
            rows["month"],
            rows["gpu_job_num_single"],
            0.6,
            color=PALETTE[4],
            label="jobs with one GPU or less",
        )
        one.bar(
            rows["month"],
            rows["gpu_job_num_multi"],
            0.6,
            bottom=rows["gpu_job_num_single"],
            color=BLUE,
            label="jobs with more GPUs",
        )
        one.set_ylabel("GPU jobs")
        one.set_title(label_of(cluster), loc="left")
        one.tick_params(axis="x", labelsize=7, rotation=30)
        one.grid(visible=False, axis="x")
        if rows["gpu_utilization"].notna().any():
            other = one.twinx()
            other.plot(
                rows["month"], rows["gpu_utilization"] * 100, "o-", color=ORANGE, ms=3.5, label="utilisation"
            )
            other.set_ylim(0, 100)
            other.set_ylabel("GPUs that jobs hold (%)")
            other.spines["right"].set_visible(True)
            other.grid(visible=False)
            axes.append(other)
    for one in axes[len(among) : columns * -(-len(among) // columns)]:
        one.set_axis_off()
    legend_below(figure, axes)
    return figure


def jobs_beside_telemetry(results: Results) -> Figure:
    """GPUs that jobs of the log hold, beside GPUs that were busy at least; a panel a cluster."""
    table = results.table("jobs/hours.parquet")
    both = table[table["busy_gpus"].notna()]
    if both.empty:
        raise NothingToDraw("no cluster of the run has both a job log and GPU_UTIL of the same hours")
    among = sorted(both["cluster"].unique())
    figure, axes = panels(1, len(among), width_in=WIDE_IN, height_in=2.2)
    for one, cluster in zip(axes, among, strict=True):
        rows = table[table["cluster"] == cluster].set_index("hour").sort_index()
        window = both[both["cluster"] == cluster]["hour"]
        rows = rows.loc[window.min() - pd.Timedelta(days=1) : window.max() + pd.Timedelta(days=1)]
        for column, colour, dashes, text in (
            ("running_gpus", BLUE, DASHES[0], "GPUs that logged jobs hold"),
            ("busy_gpus", ORANGE, DASHES[1], "GPUs busy at least, by telemetry"),
            ("reporting_gpus", GREEN, DASHES[2], "GPUs that report"),
        ):
            one.plot(rows.index, rows[column], color=colour, ls=dashes, label=text, lw=1.4)
        capacity = rows["capacity_gpus"].max()
        # Of a part of a cluster the lines would lie flat on the ground below its capacity.
        if capacity <= 2.5 * rows[["running_gpus", "reporting_gpus"]].max().max():
            one.axhline(capacity, color=GREY, lw=0.8, ls=":", label="GPUs there are")
        there = f", {capacity:,.0f} GPUs" if capacity > 0 else ""
        one.set_title(f"{label_of(cluster)}{there}", loc="left")
        one.set_ylabel("GPUs")
        one.set_ylim(bottom=0)
        date_axis(one)
    legend_below(figure, axes, columns=4)
    return figure


def _gapped(values: pd.Series) -> pd.Series:
    """The same with a hole in each hour that has no value, so that no line leads across it."""
    return values if values.empty else values.resample("h").mean()
