"""The published pickles: portable bytes, the right curves, reasons for what is left out."""

from __future__ import annotations

import os
import pickle
import pickletools
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.manifest import PickleEntry
from schemas.pickles import AUGUST, PICKLES, WHOLE
from tasks.outputs.pickles import build_pickles, dump_pairs, load_pairs
from tasks.series.summary import Curve

ARRAYS = st.lists(hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats()), max_size=4)

OLD_NUMPY = "numpy==1.24.4"
# What the published analysis notebook does with a pickle, and what it must not be told of.
NOTEBOOK = """
import importlib.util, pickle, sys
import numpy as np
assert np.__version__.startswith("1.24"), np.__version__
assert importlib.util.find_spec("pandas") is None
with open(sys.argv[1], "rb") as f:
    x1, y1, x2, y2 = pickle.load(f)
for a in (x1, y1, x2, y2):
    assert type(a) is np.ndarray and a.dtype == np.float64 and a.shape == (1000,)
    assert a.flags.owndata and a.flags.writeable
share = x1 / max(x1) * 100
x2 /= 2
x2[0] = -1.0
assert share[-1] == 100 and y1[500] > 50 and x1[y1 >= 50][0] >= 0 and np.median(y2) == 50
sys.stdout.buffer.write(x1.tobytes() + y1.tobytes())
"""


def entries(built: list[tuple[PickleEntry, bytes | None]]) -> dict[str, tuple[PickleEntry, bytes | None]]:
    return {entry.name: (entry, data) for entry, data in built}


@given(ARRAYS)
def test_arrays_come_back_bit_for_bit_from_both_loaders(arrays: list[NDArray[np.float64]]) -> None:
    data = dump_pairs(arrays)
    for loaded in (load_pairs(data), pickle.loads(data)):
        assert [array.tobytes() for array in loaded] == [array.tobytes() for array in arrays]
        assert all(type(array) is np.ndarray and array.dtype == np.float64 for array in loaded)
        assert all(array.flags.writeable and array.flags.owndata for array in loaded)


@given(ARRAYS)
def test_equal_arrays_give_equal_bytes(arrays: list[NDArray[np.float64]]) -> None:
    copies = [np.concatenate([array, array])[: len(array)] for array in arrays]
    assert dump_pairs(copies) == dump_pairs(arrays)


def test_the_same_array_twice_loads_as_two() -> None:
    array = np.arange(3.0)
    assert dump_pairs([array, array]) == dump_pairs([array, array.copy()])
    one, other = pickle.loads(dump_pairs([array, array]))
    assert one is not other


def test_a_strided_array_is_stored_by_value() -> None:
    array = np.arange(6.0)
    assert dump_pairs([array[::-2]]) == dump_pairs([np.array([5.0, 3.0, 1.0])])


def test_only_public_functions_and_protocol_4_are_in_the_stream() -> None:
    operations = list(pickletools.genops(dump_pairs([np.arange(3.0), np.arange(2.0)])))
    words = [argument for _, argument, _ in operations if isinstance(argument, str)]
    assert words == ["numpy", "array", "frombuffer", "<f8", "f8"]
    assert max(operation.proto for operation, _, _ in operations) == 4


@pytest.mark.parametrize(
    "array", [np.arange(3), np.ones((2, 2)), np.ones(2, dtype=np.float32), np.ones(2, dtype=">f8")]
)
def test_other_arrays_are_refused(array: NDArray[Any]) -> None:
    with pytest.raises(UsageError, match="not 1-D float64"):
        dump_pairs([array])


def test_every_published_pickle_is_accounted_for_in_order() -> None:
    built = build_pickles([])
    assert [entry.name for entry, _ in built] == [layout.name for layout in PICKLES]
    assert all(entry.status == "left out" and data is None for entry, data in built)


def test_a_pickle_holds_its_curves_with_the_published_levels(make_curve: Callable[..., Curve]) -> None:
    send, receive = (
        make_curve("seren", "NODE_IB_SEND", samples=(0.0, 2.5)),
        make_curve("seren", "NODE_IB_RECEIVE", samples=(1.0, 9.0)),
    )
    entry, data = entries(build_pickles([receive, send]))["ib_seren"]
    assert data is not None
    assert entry.status == "written"
    assert entry.periods == (WHOLE, WHOLE)
    x1, y1, x2, y2 = load_pairs(data)
    assert x1.tobytes() == send.values.tobytes()
    assert x2.tobytes() == receive.values.tobytes()
    assert y1.tobytes() == y2.tobytes() == (np.linspace(0, 1, 1000) * 100).tobytes()


def test_the_levels_are_the_published_ones(reference: Path, make_curve: Callable[..., Curve]) -> None:
    _, data = entries(build_pickles([make_curve("kalos", "POWER_USAGE", AUGUST)]))["gpu_power_kalos"]
    published = load_pairs((reference / "util_pkl" / "gpu_power_kalos.pkl").read_bytes())
    assert data is not None
    assert load_pairs(data)[1].tobytes() == published[1].tobytes()


def test_the_wanted_period_is_used_where_it_has_values(make_curve: Callable[..., Curve]) -> None:
    august = make_curve("seren", "POWER_USAGE", AUGUST, samples=(5.0,))
    whole = make_curve("seren", "POWER_USAGE", samples=(7.0,))
    entry, data = entries(build_pickles([whole, august]))["gpu_power_seren"]
    assert data is not None
    assert entry.periods == (AUGUST,)
    assert load_pairs(data)[0][0] == 5.0


@pytest.mark.parametrize("august", [False, True])
def test_the_whole_file_stands_in_for_a_period_without_values(
    make_curve: Callable[..., Curve], august: bool
) -> None:
    curves = [make_curve("seren", "POWER_USAGE", samples=(7.0,))]
    if august:
        curves.append(make_curve("seren", "POWER_USAGE", AUGUST, samples=()))
    entry, data = entries(build_pickles(curves))["gpu_power_seren"]
    assert data is not None
    assert entry.periods == (WHOLE,)
    assert load_pairs(data)[0][0] == 7.0


def test_a_pickle_is_left_out_whole_and_says_which_curve_is_missing(make_curve: Callable[..., Curve]) -> None:
    entry, data = entries(build_pickles([make_curve("seren", "GPU_TEMP", AUGUST)]))["gpu_temp_seren"]
    assert data is None
    assert entry.status == "left out"
    assert entry.periods == ()
    assert "MEMORY_TEMP of seren (period 2023-08 or all)" in entry.reason
    assert "GPU_TEMP" not in entry.reason


def test_pair_5_repeats_pair_4_and_the_note_says_so(make_curve: Callable[..., Curve]) -> None:
    metrics = ("GPU_UTIL", "FB_USED_PCT", "SM_ACTIVE", "PIPE_TENSOR_ACTIVE")
    curves = [make_curve("kalos", metric, samples=(float(i),)) for i, metric in enumerate(metrics)]
    built = entries(build_pickles(curves))
    entry, data = built["util_gpu_kalos_full"]
    assert data is not None
    assert "pair 5 repeats pair 4" in entry.note
    assert [array[0] for array in load_pairs(data)[::2]] == [0, 1, 2, 3, 3]
    assert built["util_gpu_kalos"][1] is not None
    assert built["util_gpu_seren"][1] is None


def test_two_curves_of_the_same_name_are_refused(make_curve: Callable[..., Curve]) -> None:
    with pytest.raises(UsageError, match="Two series give a curve of GPU_UTIL of seren"):
        build_pickles([make_curve("seren", "GPU_UTIL"), make_curve("seren", "GPU_UTIL", samples=(2.0,))])


@pytest.fixture(scope="session")
def old_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with NumPy 1.24 and no pandas: ACMETRACE_NUMPY124_PYTHON, or one made here."""
    given_python = os.environ.get("ACMETRACE_NUMPY124_PYTHON")
    if given_python:
        return Path(given_python)
    folder = tmp_path_factory.mktemp("numpy124")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    install = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", OLD_NUMPY]
    done = subprocess.run(install, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(
            f"{OLD_NUMPY} cannot be installed here; set ACMETRACE_NUMPY124_PYTHON. {done.stderr[-300:]}"
        )
    return python


@pytest.mark.slow
@pytest.mark.oldnumpy
def test_the_published_notebook_reads_our_pickles_with_old_numpy_and_no_pandas(
    old_python: Path, tmp_path: Path, make_curve: Callable[..., Curve]
) -> None:
    curves = [
        make_curve("seren", "NODE_IB_SEND", samples=(0.0, 0.1, 7.3)),
        make_curve("seren", "NODE_IB_RECEIVE"),
    ]
    _, data = entries(build_pickles(curves))["ib_seren"]
    assert data is not None
    (tmp_path / "ib_seren.pkl").write_bytes(data)
    done = subprocess.run(
        [str(old_python), "-c", NOTEBOOK, str(tmp_path / "ib_seren.pkl")],
        check=False,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    x1, y1 = load_pairs(data)[:2]
    assert done.stdout == x1.tobytes() + y1.tobytes()
