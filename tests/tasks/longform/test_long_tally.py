"""Tallies of IPMI files add up in any order and travel as bytes."""

from __future__ import annotations

import functools
import io
import itertools
from fractions import Fraction

import numpy as np
import pytest

from tasks.longform import IPMI, LongTally
from tasks.series.units import ThreadExecutor, plan_file
from tasks.storage.units import UnitStore


def content(tally: LongTally) -> tuple[object, ...]:
    """All of a tally as values that compare."""
    with np.load(io.BytesIO(tally.to_bytes())) as outer, np.load(io.BytesIO(outer["base"].tobytes())) as base:
        return tuple(
            (name, archive[name].dtype, archive[name].tolist())
            for archive in (outer, base)
            for name in archive.files
            if name != "base"
        )


@pytest.fixture(scope="module")
def parts(bench, rows_of) -> list[LongTally]:
    text = bench.header
    text += rows_of("b", ["100", "", "412.5", "0", "x"], ["50", "", "50", "51", "50"])
    text += rows_of("a", ["7", "7.25", "1e300", "-1e300", "3"], step=40)
    text += "2023-06-01,ragged\n" + rows_of("c", ["0.1"] * 10, [""] * 10)
    head = bench.head(text)
    third = len(text) // 4
    return bench.tallies(head, [third, 2 * third, 3 * third])


def test_merging_is_associative_and_commutative(parts):
    expected = content(functools.reduce(LongTally.merge, parts))
    for order in itertools.permutations(parts):
        assert content(functools.reduce(LongTally.merge, order)) == expected
    a, b, c, d = parts
    assert content(a.merge(b).merge(c.merge(d))) == expected
    assert content(a.merge(b.merge(c.merge(d)))) == expected


def test_the_empty_tally_is_the_unit(parts):
    for part in parts:
        assert content(part.merge(LongTally())) == content(part)
        assert content(LongTally().merge(part)) == content(part)


def test_bytes_give_the_tally_back_and_hold_no_pickle(parts):
    for part in [*parts, LongTally(), functools.reduce(LongTally.merge, parts)]:
        again = LongTally.from_bytes(part.to_bytes())
        assert content(again) == content(part)
        assert again.nodes.with_memory == part.nodes.with_memory
        with np.load(io.BytesIO(part.to_bytes()), allow_pickle=False) as archive:
            assert all(archive[name].dtype.kind in "iuf" for name in archive.files)


def test_sums_of_values_of_any_size_are_exact(parts):
    whole = functools.reduce(LongTally.merge, parts)
    hours = whole.hours_of(0)
    total = sum(hours.real_total.to_fractions()) + int(hours.fixed_total.sum())
    values = [100, 412.5, 0, 7, 7.25, 3] + [0.1] * 10
    assert total == sum(map(Fraction, values))


def test_units_run_and_are_remembered(bench, rows_of, tmp_path):
    head = bench.head(bench.header + "".join(rows_of(f"n{i}", ["5", "6"] * 50) for i in range(9)))
    scan = plan_file(IPMI, head, bench.spec, 7000)
    assert len(scan.units) > 3
    store = UnitStore(tmp_path / "units")
    first = ThreadExecutor(2).run(scan, store)
    assert first.rows == 900
    again = ThreadExecutor(1).run(scan, store)
    assert content(again) == content(first)
