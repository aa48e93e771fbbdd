"""GPUs there are, by local day."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.characterise.capacity import gpus_by_day, gpus_by_minute
from tasks.characterise.window import Window
from tests.tasks.characterise.tables import FEW, Case, cases


def days(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[D]")


def quota(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame([("Earth", *row) for row in rows], columns=["cluster", "date", "vc", "gpus"])


@FEW
@given(cases(max_jobs=0), st.sampled_from(["vcA", "vcB", "vcNone", None]))
def test_each_minute_has_the_gpus_of_its_local_day(case: Case, vc: str | None) -> None:
    found = gpus_by_minute(case.quota, Window.of(*case.period), vc)
    assert found.tolist() == [case.gpus_on(minute, vc) for minute in case.starts]


def test_a_day_that_is_not_named_takes_the_nearest_of_two_the_earlier() -> None:
    table = quota(("2020-05-01", "a", 1), ("2020-05-05", "a", 5))
    asked = days("2020-01-01", "2020-05-01", "2020-05-03", "2020-05-04", "2020-05-05", "2021-01-01")
    assert gpus_by_day(table, asked).tolist() == [1, 1, 1, 5, 5, 5]


def test_a_virtual_cluster_has_nothing_on_a_day_that_names_only_others() -> None:
    table = quota(("2020-05-01", "a", 8), ("2020-05-02", "b", 16))
    asked = days("2020-05-01", "2020-05-02", "2020-05-03")
    assert gpus_by_day(table, asked, "b").tolist() == [0, 16, 16]
    assert gpus_by_day(table, asked).tolist() == [8, 16, 16]


def test_a_fixed_number_holds_on_all_days() -> None:
    assert gpus_by_day(2288, days("1970-01-01", "2023-08-17"), "any").tolist() == [2288, 2288]


@pytest.mark.parametrize(("capacity", "found"), [(-1, "impossible"), (quota(), "names no day")])
def test_a_capacity_that_says_nothing_is_refused(capacity: pd.DataFrame | int, found: str) -> None:
    with pytest.raises(UsageError, match=found):
        gpus_by_day(capacity, days("2020-05-01"))


def test_the_virtual_clusters_of_earth_add_up_to_its_published_total(
    real: Path, earth_quota: pd.DataFrame
) -> None:
    released = pd.read_csv(real / "helios" / "Earth_gpu_number.csv")
    window = Window.of(datetime(2020, 4, 1), datetime(2020, 9, 29), "Asia/Shanghai")
    found = gpus_by_day(earth_quota, released["date"].to_numpy(dtype="datetime64[D]"))
    assert found.tolist() == released["total"].tolist()
    by_minute = gpus_by_minute(earth_quota, window)
    assert len(by_minute) == 181 * 24 * 60
    assert by_minute.mean() == released["total"].mean()
