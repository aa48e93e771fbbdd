"""Eight bytes at a time give what a loop over the bytes gives."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tasks.series.swar import ONES, ZEROS, eight_digits, load64, not_digits, trailing_zeros, zero_bytes

bounded = settings(max_examples=300, deadline=None)
words = st.binary(min_size=8, max_size=8) | st.lists(
    st.sampled_from(b"09,./:\n\x00\x01\xff"), min_size=8, max_size=8
).map(bytes)


@njit
def _first(buf: np.ndarray, at: int, byte: int) -> int:
    hits = zero_bytes(load64(buf, at) ^ (ONES * np.uint64(byte)))
    return trailing_zeros(hits) >> 3 if hits != 0 else -1


@njit
def _digits(buf: np.ndarray, at: int) -> int:
    values = load64(buf, at) ^ ZEROS
    return -1 if not_digits(values) != 0 else int(eight_digits(values))


@bounded
@given(word=words, before=st.integers(0, 9), byte=st.sampled_from(b",.\n\x00"))
@example(word=b"-,,-,,--", before=3, byte=44)
def test_the_first_place_of_a_byte_at_any_alignment(word: bytes, before: int, byte: int) -> None:
    buf = np.frombuffer(bytes([byte]) * before + word + bytes([byte]), np.uint8)
    assert _first(buf, before, byte) == word.find(bytes([byte]))


@bounded
@given(word=words | st.integers(0, 99_999_999).map(lambda n: b"%08d" % n))
@example(word=b"99999999")
@example(word=b"0000000:")
@example(word=b"/0000000")
def test_eight_digits_are_their_number_and_others_are_none(word: bytes) -> None:
    expected = int(word) if word.isdigit() else -1
    assert _digits(np.frombuffer(b"x" + word, np.uint8), 1) == expected
