"""The podgroup of a job, and what it says about why the job waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

ALIVE = frozenset({"Pending", "Running", "Restarting"})
"""Phases of a job whose podgroup may wait."""


class Refusal(NamedTuple):
    reason: str
    message: str


async def podgroup_of(client: Client, job: JsonObject) -> JsonObject | None:
    """The podgroup that the job controller made for this job."""
    from volcano.api.resources import PODGROUPS
    from volcano.kube.errors import NotFound

    for name in names_of(job):
        try:
            return await client.get(PODGROUPS.untyped, name, job["metadata"].get("namespace"))
        except NotFound:
            continue
    return None


def names_of(job: JsonObject) -> tuple[str, str]:
    """What its podgroup may be called: `<job>-<uid>`, or `<job>` from old versions."""
    metadata = job["metadata"]
    return f"{metadata['name']}-{metadata.get('uid', '')}", metadata["name"]


def refusal(podgroup: JsonObject, events: Sequence[JsonObject] = ()) -> Refusal | None:
    """Why it is not scheduled: its newest condition says, or else its newest event. None when it is."""
    conditions = [
        condition
        for condition in (podgroup.get("status") or {}).get("conditions") or ()
        if condition.get("status") == "True"
    ]
    if conditions and conditions[-1].get("type") == "Scheduled":
        return None
    refused = [condition for condition in conditions if condition.get("type") == "Unschedulable"]
    found = refused[-1] if refused else _newest_event(podgroup["metadata"]["name"], events)
    return Refusal(found.get("reason", ""), found.get("message", "")) if found else None


def _newest_event(podgroup: str, events: Sequence[JsonObject]) -> JsonObject | None:
    refusals = [
        event
        for event in events
        if event.get("reason") == "Unschedulable" and (event.get("involvedObject") or {}).get("name") == podgroup
    ]
    return max(refusals, key=lambda event: event.get("lastTimestamp") or "", default=None)


def why_of(job: JsonObject, podgroups: Mapping[tuple[str, str], JsonObject], *, unplaced: int = 0) -> Refusal:
    """One word or two on why a job is where it is, and a sentence; empty for one that runs or has completed.

    `podgroups` by namespace and name; `unplaced` is how many of its pods have no node, where that is known.
    """
    metadata, state = job["metadata"], (job.get("status") or {}).get("state") or {}
    own = Refusal(str(state.get("reason") or ""), str(state.get("message") or ""))
    if state.get("phase", "") not in ("", *ALIVE):
        return own
    namespace = metadata.get("namespace", "")
    group = next((podgroups[key] for name in names_of(job) if (key := (namespace, name)) in podgroups), None)
    if group is None:
        return own if own.reason or state.get("phase") == "Running" else own._replace(reason="NotSeenYet")
    refused = refusal(group)
    if refused is not None:
        return refused
    if (group.get("status") or {}).get("phase", "Pending") == "Pending":
        return own._replace(reason="NotAdmitted")
    return own._replace(reason="RestWaits" if unplaced else "")
