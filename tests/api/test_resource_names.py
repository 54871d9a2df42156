"""Names that Kubernetes gave, and those that others gave."""

import pytest

from volcano.api.resource_names import is_extended


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "example.com/fpga-a"])
def test_devices_of_others_are_extended(name: str) -> None:
    assert is_extended(name)


@pytest.mark.parametrize(
    "name", ["cpu", "hugepages-2Mi", "kubernetes.io/x", "a.kubernetes.io/b", "requests.nvidia.com/gpu"]
)
def test_kubernetes_own_names_and_names_of_quotas_are_not(name: str) -> None:
    assert not is_extended(name)
