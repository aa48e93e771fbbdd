"""`acmetrace sample`: a synthetic dataset in the released layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flows.commands.common import OK, Names, Talk, err, out, print_json
from schemas.errors import UsageError

ALL_JOBS = 1 << 40  # more than any log has


def sample(
    dest: Path,
    *,
    rows: int | None = None,
    size: str | None = None,
    clusters: str = "seren,kalos",
    gpus: int | None = None,
    metric: Names = (),
    seed: int = 0,
    faults: Annotated[bool, Parameter(negative="")] = False,
    raw: Annotated[bool, Parameter(negative="")] = False,
    helios: Annotated[bool, Parameter(negative="")] = False,
    jobs: str | None = None,
    workers: int | None = None,
    talk: Talk = Talk(),
) -> int:
    """Write a synthetic dataset in the released layout.

    Parameters
    ----------
    dest
        Folder to write to; it must be empty or absent.
    rows
        Samples per series (15 s apart). Without rows and size the sample is small.
    size
        Size of the whole dataset, such as 4GB; sets the number of rows.
    clusters
        Clusters to write, separated by commas.
    gpus
        GPUs per cluster, a multiple of 8.
    metric
        Only these series.
    seed
        The same seed gives the same bytes.
    faults
        Plant one of each known fault, and list them in planted_faults.json.
    raw
        Write raw exports instead, as they are before acmetrace clean: epoch seconds, fractions.
    helios
        Also write the job logs and quotas of Helios' four clusters, and logs of other traces.
    jobs
        Jobs in each job log, at most those of the release; "full" for all of them (4.2 million with
        --helios). By default as many as go with the rows.
    workers
        Threads to write with.
    """
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeElapsedColumn, TransferSpeedColumn

    from flows.cluster import default_workers
    from flows.settings import parse_size
    from tasks.sampling import SampleOptions, write_sample

    try:
        size_bytes = parse_size(size) if size else None
    except ValueError as error:
        raise UsageError(f"--size: {error}.") from error
    options = SampleOptions(
        rows=rows,
        clusters=tuple(name.strip() for name in clusters.split(",") if name.strip()),
        gpus=gpus,
        metrics=metric,
        seed=seed,
        faults=faults,
        raw=raw,
        size_bytes=size_bytes,
        workers=workers or default_workers(),
        helios=helios,
        jobs=_jobs(jobs),
    )
    columns = ("writing", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=err, transient=True, disable=talk.quiet or not err.is_terminal
    ) as progress:
        bar = progress.add_task("sample", total=size_bytes)
        report = write_sample(dest, options, lambda count: progress.advance(bar, count))
    if talk.json:
        print_json(
            {
                "dest": str(dest),
                "bytes": report.total_bytes,
                "files": [{"path": f.path, "bytes": f.bytes, "rows": f.rows} for f in report.files],
                "faults": len(report.faults),
            }
        )
    elif not talk.quiet:
        planted = f", {len(report.faults)} planted faults" if report.faults else ""
        out.print(
            f"{len(report.files)} files, {report.total_bytes / 1e6:,.1f} MB{planted} in {dest}",
            highlight=False,
        )
        following = f"clean {dest} cleaned" if raw else f"run {dest} --out out"
        out.print(f"Next: acmetrace {following}", highlight=False)
    return OK


def _jobs(text: str | None) -> int | None:
    if text is None:
        return None
    if text == "full":
        return ALL_JOBS
    if not text.isdigit():
        raise UsageError(f"--jobs {text} is no number.", hint='Give a number, or "full".')
    return int(text)
