"""vcctl wait: until jobs, queues and other objects are where they should be."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from volcano.api import flow, phases, scheduling
from volcano.cli.completing import targets
from volcano.cli.connection import following
from volcano.cli.errors import misuse
from volcano.cli.flags import namespace_flag
from volcano.cli.kinds import resource_and_name
from volcano.cli.objects import one
from volcano.cli.statuses import NO, TIMED_OUT
from volcano.jobs.amounts import AmountError, parse_seconds
from volcano.jobs.phases import FINISHED
from volcano.jobs.watching import states

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.api.resources import Resource
    from volcano.kube.client import Client

ENDS = {"Job": FINISHED, "JobFlow": frozenset({"Succeed", "Failed"}), "Pod": frozenset({"Succeeded", "Failed"})}
"""Phases from which an object of the kind goes nowhere by itself."""
PHASES = {
    "Job": phases.JOB_PHASES,
    "JobFlow": flow.FLOW_PHASES,
    "Pod": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
    "PodGroup": scheduling.POD_GROUP_PHASES,
    "Queue": scheduling.QUEUE_STATES,
}
WELL = {"Job": phases.COMPLETED, "JobFlow": flow.FLOW_PHASES[0], "Pod": "Succeeded"}


@click.command()
@click.argument("targets", metavar="JOB|KIND/NAME...", nargs=-1, required=True, shell_complete=targets)
@namespace_flag()
@click.option("--for", "goal", default="finished", show_default=True, help="finished, deleted, or a phase (state).")
@click.option(
    "-t", "--timeout", "limit", default="", metavar="SPAN", help="Give up after 30s, 10m, 2h …; never by default."
)
@following()
async def wait(client: Client, targets: tuple[str, ...], namespace: str, goal: str, limit: str) -> int:
    """Wait until all the jobs (or other objects) are where they should be.

    Exit status: 0 they are; 1 one of them ended otherwise, so that it never will be; 124 the time is over. Waiting for
    a phase goes on at a suspended job, which may have been resumed a moment ago.

    \b
    vcctl wait job/train --for Completed --timeout 1h
    """
    try:
        seconds = parse_seconds(limit) if limit else None
    except AmountError as error:
        raise misuse(f"--timeout: {error}") from error
    meant = [resource_and_name(each) for each in targets]
    for resource, _ in meant:
        _check(resource, goal)
    try:
        async with asyncio.timeout(seconds):
            results = await asyncio.gather(*(_wait(client, *each, namespace, goal) for each in meant))
    except TimeoutError:
        click.echo(f"not {goal} within {limit}: {', '.join(targets)}", err=True)
        return TIMED_OUT
    return 0 if all(results) else NO


def _check(resource: Resource[Any], goal: str) -> None:
    """Refuse a goal that an object of the kind never reaches."""
    known = PHASES.get(resource.kind, ())
    if goal == "deleted" or goal.lower() in map(str.lower, known) or (goal == "finished" and resource.kind in ENDS):
        return
    if goal == "finished":
        raise misuse(f"a {resource.singular} does not finish: say --for deleted{' or a phase' if known else ''}")
    if not known:
        raise misuse(f"a {resource.singular} has no phase: say --for deleted")
    from volcano.webhooks.suggestions import suggestion

    words = ("finished", "deleted", *known) if resource.kind in ENDS else ("deleted", *known)
    hint = suggestion(goal, words) or f"say {', '.join(words[:-1])} or {words[-1]}"
    raise misuse(f"--for {goal!r} is no phase of a {resource.singular}: {hint}")


async def _wait(client: Client, resource: Resource[Any], name: str, namespace: str, goal: str) -> bool:
    space = namespace if resource.namespaced else None
    ends = _ends(resource, goal)
    if goal != "deleted":
        await one(client, resource, name, space)
    phase = ""
    async with aclosing(states(client, resource, name, space)) as found:
        async for document in found:
            phase = phase_of(document)
            if goal == "finished" and phase in ends:
                return _tell(resource, name, phase, reached=phase == WELL[resource.kind], why=why(document))
            if phase.lower() == goal.lower():
                return _tell(resource, name, phase, reached=True)
            if phase in ends and goal != "deleted":
                return _tell(resource, name, phase, reached=False, why=why(document))
    return _tell(resource, name, "deleted", reached=goal == "deleted")


def _ends(resource: Resource[Any], goal: str) -> frozenset[str]:
    """Phases in which it is in vain to wait. What resumes a job is obeyed some time after it was said."""
    ends = ENDS.get(resource.kind, frozenset())
    return ends if goal == "finished" else ends - {phases.ABORTED}


def phase_of(document: JsonObject) -> str:
    """The phase of a job, flow, podgroup or pod, the state of a queue."""
    status = document.get("status") or {}
    state = status.get("state")
    return str((state.get("phase") if isinstance(state, dict) else state) or status.get("phase") or "")


def why(document: JsonObject) -> str:
    """What the status says about its phase, of a job or a pod; "" where it says nothing."""
    status = document.get("status") or {}
    state = status.get("state")
    told = state if isinstance(state, dict) else status
    return ": ".join(str(told[key]) for key in ("reason", "message") if told.get(key))


def _tell(resource: Resource[Any], name: str, phase: str, *, reached: bool, why: str = "") -> bool:
    """Say where it is, and why where that is not what was waited for."""
    reason = f": {why}" if why and not reached else ""
    click.echo(f"{resource.singular}/{name} {phase}{reason}", err=not reached)
    return reached
