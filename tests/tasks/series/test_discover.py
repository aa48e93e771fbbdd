"""Which series a source holds, by place and name alone."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from schemas.errors import SourceError, UsageError
from tasks.series.discover import SeriesFiles, discover, series_name


def place(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Time\n")
    return root


def shown(found: list[SeriesFiles]) -> dict[str, list[str]]:
    return {series.label: [Path(file.url).name for file in series.files] for series in found}


class TestLayouts:
    def test_the_released_tree(self, tmp_path: Path) -> None:
        names = ["seren/GPU_UTIL.csv", "kalos/GPU_UTIL.csv", "kalos/FB_USED.csv.zst", "ipmi/GPU_AB_Power.csv"]
        place(tmp_path, *(f"data/utilization/{name}" for name in names), "data/job_trace/trace_kalos.csv")
        expected = {
            "kalos/FB_USED": ["FB_USED.csv.zst"],
            "kalos/GPU_UTIL": ["GPU_UTIL.csv"],
            "seren/GPU_AB_Power": ["GPU_AB_Power.csv"],
            "seren/GPU_UTIL": ["GPU_UTIL.csv"],
        }
        for source in (tmp_path, tmp_path / "data"):
            assert shown(discover(str(source))) == expected
        assert shown(discover(f"file://{tmp_path}")) == expected
        assert list(shown(discover(str(tmp_path)))) == sorted(expected)

    def test_a_folder_of_files_is_a_cluster(self, tmp_path: Path) -> None:
        place(tmp_path, "lab/A.csv", "lab/B.csv.gz", "lab/notes.txt")
        assert shown(discover(str(tmp_path / "lab"))) == {"lab/A": ["A.csv"], "lab/B": ["B.csv.gz"]}

    def test_a_folder_of_folders(self, tmp_path: Path) -> None:
        place(tmp_path, "lab/A.csv", "other/A.csv", "empty/readme.md")
        assert list(shown(discover(str(tmp_path)))) == ["lab/A", "other/A"]

    def test_one_file(self, tmp_path: Path) -> None:
        place(tmp_path, "lab/A.csv", "lab/B.csv")
        assert shown(discover(str(tmp_path / "lab/A.csv"))) == {"lab/A": ["A.csv"]}

    def test_another_file_system(self, tmp_path: Path) -> None:
        root = f"memory://{tmp_path.name}"
        with fsspec.open(f"{root}/data/utilization/seren/A.csv", "wb") as file:
            file.write(b"Time\n")
        (series,) = discover(root)
        assert series.label == "seren/A"
        assert series.files[0].url.startswith("memory://")
        assert series.files[0].size == 5


class TestNames:
    @pytest.mark.parametrize(
        ("url", "name", "part"),
        [
            ("GPU_UTIL.csv", "GPU_UTIL", ""),
            ("s3://b/seren/GPU_UTIL-2023-07.csv.gz", "GPU_UTIL", "2023-07"),
            ("GPU_UTIL-2023.csv", "GPU_UTIL", "2023"),
            ("A-2023-07-01.csv.zst", "A", "2023-07-01"),
            ("A-7.csv", "A-7", ""),
            ("trace.v2.csv", "trace.v2", ""),
        ],
    )
    def test_tell_metric_and_part(self, url: str, name: str, part: str) -> None:
        assert series_name(url) == (name, part)

    def test_parts_are_one_series_in_their_order(self, tmp_path: Path) -> None:
        place(tmp_path, "lab/A-2023-08.csv", "lab/A-2023-07.csv.gz", "lab/A-2022.csv")
        assert shown(discover(str(tmp_path))) == {
            "lab/A": ["A-2022.csv", "A-2023-07.csv.gz", "A-2023-08.csv"]
        }

    def test_a_whole_file_replaces_its_parts_and_an_unpacked_one_its_copies(self, tmp_path: Path) -> None:
        place(tmp_path, "lab/A.csv", "lab/A-2023-08.csv", "lab/B.csv.gz", "lab/B.csv", "lab/B.csv.zst")
        assert shown(discover(str(tmp_path))) == {"lab/A": ["A.csv"], "lab/B": ["B.csv"]}


class TestChoice:
    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(place(tmp_path, "x/A.csv", "x/B.csv", "y/A.csv"))

    def test_only_the_named_clusters_and_metrics(self, root: str) -> None:
        assert list(shown(discover(root, clusters=("x",)))) == ["x/A", "x/B"]
        assert list(shown(discover(root, metrics=("A",)))) == ["x/A", "y/A"]
        assert list(shown(discover(root, clusters=("x",), metrics=("B",)))) == ["x/B"]

    def test_unknown_names_are_a_usage_error_that_lists_the_known(self, root: str) -> None:
        with pytest.raises(UsageError, match=r"no cluster z.*It has x, y"):
            discover(root, clusters=("x", "z"))
        with pytest.raises(UsageError, match=r"no metric C.*It has A, B"):
            discover(root, metrics=("C",))


@pytest.mark.parametrize("source", ["nowhere", "empty", "nowhere.csv", "gopher://x/y"])
def test_a_source_without_series_is_a_source_error(source: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError):
        discover(source if "://" in source else str(tmp_path / source))
