"""Names that stay below their root, and names made from any text."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.storage.names import check_relative, safe_name

ANY_TEXT = st.text(max_size=40)
HOSTILE_TEXT = st.text(alphabet="a./\\:~ \x00C", max_size=12)


@pytest.mark.parametrize(
    "relative",
    [
        "manifest.json",
        "schemas/seren/GPU_UTIL.json",
        ".hidden/file",
        "a b/ü.csv",
        "a..b/c",
        "2023-07-01T12:00/x",
    ],
)
def test_ordinary_names_are_accepted_unchanged(relative: str) -> None:
    assert check_relative(relative) == relative


@pytest.mark.parametrize(
    ("relative", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "not relative"),
        ("~/x", "not relative"),
        ("C:/x", "not relative"),
        ("c:x", "not relative"),
        ("../x", "leaves the folder"),
        ("a/../../x", "leaves the folder"),
        ("a/..", "leaves the folder"),
        ("..\\x", "backslash"),
        ("a\\..\\x", "backslash"),
        ("\\\\host\\share", "backslash"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("./a", "empty part"),
        ("a\x00b", "control character"),
        ("a\nb", "control character"),
        ("a\ud800", "half a character"),
        ("memory://a", "URL"),
        ("a/zip::b", "URL"),
    ],
)
def test_names_that_could_leave_the_root_are_refused(relative: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_relative(relative)


@given(HOSTILE_TEXT)
def test_an_accepted_name_stays_below_its_root_on_every_system(relative: str) -> None:
    try:
        check_relative(relative)
    except UsageError:
        return
    assert Path("/some/folder", relative).resolve().is_relative_to("/some/folder/")
    assert not PurePosixPath(relative).is_absolute()
    assert not PureWindowsPath(relative).drive
    assert ".." not in PureWindowsPath(relative).parts


@pytest.mark.parametrize("name", ["seren", "GPU_UTIL", "node-1.example", "0"])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert safe_name(name) == name


@given(ANY_TEXT)
@example("")
@example("..")
@example("NUL")
@example("com1.txt")
@example("trailing.")
@example("x" * 5000)
@example("\ud800")
def test_a_safe_name_is_one_short_plain_segment(text: str) -> None:
    name = safe_name(text)
    assert check_relative(name) == name
    assert "/" not in name
    assert name.isascii()
    assert " " not in name
    assert len(name) <= 100
    assert not name.startswith(".")
    assert not name.endswith(".")
    assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_get_different_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_a_text_that_imitates_a_made_up_name_does_not_meet_it() -> None:
    assert safe_name(safe_name("a b")) != safe_name("a b")
