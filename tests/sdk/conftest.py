"""A client of a cluster in this process, which all tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from volcano.sdk import Client
from volcano.testing.cluster import local_cluster


@pytest.fixture(scope="session")
def kubeconfig() -> Iterator[Path]:
    with local_cluster(cpus=4) as cluster:
        yield cluster.kubeconfig


@pytest.fixture(scope="session")
def client(kubeconfig: Path) -> Iterator[Client]:
    with Client(str(kubeconfig)) as client:
        yield client
