"""What resources exist: Kubernetes' own, Volcano's, and those that CustomResourceDefinitions add and remove.

`volcano.api.resources` lists the built-in ones; `discovery.py` publishes the registry; every request looks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api.meta import JsonObject
from volcano.api.resource import DOCUMENTS, SCALE, STATUS, Column, Resource
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, NODE_METRICS, POD_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from volcano.api.resource import Subresource

_COUNTS_GENERATIONS = frozenset(
    {
        "pods",
        "replicationcontrollers",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "poddisruptionbudgets.policy",
        "priorityclasses.scheduling.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "ingresses.networking.k8s.io",
        "ingressclasses.networking.k8s.io",
        "networkpolicies.networking.k8s.io",
        "endpointslices.discovery.k8s.io",
        "resourceslices.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)
_SHARES_STORAGE = {"events.events.k8s.io": "events"}


class ResourceInfo:
    """A served resource: the public description, and what the server needs with every request at hand."""

    def __init__(self, resource: Resource[Any], definition: JsonObject | None = None) -> None:
        self.resource = resource
        self.group = resource.group
        self.version = resource.version
        self.plural = resource.plural
        self.kind = resource.kind
        self.namespaced = resource.namespaced
        self.verbs = resource.verbs
        self.api_version = resource.api_version
        self.list_kind = resource.list_kind
        self.qualified = resource.group_resource
        self.storage = _SHARES_STORAGE.get(self.qualified, self.qualified)
        self.custom = resource.custom
        self.has_status = resource.has_status
        self.generation = self.custom or self.qualified in _COUNTS_GENERATIONS
        self.definition = definition or {}
        """For kinds defined by users: the version's entry in their CustomResourceDefinition."""
        self.stored_as = self.api_version
        """The version in which objects are kept; others show the same fields under their own name."""
        self.several_versions = False

    @property
    def stored(self) -> bool:
        """False for resources that only answer (reviews, bindings)."""
        return "get" in self.verbs

    @property
    def measured(self) -> bool:
        """What nodes are asked for when somebody wants to know."""
        return self.group == NODE_METRICS.group

    def subresource(self, name: str) -> Subresource | None:
        return self.resource.subresource(name)

    def key(self, namespace: str | None, name: str) -> str:
        return f"{namespace}/{name}" if self.namespaced else name


class Registry:
    """Lookup by group, version and plural. `revision` counts changes, for those who cache what they made of it."""

    def __init__(self, resources: Iterable[ResourceInfo]) -> None:
        self._resources: dict[tuple[str, str, str], ResourceInfo] = {}
        self.revision = 0
        for resource in resources:
            self.add(resource)

    @classmethod
    def standard(cls) -> Registry:
        """Everything that is there before users define kinds of their own."""
        return cls(ResourceInfo(resource) for resource in (*ALL_KUBERNETES, NODE_METRICS, POD_METRICS, *ALL_VOLCANO))

    def add(self, resource: ResourceInfo) -> None:
        self._resources[resource.group, resource.version, resource.plural] = resource
        self.revision += 1

    def remove(self, group: str, plural: str) -> None:
        """Forget a custom resource in all its versions."""
        for key in [key for key in self._resources if key[0] == group and key[2] == plural]:
            del self._resources[key]
        self.revision += 1

    def find(self, group: str, version: str, plural: str) -> ResourceInfo | None:
        return self._resources.get((group, version, plural))

    def serves(self, group: str) -> bool:
        return any(known == group for known, _, _ in self._resources)

    def get(self, resource: Resource[Any]) -> ResourceInfo:
        """The server's side of a resource that is always there."""
        return self._resources[resource.group, resource.version, resource.plural]

    def by_kind(self, api_version: str, kind: str) -> ResourceInfo | None:
        for resource in self._resources.values():
            if resource.kind == kind and resource.api_version == api_version and resource.stored:
                return resource
        return None

    def __iter__(self) -> Iterator[ResourceInfo]:
        return iter(self._resources.values())


def custom_resources(definition: JsonObject) -> list[ResourceInfo]:
    """The resources that a CustomResourceDefinition serves, one per version."""
    spec = definition["spec"]
    names = spec["names"]
    kept = next((version["name"] for version in spec["versions"] if version.get("storage")), None)
    served = [
        ResourceInfo(
            Resource(
                group=spec["group"],
                version=version["name"],
                plural=names["plural"],
                kind=names["kind"],
                namespaced=spec["scope"] == "Namespaced",
                load=DOCUMENTS,
                singular=names.get("singular") or names["kind"].lower(),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=_subresources(version),
                columns=_columns(version),
                custom=True,
            ),
            version,
        )
        for version in spec["versions"]
        if version.get("served", True)
    ]
    for resource in served:
        resource.stored_as = f"{spec['group']}/{kept}" if kept else resource.api_version
        resource.several_versions = len(spec["versions"]) > 1
    return served


def _subresources(version: JsonObject) -> tuple[Subresource, ...]:
    enabled = version.get("subresources") or {}
    return (*((STATUS,) if "status" in enabled else ()), *((SCALE,) if enabled.get("scale") else ()))


def _columns(version: JsonObject) -> tuple[Column, ...]:
    return tuple(
        Column(name=item["name"], type=item["type"], json_path=item["jsonPath"], priority=item.get("priority", 0))
        for item in version.get("additionalPrinterColumns") or ()
    )
