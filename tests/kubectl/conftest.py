"""A cluster for the session, a namespace for each test, and every kubectl that can be had."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.kubectl import binaries
from tests.kubectl.harness import Cluster, Kubectl, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster") / "root")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session", params=["installed", "1.36", "machine"])
def binary(request: pytest.FixtureRequest) -> Path:
    try:
        if request.param == "installed":
            return binaries.installed()
        if request.param == "1.36":
            return binaries.older(request.config.cache.mkdir("kubectl-1.36"))
        return binaries.of_the_machine()
    except binaries.Absent as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def anywhere(cluster: Cluster, binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl without a namespace of its own; its discovery cache is shared by the tests of one binary."""
    kubectl = Kubectl(binary, cluster.kubeconfig, tmp_path_factory.mktemp("home"))
    eventually("the node to register", lambda: kubectl.get("nodes")["items"])
    return kubectl


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def kubectl(anywhere: Kubectl, numbers: Iterator[int]) -> Kubectl:
    """kubectl in a fresh namespace."""
    namespace = f"test-{next(numbers)}"
    anywhere("create", "namespace", namespace)
    return Kubectl(anywhere.binary, anywhere.kubeconfig, anywhere.home, namespace)
