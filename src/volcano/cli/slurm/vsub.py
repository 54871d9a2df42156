"""vsub: submit a batch script or a command as a job."""

from __future__ import annotations

import os
import re
import shlex
import string
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.api import dependencies, keys
from volcano.api.resources import JOBS
from volcano.cli import program
from volcano.cli.completing import queues
from volcano.cli.connection import following
from volcano.cli.errors import fail, misuse
from volcano.cli.objects import all_of
from volcano.cli.output import dump
from volcano.cli.slurm import slurm_options
from volcano.cli.text import on_terminal
from volcano.jobs import build, defaults, script as scripts
from volcano.jobs.amounts import AmountError, parse_memory, parse_resources, parse_seconds
from volcano.jobs.arrays import ArrayError, parse_array, shell_element

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.kube.client import Client

LONGEST_NAME = 50
"""Leaves room for what pods and podgroups append."""
LETTERS = string.ascii_lowercase + string.digits
INDEX = keys.ENV_TASK_INDEX
SETTINGS = {"help_option_names": ["-h", "--help"], "allow_interspersed_args": False, "max_content_width": 110}


class ScriptCommand(click.Command):
    """A command that reads more options from the head of its SCRIPT; those on the command line win."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = words_of(self._parsed(ctx, args))
        if not given:
            return super().parse_args(ctx, args)
        script = ctx.meta["script"] = read_script(given[0])
        if line := script.first_foreign():
            click.echo(
                f"Warning: {given[0]}, line {line}: lines {scripts.FOREIGN_MARK} are not read: "
                f"write {scripts.MARK} instead",
                err=True,
            )
        words: list[str] = []
        try:
            directives = list(script.directives())
        except scripts.ScriptError as error:
            raise click.UsageError(f"{given[0]}, {error}", ctx) from error
        for directive in directives:
            try:
                self._check(ctx, directive.words)
            except (click.UsageError, ValueError) as error:
                said = error.format_message() if isinstance(error, click.UsageError) else error
                raise click.UsageError(f"{given[0]}, line {directive.line}: {said}", ctx) from error
            words += directive.words
        return super().parse_args(ctx, [*words, *args])

    def _check(self, ctx: click.Context, args: list[str]) -> None:
        """Judge the words of one directive alone, so that what is wrong can be told with its line."""
        options = self._parsed(ctx, args)
        if stray := words_of(options):
            raise click.UsageError(f"{stray[0]!r} is no option", ctx)
        for option in self.params:
            if option.name in options and isinstance(option, click.Option) and not option.is_flag:
                value = option.type_cast_value(ctx, options[option.name])
                if check := CHECKS.get(option.name):
                    check(value)

    def _parsed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """The options as they are written; what Slurm has and this has not is told with what to use."""
        try:
            return dict(self.make_parser(ctx).parse_args(args=list(args))[0])
        except click.NoSuchOption as error:
            instead = slurm_options.instead_of(error.option_name)
            if not instead:
                raise
            raise click.UsageError(f"There is no option {error.option_name} here: {instead}", ctx) from error


CHECKS: dict[str, Callable[[Any], object]] = {
    "requests": parse_resources,
    "limits": parse_resources,
    "cpus_per_task": lambda amount: parse_resources(f"cpu={amount}"),
    "mem": parse_memory,
    "time_limit": parse_seconds,
    "array": parse_array,
    "after": dependencies.parse,
}
"""What is asked of a value beyond its type; each raises a ValueError."""


def words_of(options: dict[str, Any]) -> tuple[str, ...]:
    """The script and its arguments among parsed words."""
    found = options.get("words")
    return found if isinstance(found, tuple) else ()


def read_script(path: str) -> scripts.Script:
    """The script of a file, or of standard input for `-`."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return scripts.parse(text)
    except OSError as error:
        raise misuse(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, scripts.ScriptError) as error:
        raise misuse(f"{path} is no batch script: {error}") from error


@dataclass(frozen=True)
class Order:
    """What is to run, as far as it depends on several flags."""

    name: str
    command: list[str]
    replicas: int
    min_available: int
    plugins: dict[str, list[str]]
    independent: bool
    at_once: int


@click.command(cls=ScriptCommand, context_settings=SETTINGS)
@click.option("-n", "-J", "--name", "--job-name", default="", help="Name of the job; that of the script by default.")
@click.option(
    "-N",
    "--namespace",
    default="default",
    envvar="VOLCANO_DEFAULT_JOB_NAMESPACE",
    show_default=True,
    show_envvar=True,
    help="Its namespace.",
)
@click.option(
    "-i",
    "--image",
    default=defaults.IMAGE,
    envvar="VOLCANO_DEFAULT_IMAGE",
    show_default=True,
    show_envvar=True,
    help="Container image.",
)
@click.option(
    "-m",
    "--min",
    "min_available",
    default=None,
    type=int,
    help="Pods that must start together; of a script all, else 1.",
)
@click.option(
    "-r", "--replicas", "--ntasks", default=1, type=click.IntRange(1), show_default=True, help="Number of pods."
)
@click.option("-R", "--requests", default=defaults.RESOURCES, show_default=True, help="Requests of a pod.")
@click.option("-L", "--limits", default=defaults.RESOURCES, show_default=True, help="Limits of a pod.")
@click.option("--cpus-per-task", default="", help="CPUs of a pod, over --requests and --limits.")
@click.option("--mem", default="", help="Memory of a pod in MiB, or with K, M, G or T, over --requests and --limits.")
@click.option(
    "-S",
    "--scheduler",
    default="volcano",
    envvar="VOLCANO_SCHEDULER_NAME",
    show_default=True,
    show_envvar=True,
    help="Scheduler of the pods.",
)
@click.option(
    "-c",
    "--command",
    default="",
    help="Command to run instead of a script, in one word. No shell runs it: for $NAME, | or > write 'sh -c …'.",
)
@click.option("-q", "-p", "--queue", "--partition", default="", shell_complete=queues, help="Queue to submit to.")
@click.option("--priority", "priority_class", default="", help="PriorityClass of the job.")
@click.option(
    "-a", "--array", default="", help="Run once for each number, such as 0-9, 1,3,5 or 0-20:4; 0-9%4 runs four at once."
)
@click.option(
    "-d", "--dependency", "after", default="", help="Wait for jobs: afterok|afternotok|afterany|after:job[:job],…"
)
@click.option("-t", "--time", "time_limit", default="", help="End pods after 90s, 1h30m, minutes, or [days-]h:min:s.")
@click.option("--retries", default=None, type=click.IntRange(0), help="Restarts after a pod failed.")
@click.option("-D", "--chdir", default="", help="Working directory.")
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="Environment variable; may be repeated.")
@click.option("--parsable", is_flag=True, help="Print the name of the job, and nothing else.")
@click.option("-W", "--wait", is_flag=True, help="Follow the job until it has finished.")
@click.option("--dry-run", is_flag=True, help="Print the job instead of submitting it.")
@click.argument("words", metavar="[SCRIPT [ARGUMENT]...]", nargs=-1, type=click.Path())
@following("wait")
async def vsub(client: Client, **flags: Any) -> int:
    """Submit a batch script, or a command, as a job.

    Lines `#VSUB --flag=value` at the head of the script are flags; those on the command line win. The script runs in
    every pod. It finds VSUB_JOB_NAME, VSUB_JOB_ID, VSUB_NTASKS, VSUB_PROCID, in an array VSUB_ARRAY_JOB_ID and
    VSUB_ARRAY_TASK_ID, _COUNT, _MIN and _MAX, and where the flags are given VSUB_JOB_PARTITION and
    VSUB_CPUS_PER_TASK; all of them also under the names that Slurm has.

    \b
    vsub --array 0-3 --time 10 --dependency afterok:prepare train.sh --epochs 3
    """
    parsable, wait, dry_run = flags.pop("parsable"), flags.pop("wait"), flags.pop("dry_run")
    wish = wish_from(**flags)
    document = build.job(wish)
    if dry_run:
        click.echo(dump(document, "yaml"), nl=False)
        return 0
    if wish.after:
        await all_of(client, JOBS, [each.job for each in dependencies.parse(wish.after)], wish.namespace)
    await client.create(JOBS.untyped, document, wish.namespace, strict=True)
    click.echo(wish.name if parsable else f"run job {wish.name} successfully")
    if not wait:
        return 0
    from volcano.cli.job_watch import follow

    return await follow(client, wish.namespace, wish.name, live=on_terminal() and not parsable)


def wish_from(
    *, requests: str, limits: str, cpus_per_task: str, mem: str, time_limit: str, env: tuple[str, ...], **flags: Any
) -> build.Wish:
    """The job that the flags describe."""
    known = {"JOB_PARTITION": flags["queue"], "CPUS_PER_TASK": cpus_per_task if cpus_per_task.isdecimal() else ""}
    order = _order(
        **{name: flags.pop(name) for name in ("name", "command", "words", "replicas", "min_available", "array")},
        known={name: value for name, value in known.items() if value},
    )
    try:
        requested, limited = parse_resources(requests), parse_resources(limits)
    except AmountError as error:
        raise fail(str(error)) from error
    try:
        if flags["after"]:
            dependencies.parse(flags["after"])
        more = parse_resources(f"cpu={cpus_per_task}" if cpus_per_task else "")
        more |= {"memory": parse_memory(mem)} if mem else {}
        return build.Wish(
            name=order.name,
            command=order.command,
            replicas=order.replicas,
            min_available=order.min_available,
            plugins=order.plugins,
            independent=order.independent,
            at_once=order.at_once,
            requests=requested | more,
            limits=limited | more,
            time_limit_seconds=parse_seconds(time_limit) if time_limit else 0,
            environment=dict(_variable(text) for text in env),
            working_dir=flags.pop("chdir"),
            **flags,
        )
    except (AmountError, dependencies.DependencyError) as error:
        raise misuse(str(error)) from error


def _order(
    *,
    name: str,
    command: str,
    words: tuple[str, ...],
    replicas: int,
    min_available: int | None,
    array: str,
    known: dict[str, str],
) -> Order:
    script: scripts.Script | None = click.get_current_context().meta.get("script")
    if words and command:
        raise misuse(f"both a command and a script are given, {command!r} and {words[0]!r}: give one")
    name = name or (generated_name(words[0]) if words else "")
    if not name:
        raise fail("job name cannot be left blank: give one with -n/--name")
    variables = {"JOB_NAME": name, "JOB_ID": name, "NTASKS": str(replicas), "PROCID": f"${INDEX}", **known}
    at_once = 0
    if array:
        try:
            parsed = parse_array(array)
        except ArrayError as error:
            raise misuse(str(error)) from error
        replicas, at_once = len(parsed.elements), parsed.at_once
        element = shell_element(parsed.elements, INDEX)
        variables |= {
            "JOB_ID": f"{name}_{element}",  # what is written below it must not meet that of another element
            "NTASKS": "1",
            "PROCID": "0",
            "ARRAY_JOB_ID": name,
            "ARRAY_TASK_ID": element,
            "ARRAY_TASK_COUNT": str(replicas),
            "ARRAY_TASK_MIN": str(min(parsed.elements)),
            "ARRAY_TASK_MAX": str(max(parsed.elements)),
        }
    plugins: dict[str, list[str]] = {"env": []} if script or array else {}
    if script:
        line = script.command(words[1:], variables)
        plugins |= {"svc": []} if replicas > 1 and not array else {}
    else:
        try:
            line = shlex.split(command)
        except ValueError as error:
            raise misuse(f"--command {command!r}: {error}") from error
        line = scripts.wrapped(line, variables) if array else line
    together = min_available if min_available is not None else replicas if script and not array else 1
    return Order(name, line, replicas, together, plugins, independent=bool(array), at_once=at_once)


def generated_name(path: str) -> str:
    """The script's name and five characters, so that it can be submitted again."""
    stem = "job" if path == "-" else Path(path).stem
    clean = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:LONGEST_NAME].rstrip("-")
    suffix = "".join(LETTERS[byte % len(LETTERS)] for byte in os.urandom(5))
    return f"{clean or 'job'}-{suffix}" if not clean[:1].isdigit() else f"job-{clean}-{suffix}"


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise misuse(f"--env {text!r}: write NAME=VALUE")
    return name, value


def main() -> None:
    program.main(vsub, "vsub")
