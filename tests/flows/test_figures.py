"""`acmetrace figures`: files, their manifest, and what is left out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from flows.cli import exit_code
from schemas.figures import FiguresManifest
from tests.tasks.results import curve, results_of

pytestmark = pytest.mark.usefixtures("prefect_server")

CURVES = "summaries/curves.parquet"


def test_figures_stand_in_a_manifest_with_their_digests_and_the_rest_with_a_reason(tmp_path: Path) -> None:
    results_of(tmp_path, {CURVES: curve("seren", "GPU_TEMP", [20, 40, 77])})
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/cdf_power.pdf").write_text("of an earlier run, which had power")
    assert exit_code(["figures", str(tmp_path)]) == 0
    manifest = FiguresManifest.model_validate_json((tmp_path / "figures/manifest.json").read_bytes())
    assert [output.path for output in manifest.outputs] == [
        "figures/cdf_temperature.pdf",
        "figures/cdf_temperature.png",
    ]
    for output in manifest.outputs:
        data = (tmp_path / output.path).read_bytes()
        assert hashlib.sha256(data).hexdigest() == output.sha256
    assert manifest.skipped["cdf_power"] == "the run has no curve of POWER_USAGE or of server power"
    drawn_from = hashlib.sha256((tmp_path / "manifest.json").read_bytes()).hexdigest()
    assert manifest.drawn_from == {"manifest.json": drawn_from}
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "cdf_temperature.pdf",
        "cdf_temperature.png",
        "manifest.json",
    ]


def test_a_folder_without_a_run_is_told_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["figures", str(tmp_path)]) == 1
    assert "no run has finished there" in capfd.readouterr().err
    assert not (tmp_path / "figures").exists()
