"""The unit store: written once, sound or absent, the same from every process."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.storage.publish import list_files, put_bytes, read_bytes
from tasks.storage.units import UnitStore, unit_key

KEY = unit_key(unit=1)
OTHER = unit_key(unit=2)

JSON_PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> UnitStore:
    return UnitStore(tmp_path / "units" if request.param == "local" else f"memory://{uuid.uuid4().hex}")


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 1000])
def test_what_is_put_is_got(store: UnitStore, data: bytes) -> None:
    assert store.get(KEY) is None
    store.put(KEY, data)
    assert store.get(KEY) == data


def test_an_entry_is_written_once(store: UnitStore) -> None:
    store.put(KEY, b"first")
    store.put(KEY, b"second")
    assert store.get(KEY) == b"first"


@pytest.mark.parametrize("cut", [0, 1, 47, 48, 50])
def test_an_entry_cut_short_is_absent_and_can_be_written_again(store: UnitStore, cut: int) -> None:
    store.put(KEY, b"result")
    (name,) = list_files(store.root)
    put_bytes(store.root, name, (read_bytes(store.root, name) or b"")[:cut])
    assert store.get(KEY) is None
    store.put(KEY, b"result")
    assert store.get(KEY) == b"result"


@given(place=st.integers(0, 53), bit=st.integers(0, 7))
def test_any_flipped_bit_makes_an_entry_absent(place: int, bit: int) -> None:
    store = UnitStore("memory://flipped")
    store.discard("")
    store.put(KEY, b"result")
    (name,) = list_files(store.root)
    entry = bytearray(read_bytes(store.root, name) or b"")
    assert len(entry) == 54
    entry[place] ^= 1 << bit
    put_bytes(store.root, name, bytes(entry))
    assert store.get(KEY) is None


def test_keys_are_listed_and_discarded_by_their_beginning(store: UnitStore) -> None:
    for key in (f"scan/{KEY}", f"scan/{OTHER}", f"jobs/{KEY}"):
        store.put(key, b"x")
    assert store.keys("scan/") == tuple(sorted((f"scan/{KEY}", f"scan/{OTHER}")))
    assert store.discard("scan/") == 2
    assert store.keys() == (f"jobs/{KEY}",)
    assert store.discard("scan/") == 0


def test_discarding_leaves_files_of_others_alone(store: UnitStore) -> None:
    put_bytes(store.root, "notes.txt", b"mine")
    store.put(KEY, b"x")
    store.discard("")
    assert list_files(store.root) == ("notes.txt",)


@pytest.mark.parametrize(
    "key", ["", "short", "../" + "0" * 64, "/" + "0" * 64, "a//" + "0" * 64, "A" * 64, "scan/"]
)
def test_only_digests_and_paths_that_end_in_one_are_keys(store: UnitStore, key: str) -> None:
    with pytest.raises(UsageError, match="not the key"):
        store.put(key, b"x")
    with pytest.raises(UsageError, match="not the key"):
        store.get(key)


def test_a_store_pickles_by_its_root_only(store: UnitStore) -> None:
    store.put(KEY, b"x" * 10_000)
    copy = pickle.loads(pickle.dumps(store))
    assert copy == store
    assert vars(copy) == {"root": store.root}
    assert copy.get(KEY) == b"x" * 10_000
    assert len(pickle.dumps(store)) < 400


def test_a_local_root_is_the_same_from_another_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = UnitStore("units")
    store.put(KEY, b"x")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(pickle.dumps(store)).get(KEY) == b"x"


def test_the_order_of_parts_does_not_change_a_key() -> None:
    assert unit_key(a=1, b={"c": 2, "d": [3]}) == unit_key(b={"d": (3,), "c": 2}, a=1)


@given(JSON_PARTS, JSON_PARTS)
def test_different_parts_have_different_keys(one: object, other: object) -> None:
    # repr tells 1, 1.0, True and -0.0 apart, as a key must; sorted names make it canonical.
    def text(part: object) -> str:
        if isinstance(part, dict):
            return f"dict {sorted((name, text(value)) for name, value in part.items())}"
        return repr([text(value) for value in part]) if isinstance(part, list) else repr(part)

    same = type(one) is type(other) and text(one) == text(other)
    assert (unit_key(part=one) == unit_key(part=other)) == same


@pytest.mark.parametrize("part", [object(), {1: "a"}, b"bytes", Path("x"), [{2: 3}]])
def test_a_part_without_a_stable_text_is_refused(part: object) -> None:
    with pytest.raises(TypeError):
        unit_key(part=part)


def test_a_part_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not JSON compliant|Out of range"):
        unit_key(part=float("nan"))


def test_a_key_is_the_same_in_every_process_and_version() -> None:
    assert unit_key(file="a.csv", start=0, window=None) == (
        "0f60cb05237da589615cc4d0e8f9056c6f3ff84c09ecad08272d6e1dabd11b09"
    )
