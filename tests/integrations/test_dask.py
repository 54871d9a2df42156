"""Dask's own client on workers that are jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from volcano.integrations.dask import VolcanoCluster  # noqa: E402 - only where Dask is


def test_workers_compute_come_and_go(kubeconfig: Path) -> None:
    with VolcanoCluster(n_workers=1) as cluster, distributed.Client(cluster) as client:
        assert client.submit(pow, 2, 5).result(timeout=120) == 32
        cluster.scale(2)
        client.wait_for_workers(2, timeout=120)
        assert client.gather(client.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        cluster.scale(1)
        client.wait_for_workers(1, timeout=120)
