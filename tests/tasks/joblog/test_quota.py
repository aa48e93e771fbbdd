"""Quotas of virtual clusters are read day by day, or refused with the place that is wrong."""

from __future__ import annotations

import pytest

from schemas.errors import NotAJobLog
from tasks.joblog.quota import read_quota
from tasks.storage.source import stat_file


def quota(tmp_path, text: str):
    path = tmp_path / "cluster_gpu_number.csv"
    path.write_text(text)
    return read_quota(stat_file(str(path)), "Earth")


def test_a_quota_file_becomes_a_row_a_day_and_virtual_cluster(tmp_path):
    table = quota(tmp_path, "date,vcB,vcA,total\n2020-04-02,8,16,24\n2020-04-01,8,0,8\n")
    assert table.to_dict("records") == [
        {"cluster": "Earth", "date": "2020-04-01", "vc": "vcA", "gpus": 0},
        {"cluster": "Earth", "date": "2020-04-01", "vc": "vcB", "gpus": 8},
        {"cluster": "Earth", "date": "2020-04-02", "vc": "vcA", "gpus": 16},
        {"cluster": "Earth", "date": "2020-04-02", "vc": "vcB", "gpus": 8},
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("day,vcA\n2020-04-01,8\n", "no column date"),
        ("date,vcA\n2020-13-01,8\n", "a date that is none: '2020-13-01'"),
        ("date,vcA\n2020-04-01,eight\n", "no number of GPUs: 'eight'"),
        ("date,vcA\n2020-04-01,7.5\n", "no number of GPUs"),
        ("date,vcA\n2020-04-01,-8\n", "no number of GPUs"),
        ("date,vcA,vcB,total\n2020-04-01,8,8,15\n", "a total of 15 where the sum is 16"),
    ],
)
def test_a_quota_that_makes_no_sense_is_refused(tmp_path, text, words):
    with pytest.raises(NotAJobLog) as caught:
        quota(tmp_path, text)
    assert words in str(caught.value)


def test_the_real_quota_of_earth_is_read(real):
    table = read_quota(stat_file(str(real / "helios/Earth_gpu_number.csv")), "Earth")
    totals = table.groupby("date")["gpus"].sum()
    assert len(totals) == 181
    assert totals["2020-04-01"] == 784
    assert totals["2020-09-04"] == 1232
    assert table["vc"].nunique() == 25
