"""A namespace for each test, in clusters of both kinds."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster.disturbed import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.sites import Site


__all__ = ["place"]


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def site(any_site: Site, numbers: Iterator[int]) -> Iterator[Site]:
    """The cluster, seen from a fresh namespace."""
    with any_site.kubectl.in_namespace(f"test-{next(numbers)}") as kubectl:
        yield dataclasses.replace(any_site, kubectl=kubectl)
