"""Instants of a file: where it starts and ends, and what is missing in between."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from tasks.sampling.windows import sampled_slots, slot_of

AUGUST_START = slot_of(datetime.fromisoformat("2023-08-01T00:00:00+08:00"))
AUGUST_END = slot_of(datetime.fromisoformat("2023-09-01T00:00:00+08:00"))


def slots_of(cluster: str, rows: int, size: int = 10_000) -> np.ndarray:
    return np.concatenate(list(sampled_slots(cluster, "GPU_UTIL", rows, 0, size)))


@pytest.mark.parametrize("cluster", ["seren", "kalos"])
@pytest.mark.parametrize("rows", [1920, 77_403, 536_000])
def test_every_file_has_its_rows_and_ends_in_august(cluster, rows):
    slots = slots_of(cluster, rows)
    assert len(slots) == rows
    assert (np.diff(slots) > 0).all()
    assert AUGUST_START <= slots[-1] < AUGUST_END


def test_the_released_number_of_rows_spans_the_released_window():
    seren = slots_of("seren", 536_000)
    assert datetime.fromtimestamp(int(seren[0]) * 15, UTC).strftime("%Y-%m") == "2023-05"
    kalos = slots_of("kalos", 77_403)
    assert kalos[0] >= slot_of(datetime.fromisoformat("2023-08-15T15:30:15+08:00"))


def test_one_slot_in_a_hundred_is_missing_in_short_runs():
    slots = slots_of("kalos", 100_000)
    missing = np.diff(slots) - 1
    assert 0.005 < missing.sum() / len(slots) < 0.02
    assert missing.max() == 8


def test_slots_do_not_depend_on_the_size_of_the_pieces():
    assert np.array_equal(slots_of("seren", 5000, 5000), slots_of("seren", 5000, 37))
