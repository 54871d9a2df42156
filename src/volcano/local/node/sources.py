"""What a pod's plan is made from besides the pod: config maps, secrets, claims, tokens, facts of its place. Pure.

Neighbours: `references` says what to fetch, `agent` fetches it, `environment`, `volumes` and `plan` read it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from volcano.api.meta import JsonObject


class PlanError(Exception):
    """The pod cannot start as things are. `reason` is shown on its containers; it is tried again unless `is_final`."""

    def __init__(self, reason: str, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.is_final = is_final


@dataclass(frozen=True)
class Token:
    """A service account token a volume asks for."""

    service_account: str
    audience: str
    expiration_seconds: int


@dataclass(frozen=True)
class PodFacts:
    """The pod and where it is, as the downward API tells it."""

    metadata: JsonObject
    spec: JsonObject
    node_name: str
    host_ip: str
    pod_ip: str
    allocatable: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        return str(self.metadata["namespace"])

    @property
    def uid(self) -> str:
        return str(self.metadata["uid"])

    @property
    def service_account(self) -> str:
        return str(self.spec.get("serviceAccountName") or "default")

    @property
    def hostname(self) -> str:
        return str(self.spec.get("hostname") or self.name)[:63].rstrip("-.")


@dataclass(frozen=True)
class References:
    """Names of the objects a pod's containers and volumes refer to, in its own namespace."""

    config_maps: frozenset[str]
    secrets: frozenset[str]
    claims: frozenset[str]
    tokens: frozenset[Token]


@dataclass(frozen=True)
class ClaimVolume:
    """The volume behind a claim: a path of the host, or "" where the node is to provide a folder."""

    name: str
    path: str = ""


@dataclass(frozen=True)
class Sources:
    """The objects found for a pod's references, by name; what is missing was not found."""

    config_maps: Mapping[str, JsonObject] = field(default_factory=dict)
    secrets: Mapping[str, JsonObject] = field(default_factory=dict)
    claims: Mapping[str, ClaimVolume] = field(default_factory=dict)
    tokens: Mapping[Token, str] = field(default_factory=dict)

    def config_map(self, reference: JsonObject, namespace: str) -> dict[str, str]:
        return dict(self._find("configmap", self.config_maps, reference, namespace).get("data") or {})

    def secret(self, reference: JsonObject, namespace: str) -> dict[str, str]:
        return dict(self._find("secret", self.secrets, reference, namespace).get("data") or {})

    def _find(self, kind: str, found: Mapping[str, JsonObject], reference: JsonObject, namespace: str) -> JsonObject:
        name = reference.get("name") or reference.get("secretName") or ""
        if name in found:
            return found[name]
        if reference.get("optional"):
            return {}
        raise PlanError("CreateContainerConfigError", f'{kind} "{name}" not found in namespace "{namespace}"')


def decode_secret(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64decode(value).decode(errors="surrogateescape") for key, value in data.items()}


def references(pod: JsonObject) -> References:
    """Everything `pod` refers to by name."""
    spec = pod.get("spec") or {}
    config_maps, secrets, claims, tokens = set[str](), set[str](), set[str](), set[Token]()
    for container in (*(spec.get("initContainers") or []), *(spec.get("containers") or [])):
        for origin in _origins(container):
            config_maps.add((origin.get("configMapKeyRef") or origin.get("configMapRef") or {}).get("name") or "")
            secrets.add((origin.get("secretKeyRef") or origin.get("secretRef") or {}).get("name") or "")
    for volume in spec.get("volumes") or []:
        claims.add(claim_of(pod, volume))
        for part in (volume, *((volume.get("projected") or {}).get("sources") or [])):
            config_maps.add((part.get("configMap") or {}).get("name") or "")
            secret = part.get("secret") or {}
            secrets.add(secret.get("secretName") or secret.get("name") or "")
            if part.get("serviceAccountToken") is not None:
                tokens.add(token_of(spec, part["serviceAccountToken"]))
    for names in (config_maps, secrets, claims):
        names.discard("")
    return References(frozenset(config_maps), frozenset(secrets), frozenset(claims), frozenset(tokens))


def claim_of(pod: JsonObject, volume: JsonObject) -> str:
    """The claim behind a volume, or "" when it is of another kind."""
    if volume.get("ephemeral") is not None:
        return f"{pod['metadata']['name']}-{volume['name']}"
    return str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")


def token_of(spec: JsonObject, source: JsonObject) -> Token:
    return Token(
        str(spec.get("serviceAccountName") or "default"),
        str(source.get("audience") or ""),
        int(source.get("expirationSeconds") or 3600),
    )


def _origins(container: JsonObject) -> Iterator[JsonObject]:
    yield from container.get("envFrom") or []
    for entry in container.get("env") or []:
        yield entry.get("valueFrom") or {}
