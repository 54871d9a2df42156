"""Which names of resources are Kubernetes' own, and which others gave."""

from __future__ import annotations


def is_extended(name: str) -> bool:
    """Whether a name is a device or other resource such as nvidia.com/gpu: whole numbers, never overcommitted.

    As `IsExtendedResourceName` of Kubernetes: names of quotas (requests.…) are none.
    """
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
