"""Single GPUs and nodes, users and virtual clusters: who is idle, who is hot, who takes most."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.outputs.results import Results
from tasks.plots.overtime import WIDE_IN
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import (
    DASHES,
    GREY,
    PALETTE,
    cdf_axes,
    colour_of,
    dashes_of,
    date_axis,
    label_of,
    legend_below,
    panels,
    shortened,
)

_MOST = 10
_MOST_VCS = 24


def idle(results: Results) -> Figure:
    """Share of GPUs and of nodes by how much of their samples has a utilisation of zero."""
    table = results.table("telemetry/idle.parquet")
    if table.empty:
        raise NothingToDraw("the run has no GPU_UTIL by entity")
    among = sorted(table["cluster"].unique())
    figure, axes = panels(1, width_in=5)
    for (cluster, level), rows in table.groupby(["cluster", "level"], observed=True):
        shares = np.sort(rows["idle_share"].to_numpy()) * 100
        axes[0].plot(
            np.append(0.0, shares),
            np.arange(len(shares) + 1) / len(shares) * 100,
            drawstyle="steps-post",
            color=colour_of(str(cluster), among),
            ls=DASHES[0] if level == "gpu" else DASHES[2],
            label=f"{label_of(str(cluster))}, {'GPUs' if level == 'gpu' else 'nodes'}",
        )
    axes[0].set_xlim(-0.8, 100.8)
    cdf_axes(axes[0], "samples with a utilisation of zero (%)", ylabel="GPUs or nodes (%)")
    legend_below(figure, axes, columns=3)
    return figure


def hottest(results: Results) -> Figure:
    """The hottest and most power-hungry GPUs and servers by mean, with their maximum."""
    table = results.table("telemetry/extremes.parquet")
    table = table[(table["by"] == "mean") & (table["rank"] <= _MOST)]
    groups = [
        (cluster, metric, rows)
        for (cluster, metric), rows in table.groupby(["cluster", "metric"], observed=True)
    ]
    if not groups:
        raise NothingToDraw("the run has neither temperatures nor power by entity")
    columns = 2 if len(groups) > 1 else 1
    figure, axes = panels(columns, -(-len(groups) // columns), height_in=2.3)
    for one, (cluster, metric, rows) in zip(axes, groups, strict=False):
        ordered = rows.sort_values("rank")
        names = [shortened(str(name)) for name in ordered["entity"]]
        places = np.arange(len(names))
        one.barh(places, ordered["mean"], color=colour_of(str(cluster)), height=0.65, label="mean")
        one.plot(ordered["max"], places, "|", color="black", ms=7, label="maximum")
        one.set_yticks(places, names, fontsize=7)
        one.invert_yaxis()
        unit = "°C" if "TEMP" in str(metric) else "W"
        one.set_title(f"{label_of(str(cluster))}, {metric} ({unit})", loc="left")
        one.grid(visible=False, axis="y")
    for one in axes[len(groups) :]:
        one.set_axis_off()
    legend_below(figure, axes)
    return figure


def faults(results: Results) -> Figure:
    """Onsets of XID codes hour by hour, the most frequent codes by colour; a panel a cluster."""
    table = results.table("telemetry/fault_hours.parquet")
    if table.empty:
        raise NothingToDraw("the run has seen no onset of an XID code")
    among = sorted(table["cluster"].unique())
    figure, axes = panels(1, len(among), width_in=WIDE_IN, height_in=2.1)
    counts = table.groupby("value")["onsets"].sum().sort_values(ascending=False, kind="stable")
    codes = list(counts.index[: len(PALETTE) - 1])
    for one, cluster in zip(axes, among, strict=True):
        rows = table[table["cluster"] == cluster]
        kinds = rows["value"].where(rows["value"].isin(codes), -1.0)
        wide = rows.assign(kind=kinds).pivot_table(
            index="hour", columns="kind", values="onsets", aggfunc="sum"
        )
        bottom = pd.Series(0.0, index=wide.index)
        for place, code in enumerate([*codes, -1.0]):
            if code in wide.columns:
                heights = wide[code].fillna(0.0)
                name = f"XID {code:g}" if code >= 0 else "others"
                one.bar(
                    wide.index, heights, 1 / 24, bottom=bottom, align="edge", color=PALETTE[place], label=name
                )
                bottom = bottom + heights
        one.set_title(label_of(cluster), loc="left")
        one.set_ylabel("onsets an hour")
        date_axis(one)
    legend_below(figure, axes)
    return figure


def concentration(results: Results) -> Figure:
    """What the top users take of GPU time and of the waiting for GPUs."""
    table = results.table("jobs/user_curve.parquet")
    wanted = (("gpu_time", "(a) GPU time (%)"), ("gpu_pend_time", "(b) Waiting of GPU jobs (%)"))
    table = table[table["resource"].isin([name for name, _ in wanted])]
    if table.empty:
        raise NothingToDraw("no job log of the run names users")
    among = sorted(table["cluster"].unique())
    figure, axes = panels(2)
    for one, (resource, text) in zip(axes, wanted, strict=True):
        for cluster in among:
            rows = table[(table["cluster"] == cluster) & (table["resource"] == resource)].sort_values("rank")
            if len(rows):
                one.plot(
                    np.append(0.0, rows["user_share"]) * 100,
                    np.append(0.0, rows["share"]) * 100,
                    color=colour_of(cluster, among),
                    ls=dashes_of(cluster, among),
                    label=label_of(cluster),
                )
        one.plot([0, 100], [0, 100], color=GREY, lw=0.8, ls=":")
        one.set_xlim(0, 100)
        cdf_axes(one, "top users (%)", ylabel=text)
    legend_below(figure, axes)
    return figure


def virtual_clusters(results: Results) -> Figure:
    """Utilisation of each virtual cluster over its minutes: quartiles as a bar, the median, the mean."""
    table = results.table("jobs/vcs.parquet")
    table = table[table["utilization_median"].notna()]
    if table.empty:
        raise NothingToDraw("no job log of the run comes with the quotas of its virtual clusters")
    among = sorted(table["cluster"].unique())
    longest = min(int(table["cluster"].value_counts().max()), _MOST_VCS)
    figure, axes = panels(len(among), width_in=3, height_in=0.2 * longest + 1.4)
    for one, cluster in zip(axes, among, strict=True):
        rows = table[table["cluster"] == cluster].nlargest(_MOST_VCS, "gpu_quota").iloc[::-1]
        places = np.arange(len(rows))
        low, high = rows["utilization_q1"] * 100, rows["utilization_q3"] * 100
        one.barh(
            places,
            high - low,
            left=low,
            height=0.6,
            color=colour_of(cluster, among),
            alpha=0.55,
            label="Q1 to Q3",
        )
        one.plot(rows["utilization_median"] * 100, places, "|", color="black", ms=7, label="median")
        one.plot(rows["utilization_mean"] * 100, places, "o", color="black", ms=2.5, label="mean")
        names = [
            f"{shortened(str(vc))} ({quota:.0f})"
            for vc, quota in zip(rows["vc"], rows["gpu_quota"], strict=True)
        ]
        one.set_yticks(places, names, fontsize=7)
        one.set_xlim(0, 100)
        one.set_xlabel("GPUs that jobs hold (%)")
        one.set_title(f"{label_of(cluster)} (GPUs)", loc="left")
        one.grid(visible=False, axis="y")
    legend_below(figure, axes[:1])
    return figure
