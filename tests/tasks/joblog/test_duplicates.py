"""A job that was seen before is known again, over any number of parts."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.joblog.duplicates import Seen

Row = tuple[str, int, int]
ROWS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3), st.integers(-1, 1)), max_size=40)


@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=6))
def test_repeats_are_those_a_plain_set_finds_wherever_parts_are_cut(rows, cuts):
    seen, found = Seen(), []
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    for first, last in itertools.pairwise(edges):
        part = rows[first:last]
        submit, start = (np.array([row[place] for row in part], np.int64) for place in (1, 2))
        again, named = seen.add([row[0] for row in part], submit, start)
        found += list(zip(again.tolist(), named.tolist(), strict=True))
    assert found == plain(rows)


def plain(rows: list[Row]) -> list[tuple[bool, bool]]:
    jobs: set[Row] = set()
    names: set[str] = set()
    found = []
    for row in rows:
        again = row in jobs
        found.append((again, row[0] in names and not again))
        jobs.add(row)
        names.add(row[0])
    return found
