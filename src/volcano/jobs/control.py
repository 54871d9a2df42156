"""Sending a Command object: how a person tells a controller to suspend, resume, open or close something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import phases
from volcano.jobs.phases import phase_of

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
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


def foreseen(job: JsonObject, action: str) -> str:
    """What a person should know before `job` is told AbortJob or ResumeJob; "" where it does what it says.

    Every resume counts as a retry, and the one that uses up the retries fails the job.
    """
    name, phase = (job.get("metadata") or {}).get("name", ""), phase_of(job)
    verb = "suspend" if action == "AbortJob" else "resume"
    if phase in phases.ENDED:
        return f"job {name} has ended ({phase}): nothing to {verb}"
    retry, allowed = (job.get("status") or {}).get("retryCount", 0) + 1, (job.get("spec") or {}).get("maxRetry")
    if not allowed or retry < allowed:
        return ""
    if verb == "suspend":
        return f"job {name}: to resume it would be retry {retry} of {allowed} (spec.maxRetry), and fail it"
    if phase not in (phases.ABORTING, phases.ABORTED):
        return ""
    return (
        f"job {name}: this is retry {retry} of {allowed} (spec.maxRetry): it uses up the retries, and the job fails; "
        "to run it again, submit it anew"
    )
