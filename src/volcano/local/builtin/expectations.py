"""What a controller has done but not yet seen: keeps it from doing it twice while its caches lag.

Neighbours: the workload controllers count these beside the pods their informer shows. Pure.
"""

from __future__ import annotations

from collections.abc import Container

PATIENCE_SECONDS = 300.0


class Expectations:
    """Pods created or deleted for an owner and not yet seen so by the informer."""

    def __init__(self) -> None:
        self._created: dict[str, dict[str, float]] = {}
        self._deleted: dict[str, dict[str, float]] = {}

    def created(self, owner: str, pod_key: str, now: float) -> None:
        self._created.setdefault(owner, {})[pod_key] = now

    def deleted(self, owner: str, pod_key: str, now: float) -> None:
        self._deleted.setdefault(owner, {})[pod_key] = now

    def seen(self, owner: str, pod_key: str, *, is_going: bool) -> None:
        """The informer shows the pod; `is_going`: it is being deleted, or gone."""
        self._created.get(owner, {}).pop(pod_key, None)
        if is_going:
            self._deleted.get(owner, {}).pop(pod_key, None)

    def are_met(self, owner: str, known: Container[str], now: float) -> bool:
        """Whether everything done for `owner` is visible, or has been awaited long enough to be written off."""
        created = self._created.get(owner, {})
        for key in [key for key, at in created.items() if key in known or now - at > PATIENCE_SECONDS]:
            del created[key]
        deleted = self._deleted.get(owner, {})
        for key in [key for key, at in deleted.items() if key not in known or now - at > PATIENCE_SECONDS]:
            del deleted[key]
        return not created and not deleted

    def forget(self, owner: str) -> None:
        self._created.pop(owner, None)
        self._deleted.pop(owner, None)
