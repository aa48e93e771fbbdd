"""Our summary of Helios' logs is the one that a few lines of pandas give."""

from __future__ import annotations

import pytest

pytest.importorskip("psutil", reason="the benchmark's extra is not installed: psutil")

from tests.bench.jobs import run_jobs


@pytest.mark.slow
def test_both_ways_find_the_same_figures() -> None:
    result = run_jobs(3000)
    assert result.jobs == 4 * 3000
    assert "ours / pandas" in result.table()
