"""vcctl job: run, list, view, logs, suspend, resume, delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.cli.connection import connected, connection_flags, name_argument, run_async
from volcano.cli.errors import fail
from volcano.cli.job_table import table, wide_table
from volcano.cli.text import OUTPUT_FORMATS, on_terminal, print_documents

if TYPE_CHECKING:
    from volcano.kube.client import Client

Document = dict[str, Any]


class CommandWithTail(click.Command):
    """A command whose words after `--` are the users' own command, kept apart from its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["tail"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.group()
def job() -> None:
    """Run, list, view, suspend, resume and delete jobs."""


def job_flags(command: Any) -> Any:
    """The flags that name one job, and NAME as a positional."""
    command = click.option("-N", "--name", default="", help="Name of the job.")(command)
    command = click.option("-n", "--namespace", default="default", show_default=True, help="Its namespace.")(command)
    return name_argument(connection_flags(command))


@job.command(cls=CommandWithTail)
@job_flags
@click.option("-i", "--image", default="busybox", show_default=True, help="Container image.")
@click.option("-m", "--min", "min_available", default=1, show_default=True, help="Pods that must start together.")
@click.option("-r", "--replicas", default=1, show_default=True, help="Number of pods.")
@click.option("-R", "--requests", default="cpu=1000m,memory=100Mi", show_default=True, help="Requests of a pod.")
@click.option("-L", "--limits", default="cpu=1000m,memory=100Mi", show_default=True, help="Limits of a pod.")
@click.option("-S", "--scheduler", default="volcano", show_default=True, help="Scheduler of the pods.")
@click.option("-q", "--queue", default="", help="Queue to submit to.")
@click.option("-f", "--filename", default="", help="YAML file of the job, instead of the flags above.")
@click.option("-w", "--watch", is_flag=True, help="Follow the job until it has finished.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    name: str,
    namespace: str,
    master: str,
    kubeconfig: str,
    filename: str,
    watch: bool,
    **shape: Any,
) -> int:
    """Submit a job. The words after -- are the command its containers run.

    \b
    vcctl job run hello --replicas 4 --min 4 -- sh -c 'echo hello; sleep 3'
    """
    if not name and not filename:
        raise fail("job name cannot be left blank")
    command = ctx.meta.get("tail", [])
    document = read_job(filename) if filename else build_job(name=name, namespace=namespace, command=command, **shape)
    if filename and ctx.get_parameter_source("namespace") is not click.core.ParameterSource.DEFAULT:
        document.setdefault("metadata", {})["namespace"] = namespace
    return run_async(_run(document, namespace, master, kubeconfig, watch=watch))


async def _run(document: Document, namespace: str, master: str, kubeconfig: str, *, watch: bool) -> int:
    from volcano.api.resources import JOBS

    namespace = document.get("metadata", {}).get("namespace") or namespace
    async with connected(master, kubeconfig) as client:
        created = await client.create(JOBS.untyped, document, namespace, strict=True)
        name = created.get("metadata", {}).get("name", "")
        click.echo(f"run job {name} successfully")
        if not watch:
            return 0
        from volcano.cli.job_watch import follow

        return await follow(client, namespace, name, live=on_terminal())


def build_job(
    *,
    name: str,
    namespace: str,
    image: str,
    min_available: int,
    replicas: int,
    requests: str,
    limits: str,
    scheduler: str,
    queue: str = "",
    command: Sequence[str] = (),
) -> Document:
    """The Job that `job run` submits: one task of `replicas` equal pods. Empty values are left out."""
    container: Document = {"image": image, "name": name, "imagePullPolicy": "IfNotPresent", "command": list(command)}
    resources = {"requests": parse_amounts(requests), "limits": parse_amounts(limits)}
    container["resources"] = {key: value for key, value in resources.items() if value}
    spec: Document = {"minAvailable": min_available, "schedulerName": scheduler, "queue": queue}
    task: Document = {
        "replicas": replicas,
        "template": {
            "metadata": {"name": name, "labels": {"job.volcano.sh": name}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{key: value for key, value in container.items() if value}],
            },
        },
    }
    spec = {key: value for key, value in spec.items() if value}
    spec["tasks"] = [{key: value for key, value in task.items() if value}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def parse_amounts(text: str) -> dict[str, str]:
    """`cpu=1000m,memory=100Mi` as canonical quantities by resource name."""
    from volcano.api import quantity

    amounts = {}
    for item in filter(None, text.split(",")):
        resource, separator, value = item.partition("=")
        if not separator or "=" in value:
            raise fail(f"invalid argument syntax {item}, expected <resource>=<value>")
        try:
            amounts[resource] = str(quantity.parse(value))
        except quantity.QuantityError as error:
            raise fail(f"{resource}: {error}") from error
    return amounts


def read_job(filename: str) -> Document:
    """The Job of a YAML file."""
    if ".yaml" not in filename and ".yml" not in filename:
        raise fail("only support yaml file")
    from volcano.kube.manifests import ManifestError, load

    try:
        documents = load(Path(filename).read_text(encoding="utf-8"), filename)
    except (OSError, UnicodeDecodeError) as error:
        raise fail(f"failed to read file, err: {error}") from error
    except ManifestError as error:
        raise fail(f"failed to unmarshal file, err:  {error}") from error
    jobs = [document for document in documents if document.get("kind") == "Job"]
    if len(jobs) != 1 or len(documents) != 1:
        raise fail(f"{filename} must hold exactly one Job, it holds {len(documents)} objects: use kubectl create -f")
    return jobs[0]


@job.command(name="list")
@connection_flags
@click.option("-n", "--namespace", default="default", show_default=True, help="Namespace to list.")
@click.option("--all-namespaces", is_flag=True, help="List the jobs of all namespaces.")
@click.option("-q", "--queue", default="", help="Only jobs of this queue.")
@click.option("-S", "--scheduler", default="", help="Only jobs of this scheduler.")
@click.option("--selector", default="", help="Only jobs whose name contains this text.")
@click.option("-o", "--output", type=click.Choice(OUTPUT_FORMATS), default=None, help="Another form of output.")
def list_jobs(
    namespace: str,
    all_namespaces: bool,
    queue: str,
    scheduler: str,
    selector: str,
    output: str | None,
    master: str,
    kubeconfig: str,
) -> None:
    """List jobs."""
    jobs = run_async(_list(None if all_namespaces else namespace or None, master, kubeconfig))
    chosen = [
        document
        for document in jobs
        if selector in document["metadata"].get("name", "")
        and (not queue or document.get("spec", {}).get("queue", "") == queue)
        and (not scheduler or document.get("spec", {}).get("schedulerName", "") == scheduler)
    ]
    if output in ("json", "yaml", "name"):
        print_documents(chosen, output, as_list=True)
    elif not jobs:
        click.echo("No resources found")
    elif output == "wide":
        click.echo(wide_table(chosen))
    else:
        click.echo(table(chosen, all_namespaces=all_namespaces), nl=False)


async def _list(namespace: str | None, master: str, kubeconfig: str) -> list[Document]:
    from volcano.api.resources import JOBS

    async with connected(master, kubeconfig) as client:
        listing = await client.list(JOBS.untyped, namespace)
        return list(listing.items)


@job.command()
@job_flags
@click.option("-o", "--output", type=click.Choice(OUTPUT_FORMATS), default=None, help="Another form of output.")
def view(name: str, namespace: str, output: str | None, master: str, kubeconfig: str) -> None:
    """Show one job, its events and, while it waits, why."""
    if not name:
        raise fail("job name (specified by --name or -N) is mandatory to view a particular job")
    document, namespace_events, podgroup, troubles = run_async(_view(name, namespace, master, kubeconfig))
    if output in ("json", "yaml", "name"):
        print_documents([document], output, as_list=False)
        return
    if output == "wide":
        click.echo(wide_table([document]))
        return
    from volcano.cli import job_view

    prefix = document["metadata"].get("name", "") + "."
    events = [event for event in namespace_events if event["metadata"].get("name", "").startswith(prefix)]
    click.echo(job_view.view(document, events, datetime.now(UTC)), nl=False)
    waiting = job_view.waiting_lines(podgroup, namespace_events) if podgroup else []
    for line in (*waiting, *troubles):
        click.echo(line)


async def _view(
    name: str, namespace: str, master: str, kubeconfig: str
) -> tuple[Document, list[Document], Document | None, list[str]]:
    """The job, its namespace's events, its podgroup while it may wait, and what is wrong with its pods."""
    from volcano.api.resources import EVENTS, JOBS
    from volcano.cli.job_failures import failed_pods, failure_lines, stuck_lines, stuck_pods

    async with connected(master, kubeconfig) as client:
        document = await client.get(JOBS.untyped, name, namespace)
        events = await client.list(EVENTS.untyped, namespace)
        status = document.get("status") or {}
        phase = (status.get("state") or {}).get("phase")
        alive = phase in ("Pending", "Running", "Restarting")
        podgroup = await podgroup_of(client, document) if alive else None
        failed = await failed_pods(client, namespace, name) if phase and status.get("failed") else []
        stuck = await stuck_pods(client, namespace, name) if alive else []
        return document, list(events.items), podgroup, [*failure_lines(failed), *stuck_lines(stuck)]


async def podgroup_of(client: Client, document: Document) -> Document | None:
    """The podgroup that the job controller made for this job: `<job>-<uid>`, or `<job>` from old versions."""
    from volcano.api.resources import PODGROUPS
    from volcano.kube.errors import NotFound

    metadata = document["metadata"]
    for name in (f"{metadata['name']}-{metadata.get('uid', '')}", metadata["name"]):
        try:
            found: Document = await client.get(PODGROUPS.untyped, name, metadata.get("namespace"))
        except NotFound:
            continue
        return found
    return None


def _command_job(action: str, verb: str) -> Any:
    @job.command(name=verb)
    @job_flags
    def command(name: str, namespace: str, master: str, kubeconfig: str) -> None:
        if not name:
            raise fail(f"job name is mandatory to {verb} a particular job")
        run_async(_send(action, name, namespace, master, kubeconfig))

    command.help = f"{verb.capitalize()} a job."
    return command


suspend = _command_job("AbortJob", "suspend")
resume = _command_job("ResumeJob", "resume")


async def _send(action: str, name: str, namespace: str, master: str, kubeconfig: str) -> None:
    from volcano.api.resources import JOBS
    from volcano.cli.commands import send_command

    async with connected(master, kubeconfig) as client:
        await send_command(client, JOBS, await client.get(JOBS.untyped, name, namespace), action, namespace)


@job.command()
@job_flags
def delete(name: str, namespace: str, master: str, kubeconfig: str) -> None:
    """Delete a job and its pods."""
    if not name:
        raise fail("job name is mandatory to delete a particular job")
    run_async(_delete(name, namespace, master, kubeconfig))
    click.echo(f"delete job {name} successfully")


async def _delete(name: str, namespace: str, master: str, kubeconfig: str) -> None:
    from volcano.api.resources import JOBS

    async with connected(master, kubeconfig) as client:
        await client.delete(JOBS, name, namespace)


@job.command()
@job_flags
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the pods have ended.")
@click.option("--tail", default=None, type=int, help="Only the last lines of each pod.")
def logs(name: str, namespace: str, follow: bool, tail: int | None, master: str, kubeconfig: str) -> None:
    """Print the logs of a job's pods.

    Each line begins with the name of its pod.
    """
    if not name:
        raise fail("job name is mandatory to print the logs of a particular job")
    run_async(_logs(name, namespace, master, kubeconfig, follow=follow, tail=tail))


async def _logs(name: str, namespace: str, master: str, kubeconfig: str, *, follow: bool, tail: int | None) -> None:
    from volcano.api.resources import JOBS
    from volcano.cli.job_logs import print_logs

    async with connected(master, kubeconfig) as client:
        await client.get(JOBS.untyped, name, namespace)
        await print_logs(client, namespace, name, follow=follow, tail=tail)
