"""The compiled passes over raw lines: what is in them, and the same lines cleaned.

`survey_lines` looks at every cell and writes nothing. `clean_lines` relies on it:
it meets no cell that cannot be read. A number that takes more than integer
arithmetic to write is left to Python: the line is given back with the places of
such cells, and comes again with their texts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.cleaning.digits import (
    LONGEST_NUMBER,
    LONGEST_TIME,
    MOST_K,
    write_fixed,
    write_time,
    write_whole,
)
from tasks.series.cells import COMMA, NEWLINE, RETURN, cell_bounds, is_missing_word
from tasks.series.clock import read_time
from tasks.series.floats import HARD, OK, parse_float, parse_plain
from tasks.series.places import note
from tasks.series.rows import ROOM, index_row, next_line
from tasks.series.swar import ZEROS, load64, not_digits, store64

NEVER = -(1 << 62)

# Why a pass returned.
DONE, FULL, ASK = 0, 1, 2

# What is wrong with a line; index of `events` and `places`.
BAD_CELL, BAD_TIME, RAGGED_ROW = 0, 1, 2
EVENTS = 3

# Numbers of a survey; index of `at`.
ROWS, PREVIOUS_MS, RUNS, LINES, FRACTIONS = range(5)
FIELDS = 5
RUN_ROOM = 4096

# What `clean_lines` leaves out; index of `left_out`. A row out of order counts as a repeated one, too.
IN_WINDOW, BLANK_ROW, OUT_OF_ORDER = range(3)

# What a cell is to be written as; index of `kinds`.
_BLANK, _WHOLE, _FIXED, _NEGATIVE_ZERO, _TEXT = 0, 1, 2, 3, 4

_TENS = np.array([10.0**n for n in range(10)])
_MOST_DIGITS = 18
_MOST_COPIED = 5  # with a comma before and `.0` behind: eight bytes
_8, _1 = np.uint64(8), np.uint64(1)
_NOTHING, _COMMA_BYTE, _ZERO_BYTE, _LOWEST_BYTE = (np.uint64(n) for n in (0, COMMA, 48, 255))
_DOT_ZERO = np.uint64(ord(".") | ord("0") << 8)
_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57


class Columns(NamedTuple):
    """What a survey learns of each column of a file; arrays of that length.

    `filled` says whether a row that is kept has a value, the first one left aside;
    `first` whether the first row is kept and has one. `blank` says whether any cell
    has no value, `real` whether any value is not written as a whole number.
    """

    filled: NDArray[np.bool_]
    blank: NDArray[np.bool_]
    real: NDArray[np.bool_]
    first: NDArray[np.bool_]


class Change(NamedTuple):
    """A rule as the compiled pass needs it, for one file.

    `source` is the file's column of each written one, -1 where the file has none;
    `whole` says which written columns hold whole numbers only and no blank, `real`
    which are not all whole numbers in this file: only there zero has a sign.
    """

    scale: float
    decimals: int
    drop_blank_rows: bool
    window_from: int
    window_until: int
    with_ms: bool
    wall_from: NDArray[np.int64]
    wall_offset: NDArray[np.int64]
    utc_from: NDArray[np.int64]
    utc_offset: NDArray[np.int64]
    source: NDArray[np.int64]
    whole: NDArray[np.bool_]
    real: NDArray[np.bool_]


def room_for(columns: int) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Room for the places and last bytes of a row's cells."""
    return np.empty(columns + 1 + ROOM, np.int32), np.empty(columns + 1 + ROOM, np.uint64)


@njit(nogil=True, cache=True)
def cells_of(
    buf: NDArray[np.uint8], place: int, count: int, ends: NDArray[np.int32], words: NDArray[np.uint64]
) -> bool:
    """Find the cells of the row whose first comma is at `place`; whether there are `count` of them.

    Cell c stands between the delimiters at ends[c] and ends[c + 1], and words[c + 1]
    holds the eight bytes up to the second.
    """
    if index_row(buf, place, count, 0, ends, words) == count + 1:
        return True
    # A comma between quotes is none.
    ends[0] = place
    for c in range(count):
        if buf[place] != COMMA:
            return False
        _, _, place = cell_bounds(buf, place + 1)
        ends[c + 1] = place
        words[c + 1] = load64(buf, place - 7)
    return bool(buf[place] != COMMA)


@njit(nogil=True, cache=True, forceinline=True)
def short_digits(word: np.uint64, length: int) -> np.uint64:
    """The `length` ≤ 7 characters before the delimiter, first one lowest; 0 if any is no digit."""
    text = (word << _8) >> np.uint64(64 - 8 * length)
    # What is above the text becomes zeros.
    values = (text ^ ZEROS) & ((_1 << np.uint64(8 * length)) - _1)
    return text if not_digits(values) == 0 else np.uint64(0)


@njit(nogil=True, cache=True, forceinline=True)
def _is_digit(character: int) -> bool:
    return _ZERO <= character <= _NINE


@njit(nogil=True, cache=True, forceinline=True)
def text_of(buf: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int, int]:
    """Text range and end of the cell that begins at `start`, where `stop` looks like its delimiter.

    Empty for a missing word; the end is not `stop` where that stands between quotes.
    """
    if _is_digit(buf[start]) and _is_digit(buf[stop - 1]):
        return start, stop, stop
    begin, after, end = cell_bounds(buf, start)
    if after > begin and is_missing_word(buf, begin, after):
        after = begin
    return begin, after, end


@njit(nogil=True, cache=True, forceinline=True)
def _is_whole(buf: NDArray[np.uint8], begin: int, stop: int) -> bool:
    """Whether the text is a sign or none, and digits."""
    if buf[begin] == _MINUS or buf[begin] == _PLUS:
        begin += 1
    for i in range(begin, stop):
        if buf[i] < _ZERO or buf[i] > _NINE:
            return False
    return begin < stop


@njit(nogil=True, cache=True)
def survey_lines(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    base: int,
    window_from: int,
    window_until: int,
    wall_from: NDArray[np.int64],
    wall_offset: NDArray[np.int64],
    columns: Columns,
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    at: NDArray[np.int64],
    runs: NDArray[np.int64],
    events: NDArray[np.int64],
    places: NDArray[np.int64],
) -> tuple[int, int]:
    """Survey the lines that begin in [start, stop) of `buf`; where it stopped, and why: DONE or FULL.

    A run is a stretch of rows in ascending order: its place in the file (`base` is
    that of `buf[0]`), first and last time, UTC ms.
    """
    count = len(columns.filled)
    place = start
    while place < stop:
        line = place
        if buf[place] == NEWLINE or (buf[place] == RETURN and buf[place + 1] == NEWLINE):
            place = next_line(buf, place)
            continue
        ms, _, place = read_time(buf, place, wall_from, wall_offset)
        if at[RUNS] == RUN_ROOM:
            return line, FULL
        at[LINES] += 1
        if ms < 0:
            note(events, places, BAD_TIME, at[LINES], -1, line)
            place = next_line(buf, line)
            continue
        previous = at[PREVIOUS_MS]
        kept = ms != previous
        outside = window_from <= ms < window_until
        filled = columns.first if at[ROWS] == 0 else columns.filled
        counts = kept and not outside
        if not cells_of(buf, place, count, ends, words):
            note(events, places, RAGGED_ROW, at[LINES], -1, line)
            place = next_line(buf, line)
            continue
        for c in range(count):
            length = ends[c + 1] - ends[c] - 1
            if length == 0:
                columns.blank[c] = True
                continue
            if length > 7 or short_digits(words[c + 1], length) == 0:
                begin, end_of_text, end = text_of(buf, ends[c] + 1, ends[c + 1])
                if begin == end_of_text and begin >= 0:
                    columns.blank[c] = True
                    continue
                if end != ends[c + 1] or not _is_whole(buf, begin, end_of_text):
                    plain, _ = parse_plain(buf, begin, end_of_text)
                    if not plain or end != ends[c + 1]:
                        status, _ = parse_float(buf, begin, end_of_text)
                        if (status != OK and status != HARD) or end != ends[c + 1]:
                            note(events, places, BAD_CELL, at[LINES], c, ends[c] + 1)
                    columns.real[c] = True
            if counts:
                filled[c] = True
        place = next_line(buf, ends[count])
        at[ROWS] += 1
        at[FRACTIONS] += ms % 1000 != 0
        if ms < previous or previous == NEVER:
            slot = at[RUNS]
            runs[slot, 0] = base + line
            runs[slot, 1] = ms
            at[RUNS] = slot + 1
        runs[at[RUNS] - 1, 2] = ms
        at[PREVIOUS_MS] = ms
    return place, DONE


@njit(nogil=True, cache=True)
def times_of(
    buf: NDArray[np.uint8],
    starts: NDArray[np.int64],
    wall_from: NDArray[np.int64],
    wall_offset: NDArray[np.int64],
    times: NDArray[np.int64],
) -> None:
    """Put the UTC ms of each line of `buf` that begins at one of `starts` into `times`; -1 for none."""
    for i in range(len(starts)):
        times[i] = read_time(buf, starts[i], wall_from, wall_offset)[0]


@njit(nogil=True, cache=True, forceinline=True)
def _plain_digits(buf: NDArray[np.uint8], begin: int, stop: int) -> tuple[int, int]:
    """Digits of a plain decimal as an integer, and how many follow the point; (-1, 0) for other text.

    Zeros at the end of the decimals are not counted; at most 18 digits are.
    """
    k, decimals, zeros, digits, point = 0, 0, 0, 0, False
    for i in range(begin, stop):
        character = buf[i]
        if character == _POINT and not point:
            point = True
            continue
        if character < _ZERO or character > _NINE:
            return -1, 0
        if point and character == _ZERO:
            zeros += 1
            continue
        if point:
            # The zeros between are digits after all.
            digits += zeros + 1
            decimals += zeros + 1
            if digits > _MOST_DIGITS:
                return -1, 0
            for _ in range(zeros):
                k *= 10
            zeros = 0
        elif k > 0 or character != _ZERO:
            digits += 1
            if digits > _MOST_DIGITS:
                return -1, 0
        k = k * 10 + (character - _ZERO)
    return k, decimals


@njit(nogil=True, cache=True, forceinline=True)
def _as_written(
    buf: NDArray[np.uint8], begin: int, stop: int, scale: float, decimals: int, whole: bool, real: bool
) -> tuple[int, int, int]:
    """What a cell is to be written as: kind, k, and the decimals of k; _TEXT where Python has to say."""
    sign = -1 if buf[begin] == _MINUS else 1
    first = begin + 1 if buf[begin] == _MINUS or buf[begin] == _PLUS else begin
    if whole:
        k, _ = _plain_digits(buf, first, stop)
        if k < 0 or k * scale >= 1e18:
            return _TEXT, 0, 0
        return _WHOLE, sign * k * int(scale), 0
    if decimals < 0 and scale == 1.0:
        k, places = _plain_digits(buf, first, stop)
        if k < 0 or k >= MOST_K or (k > 0 and k * 10_000 < _TENS[min(places, 9)]) or places > 9:
            return _TEXT, 0, 0
        return (_NEGATIVE_ZERO if k == 0 and sign < 0 and real else _FIXED), sign * k, places
    plain, value = parse_plain(buf, first, stop)
    if not plain:
        status, value = parse_float(buf, first, stop)
        if status != OK:
            return _TEXT, 0, 0
    scaled = sign * value * scale
    if decimals > 0:
        scaled = scaled * _TENS[decimals]
    rounded = np.rint(scaled)
    if not abs(rounded) < MOST_K or (decimals < 0 and rounded != scaled):
        return _TEXT, 0, 0
    if rounded == 0 and sign < 0 and real:
        return _NEGATIVE_ZERO, 0, 0
    return _FIXED, int(rounded), max(decimals, 0)


@njit(nogil=True, cache=True)
def _offset(change: Change, ms: int) -> int:
    if len(change.utc_offset) == 1:
        return int(change.utc_offset[0])
    return int(change.utc_offset[np.searchsorted(change.utc_from, ms, side="right") - 1])


@njit(nogil=True, cache=True)
def clean_lines(
    buf: NDArray[np.uint8],
    start: int,
    stop: int,
    change: Change,
    after_ms: int,
    out: NDArray[np.uint8],
    rows: NDArray[np.int64],
    left_out: NDArray[np.int64],
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    asked: NDArray[np.int64],
    answers: NDArray[np.int64],
    texts: NDArray[np.uint8],
) -> tuple[int, int, int, int, int]:
    """Write the lines that begin in [start, stop) of `buf` to `out`, cleaned.

    Returns the place where it stopped and why, the bytes and the rows written, and
    the time of the last row seen, which must be given as `after_ms` next: DONE;
    FULL where `out` or `rows` have no room for another row; ASK where numbers of
    the row there are for Python, asked[0] of them, with place and written column in
    `asked`. Their texts are expected, in the same order: place, start, stop in
    `texts` as rows of `answers`. `rows` gets the places of each line that was written,
    in `buf` and in `out`, `left_out` the numbers of those that were not. A line
    without a readable time, or with another number of cells, is copied as it is.
    `ends` and `words` are room for what `cells_of` finds.
    """
    written = len(change.source)
    count = len(ends) - 1 - ROOM
    place = start
    used, taken = 0, 0
    untouched = change.decimals < 0 and change.scale == 1.0
    longest = LONGEST_TIME + written * (LONGEST_NUMBER + 1) + len(texts) + 2
    while place < stop:
        line = place
        if buf[place] == NEWLINE or (buf[place] == RETURN and buf[place + 1] == NEWLINE):
            place = next_line(buf, place)
            continue
        if used + longest > len(out) or taken == len(rows):
            return line, FULL, used, taken, after_ms
        ms, _, place = read_time(buf, place, change.wall_from, change.wall_offset)
        readable = ms >= 0 and cells_of(buf, place, count, ends, words)
        if not readable:
            after = next_line(buf, line)
            if used + after - line > len(out):
                return line, FULL, used, taken, after_ms
            rows[taken, 0], rows[taken, 1] = line, used
            taken += 1
            for i in range(line, after):
                out[used] = buf[i]
                used += 1
            place = after
            continue
        in_window = change.window_from <= ms < change.window_until
        if ms <= after_ms or in_window:
            left_out[IN_WINDOW] += in_window and ms > after_ms
            left_out[OUT_OF_ORDER] += ms < after_ms
            after_ms = max(ms, after_ms)
            place = next_line(buf, line)
            continue
        place = next_line(buf, ends[count])
        end = write_time(out, used, ms, _offset(change, ms), change.with_ms)
        blank_end = end + written
        answer, questions = 0, 0
        for column in range(written):
            c = change.source[column]
            length = 0 if c < 0 else ends[c + 1] - ends[c] - 1
            if untouched and 0 < length <= _MOST_COPIED:
                text = short_digits(words[c + 1], length)
                if text != 0 and (length == 1 or text & _LOWEST_BYTE != _ZERO_BYTE):
                    point = _NOTHING if change.whole[column] else _DOT_ZERO
                    store64(out, end, _COMMA_BYTE | text << _8 | point << np.uint64(8 * length + 8))
                    end += length + (1 if change.whole[column] else 3)
                    continue
            out[end] = COMMA
            end += 1
            if length == 0:
                continue
            begin, end_of_text, _ = text_of(buf, ends[c] + 1, ends[c + 1])
            if begin == end_of_text:
                continue
            whole, real = change.whole[column], change.real[column]
            kind, k, decimals = _as_written(
                buf, begin, end_of_text, change.scale, change.decimals, whole, real
            )
            if kind == _FIXED:
                end = write_fixed(out, end, k, decimals)
            elif kind == _WHOLE:
                end = write_whole(out, end, k)
            elif kind == _NEGATIVE_ZERO:
                out[end] = _MINUS
                end = write_fixed(out, end + 1, 0, 0)
            elif answer < len(answers) and answers[answer, 0] == begin:
                for i in range(answers[answer, 1], answers[answer, 2]):
                    out[end] = texts[i]
                    end += 1
                answer += 1
            else:
                asked[1 + 2 * questions] = begin
                asked[2 + 2 * questions] = column
                questions += 1
        if change.drop_blank_rows and end == blank_end and questions == 0:
            left_out[BLANK_ROW] += 1
            after_ms = ms
            continue
        if questions > 0:
            asked[0] = questions
            return line, ASK, used, taken, after_ms
        out[end] = NEWLINE
        rows[taken, 0], rows[taken, 1] = line, used
        used = end + 1
        taken += 1
        after_ms = ms
    return place, DONE, used, taken, after_ms
