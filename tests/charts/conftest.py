"""One API server of Kubernetes for all tests of the chart that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import control_plane
from tests.kube_cluster.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    root = tmp_path_factory.mktemp("chart")
    with Programs(root) as programs:
        yield control_plane.start(root, programs, controllers=False)
