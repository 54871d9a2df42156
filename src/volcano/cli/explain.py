"""vcctl explain: why a job, podgroup, pod or queue waits, from one cycle of the engine on what is there now.

Live from the cluster, or from manifests with -f; nothing is changed either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from volcano.cli.connection import connected, connection_flags, run_async
from volcano.cli.errors import fail
from volcano.cli.output import dump

KINDS = {
    "job": "job",
    "jobs": "job",
    "vcjob": "job",
    "vj": "job",
    "podgroup": "podgroup",
    "podgroups": "podgroup",
    "pg": "podgroup",
    "pod": "pod",
    "pods": "pod",
    "po": "pod",
    "queue": "queue",
    "queues": "queue",
    "q": "queue",
}

Document = dict[str, Any]


@dataclass(frozen=True)
class Cycle:
    """What one cycle decided, beside the manifests that it was given."""

    documents: Sequence[Document]
    result: Document

    def of_kind(self, kind: str) -> list[Document]:
        return [document for document in self.documents if document.get("kind") == kind]


@click.command()
@click.argument("kind", metavar="job|podgroup|pod|queue")
@click.argument("name")
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("-f", "--filename", "files", multiple=True, help="Explain these manifests instead of the cluster.")
@click.option("--scheduler-conf", default="", help="Configuration of the scheduler, where the cluster has none.")
@click.option("--scheduler-namespace", default="volcano-system", show_default=True)
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@connection_flags
def explain(
    kind: str,
    name: str,
    namespace: str,
    files: Sequence[str],
    scheduler_conf: str,
    scheduler_namespace: str,
    output: str,
    master: str,
    kubeconfig: str,
) -> None:
    """Say why something waits: which stage refuses it, what is needed and what there is, and who is in the way."""
    if kind.lower() not in KINDS:
        raise fail(f"there is nothing to explain about a {kind}: say job, podgroup, pod or queue")
    cycle = _cycle(files, scheduler_conf, scheduler_namespace, namespace, master, kubeconfig)
    found = EXPLAIN[KINDS[kind.lower()]](cycle, name, namespace)
    click.echo(_text(found) if output == "text" else dump(found, output), nl=False)


def _cycle(
    files: Sequence[str], conf_path: str, conf_namespace: str, namespace: str, master: str, kubeconfig: str
) -> Cycle:
    """One cycle on what the cluster, or the files, hold now."""
    import time

    from volcano.cli.dump import read_cluster, read_conf
    from volcano.cli.manifests import read
    from volcano.cli.schedule import configuration
    from volcano.scheduler import dump as dumps, offline
    from volcano.scheduler.daemon.flags import Flags
    from volcano.simulator.jobs import InstantJobController

    if files:
        documents, found = read(files), ""
    else:
        documents, found = run_async(_live(master, kubeconfig, conf_namespace, read_cluster))
    record = dumps.recorded(documents)
    text = read_conf(conf_path) or (record.conf if record else "") or found
    registry, conf = configuration(Flags(), text)
    try:
        result = offline.schedule(
            documents,
            conf,
            Flags().options(),
            now=record.now if record else time.time(),
            seed=record.seed if record else 0,
            namespace=namespace,
            job_controller=InstantJobController,
            registry=registry,
        )
    except offline.OfflineError as error:
        raise fail(str(error)) from error
    return Cycle(documents, result["cycles"][0])


async def _live(master: str, kubeconfig: str, namespace: str, read_cluster: Any) -> tuple[list[Document], str]:
    async with connected(master, kubeconfig) as client:
        documents, conf = await read_cluster(client, namespace)
        return documents, conf


# What there is to say


def _job(cycle: Cycle, name: str, namespace: str) -> Document:
    """A job's podgroup bears its name, or its name and uid."""
    groups = cycle.result["podgroups"]
    keys = [key for key in groups if _belongs(cycle, key, name, namespace)]
    if not keys:
        raise fail(f"job {namespace}/{name} has no podgroup: it does not exist, or the job controller has not seen it")
    return {"job": f"{namespace}/{name}", **_podgroup(cycle, keys[0].partition("/")[2], namespace)}


def _belongs(cycle: Cycle, key: str, name: str, namespace: str) -> bool:
    for group in cycle.of_kind("PodGroup"):
        metadata = group["metadata"]
        if f"{metadata.get('namespace', 'default')}/{metadata['name']}" == key:
            owners = metadata.get("ownerReferences") or ()
            if any(owner.get("name") == name and owner.get("kind") == "Job" for owner in owners):
                return str(metadata.get("namespace", "default")) == namespace
    space, _, group_name = key.partition("/")
    return space == namespace and (group_name == name or group_name.rpartition(f"{name}-")[1] == f"{name}-")


def _podgroup(cycle: Cycle, name: str, namespace: str) -> Document:
    key = f"{namespace}/{name}"
    group = cycle.result["podgroups"].get(key)
    if group is None:
        raise fail(f"podgroup {key} does not exist")
    members = [pod for pod, about in cycle.result["pods"].items() if about["podgroup"] == key]
    return {
        "podgroup": key,
        "phase": group["phase"],
        "reason": cycle.result["reasons"].get(key),
        "pods": {pod: cycle.result["tasks"][pod] for pod in members},
    }


def _pod(cycle: Cycle, name: str, namespace: str) -> Document:
    key = f"{namespace}/{name}"
    state = cycle.result["tasks"].get(key)
    if state is None:
        raise fail(f"pod {key} is not known to the scheduler: it does not exist, or names another schedulerName")
    found: Document = {"pod": key, "status": state["status"], "node": state["node"]}
    about = cycle.result["pods"][key]
    if about["message"]:
        found["message"] = about["message"]
    if about["podgroup"]:
        found |= {"podgroup": about["podgroup"], "reason": cycle.result["reasons"].get(about["podgroup"])}
    return found


def _queue(cycle: Cycle, name: str, _namespace: str) -> Document:
    queue = cycle.result["queues"].get(name)
    if queue is None:
        raise fail(f"queue {name} does not exist")
    manifest = next(one for one in cycle.of_kind("Queue") if one["metadata"]["name"] == name)
    spec = manifest.get("spec") or {}
    limits = {field: spec[field] for field in ("capability", "deserved", "guarantee", "weight") if spec.get(field)}
    members = [
        f"{group['metadata'].get('namespace', 'default')}/{group['metadata']['name']}"
        for group in cycle.of_kind("PodGroup")
        if (group.get("spec") or {}).get("queue", "default") == name
    ]
    waiting = {key: cycle.result["reasons"][key] for key in members if key in cycle.result["reasons"]}
    state = (manifest.get("status") or {}).get("state", "")
    return {"queue": name, "state": state, "allocated": queue["allocated"], **limits, "waiting": waiting}


EXPLAIN: dict[str, Callable[[Cycle, str, str], Document]] = {
    "job": _job,
    "podgroup": _podgroup,
    "pod": _pod,
    "queue": _queue,
}


# How it is said


def _text(found: Document) -> str:
    lines: list[str] = []
    for name, value in found.items():
        if name == "reason":
            lines += ["reason: nothing is in the way"] if value is None else ["reason:", *_reason(value, "  ")]
        elif name == "waiting":
            lines.append("waiting:" if value else "waiting: nobody")
            for key, reason in value.items():
                lines += [f"  {key}:", *_reason(reason, "    ")]
        elif name == "pods":
            lines += ["pods:", *(f"  {pod}: {_state(state)}" for pod, state in value.items())]
        elif isinstance(value, dict):
            lines.append(f"{name}: {', '.join(f'{key} {amount}' for key, amount in value.items()) or 'nothing'}")
        else:
            lines.append(f"{name}: {value or '-'}")
    return "\n".join(lines) + "\n"


def _state(state: Document) -> str:
    return f"{state['status']} on {state['node']}" if state["node"] else str(state["status"])


def _reason(reason: Document, indent: str) -> list[str]:
    numbers = f", {_number(reason['need'])} needed, {_number(reason['have'])} there" if "need" in reason else ""
    lines = [f"{indent}{reason['stage']}: {reason['code']}{numbers}", f"{indent}{reason['message']}"]
    if reason.get("blocker"):
        lines.append(f"{indent}in the way: {reason['blocker']}")
    for text, count in (reason.get("nodes") or {}).items():
        lines.append(f"{indent}{count} nodes: {text}")
    if reason.get("cause"):
        lines += [f"{indent}because:", *_reason(reason["cause"], indent + "  ")]
    return lines


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
