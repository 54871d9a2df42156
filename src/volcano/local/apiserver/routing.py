"""API paths into what they address."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from volcano.http.message import Request


class Target(NamedTuple):
    group: str
    version: str
    namespace: str | None
    plural: str
    name: str
    subresource: str
    watch: bool = False


_NAMESPACE_SUBRESOURCES = ("status", "finalize")


def parse(path: str) -> Target | None:
    """The object or collection that `path` names; None if it is not a path of resources."""
    parts = path.split("/")
    if parts[-1] == "":
        parts.pop()
    if len(parts) < 4 or parts[0]:
        return None
    if parts[1] == "api":
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    return Target(group, version, namespace, rest[0], name, "/".join(rest[2:]), watch)


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def verb_of(request: Request, target: Target) -> str:
    """The Kubernetes verb of a request, as discovery, authorization and metrics name it."""
    method = request.method
    if method in ("GET", "HEAD"):
        if target.watch:
            return "watch"
        if target.name:
            return "get"
        return "watch" if request.query and request.flag("watch") else "list"
    if method == "DELETE" and not target.name:
        return "deletecollection"
    return _VERBS.get(method, method.lower())
