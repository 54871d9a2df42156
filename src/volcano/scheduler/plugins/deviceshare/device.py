"""What every family of devices can answer: who wants it, what a node has of it, what a pod would get there.

gpushare.py, vgpu.py and hami.py are such families; ledger.py keeps the books for all of them, plugin.py asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from volcano.api import quantity

if TYPE_CHECKING:
    from volcano.api.core import Container, Node, Pod

BINPACK: Final = "binpack"
SPREAD: Final = "spread"


@dataclass(frozen=True, slots=True)
class Grant:
    """The devices that a pod gets, as annotations that name them, and how well that suits the policy."""

    annotations: Mapping[str, str]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Objection:
    """Why it gets none. Unresolvable: evicting others would not help."""

    text: str
    resolvable: bool = True


class Devices(Protocol):
    """The devices of one family on one node, and who holds them."""

    def offer(self, pod: Pod) -> Grant | Objection:
        """What the pod would get now. Changes nothing."""

    def charge(self, uid: str, pod: Pod, annotations: Mapping[str, str]) -> None:
        """The pod holds what these annotations name; nothing if they name nothing."""

    def release(self, uid: str) -> None:
        """The pod holds nothing any more."""


class Family(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Resources that pods ask for and nodes do not offer: only this family accounts them."""

    @property
    def lock(self) -> str:
        """The annotation by which nodes are locked while one pod gets its devices; empty if they need not be."""

    def wanted_by(self, pod: Pod) -> bool: ...

    def on_node(self, node: Node) -> Devices | None:
        """None if the node has no such devices."""

    def stamps(self, node: str, now: float) -> Mapping[str, str]:
        """Annotations that go with every grant: where and when."""


def limit(container: Container, name: str) -> int:
    """What the container is limited to; devices have no requests of their own."""
    value = container.resources.limits.get(name) if name else None
    return 0 if value is None else quantity.units(value)


def limit_or_request(container: Container, name: str) -> int | None:
    """None if the container says neither."""
    if not name:
        return None
    value = container.resources.limits.get(name, container.resources.requests.get(name))
    return None if value is None else quantity.units(value)


def whole(text: str) -> int | None:
    """A number that is not negative; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() else None


def listed(text: str) -> Iterator[str]:
    """The entries of a list with commas."""
    return (entry for part in text.split(",") if (entry := part.strip()))
