"""Pages of actions and plugins, and the list of all. The lists of arguments come from the structs that read them."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from tools.reference import blocks
from volcano.scheduler.framework import registry
from volcano.scheduler.framework.arguments import REST
from volcano.scheduler.framework.hooks import HOOKS

OVERVIEW = """\
# Actions and plugins of the scheduler

What may stand in the [scheduler's configuration](configuration.md). An argument that is not known has no effect and is
named in the log, with the nearest known one.
"""

HOOKS_HEAD = """\
## Hooks and their switches
A plugin takes part in a hook by having a method of that name; `volcano.scheduler.framework.plugin` describes each.

| hook | switch |
|---|---|"""

SKELETON = """\
# {name}

<!-- made: summary -->
<!-- end -->

## Arguments

<!-- made: arguments -->
<!-- end -->

## Example
"""

_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", list: "list", dict: "map"}


def overview() -> str:
    known = registry.built_in()
    lines = [OVERVIEW, "## Actions", "| action | |", "|---|---|"]
    lines += [f"| [`{name}`](actions/{name}.md) | {summary(kind)} |" for name, kind in known.actions.items()]
    lines += ["", "## Plugins", "| plugin | |", "|---|---|"]
    lines += [f"| [`{name}`](plugins/{name}.md) | {summary(kind)} |" for name, kind in sorted(known.plugins.items())]
    lines += ["", HOOKS_HEAD]
    lines += [f"| `{hook.name}` | {f'`{hook.switch}`' if hook.switch else ''} |" for hook in HOOKS]
    return "\n".join(lines).rstrip() + "\n"


def pages(docs: Path) -> dict[str, str]:
    """Each page under `docs` with its blocks made anew, or its skeleton."""
    known = registry.built_in()
    kinds: dict[str, type[Any]] = {f"actions/{name}.md": kind for name, kind in known.actions.items()}
    kinds |= {f"plugins/{name}.md": kind for name, kind in known.plugins.items()}
    return {path: _page(docs / path, kind) for path, kind in kinds.items()}


def _page(path: Path, kind: type[Any]) -> str:
    text = path.read_text() if path.exists() else SKELETON.format(name=kind.name)
    return blocks.fill(
        text, {"summary": lambda _: summary(kind), "arguments": functools.partial(_arguments, kind.Arguments)}
    )


def summary(kind: type[Any]) -> str:
    """What it is for: `name: text` at the head of its module's docstring or of its own."""
    texts = [inspect.cleandoc(text or "") for text in (inspect.getdoc(inspect.getmodule(kind)), kind.__doc__)]
    text = next((text for text in texts if text.startswith(f"{kind.name}: ")), texts[1] or texts[0])
    paragraph = " ".join(text.partition("\n\n")[0].split()).removeprefix(f"{kind.name}: ")
    return paragraph[:1].upper() + paragraph[1:]


def _arguments(struct: type[msgspec.Struct], block: str) -> str:
    """The table of arguments. What they mean is written by hand, and taken over."""
    meant = blocks.meanings(block)
    rows = [
        (f"`{name}`", kind, default, meant.get(name, ""))
        for name, kind, default in (*_fields(struct, ""), *_prefixes(struct))
    ]
    return blocks.table(("argument", "type", "default", "meaning"), rows) if rows else "None."


def _prefixes(struct: type[msgspec.Struct]) -> Iterator[tuple[str, str, str]]:
    for prefix in getattr(struct, "prefixes", ()):
        yield f"{prefix}…", "", ""


def _fields(struct: type[msgspec.Struct], before: str) -> Iterator[tuple[str, str, str]]:
    """Name, type and default of each argument; `a: {b}` is argument `b` in the map `a`."""
    hints = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        if field.name == REST:
            continue
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        if isinstance(default, msgspec.Struct):
            yield from _fields(type(default), f"{before}{field.encode_name}: ")
        else:
            yield f"{before}{field.encode_name}", _kind(hints[field.name]), _value(default)


def _kind(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not types.NoneType)
    return _KINDS.get(get_origin(hint) or hint, "list")


def _value(value: object) -> str:
    if value in (None, "", [], {}, ()):
        return ""
    if isinstance(value, list) and all(isinstance(item, msgspec.Struct) for item in value):
        return ", ".join(f"`{item.name}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
