"""Who is measured: node addresses, column names and their order, as in the release.

Kalos nodes are `172.31.x.y`, Seren nodes `10.140.x.y`; a GPU is
`<node>-<index>`. Kalos SM files name pods instead. IPMI writes a Seren node as
`SH-IDC1-10-140-x-y`. When something is measured belongs in `windows`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.metrics import CATALOGUE
from tasks.sampling.hashing import key_of, shuffled

IntArray = NDArray[np.int64]

GPUS_PER_NODE = 8
FULL_FLEET = {"seren": 1992, "kalos": 2344}
LARGEST_FLEET = 30_720  # addresses of the release's two networks
_POD_METRICS = ("SM_ACTIVE", "SM_OCCUPANCY")
# The memory files list the nodes in another order than the others.
_OWN_ORDER = ("FB_USED", "FB_FREE", "MEMORY_TEMP")


@dataclass(frozen=True)
class Columns:
    """Columns of a wide file in file order: names, node number and lane (GPU index, or 0 for a node)."""

    names: tuple[str, ...]
    node: IntArray
    lane: IntArray
    nodes: int
    lanes: int


def node_addresses(cluster: str, nodes: int) -> tuple[str, ...]:
    """The addresses of a cluster's nodes by node number."""
    if cluster == "kalos":
        return tuple(f"172.31.{n % 16}.{10 + n // 16}" for n in range(nodes))
    return tuple(f"10.140.{n // 240}.{10 + n % 240}" for n in range(nodes))


def columns_of(cluster: str, metric: str, gpus: int, seed: int) -> Columns:
    """The columns of a cluster's file of a metric; `gpus` is a multiple of 8."""
    nodes = gpus // GPUS_PER_NODE
    per_gpu = CATALOGUE[metric].entity == "gpu"
    lanes = GPUS_PER_NODE if per_gpu else 1
    listed = "nodes" if not per_gpu else metric if metric in _OWN_ORDER else "gpus"
    order = shuffled(key_of(seed, cluster, "order", listed), nodes)
    if cluster == "seren" and metric == "NODE_CPU_UTILIZATION" and nodes > GPUS_PER_NODE:
        order = order[:-1]  # the release has one node less here than GPU nodes
    node = np.repeat(order, lanes)
    lane = np.tile(np.arange(lanes, dtype=np.int64), len(order))
    if cluster == "seren" and metric == "DRAM_ACTIVE" and nodes > GPUS_PER_NODE:
        node, lane = node[:-3], lane[:-3]  # and some GPUs less here
    hosts = _hosts(cluster, metric, nodes)
    names = tuple(
        f"{hosts[n]}-{i}" if per_gpu else hosts[n] for n, i in zip(node.tolist(), lane.tolist(), strict=True)
    )
    return Columns(names=names, node=node, lane=lane, nodes=nodes, lanes=lanes)


def _hosts(cluster: str, metric: str, nodes: int) -> tuple[str, ...]:
    if cluster == "kalos" and metric in _POD_METRICS:
        return tuple(f"lingjun-pod{9 + n // 64}-{n % 64:04d}" for n in range(nodes))
    return node_addresses(cluster, nodes)


def ipmi_nodes(stem: str, gpus: int) -> tuple[str, ...]:
    """The IPMI names of the servers in a file; the GPU servers are the nodes of Seren.

    Of the GPU servers one in eight is of type C, two are of type B and the rest
    of type A; there is a CPU server for every four. A fleet of one node still
    has a C server, without wide series of its own.
    """
    nodes = gpus // GPUS_PER_NODE
    ab = _ab_count(nodes)
    if stem == "GPU_AB_Power":
        chosen = node_addresses("seren", nodes)[:ab]
    elif stem == "GPU_C_Power":
        chosen = node_addresses("seren", max(nodes, 2))[ab:]
    else:
        chosen = tuple(f"10.140.{16 + n // 240}.{10 + n % 240}" for n in range(max(2, nodes // 4)))
    return tuple("SH-IDC1-" + address.replace(".", "-") for address in chosen)


def type_b_count(gpus: int) -> int:
    """How many servers at the end of the A/B file are of type B; at least one is of type A."""
    nodes = gpus // GPUS_PER_NODE
    return min(max(1, nodes // 4), _ab_count(nodes) - 1)


def _ab_count(nodes: int) -> int:
    return max(1, nodes - max(1, nodes // 8))
