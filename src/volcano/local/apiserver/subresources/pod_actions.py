"""What is done to pods through endpoints of their own: binding to a node, eviction within disruption budgets.

The scheduler binds, `kubectl drain` and the descheduler evict; both are ordinary writes in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.verbs.deletes import DeleteOptions, Deletes
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.verbs.selection import selector_matches
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store
    from volcano.local.apiserver.verbs.writes import Writes


class Bindings:
    """POST pods/NAME/binding and POST bindings."""

    def __init__(self, writes: Writes, pods: ResourceInfo) -> None:
        self._writes = writes
        self._pods = pods

    async def create(self, call: Call) -> Response:
        call.read_options()
        binding = self._writes.kinds.read(bodies.read_document(call.request), "", "v1", "Binding")
        call.resource = self._pods
        wanted = binding["metadata"]
        name = wanted.get("name") or call.name
        if call.name and name != call.name:
            raise status.bad_request("name in URL does not match name in Binding object")
        call.name = name or ""
        node = self._node(call, binding)
        entry = self._writes.existing(call)
        pod = entry.document()
        self._check(call, entry, pod, wanted)
        pod["spec"]["nodeName"] = node
        if wanted.get("annotations"):
            pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **wanted["annotations"]}
        _set_scheduled(pod, self._writes.clock.timestamp())
        if not call.dry_run:
            await self._writes.store_update(self._pods, entry, pod)
        return respond(201, status.success(code=201))

    def _node(self, call: Call, binding: JsonObject) -> str:
        target = binding.get("target") or {}
        if target.get("kind", "Node") not in ("", "Node"):
            text = f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"'
            raise status.invalid(
                call.resource, call.name, [status.cause("target.kind", text, "FieldValueNotSupported")]
            )
        if not target.get("name"):
            raise status.invalid(call.resource, call.name, [status.required("target.name")])
        name: str = target["name"]
        return name

    def _check(self, call: Call, entry: Entry, pod: JsonObject, wanted: JsonObject) -> None:
        if wanted.get("uid") and wanted["uid"] != entry.uid:
            why = f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {entry.uid}"
            raise status.conflict(self._pods, call.name, why)
        if wanted.get("resourceVersion") and wanted["resourceVersion"] != str(entry.revision):
            raise status.conflict(self._pods, call.name)
        if pod["metadata"].get("deletionTimestamp"):
            raise self._conflict(call, "is being deleted, cannot be assigned to a host")
        if pod["spec"].get("nodeName"):
            raise self._conflict(call, f'is already assigned to node "{pod["spec"]["nodeName"]}"')
        if pod["spec"].get("schedulingGates"):
            raise self._conflict(call, "has non-empty .spec.schedulingGates")

    def _conflict(self, call: Call, why: str) -> status.StatusError:
        return status.conflict(self._pods, call.name, f"pod {call.name} {why}", kind="pods/binding")


def _set_scheduled(pod: JsonObject, now: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [item for item in conditions if item.get("type") != "PodScheduled"]
    conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})


class Evictions:
    """POST pods/NAME/eviction: a delete that asks the disruption budgets first."""

    def __init__(self, writes: Writes, deletes: Deletes) -> None:
        self._writes = writes
        self._deletes = deletes
        self._store: Store = writes.store

    async def create(self, call: Call) -> Response:
        call.read_options()
        eviction = self._writes.kinds.read(bodies.read_document(call.request), "policy", "v1", "Eviction")
        if eviction["metadata"].get("name", call.name) != call.name:
            raise status.bad_request("name in URL does not match name in Eviction object")
        entry = self._writes.existing(call)
        pod = entry.document()
        options = DeleteOptions.of(call, eviction.get("deleteOptions") or {})
        if not _is_over(pod):
            self._check_budgets(call, pod)
        if not (call.dry_run or options.dry_run):
            entry = await self._announced(call, entry)
        await self._deletes.delete_entry(call, entry, options)
        return respond(201, status.success(code=201))

    async def _announced(self, call: Call, entry: Entry) -> Entry:
        """The pod, with a condition that says why it will end."""
        pod = entry.document()
        if pod["metadata"].get("deletionTimestamp"):
            return entry
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [item for item in conditions if item.get("type") != "DisruptionTarget"]
        conditions.append(
            {
                "type": "DisruptionTarget",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": self._writes.clock.timestamp(),
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
        )
        await self._writes.store_update(call.resource, entry, pod)
        return self._writes.existing(call)

    def _check_budgets(self, call: Call, pod: JsonObject) -> None:
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            budget
            for budget in (e.document() for e in self._store.scan("poddisruptionbudgets.policy", f"{call.namespace}/"))
            if selector_matches((budget.get("spec") or {}).get("selector"), labels)
        ]
        if len(budgets) > 1:
            raise status.StatusError(
                500,
                "InternalError",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )
        if not budgets or not _is_ready(pod):
            return
        name, spec = budgets[0]["metadata"]["name"], budgets[0].get("spec") or {}
        expected, healthy = self._count(call.namespace or "", spec.get("selector"))
        needed = _needed(spec, expected)
        if healthy - 1 < needed:
            text = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
            raise status.StatusError(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                [{"reason": "DisruptionBudget", "message": text}],
                {"retryAfterSeconds": 10},
            )

    def _count(self, namespace: str, selector: JsonObject | None) -> tuple[int, int]:
        expected = healthy = 0
        for entry in self._store.scan("pods", f"{namespace}/", revision=None):
            if not selector_matches(selector, entry.labels or {}):
                continue
            pod = entry.document()
            if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
                continue
            expected += 1
            healthy += _is_ready(pod) and not pod["metadata"].get("deletionTimestamp")
        return expected, healthy


def _needed(spec: JsonObject, expected: int) -> int:
    """How many pods must stay healthy."""
    if spec.get("maxUnavailable") is not None:
        return expected - _share(spec["maxUnavailable"], expected)
    return _share(spec.get("minAvailable", 1), expected)


def _share(value: object, total: int) -> int:
    text = str(value)
    if text.endswith("%"):
        return -(-int(text[:-1]) * total // 100)  # Kubernetes rounds up
    return int(text)


def _is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _is_over(pod: JsonObject) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))
