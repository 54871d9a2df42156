"""A cluster of each kind for all clients; each test has a namespace of its own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.sites import Site


@pytest.fixture(scope="session")
def kubeconfig(any_site: Site) -> str:
    return str(any_site.kubectl.kubeconfig)


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def name(numbers: Iterator[int]) -> str:
    """A name for the namespace of a test."""
    return f"client-{next(numbers)}"
