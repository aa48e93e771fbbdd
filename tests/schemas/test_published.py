"""The published numbers that ship with the package are the published numbers, bit for bit."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import UsageError
from schemas.pickles import PICKLES
from schemas.published import published_levels, published_pai, published_quantiles, published_series


@pytest.fixture(scope="module")
def reference_points() -> dict[tuple[str, int], list[tuple[float, float]]]:
    folder = os.environ.get("ACMETRACE_REFERENCE")
    if not folder:
        pytest.skip("ACMETRACE_REFERENCE is not set: it names the folder that holds published_quantiles.csv")
    points = defaultdict(list)
    with (Path(folder) / "published_quantiles.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            key = (row["pickle"].removesuffix(".pkl"), int(row["pair"]))
            points[key].append((float(row["level_pct"]), float(row["value"])))
    return points


def test_every_value_equals_the_reference_bit_for_bit(reference_points):
    for series in published_series():
        expected = np.array([value for _, value in reference_points[series]])
        assert published_quantiles(*series).tobytes() == expected.tobytes(), series


def test_no_pair_of_the_reference_is_missing(reference_points):
    assert {*published_series(), ("util_gpu_pai", 1)} == set(reference_points)


def test_pai_points_equal_the_reference_bit_for_bit(reference_points):
    levels, values = published_pai()
    expected = np.array(reference_points["util_gpu_pai", 1])
    assert np.array_equal(levels, expected[:, 0])
    assert np.array_equal(values, expected[:, 1])


def test_every_curve_has_a_thousand_ascending_values():
    for series in published_series():
        values = published_quantiles(*series)
        assert values.shape == published_levels().shape == (1000,)
        assert values.dtype == np.float64
        assert (np.diff(values) >= 0).all(), series


def test_every_pair_of_the_pickle_layouts_is_known():
    wanted = {(p.name, n) for p in PICKLES if p.name != "util_gpu_pai" for n in range(1, len(p.pairs) + 1)}
    assert wanted == set(published_series())


def test_the_fifth_pair_repeats_the_fourth():
    for pickle in ("util_gpu_seren", "util_gpu_kalos_full"):
        assert np.array_equal(published_quantiles(pickle, 5), published_quantiles(pickle, 4))


def test_known_values_of_the_paper_are_found():
    assert published_quantiles("util_cpu_mem_kalos", 1)[-1] == 238.871
    assert published_quantiles("gpu_power_seren", 1)[0] == 15.4
    assert published_quantiles("server_power", 1)[0] == 0.0


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        published_quantiles("ib_seren", 1)[0] = 1.0


def test_an_unknown_pair_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="util_gpu_seren:4"):
        published_quantiles("util_gpu_seren", 6)


def test_pai_is_refused_as_a_thousand_quantiles():
    with pytest.raises(UsageError, match="published_pai"):
        published_quantiles("util_gpu_pai", 1)


def test_the_data_files_are_small():
    folder = resources.files("schemas.published")
    assert sum(len((folder / name).read_bytes()) for name in ("quantiles.csv", "pai.csv")) < 200_000
