"""Decimal text becomes the double that Python's float gives, bit for bit."""

from __future__ import annotations

import math
import random
import re
import struct
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tasks.series.floats import (
    HARD,
    NOT_A_NUMBER,
    OK,
    OVERFLOW,
    READABLE_AFTER_STOP,
    parse_float,
    parse_plain,
)

GRAMMAR = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MAX = math.nextafter(math.inf, 0)
SMALLEST, SMALLEST_NORMAL = 5e-324, 2.0**-1022

any_double = st.integers(0, 2**64 - 1).map(lambda bits: float_of(bits)).filter(math.isfinite)
subnormal = st.integers(1, 2**52 - 1).map(lambda bits: float_of(bits))
digits = st.text("0123456789", min_size=1, max_size=60)


def float_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def bits_of(value: float) -> bytes:
    return struct.pack("<d", value)


def parse(text: str | bytes, around: bytes = b"9") -> tuple[int, float]:
    """Convert `text` from the middle of a buffer whose other bytes would extend the number."""
    data = text.encode() if isinstance(text, str) else text
    buf = np.frombuffer(around * 3 + data + around * READABLE_AFTER_STOP, np.uint8)
    start = 3 * len(around)
    status, value = parse_float(buf, start, start + len(data))
    return status, value


def assert_as_float(text: str, hard_allowed: bool = False) -> None:
    expected = float(text)
    status, value = parse(text)
    if status == HARD:
        assert hard_allowed, text
        assert math.isnan(value)
    elif math.isinf(expected):
        assert (status, value) == (OVERFLOW, expected), text
    else:
        assert status == OK, text
        assert bits_of(value) == bits_of(expected), text


def exact(value: Decimal) -> str:
    """All digits of `value`, without an exponent."""
    return format(value, "f")


def halfway(low: float) -> Decimal:
    """The exact middle between a double and the next one away from zero."""
    with localcontext() as context:
        context.prec = 1200
        high = math.nextafter(low, math.copysign(math.inf, low))
        beyond = Decimal(high) if math.isfinite(high) else Decimal(2**1024).copy_sign(Decimal(low))
        return (Decimal(low) + beyond) / 2


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile before the first example, which has a deadline."""
    parse("1")


class TestNearestDouble:
    @given(any_double)
    @example(MAX)
    @example(-MAX)
    @example(SMALLEST)
    @example(SMALLEST_NORMAL)
    @example(-0.0)
    def test_shortest_and_longer_forms(self, value: float) -> None:
        assert_as_float(repr(value))
        assert_as_float(f"{value:.17g}")
        assert_as_float(f"{value:.16e}")
        assert_as_float(f"{value:.18e}")
        assert_as_float(f"{value:.25e}", hard_allowed=True)

    @given(st.floats(-1e6, 1e6), st.integers(0, 25))
    def test_fixed_point_forms(self, value: float, places: int) -> None:
        assert_as_float(f"{value:.{places}f}", hard_allowed=places > 12)

    @given(subnormal)
    @example(SMALLEST)
    @example(math.nextafter(SMALLEST_NORMAL, 0))
    def test_subnormals(self, value: float) -> None:
        assert_as_float(repr(value))
        assert_as_float(f"{-value:.18e}")

    def test_both_sides_of_all_powers_of_two(self) -> None:
        for exponent in range(-1074, 1024):
            power = 2.0**exponent
            for value in (math.nextafter(power, 0), power, math.nextafter(power, math.inf)):
                assert_as_float(repr(value))
                assert_as_float(f"{value:.18e}")

    @given(st.integers(0, 2**64 - 1), st.integers(-345, 312))
    @example(2**53, 22)
    @example(2**53 + 1, 0)
    @example(2**53 + 1, 22)
    @example(10**19 - 1, 289)
    @example(9_007_199_254_740_993, -22)
    @example(1, -400)
    @example(1, 400)
    def test_any_word_of_digits_times_a_power_of_ten(self, mantissa: int, exponent: int) -> None:
        # A twenty-digit word is above the 19 that are always decided.
        assert_as_float(f"{mantissa}e{exponent}", hard_allowed=mantissa >= 10**19)

    @pytest.mark.parametrize("exponent", range(-4, 24))
    @given(share=st.floats(0, 1))
    @settings(max_examples=20)
    def test_ties_go_to_even(self, exponent: int, share: float) -> None:
        # mantissa·10^exponent is an odd number of 54 bits times a power of two: half
        # a unit beyond 53 bits. No other exponent leaves room for one in 19 digits.
        odd = int(2**53 * (1 + share)) | 1
        mantissa = (
            odd // 5**exponent | 1 if exponent >= 0 else min(odd, 10**19 // 5**-exponent) * 5**-exponent
        )
        assert_as_float(f"{mantissa}e{exponent}")
        assert_as_float(f"{mantissa}.{'0' * 20}e{exponent}")
        assert_as_float(f"{mantissa + 1}e{exponent}")
        assert_as_float(f"{mantissa - 1}e{exponent}")

    @pytest.mark.parametrize(
        "text",
        [
            "9007199254740993",
            "9007199254740995",
            "900719925474099.25e1",
            "45035996273704985e-1",
            "45035996273704975e-1",
            "22517998136852482.5",
            "4503599627370497.5",
            "0.5000000000000000555e0",
            "1e23",
            "8.5e22",
            "6631236846766476e-316",
            "2.2250738585072011e-308",
            "2.2250738585072012e-308",
            "7.2057594037927933e16",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
        ],
    )
    def test_known_hard_roundings(self, text: str) -> None:
        assert_as_float(text)

    @given(any_double)
    @example(0.0)
    @example(SMALLEST)
    @example(math.nextafter(SMALLEST_NORMAL, 0))
    @example(SMALLEST_NORMAL)
    @example(MAX)
    @settings(max_examples=60)
    def test_exact_halfway_cases_and_their_neighbours(self, low: float) -> None:
        middle = halfway(low)
        with localcontext() as context:
            context.prec = 1200
            near, far = abs(middle) * Decimal("1e-25"), abs(middle) * Decimal("2e-18")
            for value in (middle, middle + near, middle - near):
                assert_as_float(exact(value), hard_allowed=True)
            for value in (middle + far, middle - far):
                assert_as_float(exact(value))

    @given(any_double)
    def test_halfway_cases_cut_to_nineteen_and_eighteen_digits(self, low: float) -> None:
        middle = f"{halfway(low):.18e}"
        head, tail = middle.split("e")
        assert_as_float(f"{head}e{tail}")
        assert_as_float(f"{head[:-1]}e{tail}")


class TestRange:
    @pytest.mark.parametrize("sign", ["", "-", "+"])
    @pytest.mark.parametrize(
        "text",
        ["1e309", "1e400", "1e99999999999999999999", "1.7976931348623159e308", "1" + "0" * 400],
    )
    def test_too_large_overflows_with_its_sign(self, sign: str, text: str) -> None:
        assert parse(sign + text) == (OVERFLOW, -math.inf if sign == "-" else math.inf)

    def test_the_last_text_that_is_not_infinite(self) -> None:
        assert parse("1.7976931348623157e308") == (OK, MAX)
        assert parse("1.797693134862315807e308") == (OK, MAX)
        assert_as_float("1.797693134862315808e308")

    @pytest.mark.parametrize(
        "text",
        [
            "1e-400",
            "0e400",
            "0.0",
            "0e99999999999999999999",
            "1e-99999999999999999999",
            "." + "0" * 400 + "1",
        ],
    )
    def test_too_small_is_a_zero_with_its_sign(self, text: str) -> None:
        for sign in ("", "-", "+"):
            status, value = parse(sign + text)
            assert status == OK
            assert bits_of(value) == bits_of(-0.0 if sign == "-" else 0.0)

    @given(st.integers(0, 500), st.integers(1, 10**19 - 1), st.integers(-30, 30))
    def test_leading_zeros_cancel_against_the_exponent(
        self, zeros: int, mantissa: int, exponent: int
    ) -> None:
        assert_as_float(f"0.{'0' * zeros}{mantissa}e{zeros + exponent}")
        assert_as_float(f"{'0' * zeros}{mantissa}e{exponent}")

    @given(st.integers(0, 400), st.integers(1, 10**19 - 1))
    def test_trailing_zeros_are_always_decided(self, zeros: int, mantissa: int) -> None:
        assert_as_float(f"{mantissa}{'0' * zeros}e-{zeros}")
        assert_as_float(f"{mantissa}.{'0' * zeros}")


class TestLongTexts:
    @given(digits, digits, st.integers(-400, 400))
    def test_never_wrong_and_undecided_only_above_nineteen_digits(
        self, whole: str, part: str, exponent: int
    ) -> None:
        significant = (whole + part).strip("0")
        assert_as_float(f"{whole}.{part}e{exponent}", hard_allowed=len(significant) > 19)

    def test_random_seventeen_digit_texts_are_never_undecided(self) -> None:
        rng = random.Random(17)
        for _ in range(20_000):
            assert_as_float(f"{rng.randrange(10**16, 10**17)}e{rng.randrange(-330, 300)}")

    def test_undecided_is_rare_on_random_long_texts(self) -> None:
        rng = random.Random(30)
        hard = 0
        for _ in range(20_000):
            text = f"{rng.randrange(10**29, 10**30)}e{rng.randrange(-330, 270)}"
            hard += parse(text)[0] == HARD
            assert_as_float(text, hard_allowed=True)
        # About one in 600 at uniformly distributed digits.
        assert 0 < hard < 20_000 / 250

    def test_a_halfway_text_that_only_its_last_digit_decides_is_undecided(self) -> None:
        assert parse("9007199254740993.00000000000000000001")[0] == HARD


class TestGrammar:
    @pytest.mark.parametrize(
        "text", ["5.", ".5", "-.5e1", "+5.E-1", "1e+2", "007", "1E5", "0", "-0", "00.00"]
    )
    def test_forms_with_an_empty_side_and_signs(self, text: str) -> None:
        assert_as_float(text)

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                "+",
                "-",
                ".",
                "-.",
                "e5",
                ".e5",
                "1e",
                "1e+",
                "1e-",
                "--1",
                "+-1",
                "1.2.3",
                "1..2",
                "1e5.0",
            ),
            *(
                "1e5e5",
                "1-",
                "1+2",
                "1,5",
                "1f",
                "1d5",
                "x",
                "0x10",
                "0x1p3",
                "0b1",
                "1/2",
                "1e 5",
                "1:2",
                "/1",
            ),
            *(":1", "1\x00", "\x001", "1\n2", "12345678x", "1234567/", "1234567:", "1e5x", "\xff1", "1\xff"),
        ],
    )
    def test_what_float_refuses(self, text: str) -> None:
        data = text.encode("latin-1")
        with pytest.raises(ValueError):
            float(data)
        status, value = parse(data)
        assert status == NOT_A_NUMBER
        assert math.isnan(value)

    @pytest.mark.parametrize(
        "text", ["1_000", "1_0.5", " 1", "1 ", "\t1", "1\n", "1\r", "inf", "-Infinity", "nan", "+NaN"]
    )
    def test_what_float_takes_and_the_grammar_does_not(self, text: str) -> None:
        float(text)
        assert parse(text)[0] == NOT_A_NUMBER

    @given(st.binary(max_size=24) | st.text("0123456789.eE+-", max_size=30).map(str.encode))
    @example(b"1" * 8 + b"\xfa")
    @example(b"\xfa\xfa1")
    @settings(max_examples=500)
    def test_any_bytes_are_numbers_by_the_grammar_alone(self, data: bytes) -> None:
        status, _ = parse(data)
        assert (status == NOT_A_NUMBER) == (GRAMMAR.fullmatch(data) is None)

    @pytest.mark.parametrize("around", [b"0", b"9", b".", b"e", b"\xff", b"\x00"])
    def test_bytes_outside_the_text_do_not_matter(self, around: bytes) -> None:
        for text in ("1", "12345678", "1.5", "1e5", "123456789.123456789"):
            assert parse(text, around) == (OK, float(text))

    def test_a_stop_before_the_start_is_an_empty_text(self) -> None:
        assert parse_float(np.frombuffer(b"1" * 64, np.uint8), 9, 5)[0] == NOT_A_NUMBER


class TestCallers:
    def test_compiled_callers_and_writable_buffers(self) -> None:
        @njit(nogil=True)
        def second(buf: np.ndarray, start: int, stop: int) -> float:
            return parse_float(buf, start, stop)[1] + 1.0

        writable = np.frombuffer(b"2.5" + b" " * READABLE_AFTER_STOP, np.uint8).copy()
        assert second(writable, 0, 3) == 3.5
        assert parse_float(writable, 0, 3) == (OK, 2.5)


class TestPlainNumbers:
    """The quick reader of many digits gives what `float` gives, or declines."""

    @staticmethod
    def check(text: str) -> bool:
        data = text.encode()
        buf = np.frombuffer(b"9.9,9.9," * 2 + data + b",9.9" * READABLE_AFTER_STOP, np.uint8)
        plain, value = parse_plain(buf, 16, 16 + len(data))
        if plain:
            assert re.fullmatch(r"[0-9]{1,7}\.[0-9]{1,16}", text), text
            assert bits_of(value) == bits_of(float(text)), text
        return bool(plain)

    @settings(max_examples=500, deadline=None)
    @given(text=st.one_of(st.text("0123456789" * 2 + "./-:,e", max_size=26), any_double.map(repr)))
    @example(text="9999999.999999999999")
    @example(text="9007199.2547409930001")
    def test_any_text(self, text: str) -> None:
        self.check(text)

    @settings(max_examples=1500, deadline=None)
    @given(whole=st.integers(0, 9_999_999), decimals=st.text("0123456789", min_size=1, max_size=16))
    def test_it_reads_whatever_has_few_enough_digits(self, whole: int, decimals: str) -> None:
        assert self.check(f"{whole}.{decimals}") == (len(str(whole)) + len(decimals) <= 19)
