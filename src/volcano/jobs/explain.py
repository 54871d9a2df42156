"""Why a job, podgroup, pod or queue waits, from one cycle of the engine on what is there now. Changes nothing.

`whole.py` reads what is there; `vcctl explain` and the SDK show what is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.jobs.standing import qualified, scheduler_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client


class Unexplained(Exception):
    """There is nothing to say: the object does not exist, or the scheduler could not decide at all."""


@dataclass(frozen=True)
class Cycle:
    """What one cycle decided, beside the manifests that it was given."""

    documents: Sequence[JsonObject]
    result: JsonObject
    warnings: tuple[str, ...] = ()
    """What is wrong with the scheduler's configuration or a plugin of it."""

    def of_kind(self, kind: str) -> list[JsonObject]:
        return [document for document in self.documents if document.get("kind") == kind]


def cycle(documents: Sequence[JsonObject], conf: str = "", *, namespace: str = "default") -> Cycle:
    """One cycle on these objects. `conf` is the scheduler's configuration; that of a dump comes before its default."""
    import time

    from volcano.scheduler import dump, offline
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.framework import conf as grammar, registry as registries
    from volcano.simulator.jobs import InstantJobController

    record = dump.recorded(documents)
    try:
        registry = registries.installed(registries.built_in())
        result = offline.schedule(
            documents,
            grammar.parse(conf or (record.conf if record else "") or grammar.DEFAULT_CONF, registry.actions),
            replace(Flags().options(), patience_seconds=None),  # whoever asks wants to hear at once
            now=record.now if record else time.time(),
            seed=record.seed if record else 0,
            namespace=namespace,
            job_controller=InstantJobController,
            registry=registry,
        )
    except (offline.OfflineError, grammar.ConfError, registries.RegistryError) as error:
        raise Unexplained(str(error)) from error
    return Cycle(documents, result["cycles"][0], tuple(result["warnings"]))


async def live_cycle(client: Client, *, scheduler_namespace: str = "volcano-system") -> Cycle:
    """One cycle on what the cluster holds now, with its scheduler's configuration."""
    from volcano.jobs.whole import read_cluster

    return cycle(*await read_cluster(client, scheduler_namespace))


def explain(found: Cycle, kind: str, name: str, namespace: str) -> JsonObject:
    """What there is to say about a job, podgroup, pod or queue."""
    if kind not in KINDS:
        raise Unexplained(f"there is nothing to explain about a {kind}: say {', '.join(KINDS)}")
    return KINDS[kind](found, name, namespace)


def of_job(found: Cycle, name: str, namespace: str) -> JsonObject:
    names = _names_of_groups(found, name, namespace)
    keys = [key for key in found.result["podgroups"] if key in names]
    if not keys:
        raise Unexplained(
            f"job {namespace}/{name} has no podgroup: it does not exist, has ended, waits for another job "
            "(vcctl job view tells), or the job controller has not seen it"
        )
    return {"job": f"{namespace}/{name}", **of_podgroup(found, keys[0].partition("/")[2], namespace)}


def _names_of_groups(found: Cycle, name: str, namespace: str) -> set[str]:
    """What podgroups of the job may be called: those that it owns, and where none says its owner, by name and uid."""
    names = {f"{namespace}/{name}"}
    for job in found.of_kind("Job"):
        if qualified(job) == f"{namespace}/{name}":
            uid = job["metadata"].get("uid") or f"{namespace}-{name}"  # that of manifests without one
            names.add(f"{namespace}/{name}-{uid}")
    for group in found.of_kind("PodGroup"):
        owners = [one for one in group["metadata"].get("ownerReferences") or () if one.get("kind") == "Job"]
        if any(owner.get("name") == name for owner in owners) and qualified(group).startswith(f"{namespace}/"):
            names.add(qualified(group))
        elif owners:
            names.discard(qualified(group))
    return names


def of_podgroup(found: Cycle, name: str, namespace: str) -> JsonObject:
    key = f"{namespace}/{name}"
    group = found.result["podgroups"].get(key)
    if group is None:
        raise Unexplained(f"podgroup {key} does not exist")
    members = [pod for pod, about in found.result["pods"].items() if about["podgroup"] == key]
    return {
        "podgroup": key,
        "phase": group["phase"],
        "reason": found.result["reasons"].get(key),
        "pods": {pod: found.result["tasks"][pod] for pod in members},
        **_pretended(found, members),
    }


def of_pod(found: Cycle, name: str, namespace: str) -> JsonObject:
    key = f"{namespace}/{name}"
    state = found.result["tasks"].get(key)
    if state is None:
        raise Unexplained(f"pod {key} {_unknown(found, name, namespace)}")
    told: JsonObject = {"pod": key, "status": state["status"], "node": state["node"], **_pretended(found, [key])}
    about = found.result["pods"][key]
    if about["message"]:
        told["message"] = about["message"]
    if about["podgroup"]:
        reason = found.result["reasons"].get(about["podgroup"])
        if reason and reason["code"] == "RestWaits" and state["node"] and state["status"] != "Pipelined":
            reason = None  # others of its job wait: not this one
        told |= {"podgroup": about["podgroup"], "reason": reason}
    return told


def _pretended(found: Cycle, pods: Iterable[str]) -> JsonObject:
    """A note on those of `pods` that run where no command does."""
    nodes = (node["metadata"] for node in found.of_kind("Node"))
    simulated = {node["name"] for node in nodes if (node.get("labels") or {}).get(keys.SIMULATED) == "true"}
    states = [found.result["tasks"][pod] for pod in pods]
    where = [state["node"] for state in states if state["status"] == "Running" and state["node"] in simulated]
    if not where:
        return {}
    subject = f"node {where[0]} is simulated" if len(states) == 1 else f"{len(where)} pods are on simulated nodes"
    how = f"no command runs there, a pod ends when its annotation {keys.SIMULATE_DURATION} says, or never"
    return {"note": f"{subject}: {how}"}


def _unknown(found: Cycle, name: str, namespace: str) -> str:
    """Why the scheduler does not know that pod."""
    for pod in found.of_kind("Pod"):
        if qualified(pod) == f"{namespace}/{name}":
            return f"waits for scheduler {scheduler_of(pod)} (spec.schedulerName), which is not the one of Volcano"
    return "does not exist"


def of_queue(found: Cycle, name: str, _namespace: str) -> JsonObject:
    queue = found.result["queues"].get(name)
    if queue is None:
        raise Unexplained(f"queue {name} does not exist")
    manifest = next(one for one in found.of_kind("Queue") if one["metadata"]["name"] == name)
    spec = manifest.get("spec") or {}
    limits = {field: spec[field] for field in ("capability", "deserved", "guarantee", "weight") if spec.get(field)}
    members = [
        qualified(group)
        for group in found.of_kind("PodGroup")
        if (group.get("spec") or {}).get("queue", "default") == name
    ]
    waiting = {key: found.result["reasons"][key] for key in members if key in found.result["reasons"]}
    state = (manifest.get("status") or {}).get("state", "")
    held = {"allocated": queue["allocated"]}  # what it deserves as the scheduler reckons comes before the manifest's
    return {"queue": name, "state": state, **held, **limits, **queue, "waiting": waiting}


KINDS: dict[str, Callable[[Cycle, str, str], JsonObject]] = {
    "job": of_job,
    "podgroup": of_podgroup,
    "pod": of_pod,
    "queue": of_queue,
}
