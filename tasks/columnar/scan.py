"""Scanning a block of a Parquet series: the row groups that begin in it, column by column, to a tally."""

from __future__ import annotations

from schemas.findings import EXAMPLES_KEPT
from schemas.ipmi import TIME_COLUMN
from tasks.columnar import kernel
from tasks.columnar.file import Batch, Held, SeriesParquet
from tasks.series import kernel as lines
from tasks.series import registers
from tasks.series.scan import RULES, BlockScan
from tasks.series.spec import Block, ScanSpec
from tasks.series.tally import Spots, Tally
from tasks.storage.digest import LeafDigests
from tasks.storage.source import open_reader


def scan_parquet_block(block: Block, columns: tuple[str, ...], spec: ScanSpec) -> Tally:
    """Count the rows of the row groups that begin in `block`.

    Raises:
        FileChanged, ReadFailed: as `tasks.series.scan.scan_block`.
        NotASeries: the file is damaged.
    """
    with open_reader(block.file) as reader:
        edges = [*SeriesParquet(reader, block.file).group_starts(), block.file.size]
        own = [number for number, start in enumerate(edges[:-1]) if block.start <= start < block.stop]
        # One read of all bytes, since a file has a piece for each column and group.
        held = Held(reader, block.start, edges[own[-1] + 1] if own else block.stop)
        digests = LeafDigests(block.start, block.stop)
        digests.read(held)
        parquet = SeriesParquet(held, block.file)
        scan = _ColumnScan(block, columns, spec, parquet.zone)
        if own:
            for batch in parquet.batches(range(own[0], own[-1] + 1), spec.timezone):
                scan.count(batch)
            if own[-1] + 1 < parquet.groups:
                following = range(own[-1] + 1, parquet.groups)
                scan.count(next(iter(parquet.batches(following, spec.timezone, 1))), peek=True)
        scan.bytes_read = held.size
        scan.leaves = digests.finish()
        return scan.tally()


class _ColumnScan(BlockScan):
    """Counts batches of columns."""

    def __init__(self, block: Block, columns: tuple[str, ...], spec: ScanSpec, zone: int) -> None:
        super().__init__(block, columns, spec)
        self.zone = zone

    def count(self, batch: Batch, *, peek: bool = False) -> None:
        """Count all rows; with `peek` only compare the first with the one before it."""
        place = 0
        while True:
            place, why = kernel.count_rows(
                batch.times,
                batch.values,
                place,
                batch.first_row,
                self.zone,
                peek,
                self.params,
                self.registers,
            )
            if self.registers.events.any():
                self._fold_rows(batch)
            rows = int(self.registers.at[registers.STAMPS])
            if why == lines.FULL or self.is_full(rows):
                self._fold()
            if why == lines.DONE:
                return

    def _fold_rows(self, batch: Batch) -> None:
        r = self.registers
        for kind, rule in RULES.items():
            seen = int(r.events[kind])
            if not seen:
                continue
            first = []
            for line, column, row in r.places[kind, : min(seen, EXAMPLES_KEPT)].tolist():
                timed = kind in (registers.BAD_TIME, registers.STRAY_ZONE)
                name = self.columns[column] if column >= 0 else TIME_COLUMN if timed else None
                text = None
                if column >= 0:
                    text = repr(float(batch.values[column, row - batch.first_row]))
                # A number that rises with row and column, as a byte's place in a text would.
                place = row * (len(self.columns) + 1) + column + 1
                first.append(self._spot(place, self.block.start, line, name, text))
            self._add_spots(rule, Spots(seen, tuple(first)))
            r.events[kind] = 0
