"""Resource arithmetic: units, names, rendering, comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from volcano.scheduler.cluster import resources
from volcano.scheduler.cluster.resources import Dimensions


@pytest.mark.parametrize(
    ("name", "value", "amount"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", 2, 2000),
        ("memory", "1Gi", 1 << 30),
        ("pods", "110", 110),
        ("nvidia.com/gpu", "2", 2000),
        ("hugepages-2Mi", "4Mi", 4 << 20),
        ("memory", "100m", 1),
        ("cpu", "1e30", resources.LARGEST),
    ],
)
def test_amounts_are_whole_numbers_of_the_smallest_unit(name: str, value: str, amount: int) -> None:
    assert Dimensions().amount(name, value) == amount


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("count/pods", False),
        ("example.com/thing", True),
        ("requests.nvidia.com/gpu", False),
        ("attachable-volumes-csi-x", True),
        ("kubernetes.io/batch-cpu", True),
        ("unknown", False),
    ],
)
def test_only_schedulable_names_are_counted(name: str, counted: bool) -> None:
    assert resources.is_counted(name) is counted


def test_vectors_widen_when_many_names_appear() -> None:
    dimensions = Dimensions(width=4)
    widths: list[int] = []
    dimensions.on_widen(widths.append)

    vector = dimensions.vector({f"example.com/r{i}": 1 for i in range(6)})

    assert widths == [8, 16]
    assert len(vector) == 16
    assert dimensions.describe(vector) == {f"example.com/r{i}": "1" for i in range(6)}


def test_half_a_cpu_renders_as_milli() -> None:
    dimensions = Dimensions()
    assert dimensions.describe(dimensions.vector({"cpu": "2500m", "memory": "1Ki"})) == {
        "cpu": "2500m",
        "memory": "1024",
    }


def test_an_overcommitted_node_fits_nobody() -> None:
    request = np.array([0, 0, 1])
    assert not resources.fits(request, np.array([-5, 100, 10]))
    assert resources.fits(request, np.array([0, 0, 1]))


def test_shares_of_nothing() -> None:
    assert resources.share(0, 0) == 0.0
    assert resources.share(1, 0) == 1.0
    assert resources.shares(np.array([1, 0, 2]), np.array([0, 0, 4])).tolist() == [1.0, 0.0, 0.5]
