"""Cumulative distributions of telemetry: utilisation, memory, network, power, temperature.

Published counterparts: cdf_resource_util, cdf_power and cdf_temperature of AcmeTrace (Hu et
al., NSDI '24). Where a published curve of the cluster exists, it stands beside ours as a thin
grey line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from schemas.pickles import AUGUST, PICKLES, WHOLE
from schemas.published import FloatArray, published_levels, published_quantiles
from tasks.outputs.results import Results
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import DASHES, GREY, cdf_axes, colour_of, label_of, legend_below, panels

IDLE_W, TDP_W = 60, 400  # of the published power figure
PERCENT = (-0.8, 100.8)


def clusters_with(results: Results, *metrics: str) -> list[str]:
    """The clusters that have a curve of one of the metrics; published ones first, as everywhere."""
    return sorted({cluster for cluster, metric, _ in results.curves if metric in metrics})


def curve_of(
    results: Results, cluster: str, metric: str, period: str
) -> tuple[FloatArray, FloatArray] | None:
    """Values and levels (%) of a curve of the period, or else of all that was read."""
    rows = results.curve(cluster, metric, period)
    if rows is None:
        rows = results.curve(cluster, metric)
    return None if rows is None else (rows["value"].to_numpy(), rows["level_pct"].to_numpy())


def published_of(cluster: str, metric: str) -> tuple[FloatArray, FloatArray] | None:
    """Values and levels (%) of the published curve of a metric of Seren or Kalos."""
    for layout in PICKLES:
        for number, pair in enumerate(layout.pairs, start=1):
            if (pair.cluster, pair.metric) == (cluster, metric) and layout.name not in _OTHERS:
                return published_quantiles(layout.name, number), published_levels() * 100
    return None


# Another period, and clusters of other studies, of which a run may have its own curves.
_OTHERS = ("util_gpu_kalos", "util_gpu_philly", "util_gpu_pai")


def _panel(
    axes: Axes,
    results: Results,
    metrics: tuple[tuple[str, str], ...],
    period: str = WHOLE,
    *,
    of_maximum: bool = False,
) -> None:
    """One line a cluster and metric: colour by cluster, dashes by metric."""
    names = [metric for metric, _ in metrics]
    among = clusters_with(results, *names)
    if not among:
        axes.text(0.5, 0.5, f"no {' or '.join(names)}", ha="center", transform=axes.transAxes, color=GREY)
        return
    for cluster in among:
        for number, (metric, _) in enumerate(metrics):
            for found, look in (
                (published_of(cluster, metric), {"color": GREY, "lw": 0.9, "zorder": 1}),
                (curve_of(results, cluster, metric, period), {"color": colour_of(cluster, among)}),
            ):
                if found is not None:
                    values, levels = found
                    most = np.abs(values).max()
                    scale = 100 / most if of_maximum and most else 1
                    axes.plot(values * scale, levels, ls=DASHES[number % len(DASHES)], **look)
    handles: list[Any] = [
        Line2D([], [], color=colour_of(cluster, among), label=label_of(cluster)) for cluster in among[:6]
    ]
    handles += [
        Line2D([], [], color="black", lw=1.2, ls=DASHES[number % len(DASHES)], label=label)
        for number, (_, label) in enumerate(metrics)
        if len(metrics) > 1
    ]
    if any(published_of(cluster, metric) is not None for cluster in among for metric in names):
        handles.append(Line2D([], [], color=GREY, lw=0.9, label="published"))
    axes.legend(handles=handles, loc="best")


def resource_util(results: Results) -> Figure:
    """SM and tensor activity, memory, CPU and network; the network in percent of each curve's maximum."""
    groups = (
        ("(a) GPU activity (%)", (("SM_ACTIVE", "SM activity"), ("PIPE_TENSOR_ACTIVE", "tensor activity"))),
        (
            "(b) Memory in use (%)",
            (("NODE_MEMORY_UTILIZATION", "host memory"), ("FB_USED_PCT", "GPU memory")),
        ),
        ("(c) CPU utilisation (%)", (("NODE_CPU_UTILIZATION", "CPU"),)),
        ("(d) InfiniBand (% of the maximum)", (("NODE_IB_SEND", "send"), ("NODE_IB_RECEIVE", "receive"))),
    )
    if not clusters_with(results, *(metric for _, metrics in groups for metric, _ in metrics)):
        raise NothingToDraw("the run has no curve of GPU activity, memory, CPU or network")
    figure, axes = panels(2, 2)
    for number, (title, metrics) in enumerate(groups):
        _panel(axes[number], results, metrics, of_maximum=number == 3)
        cdf_axes(axes[number], title)
        axes[number].set_xlim(PERCENT)
    return figure


def power(results: Results) -> Figure:
    """Power of GPUs, in August where there is one, and of servers with and without GPUs."""
    servers = (("SERVER_POWER_GPU", "GPU servers"), ("SERVER_POWER_CPU", "CPU servers"))
    if not clusters_with(results, "POWER_USAGE", *(metric for metric, _ in servers)):
        raise NothingToDraw("the run has no curve of POWER_USAGE or of server power")
    figure, axes = panels(2)
    _panel(axes[0], results, (("POWER_USAGE", "GPU"),), AUGUST)
    _panel(axes[1], results, servers)
    for watts, name in ((IDLE_W, "idle"), (TDP_W, "TDP")):
        axes[0].axvline(watts, color=GREY, lw=0.8, ls=":")
        axes[0].annotate(f"{name} {watts} W", (watts, 2), rotation=90, fontsize=7, color=GREY, ha="right")
    cdf_axes(axes[0], f"(a) GPU power (W), {_period_of(results, 'POWER_USAGE')}")
    cdf_axes(axes[1], "(b) Server power (W)")
    for one in axes:
        one.set_xlim(left=0)
    return figure


def temperature(results: Results) -> Figure:
    """Temperature of GPU cores and their memory, in August where there is one."""
    metrics = (("GPU_TEMP", "core"), ("MEMORY_TEMP", "memory"))
    if not clusters_with(results, "GPU_TEMP", "MEMORY_TEMP"):
        raise NothingToDraw("the run has no curve of GPU_TEMP or MEMORY_TEMP")
    figure, axes = panels(1, width_in=5)
    _panel(axes[0], results, metrics, AUGUST)
    cdf_axes(axes[0], f"Temperature (°C), {_period_of(results, 'GPU_TEMP')}")
    return figure


def gpu_utilization(axes: Axes, results: Results, others: dict[str, tuple[FloatArray, FloatArray]]) -> None:
    """GPU utilisation of the run's clusters, and of `others` as dotted lines."""
    among = clusters_with(results, "GPU_UTIL")
    for cluster in among:
        found = curve_of(results, cluster, "GPU_UTIL", WHOLE)
        assert found is not None
        axes.plot(*found, color=colour_of(cluster, among), label=label_of(cluster))
    for name, (values, levels) in others.items():
        if name not in {cluster.lower() for cluster in among}:
            axes.plot(
                values, levels, color=colour_of(name), ls=":", lw=1.2, label=f"{label_of(name)}, published"
            )
    cdf_axes(axes, "(b) GPU utilisation (%)")
    axes.set_xlim(PERCENT)


def _period_of(results: Results, metric: str) -> str:
    return AUGUST if any((one, period) == (metric, AUGUST) for _, one, period in results.curves) else "all"


__all__ = [
    "curve_of",
    "gpu_utilization",
    "legend_below",
    "power",
    "published_of",
    "resource_util",
    "temperature",
]
