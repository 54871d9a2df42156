"""Volcano's own admission rules, run in process: the same functions that the webhook manager serves.

A refusal reads as if that webhook had spoken; running both does no harm, the rules are idempotent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano.api.scheduling import Queue
from volcano.local.apiserver.status import StatusError
from volcano.webhooks.rules import AdmissionRequest, Settings, mutate, validate
from volcano.webhooks.rules.worlds import ListedWorld

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store
    from volcano.webhooks.rules import AdmissionResponse

_QUEUES = "queues.scheduling.volcano.sh"
_JUDGED = frozenset(
    {
        "pods",
        "jobs.batch.volcano.sh",
        "cronjobs.batch.volcano.sh",
        "podgroups.scheduling.volcano.sh",
        "queues.scheduling.volcano.sh",
        "jobflows.flow.volcano.sh",
        "hypernodes.topology.volcano.sh",
    }
)
_NOTHING: dict[str, str] = {}

_decode_queue = msgspec.json.Decoder(Queue).decode


class VolcanoRules:
    """Mutates and judges what Volcano cares about."""

    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self._world = StoreWorld(store)
        self._settings = settings or Settings()

    def mutate(self, attributes: Attributes) -> None:
        if attributes.call.resource.qualified not in _JUDGED or attributes.call.subresource:
            return
        answer = mutate(_request(attributes), self._world, self._settings)
        self._obey(attributes, answer, "mutate")
        if answer.object is not None:
            attributes.document = answer.object

    def validate(self, attributes: Attributes) -> None:
        if attributes.call.resource.qualified not in _JUDGED or attributes.call.subresource:
            return
        self._obey(attributes, validate(_request(attributes), self._world, self._settings), "validate")

    def _obey(self, attributes: Attributes, answer: AdmissionResponse, phase: str) -> None:
        call = attributes.call
        call.warnings += answer.warnings
        if answer.allowed:
            return
        resource = call.resource
        # The names of the configurations that the chart installs; one of them is in the plural.
        kind = "hypernodes" if resource.plural == "hypernodes" else resource.resource.singular
        webhook = f"{phase}{kind}.volcano.sh"
        causes = [
            {"reason": "FieldValueInvalid", "message": cause.message, "field": cause.field} for cause in answer.causes
        ]
        raise StatusError(
            400,
            "BadRequest",
            f'admission webhook "{webhook}" denied the request: {answer.message}',
            causes,
            {"name": call.name, "group": resource.group, "kind": resource.kind},
        )


class StoreWorld:
    """The rules' view of the store, writes on their way to the disk included. See `rules.model.World`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listed = ListedWorld()
        self._listed_at = -1
        self._decoded: dict[str, tuple[Entry, Queue]] = {}

    def queue(self, name: str) -> Queue | None:
        return self._queues().queue(name)

    def queues(self) -> Iterable[Queue]:
        return self._queues().queues()

    def child_queues(self, parent: str) -> Sequence[Queue]:
        return self._queues().child_queues(parent)

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        entry = self._store.latest("namespaces", namespace)
        if entry is None or b'"annotations"' not in entry.body:
            return _NOTHING
        found: dict[str, str] = entry.document()["metadata"].get("annotations") or _NOTHING
        return found

    def _queues(self) -> ListedWorld:
        """The queues as they are now; decoded again only where they changed."""
        collection = self._store.collection(_QUEUES)
        if collection.changes != self._listed_at:
            known, self._decoded = self._decoded, {}
            for name, entry in collection.entries.items():
                old = known.get(name)
                self._decoded[name] = old if old and old[0] is entry else (entry, _decode_queue(entry.body))
            self._listed = ListedWorld(queue for _, queue in self._decoded.values())
            self._listed_at = collection.changes
        return self._listed


def _request(attributes: Attributes) -> AdmissionRequest:
    call, deleting = attributes.call, attributes.operation == "DELETE"
    return AdmissionRequest(
        operation=attributes.operation,
        resource=call.resource.plural,
        group=call.resource.group,
        name=call.name,
        namespace=call.namespace or "",
        object=None if deleting else attributes.document,
        old_object=attributes.old,
        dry_run=call.dry_run,
    )
