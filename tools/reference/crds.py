"""A page for each custom resource: how to name it, and its fields. Made from the types that decode it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tools.reference import blocks
from volcano.api import crds, resources
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource

USES: Final = {
    "Job": "Work of several pods that belong together; [jobs and their controllers](../jobs.md) tells its life.",
    "CronJob": "A Job on a schedule; see [jobs on a schedule](../jobs.md#jobs-on-a-schedule).",
    "Command": "An order to a controller, such as to suspend a job. `vcctl` writes it; who carries it out deletes it.",
    "PodGroup": "What the scheduler knows of a gang: how many members it needs, in which queue. Jobs make their own.",
    "Queue": "A share of the cluster, and the tree of shares; see [concepts](../concepts.md#queue).",
    "JobFlow": "Jobs in an order, made from templates; see [jobs in an order](../jobs.md#jobs-in-an-order).",
    "JobTemplate": "A Job that flows make copies of.",
    "HyperNode": "Nodes near each other, and groups of such; see [topology](../plugins/network-topology-aware.md).",
    "Numatopology": "CPUs and NUMA cells of a node, as reported; see [numa-aware](../plugins/numa-aware.md).",
    "NodeShard": "The nodes that one of several schedulers uses.",
    "ColocationConfiguration": "How the [node agent](../agent.md) protects the memory of pods that it selects.",
}

EXTERNAL: Final = "Kubernetes' "


def kinds() -> list[Resource[Any]]:
    """The custom resources, in the order in which they are declared."""
    found = [value for value in vars(resources).values() if isinstance(value, Resource)]
    return [resource for resource in dict.fromkeys(found) if resource.custom]


def pages() -> dict[str, str]:
    rows = [(f"[{kind.kind}](crds/{kind.kind.lower()}.md)", USES[kind.kind].replace("](../", "](")) for kind in kinds()]
    overview = f"# Custom resources\n\n{blocks.table(('kind', ''), rows)}\n"
    return {"crds.md": overview, **{f"crds/{kind.kind.lower()}.md": _page(kind) for kind in kinds()}}


def _page(kind: Resource[Any]) -> str:
    scope = "lives in a namespace" if kind.namespaced else "belongs to the whole cluster"
    names = [f"`{kind.group_resource}`", *(f"`{name}`" for name in kind.short_names)]
    lines = [f"# {kind.kind}\n", f"{USES[kind.kind]}\n"]
    lines += [
        f"`apiVersion: {kind.api_version}`, `kind: {kind.kind}`. It {scope}. kubectl knows it as {', '.join(names)}."
    ]
    if kind.subresources:
        lines.append(f"Subresources: {', '.join(f'`{sub.name}`' for sub in kind.subresources)}.")
    if kind.columns:
        lines += ["\n## Columns of kubectl get", blocks.table(("column", "shows"), _columns(kind))]
    schema = crds.referring_schema(kind)
    for part in ("spec", "status"):
        if part in schema["properties"]:
            lines += [
                f"\n## {part}",
                blocks.table(("field", "type", "meaning"), _fields(schema["properties"][part], part)),
            ]
    rest = {name: node for name, node in schema["properties"].items() if name not in _COMMON}
    if rest:
        lines += ["\n## Fields", blocks.table(("field", "type", "meaning"), _fields({"properties": rest}, ""))]
    return "\n".join(lines).rstrip() + "\n"


_COMMON: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


def _columns(kind: Resource[Any]) -> Iterator[tuple[str, str]]:
    for column in kind.columns:
        yield column.name, f"`{column.json_path}`{' (with `-o wide`)' if column.priority else ''}"


def _fields(node: JsonObject, path: str) -> Iterator[tuple[str, str, str]]:
    """Each field below `node`, and what is below it."""
    required = node.get("required", ())
    for name, inner in node.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        yield f"`{where}`", _type(inner), _meaning(inner, needed=name in required)
        yield from _below(inner, where)


def _below(node: JsonObject, path: str) -> Iterator[tuple[str, str, str]]:
    """The fields of a node, of the items of a list, or of the values of a map."""
    if isinstance(items := node.get("items"), dict):
        return _below(items, f"{path}[]")
    if isinstance(values := node.get("additionalProperties"), dict):
        return _below(values, f"{path}.*")
    return _fields(node, path)


def _type(node: JsonObject) -> str:
    if reference := node.get("$ref"):
        return f"{EXTERNAL}{reference.rpartition('.')[2].rpartition('/')[2]}"
    if node.get("x-kubernetes-int-or-string"):
        return "amount"
    match node.get("type"):
        case "array":
            return f"list of {_type(node['items'])}"
        case "object" if isinstance(values := node.get("additionalProperties"), dict):
            return f"map to {_type(values)}"
        case str(kind):
            return "time" if node.get("format") == "date-time" else str(kind)
    return "any"


def _meaning(node: JsonObject, *, needed: bool) -> str:
    parts = [blocks.sentence(str(node.get("description", "")))]
    if needed:
        parts.append("Required.")
    if (default := node.get("default")) is not None:
        parts.append(f"Default: `{str(default).lower() if isinstance(default, bool) else default}`.")
    if choices := node.get("enum") or node.get("items", {}).get("enum"):
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in choices if choice)}.")
    bounds = [f"at {word} {node[key]}" for key, word in (("minimum", "least"), ("maximum", "most")) if key in node]
    if bounds:
        parts.append(blocks.sentence(", ".join(bounds)))
    return " ".join(filter(None, parts))
