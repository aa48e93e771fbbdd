"""`cluster_summary.csv` has the published columns, rounding and definitions."""

from __future__ import annotations

import io
import math
import os
import statistics
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given

from tasks.characterise.summary import COUNTS, SUMMARY_COLUMNS, cluster_summary, pooled, summary_csv
from tests.tasks.characterise.tables import FEW, Case, cases, records, table_of


@pytest.fixture
def published() -> bytes:
    folder = os.environ.get("ACMETRACE_REFERENCE")
    if not folder:
        pytest.skip("ACMETRACE_REFERENCE is not set: the published results are not here")
    return (Path(folder) / "cluster_summary.csv").read_bytes()


def test_the_published_figures_written_by_us_are_the_published_file_to_the_byte(published):
    table = pd.read_csv(io.BytesIO(published), index_col="id")
    assert tuple(table.columns) == SUMMARY_COLUMNS
    rows = table.to_dict("index")
    assert summary_csv(rows) == published


def test_the_published_figures_obey_our_definitions(published):
    table = pd.read_csv(io.BytesIO(published), index_col="id")
    told = table.drop(index="PAI")
    for kind in ("gpu", "gpu_time"):
        rates = told[[f"{name}_rate_{kind}" for name in ("complete", "cancel", "fail")]]
        assert (rates.sum(axis=1) - 1).abs().max() < 0.0016
    times = told[[f"{name}_gpu_time" for name in ("complete", "cancel", "fail")]]
    shares = times.div(times.sum(axis=1), axis=0).to_numpy()
    assert (
        abs(shares - told[["complete_rate_gpu_time", "cancel_rate_gpu_time", "fail_rate_gpu_time"]]).max(
            axis=None
        )
        < 0.00051
    )
    # GPU time is not the mean duration times the mean size: it is summed job by job.
    assert (table["job_num"] >= table["cpu_job_num"] + table["gpu_job_num"]).all()


@FEW
@given(case=cases())
def test_every_figure_is_that_of_a_plain_loop_over_jobs(case: Case):
    found, own = cluster_summary(case.jobs), cluster_summary(case.jobs, "own")
    for figures in (found, own):  # the random tables hold no released times: both rest on the same
        for name, expected in plain(case.records).items():
            value = figures[name]
            if expected is None:
                assert math.isnan(value), name
            else:
                assert value == pytest.approx(expected, abs=0.00051), name


def plain(jobs: list[dict[str, Any]]) -> dict[str, float | None]:
    gpu = [job for job in jobs if job["gpu_num"] is not None and job["gpu_num"] > 0]
    cpu = [job for job in jobs if job["gpu_num"] == 0]
    figures: dict[str, float | None] = {
        "job_num": len(jobs),
        "cpu_job_num": len(cpu),
        "gpu_job_num": len(gpu),
        "avg_gpu_num": mean([job["gpu_num"] for job in gpu]),
        "med_gpu_num": median([job["gpu_num"] for job in gpu]),
        "max_gpu": max((job["gpu_num"] for job in gpu), default=None),
        "max_run_time_gpu": max(known(gpu, "run_s"), default=None),
    }
    told = any(job["state"] in ("COMPLETED", "CANCELLED") for job in jobs)
    for kind, of_kind in (("gpu", gpu), ("cpu", cpu)):
        figures[f"avg_run_time_{kind}"] = mean(known(of_kind, "run_s"))
        figures[f"avg_que_time_{kind}"] = mean(known(of_kind, "wait_s"))
        figures[f"med_run_time_{kind}"] = median(known(of_kind, "run_s"))
        figures[f"med_que_time_{kind}"] = median(known(of_kind, "wait_s"))
        for name, state in (("complete", "COMPLETED"), ("cancel", "CANCELLED")):
            ended = sum(job["state"] == state for job in of_kind)
            figures[f"{name}_rate_{kind}"] = ended / len(of_kind) if of_kind and told else None
        if of_kind and told:
            figures[f"fail_rate_{kind}"] = sum(
                job["state"] not in ("COMPLETED", "CANCELLED") for job in of_kind
            ) / len(of_kind)
    if gpu and told:
        figures["complete_gpu_time"] = sum(
            job["run_s"] * job["gpu_num"]
            for job in gpu
            if job["run_s"] is not None and job["state"] == "COMPLETED"
        )
    return figures


def known(jobs: list[dict[str, Any]], name: str) -> list[float]:
    return [job[name] for job in jobs if job[name] is not None]


def mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


JOB = {"gpu_num": 8, "run_s": 90.0, "wait_s": 10.0, "state": "COMPLETED"}


def test_released_durations_are_summarised_as_published_and_own_ones_beside():
    table = table_of([{**JOB, "released_duration_s": 100.0, "released_queue_s": 10.0}])
    assert cluster_summary(table)["avg_run_time_gpu"] == 100.0
    assert cluster_summary(table, "own")["avg_run_time_gpu"] == 90.0
    assert cluster_summary(table)["complete_gpu_time"] == 800.0


def test_a_job_that_runs_counts_as_failed_as_in_the_published_rates():
    table = table_of([JOB, {**JOB, "state": None, "raw_state": "RUNNING", "run_s": None}])
    assert cluster_summary(table)["fail_rate_gpu"] == 0.5


def test_a_log_that_tells_no_outcome_has_blank_rates():
    table = table_of([{**JOB, "state": None}, {**JOB, "state": "FAILED"}])
    found = cluster_summary(table)
    assert math.isnan(found["fail_rate_gpu"])
    line = summary_csv({"PAI": found}).decode().splitlines()[1]
    assert line.startswith("PAI,2,0,2,90.0,10.0,8.0,")
    assert ",,," in line


def test_clusters_are_pooled_job_by_job():
    tables = [table_of([JOB]), table_of([{**JOB, "gpu_num": 0}, JOB])]
    assert [cluster_summary(pooled(tables))[name] for name in COUNTS] == [3, 1, 2]
    assert len(records(pooled(tables))) == 3
