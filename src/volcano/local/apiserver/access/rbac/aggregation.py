"""Cluster roles that are the sum of others: their rules follow the roles that they select by label.

Listens to the store; Kubernetes' controller of that purpose writes the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.access.rbac.grants import CLUSTER_ROLES
from volcano.local.apiserver.verbs.selection import selector_matches

if TYPE_CHECKING:
    from volcano.local.apiserver.storage.entries import Event
    from volcano.local.apiserver.storage.store import Store

_AGGREGATES = b'"aggregationRule"'


class Aggregation:
    """Keeps the rules of aggregated roles true."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._roles = store.collection(CLUSTER_ROLES).entries

    def start(self) -> None:
        self._renew()
        self._store.collection(CLUSTER_ROLES).listeners.append(self)

    def offer(self, events: list[Event]) -> None:
        if any(event.entry.labels or _AGGREGATES in event.entry.body for event in events):
            self._renew()

    def end(self) -> None:
        return None

    def _renew(self) -> None:
        """Write what is not yet the sum of its parts, again for sums of sums; circles settle as rules only add up."""
        aggregated = [entry.key for entry in self._roles.values() if _AGGREGATES in entry.body]
        for _ in aggregated:
            renewed = [key for key in aggregated if self._renewed(key)]
            if not renewed:
                return

    def _renewed(self, key: str) -> bool:
        role = self._roles[key].document()
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        rules = self._sum(selectors, key) if selectors else role.get("rules")
        if rules == (role.get("rules") or []):
            return False
        role["rules"] = rules
        self._store.put(CLUSTER_ROLES, key, role)
        return True

    def _sum(self, selectors: list[JsonObject], own: str) -> list[JsonObject]:
        rules: list[JsonObject] = []
        for selector in selectors:
            for entry in self._roles.values():
                if entry.key == own or not selector_matches(selector, entry.labels or {}):
                    continue
                rules += [rule for rule in entry.document().get("rules") or () if rule not in rules]
        return rules
