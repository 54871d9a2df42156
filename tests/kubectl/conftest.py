"""Every kubectl that can be had on local mode, and one on Kubernetes' own control plane; a namespace for each test."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.kubectl import binaries
from tests.kubectl.harness import Kubectl
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session", params=["installed", "1.36", "machine", pytest.param("kube", marks=pytest.mark.kube)])
def anywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl without a namespace of its own; its discovery cache is shared by the tests of one binary."""
    try:
        binary = found(request.param, request.config)
    except binaries.Absent as error:
        pytest.skip(str(error))
    site = request.getfixturevalue("kube_site" if request.param == "kube" else "local_site")
    kubectl = Kubectl(binary, site.kubectl.kubeconfig, tmp_path_factory.mktemp("home"))
    eventually("the node to register", lambda: kubectl.get("nodes")["items"])
    return kubectl


def found(which: str, config: pytest.Config) -> Path:
    if which == "1.36":
        return binaries.older(config.cache.mkdir("kubectl-1.36"))
    return binaries.of_the_machine() if which == "machine" else binaries.installed()


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def kubectl(anywhere: Kubectl, numbers: Iterator[int]) -> Iterator[Kubectl]:
    """kubectl in a fresh namespace."""
    with anywhere.in_namespace(f"kubectl-{next(numbers)}") as kubectl:
        yield kubectl
