"""What people call the kinds of objects: `job`, `vj`, `pg`, `queues` …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import resources
from volcano.cli.errors import misuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from volcano.api.resources import Resource

KINDS = (
    resources.JOBS,
    resources.QUEUES,
    resources.PODGROUPS,
    resources.PODS,
    resources.JOB_FLOWS,
    resources.JOB_TEMPLATES,
    resources.CRON_JOBS,
    resources.HYPERNODES,
    resources.NODES,
)
"""In the order in which they claim names: `job` is a Volcano job."""
SINGULARS = tuple(kind.singular for kind in KINDS)


def resource_of(word: str, offered: Iterable[str] = SINGULARS) -> Resource[Any]:
    """The resource that `word` names: its kind, singular, plural or a short name, in any case.

    Where it names none, those `offered` are listed.
    """
    named = {
        name: resource
        for resource in reversed(KINDS)
        for name in (resource.kind.lower(), resource.singular, resource.plural, *resource.short_names)
    }
    found = named.get(word.lower())
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(word.lower(), named, n=1)
        hint = f": did you mean {near[0]!r}?" if near else f": use one of {', '.join(offered)}"
        raise misuse(f"there is no kind {word!r}{hint}")
    return found


def resource_and_name(text: str, default: str = "job") -> tuple[Resource[Any], str]:
    """`queue/ml` as its parts; a name alone is one of the `default` kind."""
    kind, separator, name = text.rpartition("/")
    if separator and not (kind and name):
        raise misuse(f"{text!r} is no object: write KIND/NAME, such as {default}/train")
    return resource_of(kind or default), name
