"""The queue controller: keeps the states of queues, carries out commands on them, and counts their podgroups.

`machine.step` decides; the counts go to metrics only, as upstream's do.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING

from volcano.api import bus, keys, resources
from volcano.controllers.queue import machine
from volcano.controllers.queue.machine import ParentShut
from volcano.controllers.runtime import Context, Waits
from volcano.controllers.statuses import is_newer
from volcano.kube.errors import ApiError, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.bus import Command
    from volcano.api.scheduling import PodGroup, Queue

log = logging.getLogger(__name__)

FIELD_MANAGER = "queue-controller"
TARGET_API_VERSION = "scheduling.volcano.sh/v1beta1"
PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")


class QueueController:
    name = "queue-controller"

    def __init__(self, context: Context, *, workers: int = 5, commands: bool = True) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._orders: dict[str, deque[str]] = {}
        self._commands: dict[str, deque[Command]] = {}
        self._written: dict[str, Queue] = {}
        """Queues as the server returned them to our writes: perhaps newer than the watch."""
        self._podgroups: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Podgroups of each queue, by phase."""
        self._seen: dict[str, PodGroup] = {}
        """Each podgroup as it was counted."""
        informers = context.informers
        self._queues = informers.of(
            resources.QUEUES, Callbacks(self._queue_added, self._queue_updated, self._queue_deleted)
        )
        informers.of(
            resources.PODGROUPS, Callbacks(self._podgroup_added, self._podgroup_updated, self._podgroup_deleted)
        )
        if commands:
            informers.of(resources.COMMANDS, Callbacks(self._command_added))
        self._gauges = {
            phase: context.metrics.gauges(
                f"volcano_queue_pod_group_{phase.lower()}_count",
                f"PodGroups of a queue that are {phase}.",
                "queue_name",
            )
            for phase in PHASES
        }
        context.metrics.before_scrape(self._refresh_gauges)

    async def reconcile(self, key: str) -> None:
        await self._obey(key)
        orders = self._orders.get(key)
        while orders:
            with suppress(ParentShut):  # it has been closed since
                await self._carry_out(key, orders[0])
            orders.popleft()
        await self._carry_out(key, bus.SYNC_QUEUE)

    async def gave_up(self, key: str, error: Exception) -> None:
        commands, orders = self._commands.get(key), self._orders.get(key)
        if commands:
            action = commands[0].action
            await self._clear(commands)
        else:
            action = orders.popleft() if orders else bus.SYNC_QUEUE
        queue = self._queues.store.get(key)
        if queue is not None:
            self._note(queue, "Warning", action, f"{action} queue failed for {error}")

    async def _obey(self, key: str) -> None:
        """A command is deleted when it is carried out; to open or close a queue again changes nothing."""
        commands = self._commands.get(key)
        while commands:
            action = commands[0].action
            if key not in self._queues.store and await self._exists(key):
                raise Waits(f"queue {key} has been made, as the watch will tell")
            try:
                await self._carry_out(key, action)
            except ParentShut as error:
                queue = self._known(key)
                if self._is_about_to_open(machine.parent_of(queue)):
                    raise Waits(str(error)) from error
                self._note(queue, "Warning", action, f"{action} queue failed for {error}")
            await self._clear(commands)
        self._commands.pop(key, None)

    async def _exists(self, key: str) -> bool:
        try:
            await self._context.client.get(resources.QUEUES, key)
        except NotFound:
            return False
        return True

    def _is_about_to_open(self, name: str) -> bool:
        """Somebody has ordered so, for the queue or one above it."""
        while (queue := self._newest(name)) is not None:
            ordered = [*self._orders.get(name, ()), *(command.action for command in self._commands.get(name, ()))]
            if bus.OPEN_QUEUE in ordered:
                return True
            name = machine.parent_of(queue)
        return False

    async def _clear(self, commands: deque[Command]) -> None:
        """The first command is done with."""
        meta = commands[0].metadata
        with suppress(NotFound):
            await self._context.client.delete(resources.COMMANDS, meta.name, meta.namespace, uid=meta.uid or None)
        commands.popleft()

    async def _carry_out(self, key: str, action: str) -> None:
        queue = self._newest(key)
        if queue is None:
            return
        waiting = machine.holding_open(self._podgroups.get(key, Counter()))
        children = [child for name in self._queues.store if machine.parent_of(child := self._known(name)) == key]
        parent = self._newest(machine.parent_of(queue))
        await self._perform(queue, machine.step(queue, action, waiting, parent, children))

    async def _perform(self, queue: Queue, plan: machine.Plan) -> None:
        name = queue.metadata.name
        client = self._context.client
        if plan.parent:
            body = {"metadata": {"uid": queue.metadata.uid}, "spec": {"parent": plan.parent}}
            self._written[name] = await client.patch(resources.QUEUES, name, body)
        for other in plan.closed_by_parent:
            if other != name:
                await self._annotate(other, plan.closed_by_parent[other])
        if plan.state is not None:
            await self._write_state(queue, plan.state, closes=plan.closes)
        if name in plan.closed_by_parent:
            await self._annotate(name, plan.closed_by_parent[name])
        for other, action in plan.orders:
            self._order(other, action)

    async def _write_state(self, queue: Queue, state: machine.State, *, closes: bool) -> None:
        """Of this queue: the server refuses it for another that has its name since."""
        name = queue.metadata.name
        document = {
            "apiVersion": resources.QUEUES.api_version,
            "kind": resources.QUEUES.kind,
            "metadata": {"name": name, "uid": queue.metadata.uid},
            "status": {"state": state.value},
        }
        try:
            self._written[name] = await self._context.client.apply(
                resources.QUEUES, document, subresource="status", field_manager=FIELD_MANAGER
            )
        except ApiError as error:
            reason = bus.CLOSE_QUEUE if closes else bus.OPEN_QUEUE
            message = (
                f"Close queue failed for {error}"
                if closes
                else f"Update queue status from {queue.status.state} to {state} failed for {error}"
            )
            self._note(queue, "Warning", reason, message)
            raise
        if closes:
            self._note(queue, "Normal", bus.CLOSE_QUEUE, "Close queue succeed")

    async def _annotate(self, name: str, closed: str) -> None:
        queue = self._newest(name)
        if queue is None or queue.metadata.annotations.get(keys.CLOSED_BY_PARENT) == closed:
            return
        body = {"metadata": {"uid": queue.metadata.uid, "annotations": {keys.CLOSED_BY_PARENT: closed}}}
        self._written[name] = await self._context.client.patch(resources.QUEUES, name, body)

    def _order(self, name: str, action: str) -> None:
        orders = self._orders.setdefault(name, deque())
        if action not in orders:
            orders.append(action)
        self.queue.add(name)

    def _note(self, queue: Queue, type_: str, reason: str, message: str) -> None:
        self._context.recorder.record(resources.QUEUES, queue, type_, reason, message)

    def _refresh_gauges(self) -> None:
        for name in self._queues.store:
            phases = self._podgroups.get(name, Counter())
            for phase, family in self._gauges.items():
                family.labels(name).set(phases[phase])

    # What is known

    def _newest(self, name: str) -> Queue | None:
        """A queue as the server last returned it to us, or as the watch shows it, whichever is newer."""
        return self._known(name) if name in self._queues.store else None

    def _known(self, name: str) -> Queue:
        seen, written = self._queues.store[name], self._written.get(name)
        if written is None:
            return seen
        if is_newer(written.metadata, seen.metadata):
            return written
        del self._written[name]
        return seen

    # What the watches tell

    def _queue_added(self, queue: Queue) -> None:
        self.queue.add(queue.metadata.name)

    def _queue_updated(self, old: Queue, new: Queue) -> None:
        if old.spec != new.spec or old.status.state != new.status.state:
            self.queue.add(new.metadata.name)
        if old.status.state != new.status.state:
            for child in self._queues.store.values():
                if machine.parent_of(child) == new.metadata.name:
                    self.queue.add(child.metadata.name)

    def _queue_deleted(self, queue: Queue) -> None:
        name = queue.metadata.name
        self._orders.pop(name, None)
        self._written.pop(name, None)
        self.queue.add(name)  # commands for it are left to clear
        for family in self._gauges.values():
            family.remove(name)

    def _podgroup_added(self, podgroup: PodGroup) -> None:
        self._count(podgroup, 1)

    def _podgroup_updated(self, old: PodGroup, new: PodGroup) -> None:
        if (old.spec.queue, old.status.phase) != (new.spec.queue, new.status.phase):
            self._count(old, -1)
            self._count(new, 1)

    def _podgroup_deleted(self, podgroup: PodGroup) -> None:
        """The last state the server told may be newer than the one we counted."""
        self._count(self._seen.pop(podgroup.metadata.key, podgroup), -1)

    def _count(self, podgroup: PodGroup, change: int) -> None:
        name = podgroup.spec.queue
        self._podgroups[name][podgroup.status.phase or "Pending"] += change
        if change > 0:
            self._seen[podgroup.metadata.key] = podgroup
        queue = self._newest(name)
        if queue is not None and machine.counts_podgroups(queue):
            self.queue.add(name)

    def _command_added(self, command: Command) -> None:
        target = command.target
        if target is None or target.kind != resources.QUEUES.kind or target.api_version != TARGET_API_VERSION:
            return
        self._commands.setdefault(target.name, deque()).append(command)
        self.queue.add(target.name)
