"""Draws depend on key and position only, and are the same everywhere."""

from __future__ import annotations

import numpy as np

from tasks.sampling.hashing import bits, draw, key_of, normals, shuffled, uniforms, uniforms_at


def test_the_stream_of_key_zero_is_that_of_splitmix64():
    # First outputs of the reference implementation with seed 0.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert bits(np.uint64(0), np.array([1, 2, 3])).tolist() == expected


def test_compiled_and_array_draws_agree():
    key, positions = key_of("a", 1), np.arange(-50, 50)
    assert bits(key, positions).tolist() == [int(draw(key, position)) for position in positions]


def test_keys_tell_apart_names_that_join_to_the_same_text():
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of(0, "kalos") == key_of(0, "kalos")


def test_a_position_has_the_same_number_in_any_array():
    key = key_of("b")
    assert uniforms_at(key, np.array([7, 3])).tolist() == uniforms(key, 8)[[7, 3]].tolist()


def test_numbers_are_uniform_and_normal():
    flat, bell = uniforms(key_of("c"), 100_000), normals(key_of("d"), 100_000)
    assert 0 < flat.min() < flat.max() < 1
    assert abs(np.sort(flat) - np.linspace(0, 1, 100_000)).max() < 0.01
    assert abs(bell.mean()) < 0.02
    assert abs(bell.std() - 1) < 0.02


def test_a_shuffle_holds_every_number_once():
    order = shuffled(key_of("e"), 100)
    assert sorted(order.tolist()) == list(range(100)) != order.tolist()
