"""Which objects belong to which owner, kept up to date from the callbacks of an informer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from volcano.api.meta import controller_of
from volcano.kube.codec import head_of
from volcano.kube.informer import Callbacks, Informer

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.controllers.runtime import Informers

T = TypeVar("T")


class Owned(Generic[T]):
    """Objects by the uid of the `kind` that controls them. `changed` is told the key of an owner whose objects do."""

    def __init__(self, kind: str, changed: Callable[[str], None]) -> None:
        self._kind = kind
        self._changed = changed
        self._keys: dict[str, dict[str, None]] = {}
        self._informer: Informer[T] | None = None

    def follow(self, informers: Informers, resource: Resource[T]) -> None:
        callbacks = Callbacks[T](self._added, lambda _old, new: self._added(new), self._deleted)
        self._informer = informers.of(resource, callbacks)

    def of(self, owner_uid: str) -> list[T]:
        if self._informer is None:
            return []
        store = self._informer.store
        return [found for key in self._keys.get(owner_uid, ()) if (found := store.get(key)) is not None]

    def _added(self, obj: T) -> None:
        meta = head_of(obj)
        owner = controller_of(meta)
        if owner is not None and owner.kind == self._kind:
            self._keys.setdefault(owner.uid, {})[meta.key] = None
            self._changed(f"{meta.namespace}/{owner.name}")

    def _deleted(self, obj: T) -> None:
        meta = head_of(obj)
        owner = controller_of(meta)
        if owner is None or owner.kind != self._kind:
            return
        keys = self._keys.get(owner.uid, {})
        keys.pop(meta.key, None)
        if not keys:
            self._keys.pop(owner.uid, None)
        self._changed(f"{meta.namespace}/{owner.name}")
