"""What a resource is: where the objects of one kind live in the API, and what can be done to them.

The constants (PODS, JOBS, QUEUES, ...) are in resources.py.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

JsonObject = dict[str, Any]
T = TypeVar("T")
U = TypeVar("U")

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY: Final = ("create",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A printer column of a custom resource."""

    name: str
    type: str
    json_path: str
    priority: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Subresource:
    """A subresource; its kind defaults to the parent's."""

    name: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    kind: str = ""
    group: str = ""
    version: str = ""


STATUS: Final = Subresource(name="status")
SCALE: Final = Subresource(name="scale", kind="Scale", group="autoscaling", version="v1")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """How to load a type that is there already."""

    it: type[T]

    def __call__(self) -> type[T]:
        return self.it


DOCUMENTS: Final = Known(dict)
"""Objects as plain documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource(Generic[T]):
    """A collection of objects of one kind. `load` gives what clients decode them into, when somebody asks."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    load: Callable[[], builtins.type[T]]
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = ()
    custom: bool = False

    def __hash__(self) -> int:
        """Of what tells most of them apart: they are looked up with every request."""
        return hash((self.group, self.version, self.plural))

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`jobs.batch.volcano.sh`, as errors and CRD names spell it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def type(self) -> builtins.type[T]:
        """What clients decode the objects into."""
        return self.load()

    @property
    def untyped(self) -> Resource[JsonObject]:
        """The same collection as plain documents."""
        return _untyped(self)

    def as_type(self, other: builtins.type[U]) -> Resource[U]:
        """The same collection, decoded into another type, such as one with the few fields that are of interest."""
        return replace(self, load=Known(other))  # type: ignore[arg-type, return-value]

    @property
    def has_status(self) -> bool:
        return any(subresource.name == "status" for subresource in self.subresources)

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, of one object or of its subresource."""
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        path = f"{self.prefix}{scope}/{self.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)


@lru_cache(maxsize=256)
def _untyped(resource: Resource[Any]) -> Resource[JsonObject]:
    """The same one again and again: it is asked for with every request."""
    return replace(resource, load=DOCUMENTS)
