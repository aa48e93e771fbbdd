"""How long job logs take: ours, all analyses among it, beside plain pandas with the summary alone.

Belongs here: the logs of Helios at their real size, both ways of reading them, and
whether they agree. `python -m tests.bench jobs` prints a table; with fewer jobs it is a
test that both find the same.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from schemas.joblogs.helios import HELIOS_CLUSTERS
from tasks.sampling import SampleOptions, write_sample
from tests.bench.data import BenchError
from tests.bench.measure import PRINTED, Sample, watched

ALL_JOBS = 1 << 40
LIMIT_S, LIMIT_MB = 60.0, 1500.0
_TIMEOUT_S = 900.0

_OURS = "from flows.cli import main; main()"
# As a notebook does it: all logs as one frame, then the published figures of it.
_PANDAS = """
import sys, pandas as pd
times = ["submit_time", "start_time", "end_time"]
logs = [pd.read_csv(path, parse_dates=times) for path in sys.argv[1:]]
log = pd.concat(logs, ignore_index=True)
gpu, cpu = log[log["gpu_num"] > 0], log[log["gpu_num"] == 0]
row = {"job_num": len(log), "cpu_job_num": len(cpu), "gpu_job_num": len(gpu)}
row["avg_run_time_gpu"], row["med_run_time_gpu"] = gpu["duration"].mean(), gpu["duration"].median()
row["avg_que_time_gpu"], row["avg_gpu_num"] = gpu["queue"].mean(), gpu["gpu_num"].mean()
row["complete_rate_gpu"] = (gpu["state"] == "COMPLETED").mean()
row["complete_gpu_time"] = (gpu["duration"] * gpu["gpu_num"])[gpu["state"] == "COMPLETED"].sum()
row["avg_run_time_cpu"] = cpu["duration"].mean()
pd.DataFrame([row]).round(3).to_csv(sys.stdout, index=False)
"""


@dataclass(frozen=True)
class JobsResult:
    """Both measurements, the jobs, and the bytes of the logs."""

    jobs: int
    bytes: int
    ours: Sample
    pandas: Sample

    def table(self) -> str:
        """Markdown: times, peak memory, and the ratios of this run."""
        rows = [
            ("acmetrace jobs, all analyses", self.ours),
            ("pandas, ten figures of the summary", self.pandas),
        ]
        lines = ["| Way | s | jobs/s | Peak MB |", "| --- | --- | --- | --- |"]
        for name, sample in rows:
            rate, peak = self.jobs / sample.process_s, sample.peak_bytes / 1e6
            lines.append(f"| {name} | {sample.process_s:.1f} | {rate:,.0f} | {peak:,.0f} |")
        time = self.ours.process_s / self.pandas.process_s
        memory = self.ours.peak_bytes / self.pandas.peak_bytes
        lines.append(f"\nours / pandas: {time:.2f} of the time, {memory:.2f} of the memory")
        met = self.ours.process_s <= LIMIT_S and self.ours.peak_bytes <= LIMIT_MB * 1e6
        verdict = "met" if met else "missed"
        lines.append(f"{self.jobs:,} jobs within {LIMIT_S:g} s and {LIMIT_MB:,.0f} MB: {verdict}")
        return "\n".join(lines)


def run_jobs(jobs: int = ALL_JOBS) -> JobsResult:
    """Make the logs, read them in both ways, each in a process of its own, and check that they agree.

    Raises:
        BenchError: a way failed, or both find different figures.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "data"
        write_sample(source, SampleOptions(metrics=("job_trace",), helios=True, jobs=jobs))
        logs = [source / f"data/helios/{cluster}/cluster_log.csv" for cluster in HELIOS_CLUSTERS]
        ours, plain = folder / "ours", folder / "pandas"
        ours.mkdir()
        plain.mkdir()
        out = ours / "out"
        command = [
            sys.executable,
            "-c",
            _OURS,
            "jobs",
            str(source / "data/helios"),
            "--out",
            str(out),
            "-q",
        ]
        first = _checked(watched(command, ours, _TIMEOUT_S))
        second = _checked(watched([sys.executable, "-c", _PANDAS, *map(str, logs)], plain, _TIMEOUT_S))
        table = pd.read_csv(out / "jobs/cluster_summary.csv", index_col="id")
        mine = {name: float(str(table.at["Helios", name])) for name in map(str, table.columns)}
        theirs = pd.read_csv(io.StringIO((plain / PRINTED).read_text())).iloc[0]
        off = {
            key: (mine[str(key)], value)
            for key, value in theirs.items()
            if abs(mine[str(key)] - value) > 0.0011
        }
        if off:
            raise BenchError(f"both ways find different figures: {off}")
        return JobsResult(int(mine["job_num"]), sum(log.stat().st_size for log in logs), first, second)


def _checked(sample: Sample) -> Sample:
    if sample.failure:
        raise BenchError(sample.failure)
    return sample
