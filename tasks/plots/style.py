"""How all figures look, and how they become bytes.

Matplotlib's object interface only: pyplot keeps global state. Colours are those of Okabe
and Ito, "Color Universal Design" (2008), which people with any colour vision tell apart;
lines differ by their dashes too.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from schemas.published.clusters import title_of

BLUE, ORANGE, GREEN, YELLOW, SKY, RED, PINK, GREY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#A01030",
    "#CC79A7",
    "#6B6B6B",
)
PALETTE = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, RED, "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1.5, 1)))
STATES: Mapping[str, str] = MappingProxyType({"completed": GREEN, "cancelled": YELLOW, "failed": ORANGE})
SEVERITIES: Mapping[str, str] = MappingProxyType({"error": RED, "warning": YELLOW, "info": SKY})
PANEL_IN = (4.2, 3.1)  # width and height of a panel
MOST_NAME = 28

# A cluster looks the same in all figures of all runs.
_CLUSTERS = ("seren", "kalos", "philly", "helios", "pai", "venus", "earth", "saturn", "uranus")
_RC: Mapping[Any, Any] = MappingProxyType(
    {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.7,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "figure.dpi": 100,
        "savefig.dpi": 160,
        "pdf.fonttype": 42,
        "svg.hashsalt": "acmetrace",
        "text.parse_math": False,  # names of clusters and users are no formulas
        "axes.formatter.use_mathtext": False,
        "axes.unicode_minus": True,
    }
)


@contextmanager
def styled() -> Iterator[None]:
    """Within it figures are made and saved in the style of the house."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _RC.items():
            matplotlib.rcParams[name] = value
        yield


def panels(
    columns: int, rows: int = 1, *, height_in: float = PANEL_IN[1], width_in: float = PANEL_IN[0]
) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels and these, row by row."""
    figure = Figure(figsize=(columns * width_in, rows * height_in), layout="constrained")
    FigureCanvasAgg(figure)
    made = figure.subplots(rows, columns, squeeze=False)
    return figure, [axes for row in np.asarray(made) for axes in row]


def figure_bytes(figure: Figure) -> dict[str, bytes]:
    """The figure as `pdf` and `png`. The same figure gives the same bytes, on any day and in any process."""
    return {
        "pdf": _saved(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None}),
        "png": _saved(figure, "png", {"Software": None}),
    }


def _saved(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format=kind, metadata=metadata, bbox_inches="tight")
    return target.getvalue()


def colour_of(cluster: str, among: Iterable[str] = ()) -> str:
    """The colour of a cluster: its own where it is published, else by its place `among` the others."""
    name = cluster.lower()
    if name in _CLUSTERS:
        return PALETTE[_CLUSTERS.index(name) % len(PALETTE)]
    unknown = sorted(other for other in {*among, cluster} if other.lower() not in _CLUSTERS)
    return PALETTE[unknown.index(cluster) % len(PALETTE)]


def dashes_of(cluster: str, among: Iterable[str] = ()) -> Any:
    """The dashes of a cluster's lines: by its place, so that clusters of one colour differ."""
    ordered = sorted({*among, cluster}, key=lambda name: (name.lower() not in _CLUSTERS, name))
    return DASHES[ordered.index(cluster) % len(DASHES)]


def label_of(cluster: str) -> str:
    """The name of a cluster as it is drawn, cut where it is too long."""
    return shortened(title_of(cluster))


def shortened(text: str) -> str:
    """A name on one line, cut where it is too long."""
    plain = "".join(sign if sign.isprintable() else "�" for sign in text)
    return plain if len(plain) <= MOST_NAME else plain[: MOST_NAME - 1] + "…"


def cdf_axes(axes: Axes, xlabel: str, *, ylabel: str = "CDF (%)") -> None:
    """Axes of a cumulative distribution in percent."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_ylim(0, 100.8)


def date_axis(axes: Axes) -> None:
    """Dates along the x axis, as short as they can be told apart."""
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def legend_below(figure: Figure, axes: Iterable[Axes], *, columns: int = 6) -> None:
    """One legend for all panels, below them, with each label once."""
    found: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside lower center", ncols=min(columns, len(found))
        )
