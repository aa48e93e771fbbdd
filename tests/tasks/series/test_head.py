"""The head tells what a file is, its columns, and how its first rows look."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from tasks.series.head import SAMPLE_BYTES, Head, read_head
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]


class TestHeader:
    @settings(max_examples=100, deadline=None)
    @given(
        names=st.lists(st.sampled_from(["a", "b", "a.1", "a.2", "b.1", "c,d", 'q"q', "é"]), max_size=8),
        crlf=st.booleans(),
    )
    def test_names_are_made_unique_as_pandas_does(self, names: list[str], crlf: bool, write: Write) -> None:
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n" if crlf else "\n").writerow(["Time", *names])
        ref = write(out.getvalue())
        head = read_head(ref)
        assert head.names == tuple(names)
        assert ["Time", *head.columns] == pd.read_csv(ref.url).columns.tolist()
        assert head.data_start == ref.size

    @pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
    @pytest.mark.parametrize("line", [b"Time,a,b", b'"Time","a","b"', b" Time ,a,b"])
    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    def test_a_mark_quotes_and_line_ends_are_no_part_of_names(
        self, mark: bytes, line: bytes, end: bytes, write: Write
    ) -> None:
        head = read_head(write(mark + line + end + b"1000,1,2" + end))
        assert head.columns == ("a", "b")
        assert head.data_start == len(mark + line + end)
        assert head.sample == b"1000,1,2" + end

    @pytest.mark.parametrize("text", ["Time", "Time\n", "Time\r\n", "Time\n\n"])
    def test_time_may_stand_alone(self, text: str, write: Write) -> None:
        head = read_head(write(text))
        assert (head.columns, head.has_rows) == ((), False)

    def test_a_header_may_be_longer_than_the_sample(self, write: Write) -> None:
        names = [f"a-very-long-name-of-a-node-number-{i:06d}" for i in range(20_000)]
        head = read_head(write(",".join(["Time", *names]) + "\n1000" + ",1" * 20_000 + "\n"))
        assert head.data_start > 2 * SAMPLE_BYTES
        assert head.columns == tuple(names)
        assert head.has_rows


class TestSample:
    def test_holds_whole_rows_only(self, write: Write) -> None:
        text = "Time,a\n" + "".join(f"{i},{'1' * 50}\n" for i in range(20_000))
        head = read_head(write(text))
        assert text[7:].startswith(head.sample.decode())
        assert head.sample.endswith(b"\n")
        assert SAMPLE_BYTES // 2 < len(head.sample) <= SAMPLE_BYTES

    def test_holds_a_row_also_where_rows_are_long(self, write: Write) -> None:
        row = "2023-08-01 00:00:00" + ",1.25" * 150_000 + "\n"
        head = read_head(write("Time" + ",a" * 150_000 + "\n" + row * 3))
        assert head.sample.startswith(row.encode())
        assert head.naive

    def test_the_last_row_needs_no_line_end(self, write: Write) -> None:
        assert read_head(write("Time,a\n1000,1\n1015,2")).sample == b"1000,1\n1015,2"

    @pytest.mark.parametrize(
        ("time", "naive"),
        [
            ("2023-08-01 00:00:00", True),
            ("2023-08-01T00:00:00.5", True),
            ('"2023-08-01 00:00"', True),
            ("2023-08-01 00:00:00+08:00", False),
            ("2023-08-01T00:00:00Z", False),
            ("1690848000", False),
            ("soon", False),
        ],
    )
    def test_tells_whether_times_have_a_zone(self, time: str, naive: bool, write: Write) -> None:
        for start in ("", "\n", "\r\n\r\n"):
            assert read_head(write(f"Time,a\n{start}{time},1\n")).naive == naive
        assert read_head(write(f"Time\n{time}")).naive == naive

    def test_of_a_packed_file_is_that_of_its_content(self, write: Write) -> None:
        text = b"Time,a\n1000,1\n"
        plain, packed = read_head(write(text)), read_head(write(gzip.compress(text), "X.csv.gz"))
        assert (packed.columns, packed.data_start, packed.sample) == (
            plain.columns,
            plain.data_start,
            plain.sample,
        )


class TestNoSeries:
    @pytest.mark.parametrize(
        ("data", "rule"),
        [
            (b"", "empty-file"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\n", "lfs-pointer"),
            (b"<!DOCTYPE HTML><title>404</title>", "html-page"),
            (b"\r\n  <html lang='en'>", "html-page"),
            (b"<?xml version='1.0'?><Error/>", "html-page"),
            (b"time,a\n1,2\n", "not-a-series"),
            (b"\n1,2\n", "not-a-series"),
            (b"PAR1\x00\x15", "not-a-series"),
            ("Time,a\n".encode("utf-16"), "not-a-series"),
            (b"Time,\xe9\n", "not-a-series"),
        ],
    )
    def test_is_refused_with_its_rule(self, data: bytes, rule: str, write: Write) -> None:
        ref = write(data)
        with pytest.raises(NotASeries) as caught:
            read_head(ref)
        assert caught.value.rule == rule
        assert ref.url in str(caught.value)
        assert not caught.value.transient

    def test_names_of_absurd_length_are_refused(self, write: Write) -> None:
        # Names are kept in an array of equal widths: one such name among many would fill the memory.
        with pytest.raises(NotASeries, match="characters"):
            read_head(write("Time," + "x" * 100_000 + ",b" * 1000 + "\n"))


def test_bytes_give_the_same_head(write: Write) -> None:
    for text in ("Time,a,a,é\n2023-08-01 00:00:00,1,2,3\n", "Time\n"):
        head = read_head(write(text))
        assert Head.from_bytes(head.file, head.to_bytes()) == head


def test_long_form_has_its_time_anywhere(write: Write) -> Any:
    head = read_head(write("node,Sys_Total_Power,Time\nn-1,250,2023-08-01 00:00:00\n"))
    assert head.columns == ("node", "Sys_Total_Power", "Time")
    assert head.naive
