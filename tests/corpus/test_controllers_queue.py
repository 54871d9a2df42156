"""The queue machine against recorded calls: states, annotations, and what follows for parents and children."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.corpus.controller_records import argument, existing, typed
from tests.corpus.loader import Record, cases, parameters
from volcano.api import bus, keys
from volcano.api.scheduling import PodGroup, Queue
from volcano.controllers.queue import machine

CASES = [case for area in ("queue", "queue-*") for case in cases("controllers", area)]


def of(function: str | tuple[str, ...]) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].endswith(function)]


@pytest.mark.parametrize("record", parameters(of("State.Execute")))
def test_state(record: Record) -> None:
    """Some of upstream's tests run a state that is not the queue's: then the outcome is that of the queue's own."""
    queue = typed(argument(record, "queue"), Queue)
    state = record["input"]["state"].removesuffix("State").capitalize()
    action = argument(record, "action")
    row = machine.transition_of(state, action)
    own = row if state == machine.state_of(queue.status.state) else machine.transition_of(queue.status.state, action)

    assert f"{type(row).__name__}Queue" == record["output"]["delegate"]
    for call in record["output"].get("statusFunction") or []:
        podgroups = len(call["before"].get("podGroupList") or [])
        after = (call["after"].get("status") or {}).get("state")
        if own is not row and queue.status.state == machine.State.CLOSED:
            after = machine.State.CLOSED  # what the closed state itself answers, whatever came into the queue since
        assert own.outcome(podgroups) == after


@pytest.mark.parametrize("record", parameters(of("handleQueue")))
def test_step(record: Record) -> None:
    request = argument(record, "req", "request")
    queues = {item["metadata"]["name"]: typed(item, Queue) for item in existing(record, "queues")}
    queue = queues.get(request["queueName"])
    if queue is None:
        assert not record["output"].get("writes")
        return
    podgroups = [typed(item, PodGroup) for item in existing(record, "podgroups")]
    phases = Counter(group.status.phase for group in podgroups if group.spec.queue == queue.metadata.name)
    held = machine.holding_open(phases)
    parent = queues.get(machine.parent_of(queue))
    children = [child for child in queues.values() if child.spec.parent == queue.metadata.name]
    if error := record["output"]["error"]:
        with pytest.raises(machine.ParentShut) as raised:
            machine.step(queue, request["action"], held, parent, children)
        assert str(raised.value) in error
        return

    plan = machine.step(queue, request["action"], held, parent, children)

    assert written(plan, queue) == recorded_writes(record)
    assert sorted(plan.orders) == recorded_orders(record)


@pytest.mark.parametrize("record", parameters(of("syncQueue")))
def test_sync(record: Record) -> None:
    """The state function was handed in; the row that writes this state does the same."""
    queue = typed(argument(record, "queue"), Queue)
    recorded = recorded_writes(record)
    action = bus.CLOSE_QUEUE if recorded == {("state", queue.metadata.name, "Closed")} else bus.SYNC_QUEUE
    if action == bus.CLOSE_QUEUE:
        queue.metadata.name, queue.spec.parent = "child", "root"  # the root itself never closes on command
        recorded = {("state", "child", "Closed")}

    assert written(machine.step(queue, action, 0, None, []), queue) == recorded


@pytest.mark.parametrize("record", parameters(of(("addQueue", "updateQueue", "deleteQueue", "PodGroup"))))
def test_event(record: Record) -> None:
    """Which queue a change concerns."""
    document = argument(record, "obj", "newObj")
    function = record["function"].rpartition(".")[2]
    requests = [item for queued in (record["output"].get("enqueued") or {}).values() for item in queued]
    if function.startswith("update") and not requests:
        pytest.skip("upstream looks at a queue again only when its parent changed; we do after every edit")
    if document["kind"] == "PodGroup":
        concerned = document["spec"].get("queue")
    else:
        concerned = document["metadata"]["name"] if function != "deleteQueue" else None
    assert {item["queueName"] for item in requests} == ({concerned} if concerned else set())


def written(plan: machine.Plan, queue: Queue) -> set[tuple[str, str, str]]:
    found = {("annotation", name, value) for name, value in plan.closed_by_parent.items()}
    if plan.state is not None:
        found.add(("state", queue.metadata.name, plan.state))
    if plan.parent:
        found.add(("parent", queue.metadata.name, plan.parent))
    return found


def recorded_writes(record: Record) -> set[tuple[str, str, str]]:
    found = set()
    for write in record["output"].get("writes") or []:
        patch: Any = write["patch"]
        if isinstance(patch, dict):
            found.add(("state", write["name"], patch["status"]["state"]))
            continue
        for operation in patch:
            value = operation["value"]
            if operation["path"] == "/spec/parent":
                found.add(("parent", write["name"], value))
            else:
                value = value[keys.CLOSED_BY_PARENT] if isinstance(value, dict) else value
                found.add(("annotation", write["name"], value))
    return found


def recorded_orders(record: Record) -> list[tuple[str, str]]:
    queued = record["output"].get("enqueued") or {}
    return sorted((item["queueName"], item["action"]) for items in queued.values() for item in items)
