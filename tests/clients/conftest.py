"""One cluster for all clients, as people start it; each test has a namespace of its own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.kubectl.harness import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster") / "root")
    try:
        cluster.start()
        yield str(cluster.kubeconfig)
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def name(numbers: Iterator[int]) -> str:
    """A name for the namespace of a test."""
    return f"test-{next(numbers)}"
