"""What is drawn is what the tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from schemas.published import published_quantiles
from tasks.outputs.results import Results
from tasks.plots import cdfs, entities, jobs, overview
from tasks.plots.catalogue import BY_NAME, PLOTS
from tasks.plots.plot import NothingToDraw
from tasks.plots.style import GREY, MOST_NAME, colour_of, styled
from tests.tasks.results import LEVELS, Maker, curve, ecdf

CURVES = "summaries/curves.parquet"
ODD = "$\\frac{1}{2}$ <b>_x_ 群 " + "long" * 20


def lines(figure: Figure, panel: int = 0) -> list[Line2D]:
    """Lines of a panel that hold data."""
    return [line for line in figure.axes[panel].lines if len(np.atleast_1d(line.get_xdata())) > 2]


def texts(figure: Figure) -> list[str]:
    """All words of a figure."""
    found = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
        found += [text.get_text() for text in axes.texts]
        found += [label.get_text() for label in (*axes.get_yticklabels(), *axes.get_xticklabels())]
        legend = axes.get_legend()
        found += [text.get_text() for text in legend.get_texts()] if legend else []
    return found


def test_a_curve_is_drawn_as_stored_with_the_published_one_beside_it(made: Maker) -> None:
    stored = curve("seren", "GPU_TEMP", [20, 40, 40, 77], "2023-08")
    with styled():
        figure = cdfs.temperature(made({CURVES: stored}))
    own = next(line for line in lines(figure) if line.get_color() == colour_of("seren"))
    np.testing.assert_array_equal(own.get_xdata(), stored["value"])
    np.testing.assert_array_equal(own.get_ydata(), LEVELS)
    published = [line for line in lines(figure) if line.get_color() == GREY]
    np.testing.assert_array_equal(published[0].get_xdata(), published_quantiles("gpu_temp_seren", 1))
    assert "published" in texts(figure)


def test_a_cluster_without_published_curves_stands_alone(made: Maker) -> None:
    with styled():
        figure = cdfs.temperature(made({CURVES: curve("mine", "GPU_TEMP", [20, 60])}))
    assert len(lines(figure)) == 1
    assert "published" not in texts(figure)


def test_power_is_that_of_august_where_there_is_one_and_the_axis_says_so(made: Maker) -> None:
    both = [curve("kalos", "POWER_USAGE", [60, 400]), curve("kalos", "POWER_USAGE", [70, 90], "2023-08")]
    with styled():
        figure = cdfs.power(made({CURVES: pd.concat(both)}))
    own = next(line for line in lines(figure) if line.get_color() == colour_of("kalos"))
    assert np.max(own.get_xdata()) == 90
    assert figure.axes[0].get_xlabel() == "(a) GPU power (W), 2023-08"


def test_the_network_is_in_percent_of_its_maximum(made: Maker) -> None:
    with styled():
        figure = cdfs.resource_util(made({CURVES: curve("mine", "NODE_IB_SEND", [0, 0, 5, 8])}))
    assert np.max(lines(figure, 3)[0].get_xdata()) == 100


def test_jobs_are_drawn_as_counted(made: Maker) -> None:
    told = ecdf("lab", "gpu_num", {0: 0, 1: 50, 8: 90, 1024: 100})
    with styled():
        figure = jobs.gpus_per_job(made({"jobs/ecdf.parquet": told}))
    (line,) = lines(figure)
    assert line.get_drawstyle() == "steps-post"
    assert list(zip(line.get_xdata(), line.get_ydata(), strict=True)) == [(1, 50), (8, 90), (1024, 100)]


def test_how_jobs_end_is_drawn_in_percent(made: Maker) -> None:
    rows = pd.DataFrame(
        {
            "cluster": "lab",
            "group": "GPU jobs",
            "state": ["COMPLETED", "CANCELLED", "FAILED"],
            "jobs": [5, 3, 2],
            "job_share": [0.5, 0.3, 0.2],
            "gpu_time_s": [10.0, 80.0, 10.0],
            "gpu_time_share": [0.1, 0.8, 0.1],
        }
    )
    with styled():
        figure = jobs.final_state(made({"jobs/status.parquet": rows}))
    assert [round(bar.get_height(), 9) for bar in figure.axes[0].patches] == [50, 30, 20]
    assert [round(bar.get_height(), 9) for bar in figure.axes[1].patches] == [10, 80, 10]


def test_idle_gpus_and_nodes_are_counted_at_each_share(made: Maker) -> None:
    rows = pd.DataFrame(
        {
            "cluster": "lab",
            "level": "gpu",
            "entity": ["a-0", "a-1", "b-0", "b-1"],
            "node": ["a", "a", "b", "b"],
            "gpus": 1,
            "samples": 10,
            "idle_share": [0.5, 0.1, 1.0, 0.5],
            "utilisation_pct": 1.0,
        }
    )
    with styled():
        figure = entities.idle(made({"telemetry/idle.parquet": rows}))
    (line,) = lines(figure)
    assert list(line.get_xdata()) == [0, 10, 50, 50, 100]
    assert list(line.get_ydata()) == [0, 25, 50, 75, 100]


def test_a_day_without_values_is_white_in_the_calendar(made: Maker) -> None:
    hours = pd.to_datetime(["2023-08-01 03:00", "2023-08-03 04:00", "2023-08-03 05:00"], utc=True)
    rows = pd.DataFrame(
        {
            "cluster": "lab",
            "metric": "GPU_UTIL",
            "hour": hours.astype("datetime64[ms, UTC]"),
            "count": [30, 20, 40],
            "mean": 1.0,
            "min": 0.0,
            "max": 2.0,
        }
    )
    with styled():
        figure = overview.coverage(made({"summaries/hourly.parquet": rows}))
    drawn = figure.axes[0].images[0].get_array()
    assert drawn is not None
    assert drawn.tolist() == [[50.0, None, 100.0]]


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_names_with_markup_are_drawn_as_they_are_and_cut_where_too_long(made: Maker) -> None:
    with styled():
        figure = cdfs.temperature(made({CURVES: curve(ODD, "GPU_TEMP", [20, 60])}))
        figure.draw_without_rendering()
    assert f"{ODD[: MOST_NAME - 1]}…" in texts(figure)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_figure_whose_input_is_missing_says_what_is_missing(name: str, made: Maker) -> None:
    nothing: Results = made({})
    with styled(), pytest.raises(NothingToDraw, match=r"^(no|the run) "):
        BY_NAME[name].draw(nothing)


def test_every_published_figure_has_its_counterpart() -> None:
    published = {
        "bar_job_state.pdf",
        "box_gpu_num.pdf",
        "cdf_job_duration_queue.pdf",
        "cdf_job_duration_util.pdf",
        "cdf_job_gpunum.pdf",
        "cdf_job_jobtime.pdf",
        "cdf_power.pdf",
        "cdf_resource_util.pdf",
        "cdf_temperature.pdf",
        "treemap_job_dist.pdf",
    }
    assert {plot.counterpart for plot in PLOTS if plot.counterpart} == published
    assert all(plot.name == plot.counterpart.removesuffix(".pdf") for plot in PLOTS if plot.counterpart)
