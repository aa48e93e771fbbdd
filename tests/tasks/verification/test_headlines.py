"""Each kind of headline number is read off a run's tables as a plain count gives it; verdicts say why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.published.clusters import PUBLISHED_CLUSTERS
from schemas.published.headlines import (
    HEADLINES,
    Headline,
    JobShare,
    LogCheck,
    MeanRatio,
    NotReleased,
    OfType,
    Quantile,
    Share,
    Summary,
    SummaryRatio,
)
from schemas.verification import Compared
from tasks.outputs.results import Results
from tasks.verification.headlines import compare_headlines, value_of
from tests.tasks.results import Maker, curve, ecdf, logs, results_of, summaries

CURVES, ECDF = "summaries/curves.parquet", "jobs/ecdf.parquet"
SAMPLES = np.random.default_rng(7).integers(0, 101, 5000).astype(float)
SEREN_LOG = PUBLISHED_CLUSTERS["seren"].log_jobs or 0


def asked(quantity: object, cluster: str = "seren") -> Headline:
    return Headline("X", "", cluster, quantity, None, None, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quantity", "plain", "within"),
    [
        (Quantile("GPU_UTIL", 50), np.median(SAMPLES), 1e-9),
        (Quantile("GPU_UTIL", 99), np.quantile(SAMPLES, 0.99), 0.2),
        (Share("GPU_UTIL", 0), (SAMPLES <= 0).mean() * 100, 0.11),
        (Share("GPU_UTIL", 95, above=True), (SAMPLES > 95).mean() * 100, 0.11),
        (MeanRatio("GPU_UTIL", "SM_ACTIVE"), SAMPLES.mean() / (SAMPLES / 4 + 1).mean(), 1e-3),
        (
            MeanRatio("GPU_UTIL", "SM_ACTIVE", percent=True),
            SAMPLES.mean() / (SAMPLES / 4 + 1).mean() * 100,
            0.1,
        ),
    ],
)
def test_numbers_of_curves_are_those_of_the_samples(
    made: Maker, quantity: object, plain: float, within: float
) -> None:
    curves = pd.concat([curve("seren", "GPU_UTIL", SAMPLES), curve("seren", "SM_ACTIVE", SAMPLES / 4 + 1)])
    assert value_of(made({CURVES: curves}), asked(quantity)) == pytest.approx(plain, abs=within)


def test_numbers_of_job_logs_are_those_of_their_tables(tmp_path: Path) -> None:
    types = pd.DataFrame(
        {"cluster": ["seren"] * 2, "type": ["Eval", "SFT"], "jobs": [6, 2], "jobs_pct": [75.0, 25.0]}
    )
    checks = pd.DataFrame({"cluster": ["seren"], "measure": ["x"], "value": [28.0], "unit": ["%"]})
    results = results_of(
        tmp_path,
        {
            ECDF: ecdf("seren", "gpu_num", {1: 40, 8: 90}),
            "jobs/types.parquet": types,
            "jobs/integrity.parquet": checks,
        },
    )
    summaries(
        tmp_path,
        {
            "Seren": {"gpu_job_num": 10, "avg_run_time_gpu": 100, "fail_rate_gpu": 0.4},
            "Kalos": {"gpu_job_num": 30, "avg_run_time_gpu": 200},
            "Philly": {"gpu_job_num": 5, "avg_run_time_gpu": 700},
        },
    )
    assert value_of(results, asked(JobShare("gpu_num", 8))) == 90
    assert value_of(results, asked(JobShare("gpu_num", 8, above=True))) == 10
    assert value_of(results, asked(OfType("SFT", "jobs_pct"))) == 25
    assert value_of(results, asked(LogCheck("x"))) == 28
    assert value_of(results, asked(Summary("fail_rate_gpu", percent=True))) == pytest.approx(40)
    ratio = SummaryRatio("avg_run_time_gpu", ("seren", "kalos"))
    assert value_of(results, asked(ratio, "philly")) == pytest.approx(700 / ((10 * 100 + 30 * 200) / 40))


@pytest.mark.parametrize("headline", HEADLINES, ids=lambda headline: f"{headline.id}-{headline.cluster}")
def test_a_run_without_the_tables_has_no_number_and_says_so(made: Maker, headline: Headline) -> None:
    results = made({CURVES: curve("lab", "OWN_METRIC", [1.0])})
    assert value_of(results, headline) is None


def test_every_number_has_an_id_a_reason_where_none_is_public_and_a_value_to_compare_with() -> None:
    for headline in HEADLINES:
        assert headline.published is not None or headline.public is not None, headline
        if isinstance(headline.quantity, NotReleased):
            assert headline.quantity.reason
    found = {headline.id for headline in HEADLINES}
    missing = {f"A{number:02}" for number in range(1, 35)} - found
    assert missing == {"A18"}, "its curves are compared as distributions"


def verdict(results: Results, name: str, cluster: str, claim: str = "") -> Compared:
    return next(
        line
        for line in compare_headlines(results)
        if (line.id, line.cluster) == (name, cluster) and claim in line.claim
    )


def test_a_value_that_the_text_gives_otherwise_than_the_files_is_a_known_discrepancy(made: Maker) -> None:
    line = verdict(made({CURVES: curve("seren", "GPU_UTIL", [99.0])}), "A09", "seren")
    assert (line.value, line.published, line.public, line.outcome) == (99, 97, 99, "known discrepancy")
    assert "swapped" in line.reason
    assert line.difference == 0


def test_a_whole_log_that_gives_another_number_differs_and_a_part_of_it_says_how_much_was_read(
    tmp_path: Path,
) -> None:
    results_of(tmp_path, {ECDF: ecdf("seren", "gpu_num", {8: 50})})
    logs(tmp_path, {"seren": SEREN_LOG})
    assert verdict(Results(tmp_path), "A11", "seren", "above 8").outcome == "differs"
    logs(tmp_path, {"seren": 1000})
    line = verdict(Results(tmp_path), "A11", "seren", "above 8")
    assert line.outcome == "known discrepancy"
    assert line.reason == f"seren: the run has 1,000 of the {SEREN_LOG:,} released jobs"


def test_the_published_number_agrees(tmp_path: Path) -> None:
    results_of(tmp_path, {ECDF: ecdf("seren", "gpu_num", {8: 100 - 3.25})})
    logs(tmp_path, {"seren": SEREN_LOG})
    assert verdict(Results(tmp_path), "A11", "seren", "above 8").outcome == "agrees"


def test_a_claim_without_public_data_is_not_computable_with_its_reason(made: Maker) -> None:
    line = verdict(made({}), "A33", "seren")
    assert line.outcome == "not computable"
    assert "not released" in line.reason
