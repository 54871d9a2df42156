"""The states of a queue as a table: what opening, closing and time do to it, its parent's will and its children.

Pure. Called by controller.py with the queue, its neighbours in the tree and how many podgroups it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from volcano.api import bus, keys

if TYPE_CHECKING:
    from volcano.api.scheduling import Queue


class State(StrEnum):
    OPEN = "Open"
    CLOSING = "Closing"
    CLOSED = "Closed"
    UNKNOWN = "Unknown"


SHUT = frozenset({State.CLOSING, State.CLOSED})
Outcome: TypeAlias = Callable[[int], State]
"""The new state, given the number of podgroups in the queue."""


class ParentShut(ValueError):
    """A queue cannot open below a parent that is closing or closed."""


@dataclass(frozen=True, slots=True)
class Sync:
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Open:
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Close:
    outcome: Outcome


Transition: TypeAlias = Sync | Open | Close
OTHERWISE = ""


def _stay(state: State) -> Outcome:
    return lambda _podgroups: state


def _drain(podgroups: int) -> State:
    return State.CLOSING if podgroups else State.CLOSED


_OPEN = Open(_stay(State.OPEN))

TABLE: Mapping[State, Mapping[str, Transition]] = {
    State.OPEN: {bus.CLOSE_QUEUE: Close(_drain), OTHERWISE: Sync(_stay(State.OPEN))},
    State.CLOSING: {bus.OPEN_QUEUE: _OPEN, OTHERWISE: Sync(_drain)},
    State.CLOSED: {bus.OPEN_QUEUE: _OPEN, OTHERWISE: Sync(_stay(State.CLOSED))},
    State.UNKNOWN: {bus.OPEN_QUEUE: _OPEN, bus.CLOSE_QUEUE: Close(_drain), OTHERWISE: Sync(_stay(State.UNKNOWN))},
}


@dataclass(slots=True)
class Plan:
    parent: str = ""
    """Parent to write into the queue, when it names none."""
    state: State | None = None
    """New state, when it changed."""
    closed_by_parent: dict[str, str] = field(default_factory=dict)
    """Annotation to set on this queue or its children, by queue."""
    orders: list[tuple[str, str]] = field(default_factory=list)
    """(queue, action) to carry out next"""
    closes: bool = False
    """A user closes this queue: worth an event."""


def step(queue: Queue, action: str, podgroups: int, parent: Queue | None, children: Sequence[Queue]) -> Plan:
    """What to write to `queue` and its children after `action`."""
    match transition_of(queue.status.state, action):
        case Sync(outcome):
            return _sync(queue, outcome(podgroups), parent)
        case Open(outcome):
            return _open(queue, outcome(podgroups), parent, children)
        case Close(outcome):
            return _close(queue, outcome(podgroups), children)


def transition_of(state: str, action: str) -> Transition:
    row = TABLE[state_of(state)]
    return row.get(action, row[OTHERWISE])


def state_of(text: str) -> State:
    """A new queue is open; a word nobody knows is Unknown."""
    if not text:
        return State.OPEN
    return State(text) if text in TABLE else State.UNKNOWN


def counts_podgroups(queue: Queue) -> bool:
    """Whether the state of the queue depends on how many podgroups it holds."""
    return queue.status.state == State.CLOSING


def holding_open(phases: Mapping[str, int]) -> int:
    """How many of a queue's podgroups hold up its closing: those that have completed do not."""
    return sum(count for phase, count in phases.items() if phase != "Completed")


def parent_of(queue: Queue) -> str:
    """The name of the parent; empty for the root."""
    if queue.metadata.name == keys.ROOT_QUEUE:
        return ""
    return queue.spec.parent or keys.ROOT_QUEUE


def _sync(queue: Queue, state: State, parent: Queue | None) -> Plan:
    plan = Plan(state=_changed(queue, state))
    name = queue.metadata.name
    if name == keys.ROOT_QUEUE:
        return plan
    if not queue.spec.parent:
        plan.parent = keys.ROOT_QUEUE
    if parent is None:
        return plan
    above = state_of(parent.status.state)
    if above in SHUT and state not in SHUT:
        plan.closed_by_parent[name] = "true"
        plan.orders.append((name, bus.CLOSE_QUEUE))
    elif above == State.OPEN and state in SHUT and closed_by_parent(queue):
        plan.orders.append((name, bus.OPEN_QUEUE))
    return plan


def _open(queue: Queue, state: State, parent: Queue | None, children: Sequence[Queue]) -> Plan:
    name = queue.metadata.name
    if queue.spec.parent not in {"", keys.ROOT_QUEUE} and parent is not None and state_of(parent.status.state) in SHUT:
        raise ParentShut(
            f"Failed to open queue {name} because its parent queue {parent.metadata.name} is closing or closed. "
            "Open the parent queue first."
        )
    plan = Plan(state=_changed(queue, state))
    plan.orders = [(child.metadata.name, bus.OPEN_QUEUE) for child in children if closed_by_parent(child)]
    plan.closed_by_parent[name] = "false"
    return plan


def _close(queue: Queue, state: State, children: Sequence[Queue]) -> Plan:
    if queue.metadata.name == keys.ROOT_QUEUE:
        return Plan()
    plan = Plan(state=_changed(queue, state), closes=True)
    for child in children:
        if state_of(child.status.state) not in SHUT:
            plan.closed_by_parent[child.metadata.name] = "true"
            plan.orders.append((child.metadata.name, bus.CLOSE_QUEUE))
    return plan


def closed_by_parent(queue: Queue) -> bool:
    return queue.metadata.annotations.get(keys.CLOSED_BY_PARENT) == "true"


def _changed(queue: Queue, state: State) -> State | None:
    return state if queue.status.state != state else None
