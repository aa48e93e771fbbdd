"""The Prefect task that draws the figures of a finished run, their manifest last."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from importlib.metadata import version

from prefect import task
from prefect.cache_policies import NO_CACHE

from schemas.figures import FIGURES_MANIFEST_NAME, FiguresManifest
from schemas.job_records import JOBS_MANIFEST_NAME
from schemas.manifest import MANIFEST_NAME
from schemas.version import code_version
from tasks.outputs.results import Results
from tasks.plots.catalogue import FOLDER, PLOTS, draw
from tasks.storage.publish import read_bytes, remove, remove_stale_temporaries, write_bytes


@task(name="figures", task_run_name="figures of {out}", cache_policy=NO_CACHE, persist_result=False)
def draw_figures(out: str) -> FiguresManifest:
    """Draw all figures of the run in `out`, and remove those that can no longer be drawn.

    Raises:
        IncompleteRun: no run has finished there.
        UsageError, ReadFailed: `out` cannot be read or written.
    """
    drawn = draw(Results(out))
    remove(out, FIGURES_MANIFEST_NAME)
    outputs = tuple(write_bytes(out, path, data) for path, data in sorted(drawn.files.items()))
    # Of an earlier run, finished or broken off, only known names can be there.
    for path in (f"{FOLDER}/{plot.name}.{kind}" for plot in PLOTS for kind in ("pdf", "png")):
        if path not in drawn.files:
            remove(out, path)
    remove_stale_temporaries(out)
    manifest = FiguresManifest(
        code_version=code_version(),
        packages={"matplotlib": version("matplotlib")},
        finished=datetime.now(UTC),
        drawn_from={
            name: hashlib.sha256(data).hexdigest()
            for name in (MANIFEST_NAME, JOBS_MANIFEST_NAME)
            if (data := read_bytes(out, name)) is not None
        },
        skipped=dict(drawn.skipped),
        outputs=outputs,
    )
    write_bytes(out, FIGURES_MANIFEST_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    return manifest
