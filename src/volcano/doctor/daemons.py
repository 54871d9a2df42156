"""Whether scheduler and controllers are alive, and whether no two schedulers decide about the same pods."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, error, name_of, warning
from volcano.kube.complaints import ENDS, REPEAT_SECONDS

LEASES: Final = {"volcano": "vc-scheduler", "vc-controller-manager": "vc-controller-manager"}
WEBHOOKS: Final = "vc-webhook-manager"
SCHEDULER: Final = {"app": "volcano-scheduler"}
DEFAULT_NAME: Final = "volcano"
FLAG: Final = "--scheduler-name="


def check(facts: Facts) -> Iterator[Finding]:
    if not facts.is_local and "leases" not in facts.unseen:
        yield from _leases(facts)
    yield from _complaints(facts)
    yield from _rivals(facts)
    for deployment in facts.of("deployments"):
        yield from _readiness(deployment)


def _leases(facts: Facts) -> Iterator[Finding]:
    held: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for lease in facts.of("leases"):
        if lease["metadata"]["name"] in LEASES and _is_held(lease, facts.now):
            held[lease["metadata"]["name"]].append(lease)
    for name, daemon in LEASES.items():
        leases = held[name]
        if not leases:
            yield error(daemon, f"holds no lease {name!r}: none runs, or leader election is off", f"start {daemon}")
        elif len(leases) > 1:
            where = " and ".join(
                f"{each['metadata']['namespace']} ({each['spec']['holderIdentity']})" for each in leases
            )
            yield error(
                daemon,
                f"leads in {len(leases)} namespaces at once: {where}",
                "remove one installation, or give it a --scheduler-name and a lease of its own",
            )


def _is_held(lease: JsonObject, now: datetime.datetime) -> bool:
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    renewed = datetime.datetime.fromisoformat(spec["renewTime"])
    return now - renewed < datetime.timedelta(seconds=spec.get("leaseDurationSeconds", 15) * 2)


def _complaints(facts: Facts) -> Iterator[Finding]:
    """What the daemons say that they wait for, unless it is over or so long ago that it must be."""
    newest: dict[tuple[str, str], JsonObject] = {}
    for event in facts.of("events"):
        daemon = _teller(event)
        if daemon is not None and event.get("lastTimestamp"):
            # One problem replaces another; the rest of the events stand for themselves.
            reason: str = event.get("reason", "")
            kind = ENDS.get(reason, reason)
            known = newest.get((daemon, kind))
            if known is None or known["lastTimestamp"] <= event["lastTimestamp"]:
                newest[daemon, kind] = event
    for (daemon, _), event in sorted(newest.items()):
        age = facts.now - datetime.datetime.fromisoformat(event["lastTimestamp"])
        if event.get("type") == "Warning" and age.total_seconds() < 2 * REPEAT_SECONDS:
            yield error(daemon, f"says: {event.get('message', '')}", f"see its log, and /readyz ({event['reason']})")


def _teller(event: JsonObject) -> str | None:
    """The daemon that complains: on its lease, or on the Service in front of the webhooks."""
    about = event.get("involvedObject") or {}
    if about.get("kind") == "Lease":
        return LEASES.get(about.get("name", ""))
    component = (event.get("source") or {}).get("component")
    return WEBHOOKS if about.get("kind") == "Service" and component == WEBHOOKS else None


def _rivals(facts: Facts) -> Iterator[Finding]:
    """Deployments of schedulers that claim the same schedulerName."""
    claimed: defaultdict[str, list[str]] = defaultdict(list)
    for deployment in facts.of("deployments"):
        labels = deployment["metadata"].get("labels") or {}
        if SCHEDULER.items() <= labels.items() and (deployment.get("spec") or {}).get("replicas", 1):
            for name in _scheduler_names(deployment):
                claimed[name].append(name_of(deployment))
    for name, deployments in claimed.items():
        if len(deployments) > 1:
            yield error(
                f"schedulerName {name}",
                f"is claimed by {' and '.join(sorted(deployments))}",
                "give each scheduler a --scheduler-name of its own",
            )


def _scheduler_names(deployment: JsonObject) -> list[str]:
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    arguments = [
        argument for each in containers for argument in (*(each.get("command") or ()), *(each.get("args") or ()))
    ]
    return [argument.removeprefix(FLAG) for argument in arguments if argument.startswith(FLAG)] or [DEFAULT_NAME]


def _readiness(deployment: JsonObject) -> Iterator[Finding]:
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    if ready < wanted:
        finding = error if ready == 0 else warning
        yield finding(
            f"deployment {name_of(deployment)}",
            f"has {ready} of {wanted} pods ready",
            f"kubectl -n {deployment['metadata']['namespace']} describe deployment {deployment['metadata']['name']}",
        )
