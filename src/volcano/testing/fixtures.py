"""Fixtures for pytest, there wherever Volcano is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from volcano.sdk import Client
    from volcano.testing.cluster import LocalCluster


@pytest.fixture(scope="session")
def volcano_cluster() -> Iterator[LocalCluster]:
    """A local cluster that all tests of the session share: give each test a namespace of its own."""
    from volcano.testing.cluster import local_cluster

    with local_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def volcano_client(volcano_cluster: LocalCluster) -> Iterator[Client]:
    """A client of that cluster: `volcano_client.submit(…).result()`."""
    from volcano.sdk import Client

    with Client(str(volcano_cluster.kubeconfig)) as client:
        yield client
