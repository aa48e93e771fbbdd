"""What is published of whole clusters: how many GPUs they have, how many jobs their summaries count.

From Hu et al., NSDI '24 (Seren, Kalos), its `cluster_summary.csv`, and Hu et al., SC '21; CC-BY-4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class PublishedCluster:
    """A cluster as published: its name in `cluster_summary.csv`, its GPUs, and the jobs of its row.

    `missing` says which of these jobs are known not to be in the public log. `log_jobs`, and
    `telemetry_gpus` and `telemetry_hours`, are the jobs, GPUs and hours that the release has.
    """

    title: str
    gpus: int | None = None
    cpu_jobs: int | None = None
    gpu_jobs: int | None = None
    missing: str = ""
    log_jobs: int | None = None
    telemetry_gpus: int | None = None
    telemetry_hours: int | None = None


PUBLISHED_CLUSTERS: Mapping[str, PublishedCluster] = MappingProxyType(
    {
        "seren": PublishedCluster(
            "Seren",
            2288,
            367_737,
            663_813,
            "213,223 of the published GPU jobs are not in the public log",
            log_jobs=818_327,
            telemetry_gpus=1992,
            telemetry_hours=93 * 24,
        ),
        "kalos": PublishedCluster(
            "Kalos", 2416, 42_506, 19_907, log_jobs=62_413, telemetry_gpus=2344, telemetry_hours=322
        ),
        "philly": PublishedCluster("Philly", None, 0, 112_956, log_jobs=112_956),
        "helios": PublishedCluster("Helios", None, 1_782_517, 1_580_464, log_jobs=3_362_981),
        "pai": PublishedCluster("PAI", None, 0, 1_037_085, log_jobs=1_260_920),
        "venus": PublishedCluster("Venus", None, 121_405, 125_303, log_jobs=246_708),
        "earth": PublishedCluster("Earth", None, 445_738, 427_148, log_jobs=872_886),
        "saturn": PublishedCluster("Saturn", None, 1_054_182, 698_896, log_jobs=1_753_078),
        "uranus": PublishedCluster("Uranus", None, 161_192, 329_117, log_jobs=490_309),
    }
)


def title_of(cluster: str) -> str:
    """The name of a cluster in a published summary; its own where it is not published."""
    known = PUBLISHED_CLUSTERS.get(cluster.lower())
    return known.title if known else cluster
