"""A folder of results with chosen tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from tasks.outputs.results import Results
from tests.tasks.plots.results import results_of

Maker = Callable[[Mapping[str, pd.DataFrame]], Results]


@pytest.fixture
def made(tmp_path: Path) -> Maker:
    """Makes results of a run that has certain tables, by path, and no other."""
    return partial(results_of, tmp_path)
