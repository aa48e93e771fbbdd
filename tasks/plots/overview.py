"""What was read: findings, and the days that each series covers."""

from __future__ import annotations

from collections import Counter

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from tasks.outputs.results import Results
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import BLUE, SEVERITIES, date_axis, legend_below, panels, shortened

_MOST_BARS = 30
_LONGEST_DAYS = 1100


def findings(results: Results) -> Figure:
    """How many series and logs have a finding, by rule; the bar is split by severity."""
    told = [found for record in results.records for found in record.findings]
    told += [found for log in (results.jobs.logs if results.jobs else ()) for found in log.findings]
    if not told:
        raise NothingToDraw("the run has no finding")
    counts: Counter[tuple[str, str]] = Counter((found.rule, found.severity) for found in told)
    rules = sorted({rule for rule, _ in counts}, key=lambda rule: (-_of(counts, rule), rule))[:_MOST_BARS]
    figure, axes = panels(1, width_in=7, height_in=0.26 * len(rules) + 1.3)
    start = np.zeros(len(rules))
    for severity, colour in SEVERITIES.items():
        lengths = np.array([counts[rule, severity] for rule in rules])
        if lengths.any():
            axes[0].barh(rules, lengths, left=start, color=colour, label=severity, height=0.7)
        start += lengths
    for place, length in enumerate(start):
        axes[0].annotate(
            f"{length:.0f}", (length, place), xytext=(3, 0), textcoords="offset points", va="center"
        )
    axes[0].invert_yaxis()
    axes[0].set_xlabel("series and logs with the finding")
    axes[0].grid(visible=False, axis="y")
    legend_below(figure, axes)
    return figure


def _of(counts: Counter[tuple[str, str]], rule: str) -> int:
    return sum(count for (name, _), count in counts.items() if name == rule)


def coverage(results: Results) -> Figure:
    """Which days each series covers, and how densely: its values of a day over those of its fullest day."""
    hourly = results.table("summaries/hourly.parquet")
    if hourly.empty:
        raise NothingToDraw("the run has no hourly table of a series")
    first, last = hourly["hour"].min().floor("D"), hourly["hour"].max().floor("D")
    length = (last - first).days + 1
    if length > _LONGEST_DAYS:
        raise NothingToDraw(f"the run spans more than {_LONGEST_DAYS} days")
    days = (hourly["hour"] - first).dt.days
    counts = hourly.groupby(["cluster", "metric", days], observed=True)["count"].sum().unstack()
    counts = counts.reindex(columns=range(length))
    shares = counts.div(counts.max(axis=1), axis=0).to_numpy(dtype=np.float64) * 100
    names = [f"{shortened(str(cluster))}/{shortened(str(metric))}" for cluster, metric in counts.index]
    figure, axes = panels(1, width_in=8, height_in=0.17 * len(names) + 1.3)
    one = axes[0]
    colours = LinearSegmentedColormap.from_list("share", ["#DCEAF4", BLUE])
    left = date2num(first.to_pydatetime())
    drawn = one.imshow(
        np.ma.masked_invalid(np.where(shares > 0, shares, np.nan)),
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        vmin=0,
        vmax=100,
        extent=(left, left + length, len(names) - 0.5, -0.5),
    )
    one.set_yticks(range(len(names)), names, fontsize=7)
    one.xaxis_date()
    date_axis(one)
    one.set_xlabel("day (UTC)")
    one.grid(visible=False)
    figure.colorbar(drawn, ax=one, pad=0.01, fraction=0.03, shrink=0.5).set_label(
        "values, % of the fullest day"
    )
    return figure
