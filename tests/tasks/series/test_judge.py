"""Each rule is found where a file breaks it, at the right place, and nowhere else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from schemas.findings import RULES, Finding
from schemas.metrics import Metric
from schemas.series import Thresholds
from tasks.series.judge import modal_interval_s, verdict_of
from tasks.series.summary import SeriesSummary
from tasks.series.tally import Tally
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
Summarise = Callable[..., SeriesSummary]

# A metric with one reading each 15 s, in [0, 100], of GPUs.
LOAD = Metric(
    name="LOAD",
    meaning="test",
    source="dcgm",
    unit="%",
    entity="gpu",
    decimals=0,
    low=0,
    high=100,
    interval_s=15,
)
CATALOGUE = {"LOAD": LOAD}
GPUS = ["10.0.0.1-0", "10.0.0.1-1"]


@pytest.fixture
def judged(write: Write, table: Any, summarise: Summarise) -> Callable[..., SeriesSummary]:
    """The summary of a LOAD series of the given rows, or of the given text."""

    def run(
        source: str | bytes | list[list[str]], columns: list[str] = GPUS, **options: Any
    ) -> SeriesSummary:
        text = table(source, columns) if isinstance(source, list) else source
        return summarise(write(text, "LOAD.csv"), name="LOAD", catalogue=CATALOGUE, **options)

    return run


def rules(summary: SeriesSummary) -> list[str]:
    return [finding.rule for finding in summary.record.findings]


def rows(count: int) -> list[list[str]]:
    """Sound rows; values change at every row."""
    return [[f"{i % 97}.0", f"{(i * 7 + 3) % 89}.0"] for i in range(count)]


def places(finding: Finding) -> list[tuple[int | None, str | None, int | None, str | None]]:
    return [(e.row, e.column, e.byte_offset, e.value) for e in finding.examples]


def test_a_sound_series_passes_without_findings(judged: Any) -> None:
    summary = judged(rows(50))
    assert rules(summary) == []
    assert summary.record.verdict == "passed"
    assert [curve.count for curve in summary.curves] == [100]


class TestNoSeries:
    @pytest.mark.parametrize(
        ("data", "rule", "verdict"),
        [
            (b"", "empty-file", "no data"),
            (b"a,b\n1,2\n", "not-a-series", "failed"),
            (b"Zeit,10.0.0.1-0\n", "not-a-series", "failed"),
            (b"Time,a\n2023-08-01 00:00:00+08:00,\x001\n", "not-a-series", "failed"),
            (b"Time,\xff\xfe\n", "not-a-series", "failed"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "lfs-pointer", "failed"),
            (b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "html-page", "failed"),
            (b"\n <html>", "html-page", "failed"),
            (b"Time,10.0.0.1-0\n2023-08-01 00:00:00,1\n", "no-zone", "failed"),
        ],
    )
    def test_is_told_with_its_rule_and_has_no_numbers(
        self, data: bytes, rule: str, verdict: str, judged: Any
    ) -> None:
        summary = judged(data)
        (finding,) = summary.record.findings
        assert (finding.rule, finding.severity, finding.count) == (rule, RULES[rule].severity, 1)
        assert finding.examples[0].file == summary.record.observed.files[0]
        assert summary.record.verdict == verdict
        assert summary.curves == ()
        assert (len(summary.entities), len(summary.hourly)) == (0, 0)

    @pytest.mark.parametrize("text", ["Time\n", "Time", "Time,10.0.0.1-0\r\n", "Time,10.0.0.1-0\n\n\n"])
    def test_a_header_alone_is_no_data(self, text: str, judged: Any, finding: Any) -> None:
        summary = judged(text)
        assert rules(summary) == ["header-only"]
        assert finding(summary, "header-only").severity == "info"
        assert summary.record.verdict == "no data"

    def test_a_given_zone_makes_times_readable(self, judged: Any) -> None:
        text = "Time,10.0.0.1-0\n2023-08-01 00:00:00,1\n2023-08-01 00:00:15,2\n"
        summary = judged(text, timezone="Asia/Shanghai")
        assert rules(summary) == []
        assert summary.record.observed.first_time.isoformat() == "2023-07-31T16:00:00+00:00"
        assert summary.record.observed.zones == ("no zone",)


class TestColumns:
    @pytest.mark.parametrize(
        ("columns", "rule", "named"),
        [
            (["10.0.0.1-0", "10.0.0.1-0"], "duplicate-column", "10.0.0.1-0"),
            (["10.0.0.1-0", "10.0.0.1-0.1"], "suffixed-column", "10.0.0.1-0.1"),
            (["10.0.0.1-0", "10.0.0.1"], "odd-column", "10.0.0.1"),
            (["10.0.0.1-0", ""], "odd-column", ""),
            (["10.0.0.1-0", " 10.0.0.1-1"], "odd-column", " 10.0.0.1-1"),
        ],
    )
    def test_names_are_checked(
        self, columns: list[str], rule: str, named: str, judged: Any, finding: Any
    ) -> None:
        summary = judged(rows(5), columns)
        assert rules(summary) == [rule]
        offset = len(f"Time,{columns[0]},")
        assert finding(summary, rule).count == 1
        assert places(finding(summary, rule)) == [(None, named, offset, named)]
        assert summary.record.verdict == "warned"
        assert summary.curves[0].count == 10

    @pytest.mark.parametrize("name", ["10.0.0.1-7", "lingjun-pod9-0016-3", "host_a-12"])
    def test_names_of_gpus_are_known(self, name: str, judged: Any) -> None:
        assert rules(judged(rows(5), ["10.0.0.1-0", name])) == []

    def test_columns_of_one_file_that_are_not_in_another(
        self, write: Write, table: Any, summarise: Summarise, finding: Any
    ) -> None:
        first = write(table(rows(3)), "LOAD-2023-07.csv")
        second = write(table([["1"], ["2"]], ["n0"]).replace("2023-08", "2023-09"), "LOAD-2023-08.csv")
        found = finding(summarise([first, second]), "missing-column")
        assert found.count == 1
        assert [(e.file, e.column) for e in found.examples] == [(second.url, "n1")]


class TestCells:
    def test_bad_cells_are_told_with_their_place(self, judged: Any, finding: Any, table: Any) -> None:
        cells = rows(2000)
        cells[1200][1], cells[1500][0] = "ERR", "1.5.5"
        text = table(cells, GPUS)
        summary = judged(text, block_bytes=10_000)
        found = finding(summary, "bad-cell")
        assert (found.count, found.severity) == (2, "warning")
        assert places(found) == [
            (1201, GPUS[1], text.index("ERR"), "ERR"),
            (1501, GPUS[0], text.index("1.5.5"), "1.5.5"),
        ]
        assert summary.record.verdict == "warned"
        assert summary.curves[0].count == 3998

    @pytest.mark.parametrize(("bad", "verdict"), [(2, "warned"), (3, "failed")])
    def test_a_thousandth_of_bad_cells_is_the_limit(self, bad: int, verdict: str, judged: Any) -> None:
        cells = rows(1000)
        for i in range(bad):
            cells[100 * i][0] = "x"
        summary = judged(cells)
        assert summary.record.observed.bad_cells == bad
        assert summary.record.verdict == verdict
        assert (len(summary.curves) > 0) == (verdict != "failed")
        assert (len(summary.entities) > 0) == (verdict != "failed")

    @pytest.mark.parametrize(("share", "verdict"), [(0.0, "failed"), (0.5, "warned"), (0.49, "failed")])
    def test_the_limit_can_be_given(self, share: float, verdict: str, judged: Any) -> None:
        summary = judged([["1", "x"], ["2", "y"]], thresholds=Thresholds(bad_cell_share=share))
        assert summary.record.verdict == verdict

    def test_lost_rows_count_with_all_their_cells(self, judged: Any, finding: Any, table: Any) -> None:
        lines = table(rows(1000), GPUS).splitlines()
        lines[500:500] = ["broken,1,2", "2023-08-01 10:05:00+08:00,1"]
        found = finding(judged("\n".join(lines)), "too-many-bad-cells")
        assert (found.count, found.severity) == (4, "error")
        assert "0.200%" in found.message

    def test_rows_without_value_columns_are_judged_by_rows(self, judged: Any, table: Any) -> None:
        lines = table([[]] * 2000, []).splitlines()
        lines.insert(1000, "broken")
        summary = judged("\n".join(lines))
        assert rules(summary) == ["bad-time"]
        assert summary.record.verdict == "no data"

    def test_impossible_values_are_kept_and_told(self, judged: Any, finding: Any, table: Any) -> None:
        cells = rows(20)
        cells[3][0], cells[7][1], cells[9][1] = "238.871", "-1", "101.0"
        text = table(cells, GPUS)
        summary = judged(text)
        found = finding(summary, "out-of-range")
        assert (found.count, found.severity) == (3, "warning")
        assert places(found) == [
            (4, GPUS[0], text.index("238.871"), "238.871"),
            (8, GPUS[1], text.index(",-1\n") + 1, "-1"),
            (10, GPUS[1], text.index("101.0"), "101.0"),
        ]
        assert "0 … 100 %" in found.message
        assert (summary.curves[0].values[0], summary.curves[0].values[-1]) == (-1.0, 238.871)

    @pytest.mark.parametrize(
        ("line", "rule"),
        [
            ("2023-08-01 00:07:30+08:00,1", "ragged-row"),
            ("2023-08-01 00:07:30+08:00,1,2,3", "ragged-row"),
            ("2023-08-01 00:07:30+08:00", "ragged-row"),
            ("2023-08-01 00:07:30+08:00,1,2,", "ragged-row"),
            ("soon,1,2", "bad-time"),
            ("2023-08-01 00:07:30,1,2", "bad-time"),
            ("2023-02-30 00:07:30+08:00,1,2", "bad-time"),
            (",1,2", "bad-time"),
        ],
    )
    def test_rows_that_cannot_be_read_are_left_out_and_told(
        self, line: str, rule: str, judged: Any, finding: Any, table: Any
    ) -> None:
        lines = table(rows(3000), GPUS).splitlines()
        lines.insert(31, line)
        text = "\n".join(lines)
        summary = judged(text, block_bytes=700)
        found = finding(summary, rule)
        assert found.count == 1
        column, value = ("Time", line.split(",")[0]) if rule == "bad-time" else (None, None)
        assert places(found) == [(31, column, text.index(f"\n{line}\n") + 1, value)]
        assert summary.record.observed.bad_rows == 1
        assert summary.curves[0].count == 6000
        assert summary.record.verdict == "warned"

    def test_only_the_first_five_places_are_kept(self, judged: Any, finding: Any) -> None:
        cells = [["x", "1"] for _ in range(30)]
        found = finding(judged(cells, block_bytes=100), "bad-cell")
        assert found.count == 30
        assert [e.row for e in found.examples] == [1, 2, 3, 4, 5]


class TestTimes:
    def text(self, seconds: list[float], stamp: Callable[[float], str]) -> str:
        lines = [f"{stamp(s)},{i % 97}.0,1.0" for i, s in enumerate(seconds)]
        return "\n".join([",".join(["Time", *GPUS]), *lines])

    @pytest.mark.parametrize("block_bytes", [35, 64, 1000, 1 << 20])
    def test_steps_between_rows_are_judged(
        self, block_bytes: int, judged: Any, finding: Any, stamp: Any
    ) -> None:
        seconds = [0, 15, 30, 30, 45, 60, 120, 135, 90, 105, 120, 142, 157]
        text = self.text(seconds, stamp)
        starts = [i + 1 for i, letter in enumerate(text) if letter == "\n"]
        summary = judged(text, block_bytes=block_bytes)
        assert rules(summary) == ["duplicate-time", "disordered-time", "gap"]
        for rule, row, severity in (
            ("duplicate-time", 4, "warning"),
            ("disordered-time", 9, "warning"),
            ("gap", 7, "info"),
        ):
            found = finding(summary, rule)
            assert (found.count, found.severity) == (1, severity)
            ((number, _, offset, value),) = places(found)
            assert (number, offset) == (row, starts[row - 1])
            assert value is not None
            assert value.endswith("+00:00")
        assert "3 slots are missing" in finding(summary, "gap").message
        assert summary.record.observed.missing_slots == 3
        assert summary.record.observed.interval_s == 15
        assert summary.curves[0].count == 26

    def test_a_step_is_a_gap_beyond_one_and_a_half_intervals(self, judged: Any, stamp: Any) -> None:
        assert rules(judged(self.text([0, 15, 30, 52.5, 67], stamp))) == []
        assert rules(judged(self.text([0, 15, 30, 53, 68], stamp))) == ["gap"]
        assert rules(judged(self.text([0, 15, 30, 60], stamp), thresholds=Thresholds(gap_intervals=2))) == []

    def test_another_interval_than_that_of_the_metric(self, judged: Any, finding: Any, stamp: Any) -> None:
        found = finding(judged(self.text([20 * i for i in range(11)], stamp)), "wrong-interval")
        assert (found.count, found.severity) == (10, "warning")
        assert "20 s apart, expected 15 s" in found.message

    def test_times_in_several_forms(self, judged: Any, finding: Any, stamp: Any) -> None:
        lines = [f"{stamp(15 * i)},{i}.0,1.0" for i in range(8)]
        lines[4] = f"{1690848000 + 60},4.0,1.0"
        lines[5] = "2023-08-01T00:01:15Z,5.0,1.0"
        summary = judged("\n".join([",".join(["Time", *GPUS]), *lines]))
        assert rules(summary) == ["mixed-zones"]
        found = finding(summary, "mixed-zones")
        assert (found.count, found.severity) == (2, "warning")
        assert "+08:00 in 6 rows" in found.message
        assert set(summary.record.observed.zones) == {"+08:00", "+00:00", "epoch seconds"}

    def test_no_steps_have_no_interval(self) -> None:
        assert modal_interval_s(Tally()) is None


class TestRepeatedPairs:
    @pytest.mark.parametrize("first", [0, 1])
    @pytest.mark.parametrize("block_bytes", [200, 1 << 20])
    def test_readings_that_come_twice_are_told(
        self, first: int, block_bytes: int, judged: Any, finding: Any
    ) -> None:
        cells = [[f"{(i + first) // 2 % 90}.0", f"{(i + first) // 2 * 7 % 80}.0"] for i in range(60)]
        found = finding(judged(cells, block_bytes=block_bytes), "repeated-pairs")
        assert found.severity == "info"
        assert found.count == 2 * ((59 + first) // 2)
        assert "100.0%" in found.message

    def test_entities_may_be_on_different_halves(self, judged: Any) -> None:
        cells = [[f"{i // 2}.0", f"{(i + 1) // 2}.0"] for i in range(60)]
        assert rules(judged(cells)) == ["repeated-pairs"]

    @pytest.mark.parametrize("seed", range(3))
    def test_ordinary_readings_are_not(self, seed: int, judged: Any) -> None:
        rng = random.Random(seed)
        steps = [[f"{rng.randrange(100)}.0", f"{rng.randrange(2)}.0"] for _ in range(200)]
        assert rules(judged(steps)) == []
        assert rules(judged([[f"{i // 50}.0", "5.0"] for i in range(200)])) == []

    def test_a_few_equal_pairs_are_chance(self, judged: Any) -> None:
        assert rules(judged([[f"{i // 2}.0", "1.0"] for i in range(20)])) == []


class TestCoverage:
    def test_columns_without_a_value(self, judged: Any, finding: Any) -> None:
        summary = judged([["1.0", "", "3.0"], ["2.0", "", "4.0"]], [*GPUS, "10.0.0.1-2"])
        assert rules(summary) == ["blank-column"]
        found = finding(summary, "blank-column")
        assert (found.count, found.severity, found.examples[0].column) == (1, "info", GPUS[1])
        assert summary.record.verdict == "passed"

    def test_a_blank_column_is_told_of_the_file_that_has_it(
        self, write: Write, summarise: Summarise, finding: Any
    ) -> None:
        first = write("Time,a\n1000,1\n1015,2\n", "X-2022.csv")
        second = write("Time,a,b\n2000,1,\n2015,2,\n", "X-2023.csv")
        (example,) = finding(summarise([first, second]), "blank-column").examples
        assert (example.file, example.column) == (second.url, "b")

    @pytest.mark.parametrize(("filled", "found"), [(5, []), (4, ["low-coverage"])])
    def test_few_values(self, filled: int, found: list[str], judged: Any) -> None:
        cells = [[f"{i}.0" if i < filled else "", f"{i + 1}.0" if i < filled else ""] for i in range(10)]
        summary = judged(cells)
        assert rules(summary) == found
        assert summary.record.observed.coverage_share == filled / 10
        if found:
            (finding,) = summary.record.findings
            assert (finding.count, finding.severity) == (12, "info")


class TestOther:
    def test_a_metric_the_catalogue_does_not_know(
        self, write: Write, table: Any, summarise: Summarise, finding: Any
    ) -> None:
        summary = summarise(write(table(rows(5))), name="disk io")
        assert rules(summary) == ["unknown-metric"]
        assert finding(summary, "unknown-metric").severity == "info"
        assert re.fullmatch(r"disk_io-[0-9a-f]{8}", summary.record.contract.metric.name)
        assert summary.record.verdict == "passed"

    def test_findings_stand_in_the_order_of_the_rules(self, judged: Any) -> None:
        found = rules(judged([["x", ""], ["400", ""], ["1", ""]], ["odd", "odd"]))
        assert found == [rule for rule in RULES if rule in found]
        assert len(found) >= 5

    def test_judging_alone_makes_no_curves(self, write: Write, table: Any, summarise: Summarise) -> None:
        summary = summarise(write(table(rows(5))), judge_only=True)
        assert summary.record.observed.values == 10
        assert summary.curves == ()


class TestVerdict:
    @pytest.mark.parametrize(
        ("broken", "values", "verdict"),
        [
            ([], 1, "passed"),
            (["gap", "blank-column"], 1, "passed"),
            (["gap", "bad-cell"], 1, "warned"),
            (["bad-cell", "too-many-bad-cells"], 1, "failed"),
            (["too-many-bad-cells"], 0, "failed"),
            (["header-only"], 0, "no data"),
            ([], 0, "no data"),
        ],
    )
    def test_is_the_worst_that_applies(self, broken: list[str], values: int, verdict: str) -> None:
        findings = [
            Finding(rule=rule, severity=RULES[rule].severity, cluster="c", metric="m", count=1, message="")
            for rule in broken
        ]
        assert verdict_of(findings, values) == verdict
