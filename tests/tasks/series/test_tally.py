"""Tallies add up in any order and grouping, travel as bytes, and know their row numbers."""

from __future__ import annotations

import io
import itertools
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.series.spec import ScanSpec, Window
from tasks.series.sums import ExactSums
from tasks.series.tally import Extent, GroupStats, Spot, Spots, Tally
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
bounded = settings(max_examples=60, deadline=None)
SPEC = ScanSpec(decimals=1, interval_ms=15_000, high=40.0, windows=(Window("w", 1_020_000, 1_050_000),))
FILES = [
    "Time,b,a\n1000,1.5,2\n1015,,3\n1015,x,4\n",
    "Time,b,a\n1030,99,1e-9\n1045\n1060,0,0.25\n",
    "Time,c\n9000,7\n9015,\nsoon,3\n",
    "Time\n1000\n",
    "Time,a,b\n1000,1,2\n",
]


@pytest.fixture
def tallies(write: Write, tally: Any) -> list[Tally]:
    """Tallies of files with the same, other and no columns."""
    return [tally(write(text), SPEC) for text in FILES]


class TestMerge:
    def test_is_commutative(self, tallies: list[Tally], facts: Any) -> None:
        for a, b in itertools.permutations(tallies, 2):
            assert facts(a.merge(b)) == facts(b.merge(a))

    def test_is_associative(self, tallies: list[Tally], facts: Any) -> None:
        for a, b, c in itertools.permutations(tallies, 3):
            assert facts(a.merge(b).merge(c)) == facts(a.merge(b.merge(c)))

    def test_the_empty_tally_is_its_unit(self, tallies: list[Tally], facts: Any) -> None:
        for a in tallies:
            assert facts(Tally().merge(a)) == facts(a) == facts(a.merge(Tally()))
            assert Tally().merge(a).bytes_read == a.bytes_read

    def test_adds_everything_up(self, tallies: list[Tally]) -> None:
        a, b, c = tallies[:3]
        all_ = a.merge(b).merge(c)
        assert all_.rows == a.rows + b.rows + c.rows
        assert all_.entities.keys.tolist() == ["a", "b", "c"]
        assert all_.entities.count.tolist() == [5, 3, 1]
        assert all_.value_count == all_.window().total
        assert (all_.first_ms, all_.last_ms) == (1_000_000, 9_015_000)
        assert all_.cells == 2 * (a.rows + b.rows) + c.rows
        assert {rule: spots.count for rule, spots in all_.spots.items()} == {
            "bad-cell": 1,
            "bad-time": 1,
            "duplicate-time": 1,
            "out-of-range": 1,
            "ragged-row": 1,
        }

    def test_columns_keep_the_order_of_the_file_where_all_files_have_it(self, tallies: list[Tally]) -> None:
        assert tallies[0].merge(tallies[1]).entities.keys.tolist() == ["b", "a"]

    def test_other_decimals_do_not_add_up(self, tallies: list[Tally]) -> None:
        with pytest.raises(ValueError, match="do not add up"):
            tallies[0].merge(replace(tallies[1], decimals=3))


class TestTravel:
    def test_bytes_give_the_same_tally(self, tallies: list[Tally], facts: Any) -> None:
        for a in [*tallies, tallies[0].merge(tallies[2]), Tally()]:
            back = Tally.from_bytes(a.to_bytes())
            assert facts(back) == facts(a)
            assert (back.blocks, back.bytes_read) == (a.blocks, a.bytes_read)
            assert back.to_bytes() == a.to_bytes()

    def test_what_came_back_merges_like_the_original(self, tallies: list[Tally], facts: Any) -> None:
        a, b = tallies[0], tallies[2]
        back = [Tally.from_bytes(x.to_bytes()) for x in (a, b)]
        assert facts(back[0].merge(back[1])) == facts(a.merge(b))

    def test_truncated_tables_keep_their_bits(self, write: Write, tally: Any) -> None:
        a = tally(write("Time,a\n" + "".join(f"{i},{i / 7!r}\n" for i in range(200))), ScanSpec(limit=16))
        back = Tally.from_bytes(a.to_bytes()).window()
        assert back.same_as(a.window())
        assert (back.shift > 0, back.limit) == (True, 16)

    def test_pickles_for_another_process(self, tallies: list[Tally], facts: Any) -> None:
        assert facts(pickle.loads(pickle.dumps(tallies[0]))) == facts(tallies[0])

    def test_bytes_of_another_format_are_refused(self, tallies: list[Tally]) -> None:
        with np.load(io.BytesIO(tallies[0].to_bytes())) as archive:
            arrays = dict(archive)
        meta = json.loads(arrays["meta"].tobytes()) | {"format": 99}
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        other = io.BytesIO()
        np.savez(other, **arrays)
        with pytest.raises(ValueError, match="format 99"):
            Tally.from_bytes(other.getvalue())


def group(rows: dict[int, list[float]]) -> GroupStats:
    """The statistics of the given values by key."""
    keys = sorted(rows)
    counts = np.array([len(rows[key]) for key in keys], np.int64)
    sums = [np.array(rows[key]) for key in keys]
    limbs = np.zeros((len(keys), 68), np.int64)
    for at, values in enumerate(sums):
        limbs[at, 40] = int(values.sum())
    return GroupStats(
        np.array(keys, np.int64),
        counts,
        counts * 0,
        np.array([int((v == 0).sum()) for v in sums], np.int64),
        np.array([int(v.sum()) for v in sums], np.int64),
        ExactSums.from_limbs(limbs),
        np.array([v.min(initial=np.inf) for v in sums]),
        np.array([v.max(initial=-np.inf) for v in sums]),
        np.stack([counts, counts * 2], axis=1),
    )


grouped = st.dictionaries(
    st.integers(0, 8), st.lists(st.integers(-99, 99).map(float), min_size=1, max_size=4), max_size=5
)


class TestGroups:
    @bounded
    @given(a=grouped, b=grouped, c=grouped)
    def test_merge_is_that_of_all_values(
        self, a: dict[int, list[float]], b: dict[int, list[float]], c: dict[int, list[float]]
    ) -> None:
        def same(x: GroupStats, y: GroupStats) -> bool:
            names = ("keys", "count", "blank", "zero", "fixed_total", "least", "most", "changed")
            return x.real_total == y.real_total and all(
                np.array_equal(getattr(x, n), getattr(y, n)) for n in names
            )

        together = {key: a.get(key, []) + b.get(key, []) for key in {*a, *b}}
        x, y, z, unit = group(a), group(b), group(c), GroupStats.empty("i8")
        assert same(x.merge(y), group(together))
        assert same(x.merge(y), y.merge(x))
        assert same(x.merge(y).merge(z), x.merge(y.merge(z)))
        assert same(x.merge(unit), x)
        assert same(unit.merge(x), x)


class TestSpots:
    @bounded
    @given(offsets=st.lists(st.integers(0, 60), unique=True, max_size=30), data=st.data())
    def test_the_first_places_are_kept_in_any_order_of_merging(
        self, offsets: list[int], data: st.DataObject
    ) -> None:
        parts = [Spots(1, (Spot("f", offset, 0, offset),)) for offset in offsets]
        rng = data.draw(st.randoms(use_true_random=False))
        merged = [*parts, Spots()]
        while len(merged) > 1:
            rng.shuffle(merged)
            merged.append(merged.pop().merge(merged.pop()))
        assert merged[0].count == len(offsets)
        assert [spot.offset for spot in merged[0].first] == sorted(offsets)[:5]


class TestRows:
    def test_lines_of_the_blocks_before_are_added(self) -> None:
        extents = {("f", 0): (100, 7), ("f", 100): (200, 0), ("f", 200): (300, 5), ("g", 0): (900, 44)}
        tally = Tally(blocks={place: Extent(*extent) for place, extent in extents.items()})
        assert tally.row_of(Spot("f", 250, 200, 3)) == 10
        assert tally.row_of(Spot("g", 250, 0, 3)) == 3

    def test_a_row_is_unknown_where_a_block_before_is_missing(self) -> None:
        tally = Tally(blocks={("f", 100): Extent(200, 3), ("f", 300): Extent(400, 5)})
        assert tally.row_of(Spot("f", 150, 100, 1)) is None
        assert tally.row_of(Spot("f", 350, 300, 1)) is None
        assert tally.row_of(Spot("elsewhere", 350, 300, 1)) is None
