"""vcctl schedule: what the scheduler would decide about manifests, without a cluster.

Reads and prints; `scheduler.offline` runs the engine, with the job controller of `simulator.jobs`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.cli.errors import fail
from volcano.cli.manifests import read
from volcano.cli.output import dump
from volcano.cli.statuses import NO, UNREADABLE
from volcano.cli.text import columns

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.framework.conf import Conf
    from volcano.scheduler.framework.registry import Registry
    from volcano.scheduler.offline import Admit

CONTEXT = {"ignore_unknown_options": True, "allow_extra_args": True}
ADMITTED_FIRST = 2
"""Cycles that a vcjob needs: one admits its group, and only then there are pods to place."""
_MADE = "nothing has to: its pods are made before the next cycle"


@click.command(context_settings=CONTEXT)
@click.option("-f", "--filename", "files", multiple=True, required=True, help="Manifests; - for standard input.")
@click.option("--scheduler-conf", default="", help="Configuration of the scheduler; its own default without one.")
@click.option("--cycles", type=click.IntRange(1), default=None, help="Cycles to run; 1, or 2 when vcjobs are given.")
@click.option("--seed", type=int, default=None, help="Seed of the choices between equals; 0, or that of a dump.")
@click.option("--now", default="", help="Time of the first cycle (RFC 3339, or seconds since 1970); now by default.")
@click.option("-n", "--namespace", default="default", show_default=True, help="For objects that name none.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.pass_context
def schedule(
    ctx: click.Context,
    files: Sequence[str],
    scheduler_conf: str,
    cycles: int | None,
    seed: int | None,
    now: str,
    namespace: str,
    output: str,
) -> None:
    """Show what the scheduler would decide: which pods go where, what is evicted, and why the rest waits.

    Nothing is filled in that the manifests do not say: a PodGroup without a phase is pending, a queue that is not
    given does not exist. vcjobs pass admission and the job controller; for them, the queues root and default exist
    where no Queue is given. Between cycles bound pods run and evicted
    ones vanish. The flags of vc-scheduler are accepted as well, such as --scheduler-name or --feature-gates.
    A file of `vcctl dump` brings its own configuration, time and seed.
    """
    from volcano.scheduler import offline
    from volcano.scheduler.dump import recorded
    from volcano.simulator.jobs import InstantJobController

    documents = read(files)
    record = recorded(documents)
    flags = _scheduler_flags([*(record.arguments if record else ()), *ctx.args], scheduler_conf)
    documents += _assumed(documents, flags)
    registry, conf = configuration(flags, record.conf if record else "")
    admit = _admission(documents, namespace, flags)
    try:
        result = offline.schedule(
            documents,
            conf,
            flags.options(),
            cycles=cycles or (ADMITTED_FIRST if any(map(_is_vcjob, documents)) else 1),
            now=record.now if record and not now else _moment(now).timestamp(),
            seed=record.seed if record and seed is None else seed or 0,
            namespace=namespace,
            admit=admit,
            job_controller=InstantJobController,
            registry=registry,
        )
    except offline.UnusableQuantity as error:
        admit(error.document)  # it refuses as `vcctl validate` does
        raise fail(str(error), exit_status=UNREADABLE) from error
    except offline.OfflineError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error
    for warning in result["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    result["warnings"] = [*conf.warnings, *result["warnings"]]
    if output == "table":
        shown = result["cycles"]
        click.echo("\n\n".join(table(n, *pair) for n, pair in enumerate(zip_longest(shown, shown[1:]), 1)))
    else:
        click.echo(dump(result, output), nl=False)


def _is_vcjob(document: JsonObject) -> bool:
    return document.get("kind") == "Job" and str(document.get("apiVersion", "")).startswith("batch.volcano.sh/")


def _assumed(documents: list[JsonObject], flags: Flags) -> list[JsonObject]:
    """The queues that the scheduler would make, for vcjobs that come without any."""
    if not any(map(_is_vcjob, documents)) or any(document.get("kind") == "Queue" for document in documents):
        return []
    import msgspec

    from volcano.api.installed import required_queues
    from volcano.api.resources import QUEUES

    head = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind}
    return [head | msgspec.to_builtins(queue) for queue in required_queues(flags.default_queue)]


def _scheduler_flags(arguments: list[str], conf: str) -> Flags:
    from volcano.kube.flags import FlagError, parse
    from volcano.scheduler.daemon.flags import Flags

    try:
        return replace(parse(Flags, arguments, "vcctl schedule"), scheduler_conf=conf)
    except FlagError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error


def configuration(flags: Flags, otherwise: str = "") -> tuple[Registry, Conf]:
    """The plugins there are, and the configuration: that of the file, else `otherwise`, else the default."""
    from volcano.scheduler.framework import conf as grammar, registry as registries

    try:
        registry = registries.installed(registries.built_in())
        if flags.plugins_dir:
            if not Path(flags.plugins_dir).is_dir():
                raise fail(f"--plugins-dir {flags.plugins_dir}: there is no such folder", exit_status=UNREADABLE)
            registry = registries.from_directory(registry, Path(flags.plugins_dir))
        text = Path(flags.scheduler_conf).read_text() if flags.scheduler_conf else otherwise or grammar.DEFAULT_CONF
        conf = grammar.parse(text, registry.actions)
    except OSError as error:
        raise fail(f"--scheduler-conf {flags.scheduler_conf}: {error.strerror}", exit_status=UNREADABLE) from error
    except (grammar.ConfError, registries.RegistryError) as error:
        raise fail(f"{flags.scheduler_conf or 'scheduler'}: {error}", exit_status=UNREADABLE) from error
    for warning in conf.warnings:
        click.echo(f"warning: {warning}", err=True)
    return registry, conf


def _admission(documents: list[JsonObject], namespace: str, flags: Flags) -> Admit:
    """Our own rules for one object, in the world of the other manifests; a refusal ends the command."""
    from volcano.webhooks.offline import UnusableObject, validate
    from volcano.webhooks.rules import Settings

    settings = Settings(scheduler_names=tuple(flags.scheduler_name))
    world = [document for document in documents if document.get("kind") in ("Queue", "Namespace")]

    def admit(document: JsonObject) -> JsonObject:
        try:
            [result] = validate([document], world, settings, namespace=namespace, giving="-f FILE")
        except UnusableObject as error:
            raise fail(str(error), exit_status=UNREADABLE) from error
        if not result.allowed:
            hints = "".join(f"\n  {cause.field}: {cause.hint}" for cause in result.causes if cause.hint)
            name = f"{result.kind} {'/'.join(filter(None, (result.namespace, result.name)))}"
            raise fail(f"{name} is refused: {result.message}{hints}", exit_status=NO)
        return result.object or document

    return admit


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


def table(number: int, cycle: JsonObject, following: JsonObject | None = None) -> str:
    """One cycle: what is done, and per group its phase and why it waits; `following` shows whose pods are made then."""
    rows: list[tuple[str, str, str]] = [("bind", pod, node) for pod, node in cycle["bindOrder"]]
    rows += [("pipeline", pod, node) for pod, node in cycle["pipelined"].items()]
    rows += [("evict", pod, "") for pod in cycle["evictions"]]
    reasons: dict[str, dict[str, Any]] = cycle["reasons"]
    if following is not None:
        made = {key for key, reason in reasons.items() if _has_no_pods(reason)}
        made -= {key for key, reason in following["reasons"].items() if _has_no_pods(reason)}
        reasons = reasons | {key: reasons[key] | {"remedy": _MADE} for key in made}
    for key, group in sorted(cycle["podgroups"].items()):
        rows.append(("podgroup", key, group["phase"]))
        if reason := reasons.get(key):
            rows += [("", "", line) for line in _told(reason)]
    for key, reason in reasons.items():
        if key not in cycle["podgroups"]:
            first, *others = _told(reason)
            rows += [("podgroup", key, first), *(("", "", line) for line in others)]
    heading = f"Cycle {number}"
    return f"{heading}\n{columns(('DECISION', 'OBJECT', 'RESULT'), rows)}" if rows else f"{heading}\nnothing to decide"


def _has_no_pods(reason: JsonObject) -> bool:
    from volcano.api.scheduling import REASON_NOT_ENOUGH_TASKS

    return reason["code"] == REASON_NOT_ENOUGH_TASKS and reason.get("have") == 0


def _told(reason: dict[str, Any]) -> list[str]:
    numbers = ""
    if "need" in reason and "have" in reason:
        shown = reason.get("amounts", reason)
        unit = f" {reason['resource']}" if "resource" in reason else ""
        numbers = f" (need {shown['need']}{unit}, have {shown['have']})"
    why = f"{reason['stage']}: {reason['code']}{numbers}: {reason['message']}"
    return [why, f"what would change it: {reason['remedy']}"]
