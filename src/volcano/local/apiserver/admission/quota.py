"""Admission by ResourceQuotas, and the usage that their status shows.

Usage is counted over the newest state, so that concurrent creates cannot pass a quota together.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.quantity import Quantity
from volcano.local.apiserver import status
from volcano.local.apiserver.storage.store import Stale
from volcano.local.apiserver.strategies.pod_resources import Amounts, add, containers_of, effective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.storage.entries import Collection, Entry, Event
    from volcano.local.apiserver.storage.store import Store

QUOTAS = "resourcequotas"
_COUNTED = ("pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers", QUOTAS)
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_SUMMED = {
    "requests.storage": "persistentvolumeclaims",
    "services.loadbalancers": "services",
    "services.nodeports": "services",
}
_STATUS_SECONDS = 0.2
_ONE, _ZERO = quantity.of_units(1), quantity.of_units(0)


class Quotas:
    """A step of admission, and a listener that keeps the status of quotas true."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._usage: dict[tuple[str, str], _PodUsage] = {}
        self._stale: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        for name in _COUNTED:
            self._store.collection(name).listeners.append(self)

    def mutate(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation != "CREATE" or not self._store.collection(QUOTAS).entries or not call.namespace:
            return
        for quota in self._quotas(call.namespace):
            self._check(attributes, quota)

    # The status of quotas

    def offer(self, events: list[Event]) -> None:
        if not self._store.collection(QUOTAS).entries:
            return
        self._stale.update(event.entry.key.partition("/")[0] for event in events)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_STATUS_SECONDS, self._write_status)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _write_status(self) -> None:
        self._timer = None
        stale, self._stale = self._stale, set()
        for namespace in stale:
            for quota in self._quotas(namespace):
                hard = (quota.get("spec") or {}).get("hard") or {}
                used = {name: str(amount) for name, amount in self._used(quota, hard).items()}
                if quota.get("status") != {"hard": hard, "used": used}:
                    key = f"{namespace}/{quota['metadata']['name']}"
                    quota["status"] = {"hard": hard, "used": used}
                    try:
                        self._store.put(QUOTAS, key, quota, int(quota["metadata"]["resourceVersion"]))
                    except Stale:
                        self._stale.add(namespace)

    # Counting

    def _quotas(self, namespace: str) -> Iterator[JsonObject]:
        collection = self._store.collection(QUOTAS)
        for key in list(collection.keys(f"{namespace}/")):
            yield collection.entries[key].document()

    def _check(self, attributes: Attributes, quota: JsonObject) -> None:
        call, name = attributes.call, quota["metadata"]["name"]
        hard = {key: quantity.parse(value) for key, value in ((quota.get("spec") or {}).get("hard") or {}).items()}
        asked = _asked(call.resource.qualified, attributes.document)
        if call.resource.qualified == "pods":
            if not _in_scope(quota, attributes.document):
                return
            missing = _unspecified(attributes.document, hard)
            if missing:
                raise status.forbidden(
                    call.resource, call.name, f"failed quota: {name}: must specify {'; '.join(missing)}"
                )
        relevant = {key: amount for key, amount in asked.items() if key in hard and not amount.is_zero}
        if not relevant:
            return
        used = self._used(quota, relevant)
        exceeded = sorted(key for key in relevant if used[key] + relevant[key] > hard[key])
        if exceeded:
            listings = (_listing(amounts, exceeded) for amounts in (relevant, used, hard))
            why = "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(name, *listings)
            raise status.forbidden(call.resource, call.name, why)

    def _used(self, quota: JsonObject, names: Any) -> Amounts:
        namespace = quota["metadata"]["namespace"]
        pods: Amounts | None = None
        used: Amounts = {}
        for name in names:
            counted = _counted_collection(name)
            if name in _SUMMED:
                used[name] = self._sum(_SUMMED[name], f"{namespace}/", name)
            elif counted is None or counted == "pods":
                if pods is None:
                    pods = self._pod_usage(quota)
                used[name] = pods.get(name, _ZERO)
            else:
                prefix = f"{namespace}/"
                used[name] = quantity.of_units(sum(1 for _ in self._store.collection(counted).keys(prefix)))
        return used

    def _sum(self, collection: str, prefix: str, name: str) -> Quantity:
        found = self._store.collection(collection)
        amounts = (_asked(collection, found.entries[key].document()).get(name, _ZERO) for key in found.keys(prefix))
        return sum(amounts, _ZERO)

    def _pod_usage(self, quota: JsonObject) -> Amounts:
        spec = quota.get("spec") or {}
        key = (quota["metadata"]["namespace"], repr((spec.get("scopes"), spec.get("scopeSelector"))))
        usage = self._usage.get(key)
        if usage is None:
            usage = self._usage[key] = _PodUsage(self._store.collection("pods"), quota)
        return usage.current()


class _PodUsage:
    """What the pods of one namespace and scope use, carried forward by the events since the last look."""

    def __init__(self, pods: Collection, quota: JsonObject) -> None:
        self._pods = pods
        self._prefix = f"{quota['metadata']['namespace']}/"
        self._quota = quota
        self._seen = (-1, 0)  # changes, revision
        self._total: Amounts = {}

    def current(self) -> Amounts:
        changes, revision = self._seen
        events = []
        for event in reversed(self._pods.log):
            if event.revision <= revision:
                break
            events.append(event)
        if changes < 0 or self._pods.changes - changes != len(events):
            self._total = {}
            for key in self._pods.keys(self._prefix):
                add(self._total, self._of(self._pods.entries[key]))
        else:
            for event in events:
                if event.entry.key.startswith(self._prefix):
                    self._follow(event)
        self._seen = (self._pods.changes, events[0].revision if events else revision)
        return self._total

    def _follow(self, event: Event) -> None:
        if event.kind != "DELETED":
            add(self._total, self._of(event.entry))
        if event.previous is not None:
            add(self._total, {name: -amount for name, amount in self._of(event.previous).items()})

    def _of(self, entry: Entry) -> Amounts:
        pod = entry.document()
        over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return {} if over or not _in_scope(self._quota, pod) else _asked("pods", pod)


def _asked(qualified: str, document: JsonObject) -> Amounts:
    """What an object counts for, by the names that quotas use."""
    asked = {f"count/{qualified}": _ONE}
    if qualified in _COUNTED:
        asked[qualified] = _ONE
    spec = document.get("spec") or {}
    if qualified == "pods":
        for name, amount in effective(spec, "requests").items():
            asked[f"requests.{name}"] = amount
            if name in _PLAIN:
                asked[name] = amount
        for name, amount in effective(spec, "limits").items():
            asked[f"limits.{name}"] = amount
    elif qualified == "persistentvolumeclaims":
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        asked["requests.storage"] = quantity.parse(storage) if storage is not None else _ZERO
    elif qualified == "services" and spec.get("type") in ("LoadBalancer", "NodePort"):
        asked[f"services.{spec['type'].lower()}s"] = _ONE
    return asked


def _counted_collection(name: str) -> str | None:
    """The collection whose objects a quota's name counts; None for amounts."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    return name if name in _COUNTED else None


def _unspecified(pod: JsonObject, hard: Amounts) -> list[str]:
    """Compute resources under quota that some container says nothing about."""
    missing = []
    for name in sorted(hard):
        section, _, resource = name.rpartition(".")
        if name in _PLAIN:
            section, resource = "requests", name
        if section not in ("requests", "limits") or resource not in _PLAIN:
            continue
        silent = [
            container["name"]
            for container in containers_of(pod.get("spec") or {})
            if resource not in ((container.get("resources") or {}).get(section) or {})
        ]
        if silent:
            missing.append(f"{name} for: {','.join(sorted(silent))}")
    return missing


def _in_scope(quota: JsonObject, pod: JsonObject) -> bool:
    spec, quota_spec = pod.get("spec") or {}, quota.get("spec") or {}
    for scope in quota_spec.get("scopes") or ():
        if not _has_scope(scope, spec, pod):
            return False
    for item in (quota_spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        if item.get("scopeName") == "PriorityClass":
            name, operator, values = spec.get("priorityClassName", ""), item.get("operator"), item.get("values") or ()
            fits = {"In": name in values, "NotIn": name not in values, "Exists": bool(name)}.get(operator, not name)
            if not fits:
                return False
        elif _has_scope(item.get("scopeName", ""), spec, pod) is False:
            return False
    return True


def _has_scope(scope: str, spec: JsonObject, pod: JsonObject) -> bool:
    terminating = spec.get("activeDeadlineSeconds") is not None
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    known = {"Terminating": terminating, "NotTerminating": not terminating}
    known |= {"BestEffort": best_effort, "NotBestEffort": not best_effort}
    return known.get(scope, True)


def _listing(amounts: Amounts, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
