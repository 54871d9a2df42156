"""Events: one stored form for both API groups, and an hour to live.

Stored as core/v1; `events.k8s.io/v1` names some fields differently and is translated on the way in and out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.storage.store import Stale
from volcano.local.steady import steady_seconds

if TYPE_CHECKING:
    from volcano.local.apiserver.storage.entries import Event
    from volcano.local.apiserver.storage.store import Store

COLLECTION = "events"
LIFETIME_SECONDS = 3600.0
_SWEEP_SECONDS = 60.0

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


def to_core(document: JsonObject) -> JsonObject:
    """An events.k8s.io/v1 Event in its stored form."""
    return {_OLD_NAMES.get(key, key): value for key, value in document.items()} | {"apiVersion": "v1"}


def from_core(document: JsonObject) -> JsonObject:
    """A stored Event as events.k8s.io/v1 shows it."""
    return {_NEW_NAMES.get(key, key): value for key, value in document.items()} | {"apiVersion": "events.k8s.io/v1"}


class Expiry:
    """Deletes events an hour after they were last written. Wakes only while there are any."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: deque[tuple[float, str, int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        for entry in sorted(self._store.scan(COLLECTION), key=lambda entry: entry.revision):
            created = entry.document()["metadata"].get("creationTimestamp") or ""
            self._note(steady_seconds() - _age_seconds(created), entry.key, entry.revision)
        self._store.collection(COLLECTION).listeners.append(self)

    def offer(self, events: list[Event]) -> None:
        now = steady_seconds()
        for event in events:
            if event.kind != "DELETED":
                self._note(now, event.entry.key, event.revision)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _note(self, when: float, key: str, revision: int) -> None:
        self._written.append((when, key, revision))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        horizon = steady_seconds() - LIFETIME_SECONDS
        while self._written and self._written[0][0] < horizon:
            _, key, revision = self._written.popleft()
            entry = self._store.latest(COLLECTION, key)
            if entry is not None and entry.revision == revision:
                try:
                    self._store.delete(COLLECTION, key, expected=revision)
                except Stale:
                    continue
        if self._written:
            wait = max(_SWEEP_SECONDS, self._written[0][0] + LIFETIME_SECONDS - steady_seconds())
            self._timer = asyncio.get_running_loop().call_later(wait, self._sweep)


def _age_seconds(created: str) -> float:
    """0 where the time cannot be read, or is yet to come."""
    try:
        return max(0.0, time.time() - datetime.fromisoformat(created).timestamp())
    except ValueError:
        return 0.0
