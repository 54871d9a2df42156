"""What each of a pod's volumes is: a set of files, an empty folder, a path of the host, a claim. Pure.

Neighbours: `plan` asks for the contents; `files` puts them on disk and keeps them current.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from volcano.api.meta import JsonObject
from volcano.local.node import environment
from volcano.local.node.sources import ClaimVolume, PlanError, PodFacts, Sources, claim_of, token_of

DEFAULT_MODE = 0o644


@dataclass(frozen=True)
class File:
    content: bytes
    mode: int = DEFAULT_MODE


@dataclass(frozen=True)
class Files:
    """A volume made of these files, by path within the volume; rewritten when a source changes."""

    files: Mapping[str, File]


@dataclass(frozen=True)
class EmptyFolder:
    """Scratch space that goes with the pod."""


@dataclass(frozen=True)
class HostPath:
    path: str
    kind: str


@dataclass(frozen=True)
class Claim:
    """A persistent volume claim: a folder that outlives the pod."""

    namespace: str
    volume: ClaimVolume


Content = Files | EmptyFolder | HostPath | Claim


def contents(pod: JsonObject, facts: PodFacts, sources: Sources) -> dict[str, Content]:
    """The content of every volume of `pod`, by volume name."""
    return {volume["name"]: _content(pod, volume, facts, sources) for volume in pod["spec"].get("volumes") or []}


def _content(pod: JsonObject, volume: JsonObject, facts: PodFacts, sources: Sources) -> Content:
    if volume.get("hostPath") is not None:
        return HostPath(volume["hostPath"].get("path") or "/", volume["hostPath"].get("type") or "")
    claim = claim_of(pod, volume)
    if claim:
        if claim not in sources.claims:
            raise PlanError(
                "FailedMount", f'persistentvolumeclaim "{claim}" not found in namespace "{facts.namespace}"'
            )
        return Claim(facts.namespace, sources.claims[claim])
    if volume.get("projected") is not None:
        return Files(_projected(volume["projected"], facts, sources))
    for kind, read in _FILE_READERS.items():
        if volume.get(kind) is not None:
            return Files(read(volume[kind], volume[kind].get("defaultMode") or DEFAULT_MODE, facts, sources))
    kinds = [key for key in volume if key != "name"]
    if not kinds or kinds == ["emptyDir"]:
        return EmptyFolder()
    raise PlanError(
        "FailedMount",
        f"volume {volume['name']!r}: this node has no {kinds[0]} volumes: use hostPath, emptyDir or a claim",
        is_final=True,
    )


def _config_map(source: JsonObject, mode: int, facts: PodFacts, sources: Sources) -> dict[str, File]:
    found = sources.config_maps.get(source.get("name") or "") or {}
    data = {key: value.encode() for key, value in sources.config_map(source, facts.namespace).items()}
    data |= {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
    return _select("configmap", data, source, mode)


def _secret(source: JsonObject, mode: int, facts: PodFacts, sources: Sources) -> dict[str, File]:
    data = {key: base64.b64decode(value) for key, value in sources.secret(source, facts.namespace).items()}
    return _select("secret", data, source, mode)


def _downward(source: JsonObject, mode: int, facts: PodFacts, _sources: Sources) -> dict[str, File]:
    files = {}
    for item in source.get("items") or []:
        if item.get("fieldRef") is not None:
            text = environment.field(item["fieldRef"].get("fieldPath") or "", facts)
        else:
            reference = item.get("resourceFieldRef") or {}
            text = environment.resource(reference, _container(facts, reference.get("containerName") or ""), facts)
        files[item["path"]] = File(text.encode(), item.get("mode") or mode)
    return files


def _token(source: JsonObject, mode: int, facts: PodFacts, sources: Sources) -> dict[str, File]:
    token = sources.tokens.get(token_of(facts.spec, source))
    return {source["path"]: File(token.encode(), mode)} if token is not None else {}


_Reader = Callable[[JsonObject, int, PodFacts, Sources], dict[str, File]]
_FILE_READERS: Mapping[str, _Reader] = {"configMap": _config_map, "secret": _secret, "downwardAPI": _downward}


def _projected(projected: JsonObject, facts: PodFacts, sources: Sources) -> dict[str, File]:
    mode = projected.get("defaultMode") or DEFAULT_MODE
    files: dict[str, File] = {}
    for part in projected.get("sources") or []:
        for kind, read in {**_FILE_READERS, "serviceAccountToken": _token}.items():
            if part.get(kind) is not None:
                files |= read(part[kind], mode, facts, sources)
    return files


def _select(kind: str, data: Mapping[str, bytes], source: JsonObject, mode: int) -> dict[str, File]:
    """All keys as files, or only those that `items` name, at the paths they give."""
    items = source.get("items")
    if not items:
        return {key: File(value, mode) for key, value in data.items()}
    files = {}
    for item in items:
        if item["key"] in data:
            files[item["path"]] = File(data[item["key"]], item.get("mode") or mode)
        elif not source.get("optional"):
            name = source.get("name") or source.get("secretName")
            raise PlanError("FailedMount", f"{kind} {name!r} has no key {item['key']!r}")
    return files


def _container(facts: PodFacts, name: str) -> JsonObject:
    found: JsonObject = next((c for c in facts.spec["containers"] if c["name"] == name), facts.spec["containers"][0])
    return found
