"""The reference page of vcctl and the v* commands, made from their parsers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

import click

from volcano.cli.main import vcctl
from volcano.cli.slurm import PROGRAMS
from volcano.cli.statuses import MEANINGS

HEAD = """\
# vcctl and the v* commands

Commands that the Go Volcano has keep its flags and print the same bytes; NAME as a positional, several NAMEs, `-o`,
`-A`, `-l`, `--watch`, `-- COMMAND` and the commands that it does not have are ours. Errors go to standard error.
Colours and live tables appear on a terminal only.

Which cluster is meant: `--kubeconfig`, else `$KUBECONFIG`, else `~/.kube/config`, else this machine's local cluster
(`$VOLCANO_HOME/local`, by default `~/.volcano/local`), else the pod that vcctl runs in. `--master` replaces the
address. An API server that does not answer is waited for, five seconds at most.

Forms of output (`-o`): `table`, `wide`, `json`, `yaml`, `name`, and `jsonpath=TEMPLATE` with kubectl's templates, such
as `-o 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}'`.

## Exit status
| exit status | meaning |
|---|---|
"""

SLURM = """\
## From Slurm
| Slurm | here |
|---|---|
| `sbatch`, `#SBATCH` | `vsub`, `#VSUB` |
| `squeue`, `scontrol show job` | `vjobs`, `vjobs NAME` |
| `sinfo` | `vqueues`, `vcctl queue tree` |
| `scancel` | `vcancel` |
| `scontrol suspend`, `scontrol resume` | `vsuspend`, `vresume` |
| `sacct` | `vjobs`, `vcctl events` |

In vcctl `-n` is the namespace and `-N` the name (of queues, `-n` is the name); in the v* commands `-n` is the name and
`-N` the namespace, as upstream has it.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD + "\n".join(f"| {status} | {meaning} |" for status, meaning in MEANINGS.items()) + "\n"]
    root = click.Context(vcctl, info_name="vcctl")
    for noun in vcctl.list_commands(root):
        command = vcctl.get_command(root, noun)
        assert command is not None
        lines.append(f"## vcctl {noun}\n{vcctl.summary(noun)}\n")
        context = click.Context(command, info_name=noun, parent=root)
        if not isinstance(command, click.Group):
            lines += _command(command, context)
            continue
        for verb in command.list_commands(context):
            inner = command.get_command(context, verb)
            assert inner is not None
            lines.append(f"### vcctl {noun} {verb}")
            lines += _command(inner, click.Context(inner, info_name=verb, parent=context))
    lines.append(SLURM)
    for name in PROGRAMS:
        program: click.Command = getattr(importlib.import_module(f"volcano.cli.slurm.{name}"), name)
        lines.append(f"## {name}")
        lines += _command(program, click.Context(program, info_name=name))
    return "\n".join(lines).rstrip() + "\n"


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """What it does, how it is called, and its options. Not click's own text: that changes with its version."""
    description, _, example = inspect.cleandoc(command.help or "").partition("\n\n\b\n")
    yield description + "\n"
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    arguments = [_metavar(parameter) for parameter in command.params if isinstance(parameter, click.Argument)]
    words = [context.command_path, *(["[OPTIONS]"] if options else []), *arguments]
    yield f"```\n{' '.join(words)}\n```\n"
    if example:
        yield f"For example:\n```\n{example}\n```\n"
    if options:
        yield "| option | |\n|---|---|"
        yield from (f"| {_names(option)} | {_meaning(option)} |" for option in options)
        yield ""


def _metavar(argument: click.Argument) -> str:
    if argument.metavar:
        return argument.metavar
    choices = getattr(argument.type, "choices", None)
    return "|".join(map(str, choices)) if choices else (argument.name or "").upper()


def _names(option: click.Option) -> str:
    """Its spellings, and what kind of value it takes."""
    names = ", ".join(sorted((*option.opts, *option.secondary_opts), key=len))
    if option.is_flag:
        return f"`{names}`"
    choices = getattr(option.type, "choices", None) or getattr(option.type, "forms", None)
    value = option.metavar or ("/".join(map(str, choices)) if choices else option.type.name.upper())
    return f"`{names} {value.removesuffix(' RANGE')}`"


def _meaning(option: click.Option) -> str:
    text = " ".join((option.help or "").replace("|", "\\|").split())
    default = f"`{option.default}`" if option.show_default else ""
    if option.envvar and default:
        default = f"`${option.envvar}`, else {default}"
    return f"{text} Default: {default}." if default else text
