"""Writing a sample: the dataset's released layout, filled with generated values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tasks.sampling.faults import PLANTED_NAME, faulty_files, with_mixed_node
from tasks.sampling.ipmi import ipmi_path
from tasks.sampling.options import (
    PlantedFault,
    SampleOptions,
    SampleReport,
    WrittenFile,
    check_destination,
    check_options,
)
from tasks.sampling.plan import other_sources, planned_files, planned_rows, source_of
from tasks.sampling.source import Source
from tasks.sampling.writer import write_sources

_MIXED_STEM = "GPU_AB_Power"


def write_sample(
    dest: Path, options: SampleOptions, progress: Callable[[int], None] | None = None
) -> SampleReport:
    """Writes a synthetic dataset below `dest` in the released layout and says what it wrote.

    Values follow the published curves of AcmeTrace (Hu et al., NSDI '24;
    CC-BY-4.0): the flattened values of a file have the published quantiles, up
    to one or two percentage levels once there are 100,000 of them. Everything
    else (names, blanks, windows, jobs) is invented in the form of the release.
    The same options give the same bytes, whatever `workers` is. Memory stays at
    the text tables and a few chunks of 2 MB; it does not grow with the size.

    `progress` is called with the number of bytes of each piece written. Each
    file appears whole, under its own name, when it is complete. With `faults`,
    `planted_faults.json` lists what is broken on purpose; it is written last
    and is not in the report's files.

    Raises:
        UsageError: the options make no sense, or `dest` is not an empty folder.
    """
    check_options(options)
    check_destination(dest)
    rows = planned_rows(options)
    sources, faults = _spoiled(options, rows) if options.faults else (_healthy(options, rows), ())
    with ThreadPoolExecutor(max_workers=options.workers) as pool:
        ahead = options.workers + 2
        sizes = {
            source.path: (size, source.rows)
            for source, size in write_sources(sources, dest, pool, ahead, progress)
        }
        if options.faults:
            list(write_sources([_listing(faults)], dest, pool, ahead))
    files = tuple(
        WrittenFile(path=path, bytes=size, rows=rows) for path, (size, rows) in sorted(sizes.items())
    )
    return SampleReport(files=files, total_bytes=sum(file.bytes for file in files), faults=faults)


def _healthy(options: SampleOptions, rows: int) -> Iterator[Source]:
    for cluster, name in planned_files(options):
        yield source_of(cluster, name, rows, options)
    yield from other_sources(rows, options)


def _spoiled(options: SampleOptions, rows: int) -> tuple[Iterator[Source], tuple[PlantedFault, ...]]:
    # The IPMI fault needs its file even in a sample of other clusters or metrics.
    mixed = with_mixed_node(source_of("seren", _MIXED_STEM, rows, options))
    spoiled = (mixed, *faulty_files(options.seed))
    faults = tuple(fault for file in spoiled for fault in file.faults)

    def sources() -> Iterator[Source]:
        yield from (source for source in _healthy(options, rows) if source.path != ipmi_path(_MIXED_STEM))
        yield from (file.source for file in spoiled)

    return sources(), faults


def _listing(faults: tuple[PlantedFault, ...]) -> Source:
    text = json.dumps([asdict(fault) for fault in faults], indent=1).encode() + b"\n"
    return Source(path=PLANTED_NAME, rows=0, header=text, chunks=partial(iter, ()))
