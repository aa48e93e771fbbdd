"""Files of a hub, streamed: pinned to a commit, one request a block, whatever goes wrong on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import stamina

from schemas.errors import ReadFailed, SourceError
from tasks.storage.listing import entries, fixed, kind_of
from tasks.storage.retries import ATTEMPTS
from tasks.storage.source import stat_file
from tests.doubles.hub import NAME, HubServer
from tests.doubles.web import Fault
from tests.tasks.storage.test_web import whole

DATA = random.Random(1).randbytes(2 << 20)
PATH = "data/utilization/kalos/GPU_UTIL.csv"
FILES = {PATH: DATA, "data/utilization/kalos/small.csv": b"Time,a\n", "README.md": b"hello"}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=ATTEMPTS):
        yield


@pytest.mark.parametrize("path", [PATH, "data/utilization/kalos/small.csv"])
def test_a_file_is_read_whole_through_cuts_and_busy_answers(hub: HubServer, path: str) -> None:
    hub.commit(FILES)
    ref = stat_file(f"hf://datasets/{NAME}/{path}")
    assert ref.size == len(FILES[path])
    hub.fail(
        path, Fault(status=429, retry_after="0"), Fault(cut_after=5), Fault(status=503), Fault(cut_after=0)
    )
    assert whole(ref) == FILES[path]


def test_a_branch_is_pinned_to_the_commit_it_has_now(hub: HubServer) -> None:
    first = hub.commit(FILES)
    ref = stat_file(f"hf://datasets/{NAME}@main/{PATH}")
    assert ref.url == f"hf://datasets/{NAME}@{first}/{PATH}"
    second = hub.commit({**FILES, PATH: DATA[::-1]})
    assert whole(ref) == DATA
    assert fixed(f"hf://datasets/{NAME}") == f"hf://datasets/{NAME}@{second}"
    assert fixed(ref.url) == ref.url


def test_a_block_takes_one_look_up_and_one_request(hub: HubServer) -> None:
    sha = hub.commit(FILES)
    ref = stat_file(f"hf://datasets/{NAME}@{sha}/{PATH}")
    hub.asked.clear()
    hub.most_at_once = 0
    assert whole(ref) == DATA
    assert hub.asked == [(PATH, f"bytes=0-{len(DATA) - 1}")]


def test_folders_are_listed_page_by_page(hub: HubServer) -> None:
    hub.page_size = 2
    sha = hub.commit({f"data/{name}.csv": b"Time\n" for name in "abcdefg"} | FILES)
    root = f"hf://datasets/{NAME}@{sha}"
    assert (kind_of(f"{root}/data"), kind_of(f"{root}/{PATH}")) == ("folder", "file")
    assert kind_of(f"{root}/nothing") == "nothing"
    found = entries(f"{root}/data")
    assert [entry.name for entry in found] == [*(f"{name}.csv" for name in "abcdefg"), "utilization"]
    assert found[-1].folder
    assert found[0].url == f"{root}/data/a.csv"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("hf://datasets/acme/none", "Repository Not Found"),
        (f"hf://datasets/{NAME}@none", "Revision Not Found"),
        ("hf://datasets/only-one-part", "namespace/name"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(hub: HubServer, url: str, said: str) -> None:
    hub.commit(FILES)
    with pytest.raises(SourceError, match=said) as caught:
        fixed(url)
    assert "\n" not in str(caught.value)
    assert "Request ID" not in str(caught.value)


def test_a_token_goes_to_the_hub_and_nowhere_else(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit(FILES)
    hub.needs_token = "hf_secret"
    with pytest.raises(SourceError, match="your access"):
        fixed(f"hf://datasets/{NAME}")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    ref = stat_file(f"hf://datasets/{NAME}/{PATH}")
    assert whole(ref) == DATA
    assert "hf_secret" not in repr(ref)


def test_a_hub_that_stays_down_is_an_error_that_may_pass(hub: HubServer) -> None:
    hub.commit(FILES)
    ref = stat_file(f"hf://datasets/{NAME}/{PATH}")
    hub.fail(PATH, *[Fault(status=500)] * 20)
    with pytest.raises(ReadFailed, match="500"):
        whole(ref)
