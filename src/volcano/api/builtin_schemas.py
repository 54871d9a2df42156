"""Kubernetes' own schemas, from the definitions that the kubernetes-validate package ships.

One compact buffer is kept; a definition is decoded when somebody asks for it. Used by schema/, crds.py and openapi.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from volcano.api import schema
from volcano.api.meta import JsonObject

VERSION: Final = "1.36"

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
INT_OR_STRING: Final[JsonObject] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
QUANTITY: Final[JsonObject] = {**INT_OR_STRING, "pattern": QUANTITY_PATTERN}

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CORE: Final = "io.k8s.api.core.v1."
_SPECIAL: Final[dict[str, JsonObject]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
    _META + "FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
# Defaults that are part of Kubernetes' published API but that the package's form of it leaves out.
_EMPTY_NAME: Final[JsonObject] = {"name": ""}
_DEFAULTS: Final[dict[str, JsonObject]] = {
    _CORE + "ContainerPort": {"protocol": "TCP"},
    _CORE + "ServicePort": {"protocol": "TCP"},
    _CORE + "LocalObjectReference": _EMPTY_NAME,
    _CORE + "ConfigMapKeySelector": _EMPTY_NAME,
    _CORE + "SecretKeySelector": _EMPTY_NAME,
    _CORE + "ConfigMapEnvSource": _EMPTY_NAME,
    _CORE + "SecretEnvSource": _EMPTY_NAME,
    _CORE + "ConfigMapProjection": _EMPTY_NAME,
    _CORE + "SecretProjection": _EMPTY_NAME,
    _CORE + "ConfigMapVolumeSource": _EMPTY_NAME,
    _CORE + "FileKeySelector": {"optional": False},
    _CORE + "GRPCAction": {"service": ""},
    _CORE + "AzureDiskVolumeSource": {"fsType": "ext4", "readOnly": False},
    _CORE + "ISCSIVolumeSource": {"iscsiInterface": "default"},
    _CORE + "RBDVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    _CORE + "ScaleIOVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}


class DefinitionsError(RuntimeError):
    """The package with Kubernetes' schemas is missing or unusable."""


class Definitions(Mapping[str, JsonObject]):
    """Definitions by name (`io.k8s.api.core.v1.PodSpec`), decoded anew at each look-up; callers keep what they use."""

    def __init__(self, buffers: dict[str, msgspec.Raw]) -> None:
        self._buffers = buffers

    def __getitem__(self, name: str) -> JsonObject:
        """The definition without its descriptions."""
        return _tidy(name, self._decoded(name), documented=False)

    def documented(self, name: str) -> JsonObject:
        """The definition with its descriptions."""
        return _tidy(name, self._decoded(name), documented=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)

    def _decoded(self, name: str) -> JsonObject:
        decoded: JsonObject = msgspec.json.decode(self._buffers[name])
        return decoded


@cache
def load() -> Definitions:
    """Kubernetes' definitions; read once per process."""

    class File(msgspec.Struct):
        definitions: dict[str, msgspec.Raw] = msgspec.field(name="$defs")

    path = _path()
    try:
        return Definitions(msgspec.json.decode(path.read_bytes(), type=File).definitions)
    except (OSError, msgspec.DecodeError) as error:
        raise DefinitionsError(f"cannot read Kubernetes' schemas from {path}: {error}") from error


def definition_name(group: str, version: str, kind: str) -> str:
    """The name of the definition of a built-in kind."""
    if group == "apiextensions.k8s.io":
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}"
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


def compile_kind(definitions: Definitions, group: str, version: str, kind: str) -> schema.Compiled | None:
    """The schema of a built-in kind as its decoder treats it; None if Kubernetes does not define the kind.

    Lenient where Kubernetes is: absent numbers and flags are zero, lists may be null, a status may be partial.
    """
    name = definition_name(group, version, kind)
    if name not in definitions:
        return None
    root = _lenient(definitions[name])
    status = root.get("properties", {}).get("status")
    if status is not None:
        root["properties"]["status"] = _partial(status)
    return schema.compile(root, _LenientResolver(definitions))


class _LenientResolver:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def __call__(self, name: str) -> JsonObject:
        if name.endswith(_PARTIAL):
            partial: JsonObject = _partial(self._definitions[name.removesuffix(_PARTIAL)])
            return partial
        return _lenient(self._definitions[name])


_PARTIAL: Final = "~partial"
_LISTS_THAT_MUST_BE: Final = frozenset({"containers", "nodeSelectorTerms", "versions"})


def _lenient(definition: JsonObject) -> JsonObject:
    """`definition` with zero values for required numbers and flags, and without most required lists."""
    required = definition.get("required")
    if not required:
        return definition
    properties = definition.get("properties", {})
    kept: list[str] = []
    for name in required:
        each = properties.get(name, {})
        match each.get("type"):
            case "integer" | "number":
                each["default"] = 0
            case "boolean":
                each["default"] = False
            case "array" if name not in _LISTS_THAT_MUST_BE:
                pass
            case _:
                kept.append(name)
    return {**definition, "required": kept}


def _partial(node: Any) -> Any:
    """`node` with nothing required, down to the last reference."""
    if isinstance(node, list):
        return [_partial(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        word: value + _PARTIAL if word == "$ref" else _partial(value)
        for word, value in node.items()
        if not (word == "required" and isinstance(value, list))
    }


def _tidy(name: str, definition: JsonObject, *, documented: bool) -> JsonObject:
    """`definition` in the form Kubernetes publishes: one type per value, defaults, integers or strings."""
    special = _SPECIAL.get(name)
    if special is not None:
        description = definition.get("description")
        return {**special, "description": description} if documented and description else dict(special)
    tidied = _schema(definition, documented=documented)
    properties = tidied.get("properties", {})
    for identity in ("apiVersion", "kind"):
        if "x-kubernetes-group-version-kind" in tidied and identity in properties:
            properties[identity].pop("enum", None)
    for field, default in _DEFAULTS.get(name, {}).items():
        properties[field]["default"] = default
    return tidied


def _schema(node: JsonObject, *, documented: bool) -> JsonObject:
    result: JsonObject = {}
    for word, value in node.items():
        match word:
            case "description":
                if documented:
                    result[word] = value
            case "type" if isinstance(value, list):
                result[word] = next(each for each in value if each != "null")
            case "properties":
                result[word] = {field: _schema(each, documented=documented) for field, each in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                result[word] = _schema(value, documented=documented)
            case _:
                result[word] = value
    return result


def _path() -> Path:
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise DefinitionsError("Kubernetes' schemas are missing: install the package kubernetes-validate")
    home = Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema"
    wanted = home / f"v{VERSION}.0-local" / "_definitions.json"
    if wanted.exists():
        return wanted
    newest = sorted(home.glob("v1.*.0-local"), key=lambda path: int(path.name.split(".")[1]))
    if not newest:
        raise DefinitionsError(f"{home} holds no schemas: reinstall the package kubernetes-validate")
    return newest[-1] / "_definitions.json"
