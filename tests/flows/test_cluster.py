"""Opening and closing a Dask client."""

from __future__ import annotations

import psutil
import pytest
from distributed import LocalCluster

from flows.cluster import open_client
from schemas.errors import UsageError


def listening() -> set[tuple[str, int]]:
    """Addresses this process listens on."""
    sockets = psutil.Process().net_connections("tcp")
    return {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}


def test_the_default_cluster_listens_on_loopback_only() -> None:
    before = listening()
    with open_client(workers=2) as client:
        assert client.submit(sum, [1, 2]).result() == 3
        assert {host for host, _ in listening() - before} <= {"127.0.0.1"}


def test_what_was_opened_is_closed() -> None:
    before = listening()
    with open_client(workers=1) as client:
        pass
    assert client.status == "closed"
    assert listening() <= before


def test_a_scheduler_of_somebody_else_stays() -> None:
    with LocalCluster(
        n_workers=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        with open_client(cluster.scheduler_address) as client:
            assert client.submit(sum, [1, 2]).result() == 3
        assert cluster.scheduler.status.name == "running"


def test_no_answer_at_an_address_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.cluster._CONNECT_S", 1)
    with pytest.raises(UsageError, match=r"dask scheduler"), open_client("tcp://127.0.0.1:9"):
        pass
