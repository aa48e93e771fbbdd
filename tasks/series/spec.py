"""How a series is scanned: decimals, range, interval, period; and how files are cut into blocks.

A `ScanSpec` holds all that decides the numbers of a scan besides the bytes, so
it is part of the key of every unit of work. It is made once a series, from the
contract and the look of the first rows, and is the same for all its blocks.
"""

from __future__ import annotations

import itertools
import re
import statistics
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np

from schemas.errors import UsageError
from schemas.series import SeriesContract
from tasks.series.clock import LATEST_MS, UNKNOWN_ZONE, parse_zone, time_of, zone_table
from tasks.series.counts import DEFAULT_LIMIT
from tasks.series.head import Head
from tasks.series.refine import KeyRanges
from tasks.series.registers import Params
from tasks.storage.source import FileRef

MOST_SPAN = 1 << 17  # cells of the dense histogram; half a megabyte of counters stays in a core's cache
_MOST_DECIMALS = 3
_DATE_WITH_ZONE = re.compile(r"^(\d{4}-\d{2}-\d{2})(Z|[+-]\d{2}:?\d{2})$")
_RELEASE_ZONE = "+08:00"


@dataclass(frozen=True)
class Window:
    """A named period [since_ms, until_ms) whose values are counted apart."""

    name: str
    since_ms: int
    until_ms: int


@dataclass(frozen=True)
class ScanSpec:
    """What decides the numbers of a scan. Times are UTC ms, [since, until)."""

    decimals: int = 0
    span: int = 1001
    interval_ms: int = 0
    zone: int = UNKNOWN_ZONE
    low: float = -np.inf
    high: float = np.inf
    since_ms: int = 0
    until_ms: int = LATEST_MS
    windows: tuple[Window, ...] = ()
    timezone: str | None = None
    gap_intervals: float = 1.5
    limit: int = DEFAULT_LIMIT
    latched: bool = False
    ranges: KeyRanges | None = field(default=None)

    @property
    def has_period(self) -> bool:
        """Whether rows are left out because of their time."""
        return (self.since_ms, self.until_ms) != (0, LATEST_MS)

    def params(self, columns: int) -> Params:
        """The same for the compiled kernel, for files of `columns` value columns."""
        wall_from, offset_ms = zone_table(self.timezone)
        sieve, sieve_shift = self.ranges.sieve() if self.ranges else (np.empty(0, np.bool_), 0)
        return Params(
            columns=columns,
            decimals=self.decimals,
            span=self.span,
            since=self.since_ms,
            until=self.until_ms,
            interval=self.interval_ms,
            zone=self.zone,
            low=float(self.low),
            high=float(self.high),
            wall_from=wall_from,
            offset_ms=offset_ms,
            window_from=np.array([w.since_ms for w in self.windows], np.int64),
            window_until=np.array([w.until_ms for w in self.windows], np.int64),
            sieve=sieve,
            sieve_shift=sieve_shift,
            latched=self.latched and self.ranges is None,
        )

    def key_parts(self) -> dict[str, object]:
        """Everything above as plain values, for the key of a unit of work."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "ranges"}
        parts["low"], parts["high"] = repr(self.low), repr(self.high)
        parts["windows"] = [[w.name, w.since_ms, w.until_ms] for w in self.windows]
        if self.ranges is not None:
            parts["ranges"] = [self.ranges.lows.tobytes().hex(), self.ranges.highs.tobytes().hex()]
        return parts

    def refined(self, ranges: KeyRanges) -> ScanSpec:
        """The same scan, counting only values inside `ranges`."""
        return replace(self, ranges=ranges)


@dataclass(frozen=True)
class Block:
    """The rows of `file` that begin in [start, stop); the first block starts at 0, before the header."""

    file: FileRef
    start: int
    stop: int
    data_start: int


def cut(head: Head, block_bytes: int, within: tuple[int, int] | None = None) -> list[Block]:
    """Blocks that cover the file, or the byte range `within` of it; a packed file is one block."""
    file = head.file
    if file.compression:
        return [Block(file, 0, LATEST_MS, head.data_start)]
    first, last = within or (0, file.size)
    edges = [first, *range((first // block_bytes + 1) * block_bytes, last, block_bytes), last]
    return [Block(file, a, b, head.data_start) for a, b in itertools.pairwise(edges) if b > a]


def month_window(name: str, zone: str = _RELEASE_ZONE) -> Window:
    """The calendar month `YYYY-MM` in the zone of the release."""
    year, month = (int(part) for part in name.split("-"))
    edges = (
        datetime(y, m, 1, tzinfo=parse_zone(zone))
        for y, m in ((year, month), (year + month // 12, month % 12 + 1))
    )
    since, until = (int(edge.timestamp() * 1000) for edge in edges)
    return Window(name, since, until)


def parse_instant(text: str, zone: str | None) -> int:
    """UTC ms of an ISO date or time; without an offset it is read in `zone`.

    Raises:
        UsageError: the text is no time, or has no zone and none is given.
    """
    try:
        moment = datetime.fromisoformat(_DATE_WITH_ZONE.sub(r"\1T00:00:00\2", text.strip()))
    except ValueError as error:
        raise UsageError(
            f"'{text}' is not a time.", hint="Write 2023-08-01+08:00 or 2023-08-01T00:00:00+08:00."
        ) from error
    if moment.tzinfo is None:
        if zone is None:
            raise UsageError(
                f"The time '{text}' has no zone.",
                hint=f"Write {text}+08:00 or give --timezone, for example Asia/Shanghai.",
            )
        moment = moment.replace(tzinfo=parse_zone(zone))
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def spec_for(
    contract: SeriesContract,
    heads: list[Head],
    *,
    windows: tuple[Window, ...] = (),
    since_ms: int | None = None,
    until_ms: int | None = None,
    timezone: str | None = None,
) -> ScanSpec:
    """The scan of a series whose files begin with `heads`."""
    metric = contract.metric
    decimals = metric.decimals
    if decimals is None or decimals > _MOST_DECIMALS:
        decimals = _decimals_seen(heads)
    interval = metric.interval_s or _interval_seen(heads, timezone) or 0
    return ScanSpec(
        decimals=decimals,
        span=_span(metric.high, decimals, heads),
        interval_ms=round(interval * 1000),
        zone=next((head.zone for head in heads if head.zone != UNKNOWN_ZONE), UNKNOWN_ZONE),
        low=-np.inf if metric.low is None else metric.low,
        high=np.inf if metric.high is None else metric.high,
        since_ms=0 if since_ms is None else since_ms,
        until_ms=LATEST_MS if until_ms is None else until_ms,
        windows=windows,
        timezone=timezone,
        gap_intervals=contract.thresholds.gap_intervals,
        latched=metric.latched,
    )


def _span(high: float | None, decimals: int, heads: list[Head]) -> int:
    if high is None:
        high = max((value for value, _ in _numbers(heads)), default=100.0)
    return int(min(max(high * 10**decimals + 1, 128), MOST_SPAN))


def _numbers(heads: list[Head]) -> list[tuple[float, int]]:
    """Plain numbers of the sampled cells: value and decimals that are not zero."""
    found: list[tuple[float, int]] = []
    for head in heads:
        for text in head.sample[: 64 << 10].replace(b"\n", b",").split(b","):
            try:
                number = Decimal(text.strip(b'" \r').decode("ascii"))
                small = number.is_finite() and abs(number) < 1_000_000_000
            except (ArithmeticError, ValueError):
                continue
            if small:
                exponent = number.normalize().as_tuple().exponent
                found.append((float(number), max(0, -int(exponent))))
    return found


def _decimals_seen(heads: list[Head]) -> int:
    """The smallest number of decimals that writes 99 % of the sampled cells, or 0 if none up to 3 does."""
    seen = [decimals for _, decimals in _numbers(heads)]
    for decimals in range(_MOST_DECIMALS + 1):
        if sum(d <= decimals for d in seen) >= 0.99 * len(seen):
            return decimals
    return 0


def _interval_seen(heads: list[Head], timezone: str | None) -> float | None:
    """The most common positive step between the sampled times, in s; None without two rows."""
    steps: list[int] = []
    for head in heads:
        times = []
        for line in head.sample.split(b"\n")[:2000]:
            ms, _ = time_of(line, timezone)
            if ms >= 0:
                times.append(int(ms))
        steps += [b - a for a, b in itertools.pairwise(times) if b > a]
    return statistics.mode(steps) / 1000 if steps else None
