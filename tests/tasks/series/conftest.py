"""Builders of small series files, the scan of them, and plain pandas as the oracle."""

from __future__ import annotations

import functools
import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from schemas.errors import FileChanged, NotASeries, ReadFailed
from schemas.findings import Finding
from tasks.series.counts import ValueCounts
from tasks.series.curve import curve_of, published_levels
from tasks.series.discover import SeriesFiles
from tasks.series.head import read_head
from tasks.series.options import ScanOptions
from tasks.series.scan import scan_block
from tasks.series.spec import Block, ScanSpec
from tasks.series.summary import SeriesSummary
from tasks.series.tally import GroupStats, Tally
from tasks.series.units import ThreadExecutor, merge_all
from tasks.series.wide import failed_summary, heads_of, plan_series, summarise_series
from tasks.storage.source import FileRef, stat_file

START = datetime(2023, 8, 1, tzinfo=UTC)


def _stamp(seconds: float) -> str:
    """The time so long after the start of the tests' series, as the release writes it."""
    local = START + timedelta(seconds=seconds) + timedelta(hours=8)
    return local.strftime("%Y-%m-%d %H:%M:%S+08:00")


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str] | None = None, step: float = 15) -> str:
    """A series file of the given cells, one row each `step` seconds, columns `a`, `b`, … by default."""
    width = len(rows[0]) if rows else 0
    names = columns if columns is not None else [f"n{i}" for i in range(width)]
    lines = [",".join(["Time", *names])]
    lines += [",".join([_stamp(i * step), *row]) for i, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


def _scan(
    ref: FileRef,
    spec: ScanSpec | None = None,
    *,
    cuts: Iterable[int] = (),
    chunk_bytes: int = 1 << 16,
    stop: int | None = None,
) -> list[Tally]:
    """The tallies of the blocks between the cuts, in file order."""
    head = read_head(ref)
    edges = [0, *sorted(set(cuts)), ref.size if stop is None else stop]
    return [
        scan_block(Block(ref, a, b, head.data_start), head.columns, spec or ScanSpec(), chunk_bytes)
        for a, b in itertools.pairwise(edges)
    ]


def _frame(ref: FileRef) -> pd.DataFrame:
    with warnings.catch_warnings():
        # From pandas 3 on exact parsing is the default, and asking for it is deprecated.
        warnings.filterwarnings("ignore", message=".*float_precision.*")
        return pd.read_csv(ref.url, float_precision="round_trip", low_memory=False)


def _flat(frame: pd.DataFrame) -> np.ndarray:
    """All values of all columns but Time, without the missing ones."""
    columns = [frame[name].to_numpy(np.float64) for name in frame.columns if name != "Time"]
    values = np.concatenate(columns) if columns else np.empty(0)
    return values[~np.isnan(values)]


def _quantiles(values: np.ndarray) -> np.ndarray:
    """The published curve of the values, by pandas; of no values, no curve."""
    if not len(values):
        return np.empty(0)
    return pd.Series(values).quantile(np.linspace(0, 1, 1000)).to_numpy() + 0.0


def _curve(table: ValueCounts) -> np.ndarray:
    return curve_of(table, published_levels()) + 0.0 if len(table.keys) else np.empty(0)


def _groups(groups: GroupStats) -> list[Any]:
    sums = [str(fraction) for fraction in groups.real_total.to_fractions()]
    names = ("keys", "count", "blank", "zero", "fixed_total", "least", "most", "changed")
    return [sums, *(getattr(groups, name).tolist() for name in names)]


def _facts(tally: Tally) -> dict[str, Any]:
    """Everything a tally says about its rows, free of how the file was cut."""
    tables = {**tally.values, "steps": tally.steps}
    return {
        "rows": tally.rows,
        "outside": tally.outside_rows,
        "blanks": tally.blanks,
        "bad": tally.bad_cells,
        "times": (tally.first_ms, tally.last_ms),
        "missing": tally.missing_slots,
        "decimals": tally.decimals,
        "values": {n: (t.keys.tolist(), t.counts.tolist(), t.shift) for n, t in tables.items() if t.total},
        "zeros": dict(tally.zeros),
        "zones": dict(tally.zones),
        "entities": _groups(tally.entities),
        "hours": _groups(tally.hours),
        "spots": {
            rule: (
                spots.count,
                [(s.file, s.offset, tally.row_of(s), s.column, s.text) for s in spots.first],
            )
            for rule, spots in tally.spots.items()
        },
    }


def _summarise(
    refs: FileRef | Sequence[FileRef],
    *,
    cluster: str = "lab",
    name: str = "X",
    executor: ThreadExecutor | None = None,
    judge_only: bool = False,
    **options: Any,
) -> SeriesSummary:
    """The summary of a series as the flow makes it: a file that cannot be scanned fails the series."""
    files = (refs,) if isinstance(refs, FileRef) else tuple(refs)
    series, chosen = SeriesFiles(cluster, name, files), ScanOptions(**options)
    try:
        planned = plan_series(series, heads_of(series, None), chosen)
        return summarise_series(planned, executor or ThreadExecutor(2), judge_only=judge_only)
    except (NotASeries, FileChanged, ReadFailed) as error:
        return failed_summary(series, error, chosen)


def _finding(summary: SeriesSummary, rule: str) -> Finding:
    """The one finding of a rule."""
    (found,) = [finding for finding in summary.record.findings if finding.rule == rule]
    return found


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., FileRef]:
    """Write a file into a folder of its own and refer to it."""
    root, number = tmp_path_factory.mktemp("files"), itertools.count()

    def put(data: str | bytes, name: str = "X.csv") -> FileRef:
        path = root / str(next(number)) / name
        path.parent.mkdir()
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return stat_file(str(path))

    return put


@pytest.fixture(scope="session")
def stamp() -> Callable[[float], str]:
    return _stamp


@pytest.fixture(scope="session")
def table() -> Callable[..., str]:
    return _table


@pytest.fixture(scope="session")
def scan() -> Callable[..., list[Tally]]:
    return _scan


@pytest.fixture(scope="session")
def tally() -> Callable[..., Tally]:
    """The merged tally of a file, cut or whole."""
    return functools.wraps(_scan)(lambda *args, **kwargs: merge_all(_scan(*args, **kwargs)))


@pytest.fixture(scope="session")
def facts() -> Callable[[Tally], dict[str, Any]]:
    return _facts


@pytest.fixture(scope="session")
def frame() -> Callable[[FileRef], pd.DataFrame]:
    return _frame


@pytest.fixture(scope="session")
def flat() -> Callable[[pd.DataFrame], np.ndarray]:
    return _flat


@pytest.fixture(scope="session")
def quantiles() -> Callable[[np.ndarray], np.ndarray]:
    return _quantiles


@pytest.fixture(scope="session")
def curve() -> Callable[[ValueCounts], np.ndarray]:
    return _curve


@pytest.fixture(scope="session")
def summarise() -> Callable[..., SeriesSummary]:
    return _summarise


@pytest.fixture(scope="session")
def finding() -> Callable[[SeriesSummary, str], Finding]:
    return _finding


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder with slices of the published telemetry."""
    folder = os.environ.get("ACMETRACE_REAL")
    if not folder:
        pytest.skip("ACMETRACE_REAL is not set: it names the folder with slices of the published telemetry")
    return Path(folder)
