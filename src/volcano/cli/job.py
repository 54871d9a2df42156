"""vcctl job: run, list, view, logs, suspend, resume, delete."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.api.resources import EVENTS, JOBS
from volcano.cli.completing import queues
from volcano.cli.connection import following, on_cluster
from volcano.cli.errors import fail
from volcano.cli.flags import all_namespaces_flag, label_flag, many_names, namespace_flag, one_name, queue_flag
from volcano.cli.job_table import table, whys, wide_table
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.logs import log_flags, print_logs
from volcano.cli.objects import bare, for_each, listed, one, remove
from volcano.cli.output import output_flag, print_documents, show
from volcano.cli.text import on_terminal
from volcano.jobs import defaults
from volcano.jobs.control import foreseen, send_command
from volcano.jobs.phases import phase_of

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.jobs.logs import Choice
    from volcano.kube.client import Client


class CommandWithTail(click.Command):
    """A command whose words after `--` are the users' own command, kept apart from its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["tail"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.group(cls=SuggestingGroup)
def job() -> None:
    """Run, list, view, suspend, resume and delete jobs."""


@job.command(cls=CommandWithTail)
@one_name("")
@namespace_flag()
@click.option("-i", "--image", default=defaults.IMAGE, show_default=True, help="Container image.")
@click.option("-m", "--min", "min_available", default=1, show_default=True, help="Pods that must start together.")
@click.option("-r", "--replicas", default=1, show_default=True, help="Number of pods.")
@click.option("-R", "--requests", default=defaults.RESOURCES, show_default=True, help="Requests of a pod.")
@click.option("-L", "--limits", default=defaults.RESOURCES, show_default=True, help="Limits of a pod.")
@click.option("-S", "--scheduler", default="volcano", show_default=True, help="Scheduler of the pods.")
@click.option("-q", "--queue", default="", shell_complete=queues, help="Queue to submit to.")
@click.option(
    "-f",
    "--filename",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="YAML file of the job, instead of the flags above.",
)
@click.option("-w", "--watch", is_flag=True, help="Follow the job until it has finished.")
@following("watch")
async def run(client: Client, namespace: str, filename: str, watch: bool, **wish: Any) -> int:
    """Submit a job. The words after -- are the command its containers run.

    \b
    vcctl job run hello --replicas 4 --min 4 -- sh -c 'echo hello; sleep 3'
    """
    document = _from_file(filename, namespace) if filename else _from_flags(namespace=namespace, **wish)
    namespace = document.get("metadata", {}).get("namespace") or namespace
    created = await client.create(JOBS.untyped, document, namespace, strict=True)
    name = created.get("metadata", {}).get("name", "")
    click.echo(f"run job {name} successfully")
    if not watch:
        return 0
    from volcano.cli.job_watch import follow

    return await follow(client, namespace, name, live=on_terminal())


def _from_flags(*, name: str, requests: str, limits: str, **wish: Any) -> JsonObject:
    if not name:
        raise fail("job name cannot be left blank")
    from volcano.jobs import build
    from volcano.jobs.amounts import AmountError, parse_resources

    command = click.get_current_context().meta.get("tail", ())
    try:
        resources = parse_resources(requests), parse_resources(limits)
    except AmountError as error:
        raise fail(str(error)) from error
    return build.job(build.Wish(name=name, command=command, requests=resources[0], limits=resources[1], **wish))


def _from_file(filename: str, namespace: str) -> JsonObject:
    """The Job of a YAML file; --namespace, where it is given, is where it goes."""
    if ".yaml" not in filename and ".yml" not in filename:
        raise fail("only support yaml file")
    from volcano.kube.manifests import ManifestError, load

    try:
        documents = load(Path(filename).read_text(encoding="utf-8"), filename)
    except (OSError, UnicodeDecodeError) as error:
        raise fail(f"failed to read file, err: {error}") from error
    except ManifestError as error:
        raise fail(f"failed to unmarshal file, err:  {error}") from error
    if [document.get("kind") for document in documents] != ["Job"]:
        raise fail(f"{filename} must hold exactly one Job, it holds {len(documents)} objects: use vcctl apply -f")
    [document] = documents
    if click.get_current_context().get_parameter_source("namespace") is not click.core.ParameterSource.DEFAULT:
        document.setdefault("metadata", {})["namespace"] = namespace
    return document


@job.command(name="list")
@namespace_flag()
@all_namespaces_flag
@queue_flag
@click.option("-S", "--scheduler", default="", help="Only jobs of this scheduler.")
@click.option("--selector", default="", help="Only jobs whose name contains this text.")
@label_flag
@output_flag
@on_cluster
async def list_jobs(
    client: Client,
    namespace: str,
    all_namespaces: bool,
    queue: str,
    scheduler: str,
    selector: str,
    labels: str,
    output: str,
) -> None:
    """List jobs."""
    jobs = await listed(client, JOBS, namespace, all_namespaces=all_namespaces, labels=labels)
    chosen = chosen_jobs(jobs, name_part=selector, queue=queue, scheduler=scheduler)
    draw = partial(table, all_namespaces=all_namespaces)
    if output == "wide":
        draw = partial(wide_table, why=await whys(client, chosen, None if all_namespaces else namespace))
    show(chosen, output, draw, headed=bool(jobs))


def chosen_jobs(
    jobs: list[JsonObject], *, name_part: str = "", queue: str = "", scheduler: str = ""
) -> list[JsonObject]:
    """The jobs that every given filter lets through."""
    return [
        document
        for document in jobs
        if name_part in document["metadata"].get("name", "")
        and (not queue or document.get("spec", {}).get("queue", "") == queue)
        and (not scheduler or document.get("spec", {}).get("schedulerName", "") == scheduler)
    ]


@job.command()
@one_name("job name (specified by --name or -N) is mandatory to view a particular job")
@namespace_flag()
@output_flag
@on_cluster
async def view(client: Client, name: str, namespace: str, output: str) -> None:
    """Show one job, its events and, while it waits, why."""
    document = await one(client, JOBS, name, namespace)
    if output == "table":
        click.echo(await told(client, document, namespace), nl=False)
    elif output == "wide":
        click.echo(wide_table([document], await whys(client, [document], namespace)))
    else:
        print_documents([document], output, as_list=False)


async def told(client: Client, document: JsonObject, namespace: str, *, conditions: bool = True) -> str:
    """All there is to say about a job, for people."""
    from volcano.cli import job_view
    from volcano.jobs import podgroups
    from volcano.jobs.failures import failed_pods, failure_lines, stuck_lines, stuck_pods

    name = document["metadata"].get("name", "")
    events = (await client.list(EVENTS.untyped, namespace)).items
    own = [event for event in events if event["metadata"].get("name", "").startswith(f"{name}.")]
    text = job_view.view(document, own, datetime.now(UTC), conditions=conditions)
    phase = phase_of(document)
    lines: list[str] = []
    if phase in podgroups.ALIVE:
        podgroup = await podgroups.podgroup_of(client, document)
        lines += job_view.waiting_lines(podgroup, events) if podgroup else job_view.held_lines(document)
    if phase and (document.get("status") or {}).get("failed"):
        lines += failure_lines(await failed_pods(client, namespace, name))
    if phase in podgroups.ALIVE:
        lines += stuck_lines(await stuck_pods(client, namespace, name))
    return text + "".join(f"{line}\n" for line in lines)


@job.command()
@many_names("job name is mandatory to suspend a particular job")
@namespace_flag()
@on_cluster
async def suspend(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Suspend a job: its pods end, and it can be resumed as often as it has retries (spec.maxRetry)."""
    return await command_jobs(client, "AbortJob", names, namespace)


@job.command()
@many_names("job name is mandatory to resume a particular job")
@namespace_flag()
@on_cluster
async def resume(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Resume a suspended job. It counts as a retry; the one that uses up spec.maxRetry fails the job."""
    return await command_jobs(client, "ResumeJob", names, namespace)


async def command_jobs(client: Client, action: str, names: tuple[str, ...], namespace: str) -> int:
    """Tell the controller to perform `action` on each of the jobs."""

    async def command(name: str) -> None:
        document = await one(client, JOBS, name, namespace)
        if remark := foreseen(document, action):
            click.echo(remark, err=True)
        await send_command(client, JOBS, document, action, namespace)

    return await for_each(names, command)


@job.command()
@many_names("job name is mandatory to delete a particular job")
@namespace_flag()
@on_cluster
async def delete(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Delete a job and its pods."""
    return await delete_jobs(client, names, namespace, "delete")


async def delete_jobs(client: Client, names: tuple[str, ...], namespace: str, verb: str) -> int:
    """Delete each of the jobs."""
    names = tuple(bare(JOBS, name) for name in names)

    async def delete(name: str) -> None:
        await remove(client, JOBS, name, namespace)
        click.echo(f"{verb} job {name} successfully")

    return await for_each(names, delete)


@job.command()
@one_name("job name is mandatory to print the logs of a particular job")
@namespace_flag()
@log_flags
@following("follow")
async def logs(client: Client, name: str, namespace: str, follow: bool, choice: Choice, prefix: bool) -> int:
    """Print the logs of a job's pods; the same as `vcctl logs`."""
    return await print_logs(client, name, namespace, follow=follow, choice=choice, prefix=prefix)
