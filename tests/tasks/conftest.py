"""A folder of results with chosen tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.tasks.results import Maker, results_of


@pytest.fixture
def made(tmp_path: Path) -> Maker:
    """Makes results of a run that has certain tables, by path, and no other."""
    return partial(results_of, tmp_path)
