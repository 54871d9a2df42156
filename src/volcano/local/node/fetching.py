"""Fetches what a pod refers to: config maps, secrets, claims with their volumes, service account tokens.

Neighbours: `sources.references` says what to fetch; `agent` plans with the result.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import CONFIGMAPS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, SECRETS, SERVICE_ACCOUNTS
from volcano.kube.client import Client
from volcano.kube.errors import MethodNotAllowed, NotFound
from volcano.local.node.sources import ClaimVolume, References, Sources, Token


async def fetch(client: Client, pod: JsonObject, wanted: References) -> Sources:
    """Everything in `wanted` that exists now."""
    namespace = pod["metadata"]["namespace"]
    config_maps, secrets, claims, tokens = await asyncio.gather(
        _objects(client, CONFIGMAPS.untyped, namespace, wanted.config_maps),
        _objects(client, SECRETS.untyped, namespace, wanted.secrets),
        _claims(client, namespace, wanted.claims),
        _tokens(client, pod, wanted.tokens),
    )
    return Sources(config_maps, secrets, claims, tokens)


async def _objects(
    client: Client, resource: Resource[JsonObject], namespace: str, names: Iterable[str]
) -> dict[str, JsonObject]:
    found = {}
    for name in names:
        obj = await _get(client, resource, name, namespace)
        if obj is not None:
            found[name] = obj
    return found


async def _claims(client: Client, namespace: str, names: Iterable[str]) -> dict[str, ClaimVolume]:
    """The volume of each claim that exists; one without a volume gets a folder under its own name."""
    found = {}
    for name in names:
        claim = await _get(client, PERSISTENT_VOLUME_CLAIMS.untyped, name, namespace)
        if claim is None:
            continue
        volume_name = (claim.get("spec") or {}).get("volumeName") or ""
        spec = (await _get(client, PERSISTENT_VOLUMES.untyped, volume_name, None) or {}).get("spec") or {}
        path = str((spec.get("hostPath") or spec.get("local") or {}).get("path") or "")
        found[name] = ClaimVolume(volume_name or name, path)
    return found


async def _get(client: Client, resource: Resource[JsonObject], name: str, namespace: str | None) -> Any:
    if not name:
        return None
    try:
        return await client.get(resource, name, namespace)
    except NotFound:
        return None


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
