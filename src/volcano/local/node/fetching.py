"""Fetches what a pod refers to: config maps, secrets, claims with their volumes, service account tokens.

Neighbours: `sources.references` says what to fetch; `agent` plans with the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import CONFIGMAPS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, SECRETS, SERVICE_ACCOUNTS
from volcano.kube.client import Client
from volcano.kube.errors import MethodNotAllowed, NotFound
from volcano.local.node.sources import ClaimVolume, References, Sources, Token


class Fetcher:
    """Fetches for one pod after another; each object is asked for once in this fetcher's (short) life."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str | None, str], JsonObject | None] = {}

    async def fetch(self, pod: JsonObject, wanted: References) -> Sources:
        """Everything in `wanted` that exists now."""
        namespace = pod["metadata"]["namespace"]
        config_maps, secrets, claims, tokens = await asyncio.gather(
            self._objects(CONFIGMAPS.untyped, namespace, wanted.config_maps),
            self._objects(SECRETS.untyped, namespace, wanted.secrets),
            self._claims(namespace, wanted.claims),
            _tokens(self._client, pod, wanted.tokens),
        )
        return Sources(config_maps, secrets, claims, tokens)

    async def _objects(
        self, resource: Resource[JsonObject], namespace: str, names: Iterable[str]
    ) -> dict[str, JsonObject]:
        found = {name: await self._get(resource, name, namespace) for name in names}
        return {name: obj for name, obj in found.items() if obj is not None}

    async def _claims(self, namespace: str, names: Iterable[str]) -> dict[str, ClaimVolume]:
        """The volume of each claim that exists; one without a volume gets a folder under its own name."""
        found = {}
        for name in names:
            claim = await self._get(PERSISTENT_VOLUME_CLAIMS.untyped, name, namespace)
            if claim is None:
                continue
            volume_name = (claim.get("spec") or {}).get("volumeName") or ""
            volume = await self._get(PERSISTENT_VOLUMES.untyped, volume_name, None) if volume_name else None
            spec = (volume or {}).get("spec") or {}
            path = str((spec.get("hostPath") or spec.get("local") or {}).get("path") or "")
            found[name] = ClaimVolume(volume_name or name, path)
        return found

    async def _get(self, resource: Resource[JsonObject], name: str, namespace: str | None) -> JsonObject | None:
        key = (resource.plural, namespace, name)
        if key not in self._known:
            self._known[key] = None
            with contextlib.suppress(NotFound):
                found: JsonObject = await self._client.get(resource, name, namespace)
                self._known[key] = found
        return self._known[key]


async def _tokens(client: Client, pod: JsonObject, wanted: Iterable[Token]) -> dict[Token, str]:
    """Tokens bound to the pod. A server without the token endpoint gives none: the file is then absent."""
    metadata = pod["metadata"]
    found = {}
    for token in wanted:
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [token.audience] if token.audience else [],
                "expirationSeconds": token.expiration_seconds,
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                },
            },
        }
        path = SERVICE_ACCOUNTS.path(metadata["namespace"], token.service_account, "token")
        try:
            response = await client.raw("POST", path, (), json.dumps(request).encode())
        except (NotFound, MethodNotAllowed):
            continue
        found[token] = str(json.loads(response.content)["status"]["token"])
    return found
