"""Small IPMI files, scanned in any cuts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from schemas.pickles import WHOLE
from schemas.series import Thresholds
from tasks.longform import IpmiSeries, LongTally, ipmi_contract, scan_long_block, summarise_ipmi
from tasks.series.head import Head, read_head
from tasks.series.spec import Block, ScanSpec, spec_for
from tasks.series.summary import Curve, SeriesSummary
from tasks.storage.source import stat_file

SPEC = spec_for(ipmi_contract("GPU_AB_Power"), [])


class Bench:
    """Writes IPMI files into a folder and scans them."""

    spec = SPEC
    header = "Time,node,Sys_Total_Power,CPU_Power,Memory_Power\n"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def head(self, text: str | bytes, name: str = "GPU_AB_Power.csv") -> Head:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_head(stat_file(str(path)))

    def tallies(
        self, head: Head, cuts: Sequence[int] = (), chunk: int = 8 << 20, spec: ScanSpec = SPEC
    ) -> list[LongTally]:
        """The tally of each block between the cuts."""
        edges = sorted({0, *(cut for cut in cuts if 0 < cut < head.file.size), head.file.size})
        blocks = [Block(head.file, a, b, head.data_start) for a, b in itertools.pairwise(edges)]
        return [scan_long_block(block, head.columns, spec, chunk) for block in blocks]

    def scan(
        self, text: str | bytes, cuts: Sequence[int] = (), chunk: int = 8 << 20, spec: ScanSpec = SPEC
    ) -> LongTally:
        return functools.reduce(LongTally.merge, self.tallies(self.head(text), cuts, chunk, spec))

    def series(
        self, name: str, text: str | bytes, cuts: Sequence[int] = (), spec: ScanSpec = SPEC
    ) -> IpmiSeries:
        head = self.head(text, f"{name}.csv")
        tally = functools.reduce(LongTally.merge, self.tallies(head, cuts, spec=spec))
        return IpmiSeries(name, (head,), tally, spec)

    def summaries(
        self, files: dict[str, str], *, failed: Sequence[str] = (), thresholds: Thresholds | None = None
    ) -> dict[str, SeriesSummary]:
        series = [self.series(name, text) for name, text in files.items()]
        found = summarise_ipmi("seren", series, thresholds, failed)
        return {summary.record.series: summary for summary in found}

    @staticmethod
    def curves(summaries: dict[str, SeriesSummary]) -> dict[str, Curve]:
        curves = [curve for summary in summaries.values() for curve in summary.curves]
        assert len({curve.metric for curve in curves}) == len(curves)
        assert {curve.period for curve in curves} <= {WHOLE}
        return {curve.metric: curve for curve in curves}


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("longform"))
    # Compile before the first example, which has a deadline.
    made.scan(made.header + "2023-06-01 00:00:00+08:00,n,1.5,2,3\n")
    return made


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., str]:
    def make(node: str, totals: Sequence[str], memory: Sequence[str] = (), step: int = 5) -> str:
        """Lines of one node from 2023-06-01 00:00 on, `step` minutes apart."""
        lines = []
        for i, total in enumerate(totals):
            time = (
                f"2023-06-{1 + i * step // 1440:02d} {i * step // 60 % 24:02d}:{i * step % 60:02d}:00+08:00"
            )
            lines.append(f"{time},{node},{total},200,{memory[i] if memory else '50'}\n")
        return "".join(lines)

    return make
