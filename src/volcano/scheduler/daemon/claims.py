"""Volume claims that are bound together with a pod: say which volume or node it is, and wait until they are bound.

The engine decided (plugins/kubernetes/volumes), Kubernetes' volume controller or a provisioner does the binding.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from volcano.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from volcano.kube.client import Client
from volcano.scheduler.framework.decisions import ClaimBinding
from volcano.scheduler.plugins.kubernetes.volumes.claims import SELECTED_NODE, is_bound

BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
FIRST_LOOK_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0


async def settle(client: Client, bindings: Sequence[ClaimBinding], timeout_seconds: float) -> None:
    """Raises TimeoutError when the claims are not bound in time, and whatever the API server refuses."""
    for binding in bindings:
        await _announce(client, binding)
    deadline = time.monotonic() + timeout_seconds
    for binding in bindings:
        await _bound(client, binding, deadline)


async def _announce(client: Client, binding: ClaimBinding) -> None:
    namespace, _, name = binding.claim.partition("/")
    claim = await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
    if is_bound(claim):
        return
    if not binding.volume:
        patch = {"metadata": {"annotations": {SELECTED_NODE: binding.node}}}
        await client.patch(PERSISTENT_VOLUME_CLAIMS, name, patch, namespace)
        return
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": name,
        "uid": claim.metadata.uid,
    }
    owned = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
    await client.patch(PERSISTENT_VOLUMES, binding.volume, owned)


async def _bound(client: Client, binding: ClaimBinding, deadline: float) -> None:
    namespace, _, name = binding.claim.partition("/")
    pause = FIRST_LOOK_SECONDS
    while not is_bound(await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"claim {binding.claim} was not bound to {binding.volume or 'a new volume'} in time")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
