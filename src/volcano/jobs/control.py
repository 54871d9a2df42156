"""Sending a Command object: how a person tells a controller to suspend, resume, open or close something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.kube.client import Client


async def send_command(
    client: Client, resource: Resource[Any], target: dict[str, Any], action: str, namespace: str
) -> None:
    """Create a Command in `namespace` that asks `target`'s controller for `action`; it vanishes once obeyed."""
    from volcano.api.resources import COMMANDS

    metadata = target.get("metadata") or {}
    name = metadata.get("name", "")
    reference = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name,
        "uid": metadata.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    command = {
        "apiVersion": COMMANDS.api_version,
        "kind": COMMANDS.kind,
        "metadata": {"generateName": f"{name}-{action.lower()}-", "ownerReferences": [reference]},
        "target": reference,
        "action": action,
    }
    await client.create(COMMANDS.untyped, command, namespace)
