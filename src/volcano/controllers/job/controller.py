"""The job controller: what the watches tell becomes mail, a reconciliation reads the mail and performs the plans.

`machine.step` decides, `perform.py` writes; neighbours: events.py (changes → events), ledger.py (memory).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from volcano.api import resources
from volcano.api.keys import COMMAND_MARKER
from volcano.api.meta import controller_of
from volcano.controllers.job import after, events, machine, policies
from volcano.controllers.job.after import Hold
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.ledger import Ledger, Pods
from volcano.controllers.job.members import Member, NotAMember, member_of
from volcano.controllers.job.metrics import JobMetrics
from volcano.controllers.job.pace import StatusPace
from volcano.controllers.job.perform import POD_PATIENCE_SECONDS, PODGROUP_PATIENCE_SECONDS, Obstacle, Performer
from volcano.controllers.job.plan import Delayed, Plan
from volcano.controllers.job.plugins import Factory, Plugins, builtin_factories
from volcano.controllers.job.plugins.interface import PluginError
from volcano.controllers.job.pods import group_name
from volcano.controllers.job.sync import QueueMissing
from volcano.controllers.job.vocabulary import Action
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND
from volcano.controllers.runtime import TASKS_PER_WORKER, Context, Waits
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube.errors import Forbidden, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.bus import Command
    from volcano.api.scheduling import PodGroup

log = logging.getLogger(__name__)

PACE_SECONDS_PER_POD = 10e-6
"""Between two looks at all pods of a job: a share of a processor, however fast its pods change."""
PLUGIN_ENTRY_POINTS = "volcano.job_plugins"


class JobController:
    name = "job-controller"

    def __init__(
        self, context: Context, *, workers: int = 3, plugins: Plugins | None = None, commands: bool = True
    ) -> None:
        self.workers = workers * TASKS_PER_WORKER
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._plugins = plugins or installed_plugins()
        self._ledgers: dict[str, Ledger] = {}
        self._pods = Pods()
        self._dependents: dict[str, set[str]] = {}
        self._began = False
        """What is known before comes from a watch that may lag behind the last writes of another process."""
        self._performer = Performer(context, self._pods)
        self._pace = StatusPace()
        self._metrics = JobMetrics(context.metrics)
        informers = context.informers
        self._jobs = informers.of(resources.JOBS, Callbacks(self._job_added, self._job_updated, self._job_deleted))
        informers.of(POD_VIEWS, Callbacks(self._pod_added, self._pod_updated, self._pod_deleted))
        self._podgroups = informers.of(
            resources.PODGROUPS, Callbacks(None, self._podgroup_updated, self._podgroup_deleted)
        )
        if commands:
            informers.of(resources.COMMANDS, Callbacks(self._command_added))
        self._queues = informers.of(resources.QUEUES)
        self._priorities = informers.of(resources.PRIORITY_CLASSES)

    # Reconciling

    async def reconcile(self, key: str) -> None:
        """Read the job's mail: commands, then events that ask for action, then one look at everything."""
        self._began = True
        ledger = self._ledgers.get(key)
        if ledger is None:
            return
        if ledger.commands or self._next_event(key, ledger) is not None:
            await self._remove_doubt(key, ledger)
        self._read_commands(key, ledger)
        while (event := self._next_event(key, ledger)) is not None:
            await self._handle(key, ledger, event)
            await self._clear_commands(ledger, through=event.command)
        await self._clear_commands(ledger)
        await self._sync(key, ledger)

    async def gave_up(self, key: str, error: Exception) -> None:
        """The job was refused too often: it ends."""
        ledger, job = self._ledgers.get(key), self._job(key)
        if ledger is None or job is None:
            return
        lost = ledger.mail.popleft() if ledger.mail else SYNC
        action = policies.resolve(job, lost).action
        self._performer.note(
            job, "Warning", "ExecuteAction", f"Job failed on action {action} for retry limit reached: {error}"
        )
        await self._act(key, ledger, events.action_only(Action.TERMINATE_JOB))

    def _next_event(self, key: str, ledger: Ledger) -> Event | None:
        """The next event that asks for more than a look at the job; it stays in the mail until it is dealt with."""
        job = self._current(key, ledger)
        if job is None:
            ledger.mail.clear()
            return None
        for delayed in ledger.delays.take_due(self._clock()):
            if not self._is_overtaken(job, delayed):
                ledger.mail.append(replace(delayed.event, action=delayed.action))
        while ledger.mail:
            event = ledger.mail[0]
            if policies.resolve(job, event) != policies.JUST_SYNC:
                return event
            ledger.mail.popleft()
        return None

    async def _handle(self, key: str, ledger: Ledger, event: Event) -> None:
        job = self._current(key, ledger)
        if job is None:
            return
        resolution = policies.resolve(job, event)
        if resolution.delay:
            plan = machine.step(job, self._pods.of(job.metadata.uid), None, event)
            self._put_off(key, ledger, job, plan)
        else:
            await self._execute(key, ledger, job, replace(event, action=resolution.action))
            ledger.delays.acted(resolution.action, event)
        if ledger.mail and ledger.mail[0] is event:
            ledger.mail.popleft()

    async def _execute(self, key: str, ledger: Ledger, job: Job, order: Event) -> None:
        """Act once: when this is tried again and the status says that it has begun, looks at the job finish it."""
        before = (job.status.version, job.status.retry_count)
        if ledger.began in {None, before}:
            ledger.began = before
            self._performer.note(job, "Normal", "ExecuteAction", f"Start to execute action {order.action} ")
            await self._act(key, ledger, order)
        ledger.began = None

    async def _sync(self, key: str, ledger: Ledger) -> None:
        """Look at the job as it is, unless it was looked at a moment ago."""
        job = self._current(key, ledger)
        if job is None:
            self._forget(key, ledger)
            return
        now = self._clock()
        pace = PACE_SECONDS_PER_POD * len(self._pods.of(job.metadata.uid))
        if now < ledger.synced_at + pace:
            self.queue.add_after(key, ledger.synced_at + pace - now)
            return
        ledger.synced_at = now
        await self._look_for_pods(key, job, now)
        await self._act(key, ledger, Event(action=Action.SYNC_JOB))
        due = ledger.delays.next_due()
        if due is not None:
            self.queue.add_after(key, max(due - self._clock(), 0.001))

    async def _look_for_pods(self, key: str, job: Job, now: float) -> None:
        unseen = self._pods.unseen(job.metadata.uid, now - POD_PATIENCE_SECONDS)
        if unseen is None:
            return
        for member in await self._performer.look_for(job, unseen):
            self._pods.ended(member)
            self._tell(key, events.pod_deleted(member, known=True))
        self.queue.add_after(key, POD_PATIENCE_SECONDS)

    async def _remove_doubt(self, key: str, ledger: Ledger) -> None:
        """Before anything is done: read a job that may be further than what is known of it."""
        job = self._current(key, ledger)
        if job is None or not ledger.in_doubt:
            return
        meta = job.metadata
        try:
            present = await self._context.client.get(resources.JOBS, meta.name, meta.namespace)
        except NotFound:
            present = None
        if present is None or present.metadata.uid != meta.uid:
            raise Waits(f"job {key} is gone, as the watch will tell")
        ledger.written, ledger.in_doubt = present, False

    async def _act(self, key: str, ledger: Ledger, order: Event) -> None:
        job = self._current(key, ledger)
        if job is None:
            return
        podgroup = self._podgroup(job, ledger)
        facts = self._facts(job)
        try:
            plan = self._decide(job, podgroup, order, facts)
        except QueueMissing as error:
            if not ledger.in_doubt:
                await self._performer.explain(job, Hold(after.QUEUE_MISSING, str(error)), ledger)
            raise Waits(str(error)) from error
        if ledger.in_doubt and not plan.is_empty:
            await self._remove_doubt(key, ledger)
            await self._act(key, ledger, order)
            return
        if plan.waits_for_podgroup and podgroup is None:
            self.queue.add_after(key, PODGROUP_PATIENCE_SECONDS)
        if order.command:
            plan.mark(COMMAND_MARKER, order.command)
        else:
            self._hold_back_status(key, ledger, job, plan)
        self._say_once(ledger, plan)
        try:
            await self._performer.perform(job, plan, ledger, facts, podgroup)
        except Obstacle as error:
            await self._performer.explain(job, Hold(error.reason, str(error)), ledger)
            raise
        except Forbidden as error:
            if error.lacks_right:
                await self._performer.explain(job, Hold(after.FORBIDDEN, str(error)), ledger)
            raise
        if plan.unfinished:
            ledger.synced_at = float("-inf")
            self.queue.add(key)
        self._metrics.entered(job, plan.status)

    def _decide(self, job: Job, podgroup: PodGroup | None, order: Event, facts: Facts) -> Plan:
        try:
            return machine.act(job, self._pods.of(job.metadata.uid), podgroup, order, self._context.now(), facts)
        except PluginError as error:
            self._performer.note(job, "Warning", "PluginError", f"Execute plugin when job add failed, err: {error}")
            raise
        except QueueMissing as error:
            self._performer.note(job, "Warning", "PodGroupError", f"Failed to create PodGroup, err: {error}")
            raise

    def _hold_back_status(self, key: str, ledger: Ledger, job: Job, plan: Plan) -> None:
        if plan.status is None:
            return
        now = self._clock()
        if ledger.written_at is None:
            ledger.written_at = now
        seconds = self._pace.hold_seconds(job, plan, ledger.written_at, now)
        if seconds:
            plan.status = None
            self.queue.add_after(key, seconds)
        else:
            ledger.written_at = now

    def _say_once(self, ledger: Ledger, plan: Plan) -> None:
        """A sync repeats what the podgroup complains about; the user hears it when it changes."""
        if not plan.notes:
            return
        said, ledger.said = ledger.said, plan.notes
        if said == plan.notes:
            plan.notes = []

    def _put_off(self, key: str, ledger: Ledger, job: Job, plan: Plan) -> None:
        if plan.delayed is not None and ledger.delays.arm(plan.delayed, self._clock()):
            for note in plan.notes:
                self._performer.note(job, note.type, note.reason, note.message)
            self.queue.add_after(key, plan.delayed.delay.total_seconds())

    def _is_overtaken(self, job: Job, delayed: Delayed) -> bool:
        """What the action was meant for is no longer there: an older version of the job, a pod replaced since."""
        if policies.is_stale(job, delayed.event):
            return True
        if delayed.action != Action.RESTART_POD:
            return False
        member = self._pods.of(job.metadata.uid).get(delayed.event.task, delayed.event.pod)
        return member is None or member.uid != delayed.event.pod_uid

    def _read_commands(self, key: str, ledger: Ledger) -> None:
        """Put commands into the mail. A command is carried out exactly once: the status that shows its effect names it,
        and it is deleted after that; who finds one that the status names already has only to delete it."""
        while ledger.commands:
            command = ledger.commands.popleft()
            ledger.obeyed.append(command)
            meta, job, target = command.metadata, self._current(key, ledger), command.target
            if job is None or target is None or (target.uid and target.uid != job.metadata.uid):
                log.info("command %s/%s is for a job that is gone", meta.namespace, meta.name)
            elif job.status.controlled_resources.get(COMMAND_MARKER) != meta.uid:
                message = (
                    f"Start to execute command {command.action}, "
                    "and clean it up to make sure executed not more than once."
                )
                self._performer.note(job, "Normal", "CommandIssued", message)
                ledger.mail.append(events.command_issued(command.action, meta.uid))

    async def _clear_commands(self, ledger: Ledger, through: str | None = None) -> None:
        """Delete what was carried out: everything, or in order up to the command `through`."""
        if through is not None and all(command.metadata.uid != through for command in ledger.obeyed):
            return
        while ledger.obeyed:
            meta = ledger.obeyed[0].metadata
            with suppress(NotFound):
                await self._context.client.delete(resources.COMMANDS, meta.name, meta.namespace, uid=meta.uid or None)
            ledger.obeyed.popleft()
            if meta.uid == through:
                return

    # What is known

    def _job(self, key: str) -> Job | None:
        seen = self._jobs.store.get(key)
        ledger = self._ledgers.get(key)
        return ledger.job(seen) if seen is not None and ledger is not None else seen

    def _current(self, key: str, ledger: Ledger) -> Job | None:
        """The job whose ledger this is; None once it is gone, whoever has its name since."""
        return self._job(key) if self._ledgers.get(key) is ledger else None

    def _podgroup(self, job: Job, ledger: Ledger) -> PodGroup | None:
        namespace = job.metadata.namespace
        by_uid = self._podgroups.get(group_name(job), namespace)
        return ledger.podgroup(by_uid or self._podgroups.get(job.metadata.name, namespace))

    def _facts(self, job: Job) -> Facts:
        queue = self._queues.store.get(job.spec.queue)
        priorities: Mapping[str, int] = {name: item.value for name, item in self._priorities.store.items()}
        return Facts(
            priorities=priorities,
            queue_exists=queue is not None or not job.spec.queue,
            forwards=queue is not None and bool(queue.spec.extend_clusters),
            hold=self._hold(job),
            plugins=self._plugins,
        )

    def _hold(self, job: Job) -> Hold | None:
        """What other jobs the job waits for; it hears of their changes from now on."""
        found = after.hold(job, lambda name: self._phase(f"{job.metadata.namespace}/{name}"))
        for name in found.jobs if found is not None else ():
            self._dependents.setdefault(f"{job.metadata.namespace}/{name}", set()).add(job.metadata.key)
        return found

    def _phase(self, key: str) -> str | None:
        job = self._job(key)
        return None if job is None else job.status.state.phase

    def _wake_dependents(self, key: str) -> None:
        for dependent in self._dependents.pop(key, ()):
            self._mail(dependent, SYNC)

    def _ledger(self, key: str) -> Ledger:
        ledger = self._ledgers.get(key)
        if ledger is None:
            ledger = self._ledgers[key] = Ledger()
        return ledger

    def _forget(self, key: str, ledger: Ledger) -> None:
        if not ledger.commands and not ledger.obeyed and self._ledgers.get(key) is ledger:
            del self._ledgers[key]

    def _clock(self) -> float:
        return asyncio.get_running_loop().time()

    def _mail(self, key: str, event: Event) -> None:
        self._ledger(key).mail.append(event)
        self.queue.add(key)

    # What the watches tell

    def _job_added(self, job: Job) -> None:
        """A new job, or one that this process has not seen before: then its pods may have news that nobody read."""
        key = job.metadata.key
        self._mail(key, SYNC)
        self._ledger(key).in_doubt = self._jobs.has_synced and not self._began
        self._wake_dependents(key)
        members = self._pods.of(job.metadata.uid)
        for member in members:
            self._mail(key, events.pod_added(member, members, policies.task_named(job, member.task)))

    def _job_updated(self, old: Job, new: Job) -> None:
        event = events.job_changed(old, new)
        ledger = self._ledgers.get(new.metadata.key)
        if event is None and ledger is not None and ledger.in_doubt:
            event = SYNC  # the counters may be somebody else's
        if event is not None:
            self._mail(new.metadata.key, event)
            self._wake_dependents(new.metadata.key)

    def _job_deleted(self, job: Job) -> None:
        """Pods and podgroup go with their owner; only our memory of the job is left to clear."""
        ledger = self._ledgers.pop(job.metadata.key, None)
        if ledger is not None and (ledger.commands or ledger.obeyed):
            self._ledger(job.metadata.key).commands.extend([*ledger.obeyed, *ledger.commands])
            self.queue.add(job.metadata.key)
        self._wake_dependents(job.metadata.key)
        self._metrics.removed(job)

    def _pod_added(self, pod: PodView) -> None:
        member, key = self._member(pod)
        if member is None:
            return
        members = self._pods.put(member)
        job = self._jobs.store.get(key)
        if job is not None:
            self._metrics.pod_seen(job, pod)
            self._tell(key, events.pod_added(member, members, policies.task_named(job, member.task)))

    def _pod_updated(self, old: PodView, new: PodView) -> None:
        member, key = self._member(new)
        before, _ = self._member(old)
        if member is None or before is None:
            return
        members = self._pods.put(member)
        job = self._jobs.store.get(key)
        if job is not None and member != before:
            task = policies.task_named(job, member.task)
            self._tell(key, events.pod_updated(before, member, members, task))

    def _pod_deleted(self, pod: PodView) -> None:
        member, key = self._member(pod)
        if member is None:
            return
        known = self._pods.ended(member)
        if key in self._jobs.store:
            self._tell(key, events.pod_deleted(known or member, known=known is not None))

    def _tell(self, key: str, event: Event) -> None:
        self._ledger(key).delays.saw(event)
        self._mail(key, event)

    def _member(self, pod: PodView) -> tuple[Member | None, str]:
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != JOB_KIND or owner.api_version != JOB_API_VERSION:
            return None, ""
        try:
            return member_of(pod), f"{pod.metadata.namespace}/{owner.name}"
        except NotAMember as error:
            log.warning("a pod of job %s/%s is left alone: %s", pod.metadata.namespace, owner.name, error)
            return None, ""

    def _podgroup_updated(self, old: PodGroup, new: PodGroup) -> None:
        key = self._job_of(new)
        if key not in self._jobs.store:
            return
        event = events.podgroup_changed(old.status.phase, new.status.phase)
        if event is not None:
            self._mail(key, event)
        elif old.spec != new.spec:
            self._mail(key, SYNC)

    def _podgroup_deleted(self, podgroup: PodGroup) -> None:
        key = self._job_of(podgroup)
        if key in self._jobs.store:
            self._ledger(key).ensured.pop(podgroup.metadata.name, None)
            self._mail(key, SYNC)

    def _job_of(self, podgroup: PodGroup) -> str:
        owner = controller_of(podgroup.metadata)
        name = owner.name if owner is not None and owner.kind == JOB_KIND else podgroup.metadata.name
        return f"{podgroup.metadata.namespace}/{name}"

    def _command_added(self, command: Command) -> None:
        target = command.target
        if target is None or target.kind != JOB_KIND or target.api_version != JOB_API_VERSION:
            return
        key = f"{command.metadata.namespace}/{target.name}"
        self._ledger(key).commands.append(command)
        self.queue.add(key)


def installed_plugins() -> Plugins:
    """Ours, and those that other packages offer as entry points; theirs win over ours of the same name."""
    factories: dict[str, Factory] = builtin_factories()
    for entry in entry_points(group=PLUGIN_ENTRY_POINTS):
        try:
            factories[entry.name] = entry.load()
        except Exception:
            log.exception("the job plugin %s (%s) cannot be loaded", entry.name, entry.value)
    return Plugins(factories)
