"""What a rule sees and what it answers: request, world, settings, response.

Every rule file in this package uses these types; adapters (AdmissionReview, API server, files) build them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.api.scheduling import Queue


class AdmissionRequest(Struct, frozen=True, kw_only=True):
    """One write on its way into the API server. Documents are read, never changed."""

    operation: str
    resource: str
    group: str = ""
    name: str = ""
    namespace: str = ""
    object: JsonObject | None = None
    old_object: JsonObject | None = None
    uid: str = ""
    dry_run: bool = False
    subresource: str = ""


class Cause(Struct, frozen=True):
    """One reason of a refusal: which field, what is wrong, what to do about it."""

    field: str
    message: str
    hint: str = ""


class AdmissionResponse(Struct, frozen=True):
    """The answer. `message` is the text clients match on; `causes` say where and what to do.

    `patch` is a JSON Patch and `object` the document after it (None when nothing changes).
    """

    allowed: bool = True
    message: str = ""
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[JsonObject, ...] = ()
    object: JsonObject | None = None


ALLOWED = AdmissionResponse()


def denied(message: str, causes: Iterable[Cause] = (), warnings: Iterable[str] = ()) -> AdmissionResponse:
    """A refusal; without causes the message itself is the only cause."""
    causes = tuple(causes) or (Cause("", message),)
    hints = (f"{cause.field}: {cause.hint}" if cause.field else cause.hint for cause in causes if cause.hint)
    return AdmissionResponse(False, message, causes, (*warnings, *hints))


class World(Protocol):
    """The objects rules look up. Satisfied by informers, by the local store and by plain lists."""

    def queue(self, name: str) -> Queue | None: ...

    def queues(self) -> Iterable[Queue]: ...

    def child_queues(self, parent: str) -> Sequence[Queue]: ...

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        """Annotations of a namespace; empty when it does not exist or cannot be read."""
        ...


class ResourceGroup(Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods that match `object` are sent to the nodes, and to the scheduler, of this group."""

    class Match(Struct, frozen=True, kw_only=True):
        key: str = ""
        value: tuple[str, ...] = ()

    resource_group: str = ""
    object: Match = Match()
    scheduler_name: str = ""
    tolerations: tuple[dict[str, Any], ...] = ()
    labels: dict[str, str] = {}
    affinity: str = ""


class Settings(Struct, frozen=True, kw_only=True):
    """What an operator can choose. `resource_groups` None means that pods are not mutated at all."""

    scheduler_names: tuple[str, ...] = ("volcano",)
    max_queue_depth: int = 5
    check_allocated_pods_on_queue_delete: bool = False
    protect_root_queue: bool = True
    resource_groups: tuple[ResourceGroup, ...] | None = None
    queue_admission_gates: bool = False
    pod_level_resources: bool = True


Admit = Callable[[AdmissionRequest, World, Settings], AdmissionResponse]


class Rule(Struct, frozen=True):
    """One admission path: the resource and verbs it covers, and the function that decides."""

    path: str
    group: str
    resource: str
    operations: frozenset[str]
    admit: Admit
