"""A cluster for the tests that leave it as they found it; those that harm theirs start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.harness import Cluster, Distant, running


@pytest.fixture(scope="session")
def local_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two CPUs, whatever the machine has."""
    with running(tmp_path_factory.mktemp("cluster"), "--cpus", "2") as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Local mode, and Kubernetes' own control plane with our daemons."""
    if request.param == "kube":
        site = request.getfixturevalue("kube_site")
        return Distant(tmp_path_factory.mktemp("home"), site.kubectl.kubeconfig)
    local: Cluster = request.getfixturevalue("local_cluster")
    return local
