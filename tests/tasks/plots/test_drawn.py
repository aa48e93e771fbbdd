"""Figures as files: the same bytes everywhere, and nothing lost where one cannot be drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.errors import UsageError
from tasks.plots.catalogue import BY_NAME, draw
from tests.tasks.results import Maker, curve, digest

CURVES = "summaries/curves.parquet"
PROGRAM = """
import hashlib, sys
from tasks.outputs.results import Results
from tasks.plots.catalogue import draw
for path, data in draw(Results(sys.argv[1]), ["cdf_temperature"]).files.items():
    print(path, hashlib.sha256(data).hexdigest())
"""


def test_the_same_results_give_the_same_bytes_in_every_process(made: Maker) -> None:
    results = made({CURVES: curve("seren", "GPU_TEMP", [20, 40, 77])})
    files = draw(results, ["cdf_temperature"]).files
    here = [f"{path} {digest(data)}" for path, data in files.items()]
    root = Path(__file__).parents[3]
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM, results.out], capture_output=True, text=True, cwd=root, check=True
    )
    assert there.stdout.split("\n")[:-1] == here
    assert [path for path, _ in (line.split() for line in here)] == [
        "figures/cdf_temperature.pdf",
        "figures/cdf_temperature.png",
    ]


def test_no_date_and_no_version_stands_in_a_file(made: Maker) -> None:
    files = draw(made({CURVES: curve("seren", "GPU_TEMP", [20, 40])}), ["cdf_temperature"]).files
    pdf, png = files["figures/cdf_temperature.pdf"], files["figures/cdf_temperature.png"]
    assert pdf.startswith(b"%PDF")
    assert png.startswith(b"\x89PNG")
    for word in (b"CreationDate", b"Producer", b"Matplotlib", b"matplotlib.org"):
        assert word not in pdf
        assert word not in png


def test_a_run_without_tables_gives_a_reason_for_each_figure_and_no_file(made: Maker) -> None:
    drawn = draw(made({}))
    assert not drawn.files
    assert set(drawn.skipped) == set(BY_NAME)


def test_an_unknown_figure_is_refused_with_those_there_are(made: Maker) -> None:
    with pytest.raises(UsageError, match="cdf_power"):
        draw(made({}), ["cdf_powers"])
