"""Chunks: few at once, halved where too large, kept when done, asked again where doubtful."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from schemas.errors import ReadFailed, Stopped, UsageError
from tasks.prometheus import spans
from tasks.prometheus.chunks import Asked, Fetcher
from tasks.prometheus.client import PrometheusClient, Server
from tasks.prometheus.parts import Rule
from tasks.storage.units import UnitStore
from tests.doubles.prometheus import Prometheus, Proxy, Reply, prometheus
from tests.tasks.prometheus.conftest import PERIOD, Export

FILE = "data/utilization/mine/GPU_UTIL.csv"


@pytest.fixture
def whole(monitored: Prometheus, export: Export, tmp_path: Path) -> bytes:
    """The file of an export in one piece; what it left is gone."""
    export(monitored.url, "GPU_UTIL")
    (tmp_path / "whole").mkdir()
    text = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).unlink()
    UnitStore(tmp_path / ".state").discard("")
    return text


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 64 rows, eight in the period."""
    monkeypatch.setattr(spans, "SAMPLES_A_CHUNK", 640)


@pytest.mark.usefixtures("small")
def test_many_chunks_a_few_at_once_give_the_same_bytes(
    whole: bytes, between: Proxy, export: Export, tmp_path: Path
) -> None:
    export(between.url, "GPU_UTIL", at_once=3)
    assert (tmp_path / FILE).read_bytes() == whole
    assert len(between.ranges) == 8
    assert between.most_at_once <= 3


def test_a_period_is_asked_for_without_overlap_below_the_limit_of_points(
    between: Proxy, export: Export
) -> None:
    long = spans.Span(PERIOD.start_s - 15 * 20_000, 20_480, 15)
    export(between.url, "GPU_UTIL", long)
    asked = sorted((int(a["start"]), int(a["end"])) for a in between.ranges)
    assert all((end - start) / 15 + 1 <= 11_000 for start, end in asked)
    assert asked[0][0] == long.start_s
    assert asked[-1][1] == long.last_s
    assert all(start - end == 15 for (_, end), (start, _) in itertools.pairwise(asked))


def test_what_is_too_large_is_halved_until_it_is_not(
    whole: bytes, between: Proxy, export: Export, tmp_path: Path
) -> None:
    between.most_points = 100
    result = export(between.url, "GPU_UTIL", at_once=1)
    assert result.status == "exported"
    assert (tmp_path / FILE).read_bytes() == whole
    refused = [a for a in between.ranges if (int(a["end"]) - int(a["start"])) // 15 + 1 > 100]
    assert len(refused) == 3, "480, 256 and 128 rows; what follows is small from the start"
    before = len(between.asked)
    export(between.url, "GPU_UTIL")
    assert len(between.asked) == before, "a later run knows"


def test_a_real_server_that_may_load_few_samples_gives_the_same(
    whole: bytes, monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    unlocked = shutil.ignore_patterns("lock", "wal")
    shutil.copytree(monitored.folder / "data", tmp_path / "strict/data", ignore=unlocked)
    with prometheus(tmp_path / "strict", arguments=("--query.max-samples=2000",)) as strict:
        result = export(strict.url, "GPU_UTIL")
    assert result.status == "exported"
    assert (tmp_path / FILE).read_bytes() == whole
    assert UnitStore(tmp_path / ".state").keys("export/split/")


def test_one_instant_that_is_too_large_fails_the_metric(between: Proxy, export: Export) -> None:
    between.always = Reply(422, '{"status":"error","error":"would load too many samples"}')
    result = export(between.url, "GPU_UTIL")
    assert result.status == "failed"
    assert "too many samples" in result.reason


@pytest.mark.usefixtures("small")
def test_a_server_that_goes_away_costs_only_what_was_not_done(
    whole: bytes, between: Proxy, export: Export, tmp_path: Path
) -> None:
    between.stops_after = 3
    with pytest.raises(ReadFailed, match="cannot be reached"):
        export(between.url, "GPU_UTIL", at_once=1)
    assert not (tmp_path / FILE).exists()
    kept = UnitStore(tmp_path / ".state").keys("export/part/")
    assert len(kept) == 3
    between.stops_after, between.asked = -1, []
    result = export(between.url, "GPU_UTIL")
    assert result.status == "exported"
    assert (tmp_path / FILE).read_bytes() == whole
    assert len(between.ranges) == 5
    assert len(between.asked) == 5, "nor are series counted again"


def test_parts_of_an_answer_that_may_be_missing_are_told_and_asked_for_again(
    whole: bytes, between: Proxy, export: Export, tmp_path: Path
) -> None:
    between.warnings = ("store 3 did not answer",)
    result = export(between.url, "GPU_UTIL")
    assert result.warnings == ("store 3 did not answer",)
    assert result.suspicious
    between.warnings = ()
    again = export(between.url, "GPU_UTIL")
    assert not again.suspicious
    assert (tmp_path / FILE).read_bytes() == whole
    asked = len(between.ranges)
    export(between.url, "GPU_UTIL")
    assert len(between.ranges) == asked


def test_a_damaged_chunk_is_asked_for_again(
    whole: bytes, between: Proxy, export: Export, tmp_path: Path
) -> None:
    export(between.url, "GPU_UTIL")
    (unit,) = (tmp_path / ".state/export/part").iterdir()
    unit.write_bytes(unit.read_bytes()[:-5])
    export(between.url, "GPU_UTIL")
    assert (tmp_path / FILE).read_bytes() == whole
    assert len(between.ranges) == 2


@pytest.mark.usefixtures("small")
def test_an_error_of_one_chunk_ends_the_others_and_is_the_one_told(between: Proxy, export: Export) -> None:
    between.replies.append(Reply(403))
    with pytest.raises(UsageError, match="403"):
        export(between.url, "GPU_UTIL")
    assert len(between.ranges) < 8


def test_who_is_stopped_asks_for_nothing(between: Proxy, tmp_path: Path) -> None:
    with PrometheusClient(Server(between.url)) as client:
        fetcher = Fetcher(client, UnitStore(tmp_path), 2)
        fetcher.stop()
        asked = Asked(between.url, "up", Rule(("{instance}",)))
        with pytest.raises(Stopped):
            fetcher.fetch(asked, [PERIOD], lambda part: None)
    assert between.asked == []


@pytest.mark.parametrize(
    "changed",
    [{"query": "up + 0"}, {"url": "http://other"}, {"rule": Rule(("{instance}",), 1.0, 2.0)}],
)
def test_what_decides_the_numbers_decides_the_key(changed: dict[str, object]) -> None:
    parts = {"url": "http://one", "query": "up", "rule": Rule(("{instance}",))}
    one, other = Asked(**parts), Asked(**{**parts, **changed})  # type: ignore[arg-type]
    assert one.key(PERIOD) != other.key(PERIOD)
    assert one.key(PERIOD) == Asked(**parts).key(PERIOD)  # type: ignore[arg-type]
