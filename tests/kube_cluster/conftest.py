"""A cluster of each kind for the session, and a namespace for each test."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import control_plane, sites
from tests.kubectl import binaries
from tests.kubectl.harness import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.sites import Site


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture(scope="session", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster with one node that runs pods."""
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    try:
        kubectl = binaries.installed()
    except binaries.Absent as error:
        pytest.skip(str(error))
    make = sites.kube if request.param == "kube" else sites.local
    yield from make(root(tmp_path_factory, request.param), kubectl)


def root(factory: pytest.TempPathFactory, name: str) -> Path:
    return factory.mktemp(name)


@pytest.fixture
def site(cluster: Site, numbers: Iterator[int]) -> Site:
    """The cluster, seen from a fresh namespace."""
    namespace = f"test-{next(numbers)}"
    cluster.kubectl("create", "namespace", namespace)
    eventually("the service account", lambda: cluster.kubectl("-n", namespace, "get", "sa").out)
    return dataclasses.replace(cluster, kubectl=dataclasses.replace(cluster.kubectl, namespace=namespace))
