"""Writes the parts of the documentation that the program itself knows best: vcctl's commands and the plugins.

python tools/reference.py            # writes docs/vcctl.md and docs/plugins.md
python tools/reference.py --check    # exit status 1 when they are not current
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from volcano.cli.main import vcctl
from volcano.scheduler.framework import registry
from volcano.scheduler.framework.arguments import REST
from volcano.scheduler.framework.hooks import HOOKS

DOCS = Path(__file__).parents[1] / "docs"
MADE_BY = "<!-- Written by tools/reference.py: change the program, then run it again (`make docs`). -->"

VCCTL = """\
# vcctl

Commands that the Go Volcano has keep its flags and print the same bytes; NAME as a positional, `-o`, `--watch`,
`-- COMMAND` and the nouns besides `job`, `queue` and `version` are ours. Errors go to standard error.

| exit status | meaning |
|---|---|
| 0 | done; `job run --watch`: the job completed; `validate`: all objects are allowed |
| 1 | `job run --watch`: the job ended otherwise; `validate`: an object is refused; `local status`: no cluster runs |
| 2 | the command line is wrong; `validate`, `schedule`: a file cannot be read |
| 255 | the command failed, and the last line says why |

Which cluster is meant: `--kubeconfig`, else `$KUBECONFIG`, else `~/.kube/config`, else this machine's local cluster
(`$VOLCANO_HOME/local`, by default `~/.volcano/local`), else the pod that vcctl runs in. `--master` replaces the
address.
"""

PLUGINS = """\
# Actions and plugins of the scheduler

What may stand in the [scheduler's configuration](configuration.md). An argument that is not known has no effect and is
named in the log, with the nearest known one.
"""


HOOKS_HEAD = """\
## Hooks and their switches
A plugin takes part in a hook by having a method of that name; `volcano.scheduler.framework.plugin` describes each.

| hook | switch |
|---|---|"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is not current")
    check = parser.parse_args().check
    stale = []
    for name, text in pages().items():
        path = DOCS / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    if check and stale:
        sys.stderr.write(f"not current: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


def pages() -> dict[str, str]:
    """Every page that is written here, by its name under docs/."""
    return {"vcctl.md": vcctl_page(), "plugins.md": plugins_page()}


# --- vcctl ----------------------------------------------------------------------------------------------------------


def vcctl_page() -> str:
    lines = [MADE_BY, VCCTL]
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
    choices = getattr(option.type, "choices", None)
    value = option.metavar or ("/".join(map(str, choices)) if choices else option.type.name.upper())
    return f"`{names} {value.removesuffix(' RANGE')}`"


def _meaning(option: click.Option) -> str:
    text = " ".join((option.help or "").replace("|", "\\|").split())
    return f"{text} Default: `{option.default}`." if option.show_default else text


# --- plugins --------------------------------------------------------------------------------------------------------


def plugins_page() -> str:
    known = registry.built_in()
    lines = [MADE_BY, PLUGINS, "## Actions", "| action | |", "|---|---|"]
    lines += [f"| `{name}` | {_summary(kind)} |" for name, kind in known.actions.items()]
    lines += ["", "## Plugins"]
    for name in sorted(known.plugins):
        kind = known.plugins[name]
        lines += [f"### {name}", f"{_summary(kind)}\n", *_arguments(kind.Arguments)]
    lines += ["", HOOKS_HEAD]
    lines += [f"| `{hook.name}` | {f'`{hook.switch}`' if hook.switch else ''} |" for hook in HOOKS]
    return "\n".join(lines).rstrip() + "\n"


def _summary(kind: type[Any]) -> str:
    """What it is for: `name: text` at the head of its module's docstring or of its own."""
    texts = [inspect.cleandoc(text or "") for text in (inspect.getdoc(inspect.getmodule(kind)), kind.__doc__)]
    text = next((text for text in texts if text.startswith(f"{kind.name}: ")), texts[1] or texts[0])
    paragraph = " ".join(text.partition("\n\n")[0].split()).removeprefix(f"{kind.name}: ")
    return paragraph[:1].upper() + paragraph[1:]


def _arguments(struct: type[msgspec.Struct]) -> Iterator[str]:
    rows = [*_fields(struct, ""), *(f"| `{prefix}…` | |" for prefix in getattr(struct, "prefixes", ()))]
    if rows:
        yield "| argument | default |\n|---|---|"
        yield from rows
        yield ""


def _fields(struct: type[msgspec.Struct], before: str) -> Iterator[str]:
    """A row per argument; `a: {b}` for argument `b` in the map `a`."""
    for field in msgspec.structs.fields(struct):
        if field.name == REST:
            continue
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        if isinstance(default, msgspec.Struct):
            yield from _fields(type(default), f"{before}{field.encode_name}: ")
        else:
            yield f"| `{before}{field.encode_name}` | {_value(default)} |"


def _value(value: object) -> str:
    if value in (None, "", [], {}, ()):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.exit(main())
