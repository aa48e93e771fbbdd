"""The restricted loader: the known forms load, everything else is named and refused."""

from __future__ import annotations

import builtins
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UntrustedPickle
from tasks.outputs.pickles import dump_pairs
from tasks.outputs.unpickling import load_pairs


class Calls:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self.call


def test_every_published_pickle_equals_the_published_numbers_bit_for_bit(reference: Path) -> None:
    numbers = pd.read_csv(reference / "published_quantiles.csv")
    files = sorted((reference / "util_pkl").glob("*.pkl"))
    assert {file.name for file in files} == set(numbers["pickle"])
    assert len(files) == 13
    for file in files:
        arrays = load_pairs(file.read_bytes())
        pairs = numbers[numbers["pickle"] == file.name].groupby("pair", sort=True)
        assert len(arrays) == 2 * len(pairs)
        for (_, rows), x, y in zip(pairs, arrays[::2], arrays[1::2], strict=True):
            assert x.tobytes() == rows["value"].to_numpy().tobytes(), file.name
            assert y.tobytes() == rows["level_pct"].to_numpy().tobytes(), file.name


def test_published_pandas_series_become_plain_arrays(reference: Path) -> None:
    x, y = load_pairs((reference / "util_pkl" / "util_gpu_pai.pkl").read_bytes())
    assert type(x) is type(y) is np.ndarray
    assert x.shape == y.shape == (74,)


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_pickled_by_numpy_itself_load(protocol: int) -> None:
    (array,) = load_pairs(pickle.dumps([np.arange(5.0)], protocol=protocol))
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_big_endian_arrays_load_in_native_order() -> None:
    (array,) = load_pairs(pickle.dumps([np.arange(3.0).astype(">f8")], protocol=4))
    assert array.dtype.isnative
    assert array.tolist() == [0, 1, 2]


def test_loaded_arrays_are_independent_and_writable() -> None:
    shared = np.arange(3.0)
    one, other = load_pairs(pickle.dumps([shared, shared], protocol=4))
    one[0] = 7
    assert one.flags.owndata
    assert one.flags.writeable
    assert other[0] == 0


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch {}",), f"{os.system.__module__}.system"),
        (builtins.eval, ("open('{}', 'w')",), "builtins.eval"),
        (builtins.open, ("{}", "w"), "open"),
        (builtins.getattr, ("x", "upper"), "builtins.getattr"),
        (np.load, ("{}",), "numpy.load"),
        (np.save, ("{}", 1), "numpy.save"),
        (np.fromfile, ("{}",), "numpy.fromfile"),
        (np.memmap, ("{}",), "numpy.memmap"),
        (pd.read_pickle, ("{}",), "read_pickle"),
        (bytearray, (10,), "builtins.bytearray"),
    ],
)
def test_a_forbidden_global_is_named_and_not_called(
    tmp_path: Path, function: Callable[..., object], arguments: tuple[object, ...], name: str
) -> None:
    trace = tmp_path / "trace"
    filled = [a.format(trace) if isinstance(a, str) else a for a in arguments]
    with pytest.raises(UntrustedPickle, match=r"forbidden global .*" + name.replace(".", r"\.")):
        load_pairs(pickle.dumps([np.arange(2.0), Calls(function, *filled)], protocol=4))
    assert not trace.exists()


def test_an_attribute_path_does_not_reach_past_an_allowed_module() -> None:
    dotted = b"\x80\x04\x8c\x05numpy\x8c\x09os.system\x93\x8c\x02id\x85R."
    with pytest.raises(UntrustedPickle, match=r"numpy\.os\.system"):
        load_pairs(dotted)


@pytest.mark.parametrize(
    "content",
    [
        {"x": np.arange(2.0)},
        (np.arange(2.0),),
        np.arange(2.0),
        [1.0, 2.0],
        [np.arange(2)],
        [np.arange(2, dtype=np.float32)],
        [np.ones((2, 2))],
        [np.array([None, {}], dtype=object)],
        [[np.arange(2.0)]],
        "text",
    ],
)
def test_anything_but_a_list_of_float64_arrays_is_refused(content: object) -> None:
    with pytest.raises(UntrustedPickle):
        load_pairs(pickle.dumps(content, protocol=4))


@pytest.mark.parametrize("name", [b"cnumpy\nndarray\n", b"cnumpy\narray\n", b"cpandas.core.series\nSeries\n"])
@pytest.mark.parametrize("state", [b"}S'values'\nK\x01s", b"N}S'__setstate__'\nK\x01s\x86", b"N", b")"])
def test_a_pickle_cannot_change_what_the_loader_works_with(name: bytes, state: bytes) -> None:
    with pytest.raises(UntrustedPickle):
        load_pairs(b"\x80\x04]" + name + state + b"ba.")
    assert load_pairs(dump_pairs([np.arange(2.0)]))[0].tolist() == [0, 1]


def test_series_of_a_made_up_form_are_refused() -> None:
    made_up = b"\x80\x04]cpandas.core.series\nSeries\n)\x81}\x8c\x04_mgrh\x00}\x8c\x04_mgr}sba."
    for data in (made_up, b"\x80\x04]cpandas.core.series\nSeries\n)\x81}\x8c\x04_mgr}sba."):
        with pytest.raises(UntrustedPickle):
            load_pairs(data)


@given(st.binary(max_size=60))
def test_noise_is_refused_or_an_empty_list(noise: bytes) -> None:
    with suppress(UntrustedPickle):
        assert load_pairs(noise) == []


@given(st.data())
def test_a_damaged_pickle_loads_as_arrays_or_is_refused(data: st.DataObject) -> None:
    whole = bytearray(dump_pairs([np.arange(4.0), np.linspace(0, 1, 4)]))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    try:
        loaded = load_pairs(bytes(whole))
    except UntrustedPickle:
        return
    assert all(
        type(array) is np.ndarray and array.dtype == np.float64 and array.ndim == 1 for array in loaded
    )


def test_a_truncated_pickle_is_refused_with_advice() -> None:
    with pytest.raises(UntrustedPickle, match=r"cannot be read.*CSV or Parquet"):
        load_pairs(dump_pairs([np.arange(4.0)])[:-20])


def test_loading_old_series_does_not_touch_pandas(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert len(load_pairs((reference / "util_pkl" / "util_gpu_pai.pkl").read_bytes())) == 2
