"""A page of flags for each daemon, from the dataclasses that its command line fills."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, get_type_hints

from tools.reference import blocks
from volcano.agent import networkcommand, options as agent
from volcano.api import duration
from volcano.controllers import flags as controllers
from volcano.controllers.hypernode import standalone as hypernode
from volcano.kube.flags import KLOG_FLAGS
from volcano.scheduler.daemon import flags as scheduler
from volcano.webhooks import options as webhooks

DAEMONS: Final[dict[str, tuple[type[Any], str]]] = {
    "vc-scheduler": (scheduler.Flags, "Decides which pods run where, and binds them."),
    "vc-controller-manager": (controllers.Flags, "Turns jobs into pods, and keeps the state of jobs and queues."),
    "vc-webhook-manager": (webhooks.Flags, "Fills in and checks objects before they are stored."),
    "vc-hypernode-controller-manager": (
        hypernode.StandaloneFlags,
        "Finds out which nodes are close to each other: this controller of vc-controller-manager alone.",
    ),
    "vc-agent": (agent.Flags, "Lets latency-critical and batch pods share a node; runs on each of them."),
    "network-qos": (
        networkcommand.Flags,
        "Shapes by hand what batch pods send: `network-qos prepare`, `set`, `show`, `status`, `reset` or `version`.",
    ),
}

HEAD = """\
# Flags of {name}

{about} Flags are read as Go programs read them: `--flag=value`, `--flag value`, and `--flag` alone for true. Names and
defaults are those of Volcano. An unknown flag ends the start with a message that names it.
"""

KLOG = """\
## Flags for logs
`-v LEVEL` says how much is logged; from 4 on, details. Accepted without effect, because manifests for Volcano pass
them: {names}.
"""


def pages() -> dict[str, str]:
    return {f"flags/{name}.md": _page(name, kind, about) for name, (kind, about) in DAEMONS.items()}


def names(kind: type[Any]) -> list[str]:
    """The flags of a command line, as they are typed."""
    return [f"--{field.name.replace('_', '-')}" for field in _fields(kind)]


def _fields(kind: type[Any]) -> Iterator[dataclasses.Field[Any]]:
    return (field for field in dataclasses.fields(kind) if "help" in field.metadata)


def _page(name: str, kind: type[Any], about: str) -> str:
    hints = get_type_hints(kind)
    lines = [HEAD.format(name=name, about=about)]
    for field in _fields(kind):
        lines += [f"## --{field.name.replace('_', '-')}", blocks.sentence(field.metadata["help"]), ""]
        lines += [f"{_kind(field, hints[field.name])}{_default(field)}", ""]
    lines.append(KLOG.format(names=", ".join(f"`--{flag}`" for flag in KLOG_FLAGS if flag != "v")))
    return "\n".join(lines).rstrip() + "\n"


def _kind(field: dataclasses.Field[Any], hint: Any) -> str:
    if field.metadata["seconds"]:
        return "A duration, such as `1m30s`."
    if field.metadata["repeat"] == "array":
        return "Text; may be given several times."
    if field.metadata["repeat"] == "slice":
        return "Texts, separated by commas; may be given several times."
    return {bool: "True or false.", int: "A whole number.", float: "A number.", str: "Text."}.get(hint, "Pairs.")


def _default(field: dataclasses.Field[Any]) -> str:
    made = field.default_factory
    value: Any = made() if made is not dataclasses.MISSING else field.default
    if value in ("", [], {}):
        return ""
    if field.metadata["seconds"]:
        text = duration.format(timedelta(seconds=value))
    elif isinstance(value, list):
        text = ",".join(value)
    else:
        text = (
            f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
        )
    return f" Default: `{text}`."
