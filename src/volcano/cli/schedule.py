"""vcctl schedule: what the scheduler would decide about manifests, without a cluster.

The engine and the job controller are the real ones; between cycles `simulator.ideal` stands in for the cluster.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.cli.errors import fail
from volcano.cli.text import columns, dump
from volcano.cli.validate import UNREADABLE, read

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.framework.conf import Conf
    from volcano.scheduler.framework.decisions import Decisions
    from volcano.scheduler.framework.registry import Registry
    from volcano.simulator.objects import Given

CONTEXT = {"ignore_unknown_options": True, "allow_extra_args": True}
ADMITTED_FIRST = 2
"""Cycles that a vcjob needs: one admits its group, and only then there are pods to place."""


@click.command(context_settings=CONTEXT)
@click.option("-f", "--filename", "files", multiple=True, required=True, help="Manifests; - for standard input.")
@click.option("--scheduler-conf", default="", help="Configuration of the scheduler; its own default without one.")
@click.option("--cycles", type=click.IntRange(1), default=None, help="Cycles to run; 1, or 2 when vcjobs are given.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choices between equals.")
@click.option("--now", default="", help="Time of the first cycle (RFC 3339, or seconds since 1970); now by default.")
@click.option("-n", "--namespace", default="default", show_default=True, help="For objects that name none.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.pass_context
def schedule(
    ctx: click.Context,
    files: Sequence[str],
    scheduler_conf: str,
    cycles: int | None,
    seed: int,
    now: str,
    namespace: str,
    output: str,
) -> None:
    """Show what the scheduler would decide: which pods go where, what is evicted, and why the rest waits.

    Nothing is filled in that the manifests do not say: a PodGroup without a phase is pending, a queue that is not
    given does not exist. vcjobs pass admission and the job controller. Between cycles bound pods run and evicted
    ones vanish. The flags of vc-scheduler are accepted as well, such as --scheduler-name or --feature-gates.
    """
    flags = _scheduler_flags(ctx.args, scheduler_conf)
    given = _admitted(read(files), namespace, flags)
    registry, conf = _configuration(flags)
    has_jobs = any(one.resource.kind == "Job" for one in given)
    count = cycles or (ADMITTED_FIRST if has_jobs else 1)
    decided = list(_run(given, flags, registry, conf, count, seed, _moment(now)))
    if output == "table":
        click.echo("\n\n".join(table(number, each) for number, each in enumerate(decided, 1)))
    else:
        click.echo(dump({"cycles": [shown(each) for each in decided]}, output), nl=False)


def _run(
    given: Iterable[Given],
    flags: Flags,
    registry: Registry,
    conf: Conf,
    count: int,
    seed: int,
    now: datetime.datetime,
) -> Iterable[Decisions]:
    from volcano.scheduler import engine
    from volcano.scheduler.cluster.cluster import Cluster
    from volcano.scheduler.cluster.ingest import Ingest
    from volcano.simulator.ideal import IdealCluster

    options = replace(flags.options(), full_report=True)
    cluster = Cluster(options.default_queue)
    ingest = Ingest(cluster, options.scheduler_names, flags.node_selector)
    world = IdealCluster(given, ingest, now)
    rng = random.Random(seed)
    for _ in range(count):
        decisions = engine.cycle(cluster, conf, options, now.timestamp(), rng, registry=registry)
        yield decisions
        now += datetime.timedelta(seconds=flags.schedule_period)
        world.settle(decisions, now)


def _scheduler_flags(arguments: list[str], conf: str) -> Flags:
    from volcano.kube.flags import FlagError, parse
    from volcano.scheduler.daemon.flags import Flags

    try:
        return replace(parse(Flags, arguments, "vcctl schedule"), scheduler_conf=conf)
    except FlagError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error


def _configuration(flags: Flags) -> tuple[Registry, Conf]:
    """The plugins there are, and the configuration: that of the file, or the scheduler's default."""
    from volcano.scheduler.framework import conf as grammar, registry as registries

    try:
        registry = registries.installed(registries.built_in())
        if flags.plugins_dir:
            registry = registries.from_directory(registry, Path(flags.plugins_dir))
        text = Path(flags.scheduler_conf).read_text() if flags.scheduler_conf else grammar.DEFAULT_CONF
        conf = grammar.parse(text, registry.actions)
    except OSError as error:
        raise fail(f"--scheduler-conf {flags.scheduler_conf}: {error.strerror}", exit_status=UNREADABLE) from error
    except (grammar.ConfError, registries.RegistryError) as error:
        raise fail(f"{flags.scheduler_conf or 'scheduler'}: {error}", exit_status=UNREADABLE) from error
    for warning in conf.warnings:
        click.echo(f"warning: {warning}", err=True)
    return registry, conf


def _admitted(documents: list[JsonObject], namespace: str, flags: Flags) -> list[Given]:
    """The objects, with vcjobs as admission leaves them; one that is refused ends the command."""
    from volcano.simulator.objects import ObjectError, is_job, read as understood
    from volcano.webhooks.offline import validate
    from volcano.webhooks.rules import Settings

    try:
        given = understood(documents, namespace)
        jobs = [one.document for one in given if is_job(one)]
        others = [one for one in given if not is_job(one)]
        settings = Settings(scheduler_names=tuple(flags.scheduler_name))
        queues = [one.document for one in others if one.resource.kind in ("Queue", "Namespace")]
        results = validate(jobs, queues, settings)
        for result in results:
            if not result.allowed:
                hints = "".join(f"\n  {cause.field}: {cause.hint}" for cause in result.causes if cause.hint)
                name = f"{result.kind} {result.namespace}/{result.name}"
                raise fail(f"{name} is refused: {result.message}{hints}", exit_status=1)
        return [*others, *understood([result.object for result in results if result.object], namespace)]
    except ObjectError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error


def _moment(text: str) -> datetime.datetime:
    if not text:
        return datetime.datetime.now(datetime.UTC)
    try:
        return datetime.datetime.fromtimestamp(float(text), datetime.UTC)
    except ValueError:
        pass
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise fail(
            f"--now {text!r}: write 2026-01-31T12:00:00Z, or seconds since 1970", exit_status=UNREADABLE
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def shown(decisions: Decisions) -> dict[str, Any]:
    """The decisions of one cycle as a document."""
    return {
        "binds": decisions.binds,
        "bindOrder": [list(pair) for pair in decisions.bind_order],
        "pipelined": decisions.pipelined,
        "evictions": [eviction.key for eviction in decisions.evictions],
        "podgroups": {
            key: {
                "phase": group.phase,
                "running": group.running,
                "succeeded": group.succeeded,
                "failed": group.failed,
                "conditions": [
                    {
                        "type": condition.type,
                        "status": condition.status,
                        "reason": condition.reason,
                        "message": condition.message,
                    }
                    for condition in group.conditions
                ],
            }
            for key, group in decisions.podgroups.items()
        },
        "reasons": {
            key: {
                "stage": str(reason.stage),
                "code": reason.code,
                "need": reason.need,
                "have": reason.have,
                "blocker": reason.blocker,
                "message": str(reason),
                "nodes": dict(reason.nodes),
            }
            for key, reason in decisions.reasons.items()
        },
        "tasks": {key: {"status": task.status, "node": task.node} for key, task in decisions.tasks.items()},
        "queues": {name: {"allocated": allocated} for name, allocated in decisions.queues.items()},
    }


def table(number: int, decisions: Decisions) -> str:
    """One cycle: what is done, and per group its phase and why it waits."""
    rows: list[tuple[str, str, str]] = [("bind", pod, node) for pod, node in decisions.bind_order]
    rows += [("pipeline", pod, node) for pod, node in decisions.pipelined.items()]
    rows += [("evict", eviction.key, f"{eviction.node} ({eviction.cause})") for eviction in decisions.evictions]
    for key, group in sorted(decisions.podgroups.items()):
        rows.append(("podgroup", key, group.phase))
        if reason := decisions.reasons.get(key):
            numbers = f" (need {reason.need}, have {reason.have})" if reason.need is not None else ""
            rows.append(("", "", f"{reason.stage}: {reason.code}{numbers}: {reason}"))
    heading = f"Cycle {number}"
    return f"{heading}\n{columns(('DECISION', 'OBJECT', 'RESULT'), rows)}" if rows else f"{heading}\nnothing to decide"
