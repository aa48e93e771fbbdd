"""The chunks of one metric: asked a few at once, split where too large, kept when they are done.

A chunk is kept under what decides its numbers (`unit_key`). One that the server
finds too large is halved, and leaves a mark, so that a later run does not ask
for it again. A chunk whose answer the server warned of is asked for again by the
next run: parts of it may have been missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from schemas.errors import QueryTooLarge, Stopped
from tasks.prometheus.answers import parse_answer
from tasks.prometheus.client import PrometheusClient
from tasks.prometheus.parts import Part, Rule, part_of
from tasks.prometheus.spans import MOST_ROWS, Span, chunk_rows
from tasks.storage.units import UnitStore, unit_key

_CODE = 1  # counts up where the same answer gives other cells
_PLACES_TO_COUNT = 8


@dataclass(frozen=True)
class Asked:
    """What is asked of a server for one metric: the query text and how its answer is read."""

    url: str
    query: str
    rule: Rule

    def key(self, span: Span, purpose: str = "part") -> str:
        """The key of a chunk, or of a note about it."""
        rule = self.rule
        digest = unit_key(
            code=_CODE,
            url=self.url,
            query=self.query,
            templates=rule.templates,
            scales=[repr(rule.query_scale), repr(rule.scale)],
            decimals=rule.decimals,
            start=span.start_s,
            rows=span.rows,
            step=span.step_s,
        )
        return f"export/{purpose}/{digest}"


class Fetcher:
    """Fetches the chunks of metrics, `at_once` queries at a time in all threads together."""

    def __init__(self, client: PrometheusClient, store: UnitStore, at_once: int) -> None:
        self.at_once = at_once
        self._client = client
        self._store = store
        self._turn = threading.Semaphore(at_once)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ask for nothing more; whoever fetches gets `Stopped`."""
        self._stopped.set()

    def plan(self, asked: Asked, span: Span) -> list[Span]:
        """The chunks of `span`, as long as the number of series allows; the same in a later run."""
        key = asked.key(span, "plan")
        known = self._store.get(key)
        rows = int(known) if known else chunk_rows(self._count(asked, span))
        if known is None:
            self._store.put(key, str(rows).encode())
        return list(span.cut(rows))

    def fetch(self, asked: Asked, chunks: list[Span], on_part: Callable[[Part], None]) -> list[Span]:
        """Have all `chunks` in the store; the spans they are kept in, in the order of time.

        `on_part` is called with each part, from several threads, in any order.

        Raises:
            QueryTooLarge: even a single instant is too large.
            Stopped: `stop` was called, or another chunk failed.
            Whatever the client, the answers or their labels raise.
        """
        limit = _Limit(MOST_ROWS)
        failed = threading.Event()

        def one(chunk: Span) -> list[Span]:
            try:
                return list(self._have(asked, chunk, limit, failed, on_part))
            except BaseException:
                failed.set()
                raise

        pool = ThreadPoolExecutor(self.at_once, thread_name_prefix="export")
        try:
            futures = [pool.submit(one, chunk) for chunk in chunks]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            failed.set()
            pool.shutdown(wait=True, cancel_futures=True)
        errors = [future.exception() for future in futures if not future.cancelled()]
        # Where one chunk failed the others stopped: its error is what is told.
        for error in sorted(filter(None, errors), key=lambda error: isinstance(error, Stopped)):
            raise error
        return [span for future in futures for span in future.result()]

    def load(self, asked: Asked, span: Span) -> Part:
        """The part that is kept for `span`."""
        data = self._store.get(asked.key(span))
        if data is None:
            # Somebody removed it since: it is asked for again.
            return self._ask(asked, span)
        return Part.from_bytes(data)

    def _have(
        self,
        asked: Asked,
        span: Span,
        limit: _Limit,
        failed: threading.Event,
        on_part: Callable[[Part], None],
    ) -> Iterator[Span]:
        """Have a chunk in the store, whole or in halves; the spans it is kept in."""
        if self._stopped.is_set() or failed.is_set():
            raise Stopped("The export was stopped.", hint="Finished chunks are kept; run again to go on.")
        data = self._store.get(asked.key(span))
        part = Part.from_bytes(data) if data is not None else None
        if part is None or part.notes.warnings:
            part = self._ask_or_split(asked, span, limit)
        if part is not None:
            on_part(part)
            yield span
            return
        for half in span.halves():
            yield from self._have(asked, half, limit, failed, on_part)

    def _ask_or_split(self, asked: Asked, span: Span, limit: _Limit) -> Part | None:
        """The part of `span`, or None where it has to be asked for in halves."""
        split = asked.key(span, "split")
        if self._store.get(split) is not None:
            return None
        if span.rows > limit.rows and span.rows > 1:
            self._store.put(split, b"split")
            return None
        try:
            return self._ask(asked, span)
        except QueryTooLarge:
            if span.rows == 1:
                raise
            limit.lower(span.rows)
            self._store.put(split, b"split")
            return None

    def _ask(self, asked: Asked, span: Span) -> Part:
        with self._turn:
            body = self._client.query_range(asked.query, span.start_s, span.last_s, span.step_s)
            part = part_of(parse_answer(body), span, asked.rule)
            key = asked.key(span)
            if self._store.get(key) is not None:
                self._store.discard(key)
            self._store.put(key, part.to_bytes())
        return part

    def _count(self, asked: Asked, span: Span) -> int:
        """The most series at a few instants of the period; 1 where the server does not count them."""
        step = max(span.rows // _PLACES_TO_COUNT, 1) * span.step_s
        last = span.last_s - (span.last_s - span.start_s) % step
        try:
            with self._turn:
                # The query may end in a comment.
                body = self._client.query_range(f"count({asked.query}\n)", span.start_s, last, step)
            series = parse_answer(body).series
        except QueryTooLarge:
            return 1
        return max((int(one.values.max()) for one in series if one.values.size), default=1)


class _Limit:
    """How many rows the server was seen to be able to answer at once, for this metric."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._lock = threading.Lock()

    def lower(self, refused: int) -> None:
        with self._lock:
            self.rows = min(self.rows, max(1 << ((refused - 1).bit_length() - 1), 1))
