"""One cluster for the tests that leave it as they found it; those that harm theirs start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.harness import Cluster, running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two CPUs, whatever the machine has."""
    with running(tmp_path_factory.mktemp("cluster"), "--cpus", "2") as cluster:
        yield cluster
