"""vcctl explain: why a job, podgroup, pod or queue waits. Found by `jobs.explain`; nothing is changed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from volcano.api.quantity import readable
from volcano.api.resources import JOBS
from volcano.cli.completing import names
from volcano.cli.connection import ask, connection_flags
from volcano.cli.dump import read_conf
from volcano.cli.errors import fail, misuse
from volcano.cli.flags import file_flag, namespace_flag
from volcano.cli.kinds import resource_of
from volcano.cli.manifests import read
from volcano.cli.output import document_flag, dump
from volcano.jobs.explain import KINDS, Unexplained, cycle, explain as about
from volcano.jobs.standing import by_itself, of_missing_pods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client


@click.command()
@click.argument("kind", metavar="job|podgroup|pod|queue")
@click.argument("name", shell_complete=names)
@namespace_flag()
@file_flag(help="Explain these manifests instead of the cluster.")
@click.option("--scheduler-conf", default="", help="Configuration of the scheduler, where the cluster has none.")
@click.option("--scheduler-namespace", default="volcano-system", show_default=True, help="Where its ConfigMap is.")
@document_flag("text", "json", "yaml")
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
    """Say why something waits: the refusing stage, what is needed and what there is, who is in the way, what helps."""
    singular = resource_of(kind, KINDS).singular
    if singular not in KINDS:
        raise misuse(f"there is nothing to explain about a {kind}: say {', '.join(KINDS)}")
    if files:
        documents, conf = read(files), ""
        beside = documents
    else:
        look = partial(_live, kind=singular, name=name, namespace=namespace, scheduler_namespace=scheduler_namespace)
        documents, conf, beside = ask(look, master, kubeconfig)
    job = _job(beside, name, namespace) if singular == "job" else None
    pods = [one for one in beside if one.get("kind") == "Pod"]
    if job is not None and (record := by_itself(job, pods)) is not None:
        found = {"job": f"{namespace}/{name}", "reason": record}
        click.echo(_text(found) if output == "text" else dump(found, output), nl=False)
        return
    from volcano.scheduler.daemon.flags import Flags  # the engine is slow to load: only for what it decides

    try:
        decided = cycle(documents, read_conf(scheduler_conf) or conf, namespace=namespace)
        for warning in decided.warnings:
            click.echo(f"warning: {warning}", err=True)
        found = about(decided, singular, name, namespace)
        if job is not None:
            events = [one for one in beside if one.get("kind") == "Event"]
            found = of_missing_pods(job, found, decided.of_kind("Pod"), events, Flags().scheduler_name)
    except Unexplained as error:
        if singular == "job" and job is None and not files:
            raise fail(f"job {namespace}/{name} does not exist") from error
        raise fail(str(error)) from error
    click.echo(_text(found) if output == "text" else dump(found, output), nl=False)


async def _live(
    client: Client, *, kind: str, name: str, namespace: str, scheduler_namespace: str
) -> tuple[list[JsonObject], str, list[JsonObject]]:
    """What decisions depend on, the configuration, and the job (if one is asked about) with the events around it.

    Of a job that no scheduler looks at, the job with its failed pods alone.
    """
    from volcano.api.resources import EVENTS
    from volcano.jobs.failures import failed_pods
    from volcano.jobs.whole import read_cluster
    from volcano.kube.errors import Forbidden, NotFound

    beside: list[JsonObject] = []
    resource = resource_of(kind)
    try:
        found = await client.get(resource.untyped, name, namespace if resource.namespaced else None)
    except NotFound as error:
        if kind != "job":  # a podgroup without a vcjob is found by its name, too
            place = f"{namespace}/{name}" if resource.namespaced else name
            raise fail(f"{kind} {place} does not exist") from error
    else:
        if kind == "job":
            beside.append({**found, "apiVersion": JOBS.api_version, "kind": JOBS.kind})
            if by_itself(beside[0]) is not None:
                beside += [{**pod, "kind": "Pod"} for pod in await failed_pods(client, namespace, name)]
                return [], "", beside
            with suppress(Forbidden):  # they only explain the job
                beside += [{**one, "kind": "Event"} for one in (await client.list(EVENTS.untyped, namespace)).items]
    return *await read_cluster(client, scheduler_namespace), beside


def _job(documents: Sequence[JsonObject], name: str, namespace: str) -> JsonObject | None:
    """The vcjob of this name."""
    for document in documents:
        metadata = document.get("metadata") or {}
        is_job = (document.get("apiVersion"), document.get("kind")) == (JOBS.api_version, JOBS.kind)
        if is_job and (metadata.get("namespace", "default"), metadata.get("name")) == (namespace, name):
            return document
    return None


def _text(found: JsonObject) -> str:
    lines: list[str] = []
    for name, value in found.items():
        if name == "reason":
            lines += ["reason: nothing is in the way"] if value is None else ["reason:", *_record(value, "  ")]
        elif name == "waiting":
            lines.append("waiting:" if value else "waiting: nobody")
            for key, reason in value.items():
                lines += [f"  {key}:", *_record(reason, "    ")]
        elif name == "pods":
            lines.append("pods:" if value else "pods: none")
            lines += [f"  {pod}: {_state(state)}" for pod, state in value.items()]
        elif isinstance(value, dict):
            lines.append(
                f"{name}: {', '.join(f'{key} {readable(key, amount)}' for key, amount in value.items()) or 'nothing'}"
            )
        else:
            lines.append(f"{name}: {value or '-'}")
    return "\n".join(lines) + "\n"


def _state(state: JsonObject) -> str:
    return f"{state['status']} on {state['node']}" if state["node"] else str(state["status"])


def _record(reason: JsonObject, indent: str) -> list[str]:
    return [*_reason(reason, indent), f"{indent}what would change it: {reason['remedy']}"]


_OF_PARTS = "needed", "there"
_OF_TOTALS = "in all", "allowed"
"""What the two numbers of a reason are: of a queue's limit, what the queue would hold and may."""


def _reason(reason: JsonObject, indent: str) -> list[str]:
    numbers = ""
    if "need" in reason:
        shown = reason.get("amounts", reason)
        unit = f" {reason['resource']}" if "resource" in reason else ""
        needed, there = _OF_TOTALS if reason["code"] == "QueueQuotaExceeded" else _OF_PARTS
        numbers = f", {_number(shown['need'])}{unit} {needed}, {_number(shown['have'])} {there}"
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
