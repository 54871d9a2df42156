"""Discovery: which groups, versions and resources there are, in the aggregated and in the older form.

Pure functions over the served resources; app.py calls `respond`, registry.py knows the resources.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from volcano.api.meta import JsonObject
    from volcano.api.resource import Resource, Subresource

AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"
AGGREGATED_KIND: Final = "APIGroupDiscoveryList"
_AGGREGATED_VERSIONS: Final = ("v2", "v2beta1")
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY: Final = {"": 2, "beta": 1, "alpha": 0}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def respond(
    path: str, accept: str, resources: Iterable[Resource[Any]], if_none_match: str | None = None
) -> Answer | None:
    """The answer to a discovery request; None if `path` is none or names a group or version that is not served."""
    steps = path.removeprefix("/").removesuffix("/").split("/")
    groups = _groups(resources)
    if path == "/":
        return _plain({"paths": _paths(groups)})
    if steps in (["api"], ["apis"]):
        version = _aggregated_version(accept)
        core = steps == ["api"]
        if version is not None:
            return _aggregated(groups, version, if_none_match, core=core)
        return _plain(_api_versions() if core else _group_list(groups))
    document = _legacy_document(steps, groups)
    return None if document is None else _plain(document)


def _paths(groups: dict[str, dict[str, list[Resource[Any]]]]) -> list[str]:
    """What a server answers besides resources."""
    named = {group: versions for group, versions in groups.items() if group}
    paths = [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    paths += [f"/apis/{group}" for group in named]
    paths += [f"/apis/{group}/{version}" for group, versions in named.items() for version in versions]
    return sorted(paths)


def version_rank(version: str) -> tuple[int, int, int]:
    """Orders versions as Kubernetes prefers them: v2, v1, v1beta2, v1alpha1."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0)
    return (_STABILITY[match[2] or ""], int(match[1]), int(match[3] or 0))


def _groups(resources: Iterable[Resource[Any]]) -> dict[str, dict[str, list[Resource[Any]]]]:
    """group → version → resources. Kubernetes' groups come first, others follow by name: `jobs` stays batch/v1."""
    groups: dict[str, dict[str, list[Resource[Any]]]] = {}
    for resource in sorted(resources, key=lambda each: (each.custom, each.group if each.custom else "")):
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    for group, versions in groups.items():
        groups[group] = {
            version: sorted(versions[version], key=lambda each: each.plural)
            for version in sorted(versions, key=version_rank, reverse=True)
        }
    return groups


def _aggregated_version(accept: str) -> str | None:
    """The version of aggregated discovery the client takes, if it takes one before plain JSON."""
    for choice in accept.split(","):
        media_type, *parameters = (part.strip() for part in choice.split(";"))
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        if values.get("as") == AGGREGATED_KIND and values.get("g") == AGGREGATED_GROUP:
            if media_type == "application/json" and values.get("v") in _AGGREGATED_VERSIONS:
                return values["v"]
        elif media_type in ("application/json", "*/*"):
            return None
    return None


def _aggregated(
    groups: dict[str, dict[str, list[Resource[Any]]]], version: str, if_none_match: str | None, *, core: bool
) -> Answer:
    document = {
        "kind": AGGREGATED_KIND,
        "apiVersion": f"{AGGREGATED_GROUP}/{version}",
        "metadata": {},
        "items": [_group_discovery(name, versions) for name, versions in groups.items() if core == (name == "")],
    }
    body = msgspec.json.encode(document)
    etag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {
        "Content-Type": f"application/json;g={AGGREGATED_GROUP};v={version};as={AGGREGATED_KIND}",
        "ETag": etag,
        "Vary": "Accept",
        "Cache-Control": "public",
    }
    if if_none_match is not None and etag in (each.strip() for each in if_none_match.split(",")):
        return Answer(304, headers, b"")
    return Answer(200, headers, body)


def _group_discovery(name: str, versions: dict[str, list[Resource[Any]]]) -> JsonObject:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {"version": version, "freshness": "Current", "resources": [_resource_discovery(each) for each in resources]}
            for version, resources in versions.items()
        ],
    }


def _resource_discovery(resource: Resource[Any]) -> JsonObject:
    described: JsonObject = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": sorted(resource.verbs),
        **_names(resource),
    }
    if resource.subresources:
        described["subresources"] = [_subresource_discovery(resource, each) for each in resource.subresources]
    return described


def _subresource_discovery(resource: Resource[Any], subresource: Subresource) -> JsonObject:
    group, version, kind = _kind_of(resource, subresource)
    return {
        "subresource": subresource.name,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": sorted(subresource.verbs),
    }


def _kind_of(resource: Resource[Any], subresource: Subresource) -> tuple[str, str, str]:
    if not subresource.kind:
        return resource.group, resource.version, resource.kind
    return subresource.group, subresource.version, subresource.kind


def _names(resource: Resource[Any]) -> JsonObject:
    names: JsonObject = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _plain(document: JsonObject) -> Answer:
    headers = {"Content-Type": "application/json", "Vary": "Accept", "Cache-Control": "no-cache, private"}
    return Answer(200, headers, msgspec.json.encode(document))


def _api_versions() -> JsonObject:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    }


def _group_list(groups: dict[str, dict[str, list[Resource[Any]]]]) -> JsonObject:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, tuple(versions)) for name, versions in groups.items() if name],
    }


def _group(name: str, versions: Sequence[str]) -> JsonObject:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _legacy_document(steps: list[str], groups: dict[str, dict[str, list[Resource[Any]]]]) -> JsonObject | None:
    match steps:
        case ["api", version] if version in groups.get("", {}):
            return _resource_list(version, groups[""][version])
        case ["apis", group] if group in groups:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, tuple(groups[group]))}
        case ["apis", group, version] if version in groups.get(group, {}):
            return _resource_list(f"{group}/{version}", groups[group][version])
        case _:
            return None


def _resource_list(group_version: str, resources: Iterable[Resource[Any]]) -> JsonObject:
    listed = [entry for resource in resources for entry in _entries(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _entries(resource: Resource[Any]) -> Iterator[JsonObject]:
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(resource.verbs),
        **_names(resource),
    }
    for subresource in resource.subresources:
        group, version, kind = _kind_of(resource, subresource)
        foreign = (group, version) != (resource.group, resource.version)
        yield {
            "name": f"{resource.plural}/{subresource.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            **({"group": group, "version": version} if foreign else {}),
            "kind": kind,
            "verbs": sorted(subresource.verbs),
        }
