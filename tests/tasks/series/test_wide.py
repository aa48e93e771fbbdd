"""A series from its files to its summary, against pandas, the published numbers and real slices."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from schemas.errors import ReadFailed
from schemas.pickles import AUGUST
from schemas.published import published_quantiles, published_series
from tasks.series.discover import SeriesFiles
from tasks.series.options import ScanOptions
from tasks.series.summary import SeriesSummary
from tasks.series.units import ThreadExecutor
from tasks.series.wide import failed_summary, heads_of, plan_series, summarise_series
from tasks.storage.source import FileRef, stat_file
from tasks.storage.units import UnitStore

Write = Callable[..., FileRef]
Summarise = Callable[..., SeriesSummary]


def grid(
    seed: int, rows: int, columns: list[str], start: str = "2023-08-01", step: str = "15s"
) -> pd.DataFrame:
    """Power-like readings with blanks."""
    rng = np.random.default_rng(seed)
    cells = np.round(rng.gamma(4, 60, (rows, len(columns))), 1)
    cells[rng.random(cells.shape) < 0.2] = np.nan
    times = pd.date_range(start, periods=rows, freq=step, tz="Asia/Shanghai")
    frame = pd.DataFrame(cells, columns=columns)
    frame.insert(0, "Time", times.strftime("%Y-%m-%d %H:%M:%S+08:00"))
    return frame


class TestSeveralFiles:
    @pytest.mark.parametrize("block_bytes", [301, 1 << 20])
    def test_are_one_series_also_where_their_columns_differ(
        self, block_bytes: int, write: Write, summarise: Summarise, flat: Any, quantiles: Any
    ) -> None:
        frames = [
            grid(1, 40, ["10.0.0.2-1", "10.0.0.1-0", "10.0.0.1-1"], "2023-07-31 23:55"),
            grid(2, 30, ["10.0.0.1-1", "10.0.0.9-9"], "2023-08-01 00:05"),
            grid(3, 20, ["10.0.0.1-0", "10.0.0.2-1", "10.0.0.1-1"], "2023-08-01 00:12:30"),
        ]
        refs = [write(f.to_csv(index=False), f"POWER_USAGE-2023-0{i}.csv") for i, f in enumerate(frames, 1)]
        summary = summarise(refs, cluster="seren", name="POWER_USAGE", block_bytes=block_bytes)
        together = pd.concat(frames)
        (whole, august) = summary.curves
        assert whole.values.tobytes() == quantiles(flat(together)).tobytes()
        assert (august.period, august.count) == (AUGUST, len(flat(together[together["Time"] >= "2023-08"])))
        assert august.values.tobytes() == quantiles(flat(together[together["Time"] >= "2023-08"])).tobytes()
        cells = together.drop(columns="Time")
        entities = summary.entities.set_index("entity")
        assert sorted(entities.index) == sorted(cells.columns)
        for name in cells.columns:
            assert entities.loc[name, "count"] == cells[name].count()
            assert entities.loc[name, "max"] == cells[name].max()
        assert summary.record.entities == ("10.0.0.2-1", "10.0.0.1-0", "10.0.0.1-1", "10.0.0.9-9")
        assert summary.record.observed.rows == 90
        assert summary.record.observed.coverage_share == cells.notna().to_numpy().mean()

    def test_a_bad_file_among_them_is_named(self, write: Write, summarise: Summarise) -> None:
        good, bad = write("Time,a\n1000,1\n", "X-2022.csv"), write("<html>", "X-2023.csv")
        (finding,) = summarise([good, bad]).record.findings
        assert (finding.rule, finding.examples[0].file) == ("html-page", bad.url)

    def test_a_row_number_counts_in_its_own_file(
        self, write: Write, summarise: Summarise, finding: Any
    ) -> None:
        refs = [
            write("Time,a\n1000,1\n1015,x\n", "X-2022.csv"),
            write("Time,a\n2000,1\n2015,2\n2030,y\n", "X-2023.csv"),
        ]
        found = finding(summarise(refs, block_bytes=9), "bad-cell")
        assert [(e.file, e.row) for e in found.examples] == [(refs[0].url, 2), (refs[1].url, 3)]


class TestWindows:
    def test_august_is_a_month_of_the_clock_in_shanghai(self, write: Write, summarise: Summarise) -> None:
        edges = [
            ("2023-07-31T15:59:59.999Z", 1),
            ("2023-07-31T16:00:00Z", 2),
            ("2023-08-31T15:59:59Z", 0),
            ("2023-08-31 23:59:59.999+08:00", 4),
            ("2023-08-31T16:00:00Z", 5),
        ]
        text = "Time,10.0.0.1-0\n" + "".join(f"{time},{value}\n" for time, value in edges)
        whole, august = summarise(write(text), cluster="kalos", name="GPU_TEMP").curves
        assert (whole.period, whole.count, whole.zero_share) == ("all", 5, 0.2)
        assert (august.period, august.count, august.zero_share) == (AUGUST, 3, 1 / 3)
        assert (august.values[0], august.values[-1]) == (0, 4)

    def test_only_power_and_temperature_have_one(self, write: Write, summarise: Summarise) -> None:
        ref = write(grid(1, 5, ["10.0.0.1-0"]).to_csv(index=False))
        periods = {
            name: [c.period for c in summarise(ref, cluster="kalos", name=name).curves]
            for name in ("POWER_USAGE", "MEMORY_TEMP", "GPU_UTIL")
        }
        assert periods == {
            "POWER_USAGE": ["all", AUGUST],
            "MEMORY_TEMP": ["all", AUGUST],
            "GPU_UTIL": ["all"],
        }


@pytest.fixture(scope="module")
def large(write: Write) -> FileRef:
    """Four megabytes of sorted rows, one each minute."""
    return write(grid(5, 30_000, [f"10.0.0.{i}-0" for i in range(24)], step="1min").to_csv(index=False))


@pytest.fixture(scope="module")
def large_frame(large: FileRef, frame: Any) -> pd.DataFrame:
    """The same as pandas reads it, with the times in milliseconds as index."""
    table: pd.DataFrame = frame(large)
    return table.set_index(
        pd.to_datetime(table["Time"]).map(lambda t: round(t.timestamp() * 1000)).to_numpy()
    )


class TestPeriod:
    DAY_MS = 86_400_000
    FIRST = 1_690_819_200_000  # 2023-08-01 00:00 +08:00

    @pytest.mark.parametrize(
        ("since", "until"),
        [
            (3, 4),
            (0.5, 0.5 + 1 / 1440),
            (-5, 1),
            (20, 90),
            (-3, 90),
            (15, None),
            (None, 5),
            (2, 2 + 1 / 1440),
            (2 + 1 / 86_400, 2 + 2 / 1440),
        ],
    )
    @pytest.mark.parametrize("block_bytes", [200_000, 1 << 26])
    def test_rows_of_a_sorted_file_are_found_without_reading_it_all(
        self,
        since: float | None,
        until: float | None,
        block_bytes: int,
        large: FileRef,
        summarise: Summarise,
        large_frame: pd.DataFrame,
        flat: Any,
        quantiles: Any,
        finding: Any,
    ) -> None:
        edges = [None if day is None else self.FIRST + round(day * self.DAY_MS) for day in (since, until)]
        summary = summarise(large, since_ms=edges[0], until_ms=edges[1], block_bytes=block_bytes)
        ms = large_frame.index
        wanted = large_frame[(ms >= (edges[0] or 0)) & (ms < (edges[1] or 1 << 60))]
        observed = summary.record.observed
        assert observed.rows == len(wanted)
        assert summary.curves[0].values.tobytes() == quantiles(flat(wanted)).tobytes()
        assert finding(summary, "order-assumed").severity == "info"
        if block_bytes > large.size and ((since or 0) > 2 or (until or 99) < 15):
            assert observed.bytes_read < 0.8 * large.size
        if until is not None and until - (since or 0) <= 1:
            assert observed.bytes_read < 0.1 * large.size + (1 << 17) + observed.rows * 200

    @pytest.mark.parametrize(("since", "until"), [(-20, -10), (40, 50), (3 + 1 / 86400, 3 + 2 / 86400)])
    def test_a_period_without_rows_has_no_data(
        self, since: float, until: float, large: FileRef, summarise: Summarise
    ) -> None:
        edges = {
            "since_ms": self.FIRST + round(since * self.DAY_MS),
            "until_ms": self.FIRST + round(until * self.DAY_MS),
        }
        summary = summarise(large, **edges)
        assert summary.record.verdict == "no data"
        assert summary.record.observed.rows == 0
        assert "header-only" not in {finding.rule for finding in summary.record.findings}

    def test_row_numbers_are_unknown_where_rows_before_were_not_read(
        self, large: FileRef, write: Write, summarise: Summarise, finding: Any
    ) -> None:
        text = Path(large.url).read_text()
        place = text.index("2023-08-15 00:07:00+08:00,") + 26
        stop = text.index(",", place)
        ref = write(f"{text[:place]}oops{text[stop:]}")
        part = finding(
            summarise(ref, since_ms=self.FIRST + 14 * self.DAY_MS, block_bytes=1 << 18), "bad-cell"
        )
        assert [(e.row, e.byte_offset, e.value) for e in part.examples] == [(None, place, "oops")]
        head = finding(summarise(ref, until_ms=self.FIRST + 16 * self.DAY_MS), "bad-cell")
        assert [(e.row, e.byte_offset) for e in head.examples] == [(14 * 1440 + 8, place)]

    def test_an_unsorted_file_is_read_whole(
        self,
        large: FileRef,
        write: Write,
        large_frame: pd.DataFrame,
        flat: Any,
        quantiles: Any,
        summarise: Summarise,
    ) -> None:
        table = pd.concat([large_frame[15_000:], large_frame[:15_000]])
        ref = write(table.to_csv(index=False))
        edges = (self.FIRST + 2 * self.DAY_MS, self.FIRST + 3 * self.DAY_MS)
        summary = summarise(ref, since_ms=edges[0], until_ms=edges[1])
        wanted = table[table["Time"].between("2023-08-03", "2023-08-04", inclusive="left")]
        assert summary.record.observed.bytes_read > 0.99 * ref.size
        assert summary.record.observed.rows == len(wanted) == 1440
        assert summary.record.observed.rows_outside_period == 30_000 - 1440
        assert summary.curves[0].values.tobytes() == quantiles(flat(wanted)).tobytes()
        assert "order-assumed" not in {finding.rule for finding in summary.record.findings}

    def test_both_ends_of_a_small_file(self, write: Write, summarise: Summarise) -> None:
        ref = write("Time,a\n" + "".join(f"{second},{second}\n" for second in range(100, 110)))
        (curve,) = summarise(ref, since_ms=103_000, until_ms=107_000).curves
        assert (curve.count, curve.values[0], curve.values[-1]) == (4, 103, 106)


class TestTables:
    def test_entities_and_hours_are_those_of_pandas_and_means_are_exact(
        self, write: Write, summarise: Summarise
    ) -> None:
        table = grid(11, 500, ["10.0.0.1-0", "10.0.0.1-1", "10.0.1.7-3"], step="3min")
        table.iloc[::9, 1] = 0.0
        table.iloc[::13, 2] = np.random.default_rng(1).lognormal(0, 20, len(table.iloc[::13]))
        table = table.sample(frac=1, random_state=3)
        summary = summarise(
            write(table.to_csv(index=False)), cluster="lab", name="POWER_USAGE", block_bytes=5000
        )
        cells = table.set_index("Time")
        found = summary.entities.set_index("entity")
        for name, values in cells.items():
            kept = values.dropna().tolist()
            row = found.loc[name]
            assert (row["count"], row["blank"]) == (len(kept), values.isna().sum())
            assert (row["min"], row["max"], row["mean"]) == (min(kept), max(kept), exact_mean(kept, 1))
            assert row["zero_share"] == kept.count(0.0) / len(kept)
            assert row["node"] == str(name).rpartition("-")[0]
        hours = pd.to_datetime(cells.index).tz_convert("UTC").floor("h")
        by_hour = cells.assign(hour=hours).melt("hour").dropna().groupby("hour")["value"]
        assert summary.hourly["hour"].tolist() == list(by_hour.groups)
        assert summary.hourly["count"].tolist() == by_hour.count().tolist()
        assert summary.hourly["min"].tolist() == by_hour.min().tolist()
        assert summary.hourly["max"].tolist() == by_hour.max().tolist()
        assert summary.hourly["mean"].tolist() == [exact_mean(list(values), 1) for _, values in by_hour]


def exact_mean(values: list[float], decimals: int) -> float:
    """The mean of the numbers as written: those of few decimals as decimals, others as doubles."""

    def exact(value: float) -> Fraction:
        units = round(value * 10**decimals) if abs(value) < 1e6 else 0
        return Fraction(units, 10**decimals) if units / 10**decimals == value else Fraction(value)

    return float(sum(map(exact, values)) / len(values))


class TestPublished:
    @pytest.mark.parametrize(("pickle", "pair"), published_series())
    def test_values_of_a_curve_give_it_back(
        self, pickle: str, pair: int, write: Write, summarise: Summarise
    ) -> None:
        published = published_quantiles(pickle, pair)
        shuffled = np.random.default_rng(pair).permutation(published)
        rows = "".join(f"{i * 15},{a!r},{b!r}\n" for i, (a, b) in enumerate(shuffled.reshape(-1, 2).tolist()))
        (curve,) = summarise(write(f"Time,a,b\n{rows}"), block_bytes=4000).curves
        np.testing.assert_allclose(curve.values, published, rtol=0, atol=1e-9)


def wide_slices() -> list[str]:
    return [
        *(f"acmetrace/data/utilization/kalos/{name}.csv" for name in ("DRAM_ACTIVE", "GPU_TEMP", "GPU_UTIL")),
        *(f"acmetrace/data/utilization/kalos/{name}.csv" for name in ("POWER_USAGE", "XID_ERRORS")),
        "acmetrace/data/utilization/seren/NODE_CPU_UTILIZATION.csv",
        *(f"acmetrace_snapshot/data/utilization/kalos/{name}.csv" for name in ("GPU_TEMP", "GPU_UTIL")),
        "gpu_duty_cycle/GPU_DUTY_CYCLE.csv",
    ]


class TestRealSlices:
    @pytest.mark.parametrize("path", wide_slices())
    @pytest.mark.parametrize("block_bytes", [1000, 1 << 26])
    def test_have_the_numbers_pandas_gave(
        self,
        path: str,
        block_bytes: int,
        real: Path,
        summarise: Summarise,
        frame: Any,
        flat: Any,
        quantiles: Any,
    ) -> None:
        expected = json.loads((real / "expected.json").read_text())
        facts, levels = expected["files"][path], expected["quantile_levels"]
        ref = stat_file(str(real / path))
        block_bytes = max(block_bytes, ref.size // 300)
        summary = summarise(
            ref, cluster=ref.url.split("/")[-2], name=Path(path).stem, block_bytes=block_bytes
        )
        observed = summary.record.observed
        found = (
            observed.rows,
            observed.columns,
            observed.values,
            observed.blanks,
            observed.low,
            observed.high,
        )
        assert found == tuple(facts[n] for n in ("rows", "columns", "non_null", "blank", "min", "max"))
        if not facts["rows"]:
            assert summary.record.verdict == "no data"
            return
        assert (observed.first_time, observed.last_time) == tuple(
            pd.Timestamp(facts[name]) for name in ("first_time", "last_time")
        )
        curve = next(curve for curve in summary.curves if curve.period == "all")
        ends = {0: curve.values[0], 1: curve.values[-1]}
        assert [(ends | curve.marks)[level] for level in levels] == facts["quantiles"]
        assert curve.values.tobytes() == quantiles(flat(frame(ref))).tobytes()
        assert summary.record.verdict in ("passed", "warned")

    def test_the_list_of_wide_slices_is_complete(self, real: Path) -> None:
        files = json.loads((real / "expected.json").read_text())["files"]
        assert set(wide_slices()) == {path for path in files if "/ipmi/" not in path}

    @pytest.mark.parametrize(
        ("path", "paired"),
        [
            ("acmetrace/data/utilization/kalos/POWER_USAGE.csv", True),
            ("acmetrace/data/utilization/kalos/GPU_TEMP.csv", True),
            ("gpu_duty_cycle/GPU_DUTY_CYCLE.csv", False),
        ],
    )
    def test_readings_of_kalos_are_collected_at_half_the_rate(
        self, path: str, paired: bool, real: Path, summarise: Summarise
    ) -> None:
        summary = summarise(stat_file(str(real / path)), cluster="kalos", name=Path(path).stem)
        assert ("repeated-pairs" in {f.rule for f in summary.record.findings}) == paired


class TestFailures:
    def test_a_file_that_changes_after_planning_is_told_and_may_be_tried_again(
        self, write: Write, summarise: Summarise
    ) -> None:
        ref = write("Time,a\n1000,1\n")
        Path(ref.url).write_text("Time,a\n1000,1\n1015,2\n")
        (finding,) = summarise(ref).record.findings
        assert (finding.rule, finding.severity) == ("file-changed", "error")

    def test_storage_that_fails_makes_the_series_unreadable(self, write: Write) -> None:
        series = SeriesFiles("lab", "X", (write("Time,a\n"),))
        summary = failed_summary(series, ReadFailed("the disk is gone"), ScanOptions())
        (finding,) = summary.record.findings
        assert (finding.rule, summary.record.verdict) == ("unreadable", "failed")
        assert "the disk is gone" in finding.message


class TestStore:
    def test_a_second_run_reads_nothing_and_gives_the_same(
        self, write: Write, table: Any, tmp_path: Path
    ) -> None:
        ref = write(table([[f"{i}.5", f"{i * i}"] for i in range(100)]))
        series, store = SeriesFiles("lab", "X", (ref,)), UnitStore(tmp_path / "units")
        options = ScanOptions(block_bytes=500)
        summaries, reads = [], []
        for _ in range(2):
            planned = plan_series(series, heads_of(series, store), options)
            passes: list[int] = []
            summaries.append(
                summarise_series(
                    planned, ThreadExecutor(2), store, on_pass=lambda n, size, to=passes: to.append(size)
                )
            )
            reads.append(passes)
        assert reads == [[ref.size], [0]]
        first, second = summaries
        assert first.record == second.record
        assert first.to_bytes() == second.to_bytes()
