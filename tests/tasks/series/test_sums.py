"""Exact sums: the same number and the same arrays in every order and grouping."""

from __future__ import annotations

import io
import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tasks.series.sums import ADDS_BEFORE_NORMALISE, LIMBS, ExactSums, LimbArray, add_value, normalise

MAX = math.nextafter(math.inf, 0)
SMALLEST = 5e-324

finite = st.floats(allow_nan=False, allow_infinity=False)
telling = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, MAX, -MAX, SMALLEST, -SMALLEST, 2.0**-1022, 2.0**31]
)
values_list = st.lists(finite | telling, max_size=30)
rows_list = st.lists(st.lists(finite | telling, max_size=6), min_size=1, max_size=5)


def accumulate(rows: list[list[float]]) -> LimbArray:
    limbs = np.zeros((len(rows), LIMBS), dtype=np.int64)
    for row, values in enumerate(rows):
        for value in values:
            assert add_value(limbs, row, value)
    return limbs


def sums_of(*rows: list[float]) -> ExactSums:
    return ExactSums.from_limbs(accumulate(list(rows)))


def fraction_sum(values: list[float]) -> Fraction:
    return sum((Fraction(value) for value in values), Fraction(0))


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile before the first example, which has a deadline."""
    sums_of([1.0])


class TestAddValue:
    @given(finite)
    @example(MAX)
    @example(-MAX)
    @example(SMALLEST)
    @example(2.0**-1022)
    @example(-0.0)
    def test_one_value_is_itself(self, value: float) -> None:
        assert sums_of([value]).to_fractions() == [Fraction(value)]

    def test_every_position(self) -> None:
        for exponent in range(-1074, 1024):
            power = 2.0**exponent
            odd = math.nextafter(power, math.inf)
            odd = odd if math.isfinite(odd) else MAX
            assert sums_of([power, odd, -odd, odd]).to_fractions() == [Fraction(power) + Fraction(odd)]

    @pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
    def test_what_is_not_finite_is_refused_and_changes_nothing(self, value: float) -> None:
        limbs = accumulate([[1.5, -2.0]])
        before = limbs.copy()
        assert not add_value(limbs, 0, value)
        assert np.array_equal(limbs, before)

    def test_only_the_row_changes(self) -> None:
        limbs = np.zeros((3, LIMBS), dtype=np.int64)
        add_value(limbs, 1, -7.25)
        assert ExactSums.from_limbs(limbs).to_floats().tolist() == [0.0, -7.25, 0.0]

    @pytest.mark.parametrize(
        "value", [MAX, -MAX, SMALLEST, -math.nextafter(1.0, 0), math.nextafter(2.0**31, 0)]
    )
    def test_headroom_is_as_promised(self, value: float) -> None:
        one = np.zeros((1, LIMBS), dtype=np.int64)
        add_value(one, 0, value)
        # The worst that a canonical row can hold, and the promised number of additions to it.
        top = 2**31 - 1 if value > 0 else -(2**31)
        held = [top + int(limb) * ADDS_BEFORE_NORMALISE for limb in one[0]]
        assert all(-(2**63) <= limb < 2**63 for limb in held)
        assert max(abs(int(limb)) for limb in one[0]) < 2**32
        many = ExactSums.from_limbs(one * ADDS_BEFORE_NORMALISE)
        assert many.to_fractions() == [Fraction(value) * ADDS_BEFORE_NORMALISE]


class TestNormalise:
    @given(values_list)
    def test_sum_stays_and_digits_are_balanced(self, values: list[float]) -> None:
        limbs = accumulate([values])
        normalise(limbs)
        assert limbs[0].min() >= -(2**31)
        assert limbs[0].max() < 2**31
        assert ExactSums.from_limbs(limbs).to_fractions() == [fraction_sum(values)]

    @given(values_list, values_list)
    def test_normalising_on_the_way_changes_nothing(self, first: list[float], second: list[float]) -> None:
        limbs = accumulate([first])
        normalise(limbs)
        once = limbs.copy()
        normalise(limbs)
        assert np.array_equal(limbs, once)
        for value in second:
            add_value(limbs, 0, value)
        assert ExactSums.from_limbs(limbs) == sums_of(first + second)

    def test_from_limbs_leaves_its_argument(self) -> None:
        limbs = accumulate([[2.0**45] * 5])
        before = limbs.copy()
        ExactSums.from_limbs(limbs)
        assert np.array_equal(limbs, before)


class TestCanonicalForm:
    @given(values_list, st.randoms(use_true_random=False))
    def test_order_does_not_matter(self, values: list[float], rng: random.Random) -> None:
        shuffled = values.copy()
        rng.shuffle(shuffled)
        assert sums_of(values) == sums_of(shuffled)

    @given(values_list)
    def test_equal_sums_are_equal_however_they_arose(self, values: list[float]) -> None:
        cancelled = values + [-value for value in values]
        assert sums_of(cancelled) == ExactSums.zeros(1)
        assert sums_of([*cancelled, 0.1]) == sums_of([0.1])

    def test_different_sums_differ(self) -> None:
        assert sums_of([1.0]) != sums_of([math.nextafter(1.0, 2)])
        assert sums_of([1.0]) != sums_of([-1.0])
        assert sums_of([1.0]) != sums_of([2.0**32])
        assert sums_of([1.0]) != sums_of([1.0], [0.0])
        assert sums_of([1.0]) != "1.0"

    def test_negative_sums_are_as_compact_as_positive_ones(self) -> None:
        assert sums_of([-1.0]).limbs.shape == sums_of([1.0]).limbs.shape == (1, 1)

    def test_storage_covers_the_used_range_only(self) -> None:
        sums = sums_of([0.001] * 20, [99_999.5], [])
        assert sums.limbs.shape[0] == 3
        assert sums.limbs.shape[1] <= 5

    def test_arrays_are_read_only_and_the_value_is_not_hashable(self) -> None:
        sums = sums_of([1.0])
        with pytest.raises(ValueError):
            sums.limbs[0, 0] = 5
        with pytest.raises(TypeError):
            hash(sums)

    @pytest.mark.parametrize(
        ("first", "limbs"),
        [
            (0, np.zeros((1, 1), np.int64)),
            (3, np.zeros((1, 0), np.int64)),
            (0, np.array([[1, 0]])),
            (0, np.array([[0, 1]])),
            (0, np.array([[2**31]])),
            (0, np.array([[-(2**31) - 1]])),
            (-1, np.array([[1]])),
            (LIMBS, np.array([[1]])),
            (0, np.array([1])),
            (0, np.array([[1]], np.int32)),
        ],
    )
    def test_anything_else_cannot_be_built(self, first: int, limbs: LimbArray) -> None:
        with pytest.raises(ValueError):
            ExactSums(first, limbs)


class TestMerge:
    @given(rows_list, rows_list, rows_list)
    def test_is_associative_and_commutative_with_a_unit(
        self, a: list[list[float]], b: list[list[float]], c: list[list[float]]
    ) -> None:
        n = max(len(a), len(b), len(c))
        x, y, z = (sums_of(*(rows + [[]] * (n - len(rows)))) for rows in (a, b, c))
        assert x.merge(y) == y.merge(x)
        assert x.merge(y).merge(z) == x.merge(y.merge(z))
        assert x.merge(ExactSums.zeros(n)) == x == ExactSums.zeros(n).merge(x)

    @given(values_list, values_list)
    def test_is_the_sum_of_all_values(self, first: list[float], second: list[float]) -> None:
        merged = sums_of(first).merge(sums_of(second))
        assert merged == sums_of(first + second)
        assert merged.to_fractions() == [fraction_sum(first + second)]

    @pytest.mark.parametrize("sign", [1, -1])
    def test_carries_out_of_the_highest_limb_in_use(self, sign: int) -> None:
        # Just above half of the largest digit, so that two of them carry.
        value = sign * math.nextafter(2.0**44, math.inf)
        one = sums_of([value])
        assert one.merge(one) == sums_of([value, value])
        assert one.merge(one).merge(one) == sums_of([value] * 3)
        assert sums_of([value], [value]).total() == sums_of([value, value])

    def test_needs_the_same_rows(self) -> None:
        with pytest.raises(ValueError, match="same rows"):
            ExactSums.zeros(2).merge(ExactSums.zeros(3))


class TestTake:
    @given(rows_list, st.data())
    def test_moves_and_adds_rows(self, rows: list[list[float]], data: st.DataObject) -> None:
        n = data.draw(st.integers(1, 8))
        places = data.draw(st.lists(st.integers(0, n - 1), min_size=len(rows), max_size=len(rows)))
        expected: list[list[float]] = [[] for _ in range(n)]
        for place, values in zip(places, rows, strict=True):
            expected[place] += values
        assert sums_of(*rows).take(np.array(places), n) == sums_of(*expected)

    @given(rows_list)
    def test_total_is_the_sum_of_all_rows(self, rows: list[list[float]]) -> None:
        assert sums_of(*rows).total() == sums_of([value for row in rows for value in row])

    def test_nothing_has_a_total_and_can_be_moved(self) -> None:
        assert ExactSums.zeros(0).total() == ExactSums.zeros(1)
        assert ExactSums.zeros(0).take(np.array([], np.int64), 4) == ExactSums.zeros(4)

    @pytest.mark.parametrize("places", [[0], [0, 2], [-1, 0], [0, 1, 1]])
    def test_every_row_needs_a_place(self, places: list[int]) -> None:
        with pytest.raises(ValueError, match="index map"):
            sums_of([1.0], [2.0]).take(np.array(places), 2)


class TestReading:
    @given(values_list)
    @settings(max_examples=300)
    def test_floats_are_rounded_once(self, values: list[float]) -> None:
        try:
            expected = float(fraction_sum(values))
        except OverflowError:
            expected = math.inf if fraction_sum(values) > 0 else -math.inf
        assert sums_of(values).to_floats().tolist() == [expected]

    @given(st.lists(st.floats(-1e300, 1e300) | st.sampled_from([SMALLEST, -1e300, 1e300]), max_size=40))
    def test_floats_are_those_of_fsum(self, values: list[float]) -> None:
        assert sums_of(values).to_floats().tolist() == [math.fsum(values)]

    def test_the_largest_double_is_the_last_before_infinity(self) -> None:
        below_half = math.nextafter(2.0**970, 0)
        assert sums_of([MAX, below_half], [MAX, 2.0**970]).to_floats().tolist() == [MAX, math.inf]

    def test_ties_go_to_even(self) -> None:
        assert sums_of([1.0, 2.0**-53], [1.0, 2.0**-52, 2.0**-53]).to_floats().tolist() == [1.0, 1 + 2.0**-51]
        assert sums_of([1.0, 2.0**-53, SMALLEST]).to_floats().tolist() == [math.nextafter(1.0, 2)]

    def test_huge_and_tiny_do_not_swallow_each_other(self) -> None:
        assert sums_of([MAX, SMALLEST, -MAX]).to_floats().tolist() == [SMALLEST]

    def test_beyond_the_doubles_is_infinite_but_the_sum_is_kept(self) -> None:
        sums = sums_of([MAX, MAX], [-MAX, -MAX])
        assert sums.to_floats().tolist() == [math.inf, -math.inf]
        assert sums.merge(sums_of([-MAX], [MAX])).to_floats().tolist() == [MAX, -MAX]

    def test_a_sum_of_many(self) -> None:
        values = np.random.default_rng(5).lognormal(0, 40, 20_000) * np.where(np.arange(20_000) % 2, 1, -1)
        limbs = np.zeros((1, LIMBS), dtype=np.int64)
        assert add_all(limbs, values)
        assert ExactSums.from_limbs(limbs).to_floats()[0] == math.fsum(values)


@njit(nogil=True)
def add_all(limbs: LimbArray, values: np.ndarray) -> bool:
    """As a scan does it: `add_value` from compiled code."""
    added = True
    for value in values:
        added &= add_value(limbs, 0, value)
    return added


class TestTravel:
    @given(rows_list)
    def test_pickle_and_npz_give_the_same_value(self, rows: list[list[float]]) -> None:
        sums = sums_of(*rows)
        back = pickle.loads(pickle.dumps(sums))
        assert back == sums
        assert not back.limbs.flags.writeable
        file = io.BytesIO()
        plain = sums.to_arrays()
        np.savez(file, first_limb=plain["first_limb"], limbs=plain["limbs"])
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            assert ExactSums.from_arrays(arrays) == sums

    def test_pickles_small(self) -> None:
        sums = sums_of(*[[float(i) + 0.1] for i in range(1, 1001)])
        assert len(pickle.dumps(sums)) < 1000 * 4 * 4 + 500

    def test_arrays_from_elsewhere_are_checked(self) -> None:
        arrays = sums_of([1.0]).to_arrays()
        with pytest.raises(ValueError):
            ExactSums.from_arrays({**arrays, "limbs": arrays["limbs"] * 0})
        with pytest.raises(ValueError):
            ExactSums.from_arrays({**arrays, "limbs": arrays["limbs"] * 0.5})
        with pytest.raises(ValueError):
            ExactSums.from_arrays({**arrays, "first_limb": np.array([1, 2])})
