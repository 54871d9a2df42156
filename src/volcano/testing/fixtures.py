"""Fixtures for pytest. In a `conftest.py`: `pytest_plugins = ["volcano.testing.fixtures"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from volcano.testing.cluster import LocalCluster, local_cluster


@pytest.fixture(scope="session")
def volcano_cluster() -> Iterator[LocalCluster]:
    """A local cluster that all tests of the session share: give each test a namespace of its own."""
    with local_cluster() as cluster:
        yield cluster
