"""PodGroups: the queue of their namespace (mutate); an open queue and clear topology bounds (validate)."""

from __future__ import annotations

from collections.abc import Iterator

from volcano.api import keys
from volcano.api.scheduling import PodGroup
from volcano.webhooks.rules.decode import decoded
from volcano.webhooks.rules.documents import mapping, text
from volcano.webhooks.rules.edits import Edits
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Cause, Settings, World, denied
from volcano.webhooks.rules.queue_lookup import DEFAULT_QUEUE, missing_queue_hint, queue_not_found
from volcano.webhooks.rules.topology import TIER_CONFLICT, names_both_tiers


def mutate(request: AdmissionRequest, world: World, _settings: Settings) -> AdmissionResponse:
    """A PodGroup in the default queue goes to the queue of its namespace, when that names one."""
    if request.operation != "CREATE":
        return denied("expect operation to be 'CREATE' ")
    document = request.object or {}
    if text(mapping(document, "spec"), "queue") != DEFAULT_QUEUE:
        return ALLOWED
    namespace = text(mapping(document, "metadata"), "namespace") or request.namespace
    queue = world.namespace_annotations(namespace).get(keys.POD_QUEUE_NAME)
    if not queue:
        return ALLOWED
    edits = Edits(document)
    edits.add(queue, "spec", "queue")
    return edits.response()


def validate(request: AdmissionRequest, world: World, _settings: Settings) -> AdmissionResponse:
    if request.operation != "CREATE":
        return denied("expect operation to be 'CREATE'")
    found = [*_errors(decoded(request.object, PodGroup), world)]
    return denied("; ".join(cause.message for cause in found), found) if found else ALLOWED


def _errors(group: PodGroup, world: World) -> Iterator[Cause]:
    if name := group.spec.queue:
        queue = world.queue(name)
        if queue is None:
            yield Cause("spec.queue", f"unable to find queue: {queue_not_found(name)}", missing_queue_hint(name))
        elif not queue.is_open:
            state = f"queue `{name}` status is `{queue.status.state}`."
            hint = f"open the queue (vcctl queue operate -n {name} -a open) or name another one"
            yield Cause("spec.queue", f"can only submit PodGroup to queue with state `Open`, {state}", hint)
    hint = "keep one of highestTierAllowed and highestTierName"
    if names_both_tiers(group.spec.network_topology):
        yield Cause("spec.networkTopology", f"{TIER_CONFLICT}.", hint)
    for index, policy in enumerate(group.spec.sub_group_policy):
        if names_both_tiers(policy.network_topology):
            message = f"in subGroupPolicy '{policy.name}': {TIER_CONFLICT}."
            yield Cause(f"spec.subGroupPolicy[{index}].networkTopology", message, hint)
