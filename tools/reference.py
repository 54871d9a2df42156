"""Writes the parts of the documentation that the program itself knows best: vcctl's commands and the plugins.

python -m tools.reference            # writes docs/vcctl.md and docs/plugins.md
python -m tools.reference --check    # exit status 1 when they are not current
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tools.reference_commands import commands_page
from volcano.scheduler.framework import registry
from volcano.scheduler.framework.arguments import REST
from volcano.scheduler.framework.hooks import HOOKS

DOCS = Path(__file__).parents[1] / "docs"
MADE_BY = "<!-- Written by tools/reference.py: change the program, then run it again (`make docs`). -->"

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
    return {"vcctl.md": f"{MADE_BY}\n{commands_page()}", "plugins.md": plugins_page()}


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
