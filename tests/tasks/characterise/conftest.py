"""The quota of Earth, as released."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def earth_quota(real: Path) -> pd.DataFrame:
    """GPUs of each virtual cluster of Earth by day, as `schemas.jobs.Quota` has them."""
    wide = pd.read_csv(real / "helios" / "Earth_gpu_number.csv").drop(columns="total")
    long = wide.melt(id_vars="date", var_name="vc", value_name="gpus")
    return long.assign(cluster="Earth")[["cluster", "date", "vc", "gpus"]]
