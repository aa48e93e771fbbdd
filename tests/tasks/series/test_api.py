"""The short way in gives the same curve as the long one, and errors where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import NotASeries, SourceError
from tasks.series.api import curve_of_file, summary_of_file
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]


def test_a_file_gives_its_curve(write: Write, table: Any, frame: Any, flat: Any, quantiles: Any) -> None:
    ref = write(table([[f"{i}.5", "", f"{i * i % 97}"] for i in range(50)]))
    curve = curve_of_file(Path(ref.url))
    assert curve["value"].to_numpy().tobytes() == quantiles(flat(frame(ref))).tobytes()
    assert curve["level_pct"].tolist() == (np.linspace(0, 1, 1000) * 100).tolist()
    assert summary_of_file(ref.url, workers=1).record.observed.values == 100


def test_times_without_a_zone_need_one(write: Write) -> None:
    ref = write("Time,a\n2023-08-01 00:00:00,1\n2023-08-01 00:00:15,2\n")
    with pytest.raises(NotASeries, match="no zone"):
        curve_of_file(ref.url)
    assert curve_of_file(ref.url, timezone="Asia/Shanghai")["value"].iloc[-1] == 2


@pytest.mark.parametrize("text", ["Time\n", "Time,a\n1000,x\n", "Time,a\n1000,\n", "", "<html>"])
def test_a_file_without_a_sound_curve_is_an_error(text: str, write: Write) -> None:
    ref = write(text)
    with pytest.raises(NotASeries):
        curve_of_file(ref.url)


def test_a_file_that_is_not_there_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        summary_of_file(tmp_path / "X.csv")
