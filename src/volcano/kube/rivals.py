"""Another installation in the same cluster: two that decide about the same objects undo each other's work.

Beside `leader`, which only knows the copies of its own installation. Clocks are not compared: a lease is alive when it
is seen to change.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from volcano.api.core import LeaseSpec
from volcano.api.resources import LEASES
from volcano.kube.client import Client
from volcano.kube.errors import ApiError

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0


class Rivals:
    """Leases of our name in other namespaces, and which of them somebody renews while `look` runs."""

    def __init__(self, client: Client, name: str, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._seen: dict[str, LeaseSpec] = {}
        self._alive: dict[str, str] = {}

    def problem(self) -> str | None:
        """Where another one leads, and by whom; two daemons of different --scheduler-name may have that."""
        if not self._alive:
            return None
        where = ", ".join(f"namespace {namespace} ({holder})" for namespace, holder in sorted(self._alive.items()))
        return f"another installation holds the lease {self._name} in {where}: both decide about the same objects"

    async def look(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self._look()
            except (ApiError, OSError) as error:
                log.debug("leases of other installations cannot be seen: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        leases = (await self._client.list(LEASES, field_selector=f"metadata.name={self._name}")).items
        others = {each.metadata.namespace: each.spec for each in leases if each.metadata.namespace != self._namespace}
        self._alive = {
            namespace: spec.holder_identity
            for namespace, spec in others.items()
            if spec.holder_identity and self._seen.get(namespace, spec) != spec
        }
        self._seen = others
