"""Samples that several tests read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasks.sampling import SampleOptions, SampleReport, write_sample


@dataclass(frozen=True)
class Sample:
    root: Path
    report: SampleReport

    def path(self, cluster: str, metric: str) -> Path:
        return self.root / "data" / "utilization" / cluster / f"{metric}.csv"

    def frame(self, cluster: str, metric: str) -> pd.DataFrame:
        return pd.read_csv(self.path(cluster, metric))

    def values(self, cluster: str, metric: str) -> np.ndarray:
        return self.frame(cluster, metric).drop(columns="Time").to_numpy(dtype=float)

    def jobs(self, cluster: str) -> pd.DataFrame:
        return pd.read_csv(self.root / "data" / "job_trace" / f"trace_{cluster}.csv")

    def wide(self) -> Iterator[tuple[str, str]]:
        for file in self.report.files:
            folder, name = file.path.split("/")[-2:]
            if folder in ("seren", "kalos"):
                yield folder, name.removesuffix(".csv")


@pytest.fixture(scope="session")
def default_sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("default") / "sample"
    return Sample(root, write_sample(root, SampleOptions()))


@pytest.fixture(scope="session")
def faulty_sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("faulty") / "sample"
    return Sample(root, write_sample(root, SampleOptions(rows=120, faults=True)))
