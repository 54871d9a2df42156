"""Who owns whom, by uid, and what that means for an object: stays, loses a reference, goes, waits. Pure.

Neighbours: `collector` feeds it from watches and performs its verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from volcano.api import keys
from volcano.api.meta import OwnerReference


@dataclass(frozen=True, slots=True)
class Item:
    """One object, as far as ownership goes."""

    plural: str
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerReference, ...] = ()
    is_deleting: bool = False
    finalizers: tuple[str, ...] = ()

    @property
    def is_foreground(self) -> bool:
        """It is being deleted and waits for its dependents to go first."""
        return self.is_deleting and keys.FINALIZER_FOREGROUND in self.finalizers

    @property
    def is_orphaning(self) -> bool:
        """It is being deleted and its dependents shall stay."""
        return self.is_deleting and keys.FINALIZER_ORPHAN in self.finalizers


class Existence(Enum):
    """What is known of an owner that is not in the graph."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Verdict(Enum):
    """What should happen to an object because of its owners."""

    KEEP = "keep"
    COLLECT = "collect"
    COLLECT_FOREGROUND = "collect in the foreground"
    DROP_REFERENCES = "drop references"
    ASK = "ask"


class Ownership:
    """The graph. Objects and their owners may arrive in any order."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def put(self, item: Item) -> None:
        """Take in an object as it is now."""
        old = self.items.get(item.uid)
        if old is not None and old.owners != item.owners:
            self._unlink(old)
        self.items[item.uid] = item
        for owner in item.owners:
            self._dependents.setdefault(owner.uid, {})[item.uid] = None

    def remove(self, uid: str) -> None:
        item = self.items.pop(uid, None)
        if item is not None:
            self._unlink(item)

    def dependents(self, uid: str) -> list[Item]:
        return [self.items[child] for child in self._dependents.get(uid, ()) if child in self.items]

    def blockers(self, uid: str) -> list[Item]:
        """Dependents that an owner deleted in the foreground waits for."""
        return [
            child
            for child in self.dependents(uid)
            if any(owner.uid == uid and owner.block_owner_deletion for owner in child.owners)
        ]

    def _unlink(self, item: Item) -> None:
        for owner in item.owners:
            children = self._dependents.get(owner.uid)
            if children is not None:
                children.pop(item.uid, None)
                if not children:
                    del self._dependents[owner.uid]

    # Judging

    def is_suspect(self, item: Item) -> bool:
        """Cheap test on every event: might an owner be missing or going?"""
        for owner in item.owners:
            known = self.items.get(owner.uid)
            if known is None or known.is_foreground:
                return True
        return False

    def judge(
        self, item: Item, existence: Callable[[OwnerReference], Existence]
    ) -> tuple[Verdict, list[OwnerReference]]:
        """What is to become of `item`, and the references it concerns. `existence` tells of owners not in the graph."""
        solid: list[OwnerReference] = []
        waiting: list[OwnerReference] = []
        dangling: list[OwnerReference] = []
        for owner in item.owners:
            found = self._existence(item, owner, existence)
            if found is Existence.UNKNOWN:
                return Verdict.ASK, [owner]
            known = self.items.get(owner.uid)
            if found is Existence.ABSENT:
                dangling.append(owner)
            elif known is not None and known.is_foreground:
                waiting.append(owner)
            else:
                solid.append(owner)
        if item.is_deleting or not (waiting or dangling):
            return Verdict.KEEP, []
        if solid:
            return Verdict.DROP_REFERENCES, [*dangling, *waiting]
        if waiting and self._dependents.get(item.uid):
            return Verdict.COLLECT_FOREGROUND, waiting
        return Verdict.COLLECT, [*dangling, *waiting]

    def _existence(
        self, item: Item, owner: OwnerReference, existence: Callable[[OwnerReference], Existence]
    ) -> Existence:
        """Owners live in the object's own namespace, or in none: a reference across namespaces points nowhere."""
        known = self.items.get(owner.uid)
        if known is None:
            return existence(owner)
        return Existence.PRESENT if known.namespace in ("", item.namespace) else Existence.ABSENT


def without(owners: Iterable[OwnerReference], dropped: Iterable[OwnerReference]) -> list[OwnerReference]:
    gone = {owner.uid for owner in dropped}
    return [owner for owner in owners if owner.uid not in gone]
