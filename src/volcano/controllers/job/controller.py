"""The job controller: a reconciliation reads the mail of one job, has the machine decide, and performs the plans.

mailroom.py brings the mail, machine.py decides, perform.py writes; ledger.py is what is remembered of a job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from msgspec.structs import replace

from volcano.api import keys, resources
from volcano.api.keys import COMMAND_MARKER
from volcano.controllers.job import after, events, machine, policies
from volcano.controllers.job.after import Hold
from volcano.controllers.job.credit import CreditBalance
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.ledger import Ledger
from volcano.controllers.job.mailroom import Mailroom
from volcano.controllers.job.metrics import JobMetrics
from volcano.controllers.job.pace import LOOK_SECONDS, StatusPace
from volcano.controllers.job.perform import POD_PATIENCE_SECONDS, PODGROUP_PATIENCE_SECONDS, Obstacle, Performer
from volcano.controllers.job.plan import Delayed, Plan
from volcano.controllers.job.plugins import Factory, Plugins, builtin_factories
from volcano.controllers.job.plugins.interface import PluginError
from volcano.controllers.job.podgroup import declared
from volcano.controllers.job.pods import group_name
from volcano.controllers.job.sync import QueueUnfit
from volcano.controllers.job.vocabulary import Action
from volcano.controllers.runtime import TASKS_PER_WORKER, Context, Waits
from volcano.kube.errors import Forbidden, NotFound
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.bus import Command
    from volcano.api.scheduling import PodGroup

log = logging.getLogger(__name__)

PACE_SECONDS_PER_POD = 10e-6
"""Between two looks at all pods of a job: a share of a processor, however fast its pods change."""
PLUGIN_ENTRY_POINTS = "volcano.job_plugins"
LOOK = Event(action=Action.SYNC_JOB)
FIRST_MAIL = ""
"""The key of no job: read first, so that jobs that come to a controller without mail are none that it found here."""
FIRST_WORDS = "?"
"""The key of no job either: the first words that a rush has held back."""


class JobController:
    name = "job-controller"

    def __init__(
        self, context: Context, *, workers: int = 3, plugins: Plugins | None = None, commands: bool = True
    ) -> None:
        self.workers = workers * TASKS_PER_WORKER
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._plugins = plugins or installed_plugins()
        self._pace = StatusPace()
        self._metrics = JobMetrics(context.metrics)
        informers = context.informers
        self.mailroom = Mailroom(informers, self.queue, self._metrics, commands=commands)
        self._pods = self.mailroom.pods
        self._performer = Performer(context, self._pods)
        self.queue.add(FIRST_MAIL)
        self._balance = CreditBalance()
        self._queues = informers.of(resources.QUEUES, self._balance.callbacks)
        self._priorities = informers.of(resources.PRIORITY_CLASSES)
        self._namespaces = informers.of(resources.NAMESPACES)

    # Reconciling

    async def reconcile(self, key: str) -> None:
        """Read the job's mail: commands, then events that ask for action, then one look at everything."""
        if not self.mailroom.read:
            self.mailroom.read = True
            self._balance.begin()
        if key == FIRST_WORDS:
            self._catch_up_on_first_words()
            return
        ledger = self.mailroom.ledgers.get(key)
        if ledger is None:
            self._pace.unsaid.pop(key, None)
            return
        if ledger.in_doubt and (ledger.commands or self._next_event(key, ledger) is not None):
            await self._remove_doubt(key, ledger)
        await self._read_commands(key, ledger)
        while (event := self._next_event(key, ledger)) is not None:
            await self._handle(key, ledger, event)
            await self._clear_commands(ledger, through=event.command)
        await self._clear_commands(ledger)
        await self._sync(key, ledger)

    async def gave_up(self, key: str, error: Exception) -> None:
        """The job was refused too often: it ends."""
        ledger, job = self.mailroom.ledgers.get(key), self.mailroom.job(key)
        if ledger is None or job is None:
            return
        lost = ledger.dealt_with() or SYNC
        action = policies.resolve(job, lost).action
        self._performer.note(
            job, "Warning", "ExecuteAction", f"Job failed on action {action} for retry limit reached: {error}"
        )
        await self._act(key, ledger, events.action_only(Action.TERMINATE_JOB))

    def _next_event(self, key: str, ledger: Ledger) -> Event | None:
        """The next event that asks for more than a look at the job; it stays in the mail until it is dealt with."""
        job = self.mailroom.current(key, ledger)
        if job is None:
            ledger.mail.clear()
            return None
        if ledger.delays:
            for delayed in ledger.delays.take_due(self._clock()):
                if not self._is_overtaken(job, delayed):
                    ledger.mail.append(replace(delayed.event, action=delayed.action))
        while ledger.mail:
            event = ledger.mail[0]
            if policies.resolve(job, event) != policies.JUST_SYNC:
                return event
            ledger.dealt_with()
        return None

    async def _handle(self, key: str, ledger: Ledger, event: Event) -> None:
        job = self.mailroom.current(key, ledger)
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
            ledger.dealt_with()

    async def _execute(self, key: str, ledger: Ledger, job: Job, order: Event) -> None:
        """Act once: when this is tried again and the status says that it has begun, looks at the job finish it."""
        before = (job.status.version, job.status.retry_count)
        if ledger.began in {None, before}:
            ledger.began = before
            self._performer.note(job, "Normal", "ExecuteAction", f"Start to execute action {order.action} ")
            await self._act(key, ledger, order)

    async def _sync(self, key: str, ledger: Ledger) -> None:
        """Look at the job as it is, unless it was looked at a moment ago."""
        job = self.mailroom.current(key, ledger)
        if job is None:
            self.mailroom.forget(key, ledger)
            return
        now = self._clock()
        pace = PACE_SECONDS_PER_POD * len(self._pods.of(job.metadata.uid))
        if now < ledger.synced_at + pace:
            self.queue.add_after(key, ledger.synced_at + pace - now)
            return
        ledger.synced_at = now
        self.queue.drop_delay(key)  # this look finds out what there is to wait for
        await self._look_for_pods(key, job, now)
        await self._act(key, ledger, LOOK)
        due = ledger.delays.next_due()
        if due is not None:
            self.queue.add_after(key, max(due - self._clock(), 0.001))

    async def _look_for_pods(self, key: str, job: Job, now: float) -> None:
        unseen = self._pods.unseen(job.metadata.uid, now - POD_PATIENCE_SECONDS)
        if unseen is None:
            return
        for member in await self._performer.look_for(job, unseen):
            self._pods.ended(member)
            self.mailroom.tell(key, events.pod_deleted(member, known=True))
        self.queue.add_after(key, POD_PATIENCE_SECONDS)

    async def _remove_doubt(self, key: str, ledger: Ledger) -> None:
        """Before anything is done: read a job that may be further than what is known of it."""
        job = self.mailroom.current(key, ledger)
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
        job = self.mailroom.current(key, ledger)
        if job is None:
            return
        podgroup = self.mailroom.podgroup(job, ledger)
        facts = self._facts(job, has_credit=podgroup is None and self._has_credit(job, ledger))
        try:
            plan = self._decide(job, podgroup, order, facts)
        except QueueUnfit as error:
            if not ledger.in_doubt:
                await self._performer.explain(job, Hold(error.reason, str(error)), ledger)
            raise Waits(str(error)) from error
        if ledger.in_doubt and not plan.is_empty:
            await self._remove_doubt(key, ledger)
            await self._act(key, ledger, order)
            return
        if plan.is_on_credit:
            self._balance.spend(job.spec.queue)
            ledger.had_credit = True
        ledger.awaits_podgroup = plan.waits_for_podgroup and podgroup is None
        if ledger.awaits_podgroup:
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
        except QueueUnfit as error:
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
            if self._pace.unsaid:
                self.queue.add_after(FIRST_WORDS, LOOK_SECONDS)
        else:
            ledger.written_at = now

    def _catch_up_on_first_words(self) -> None:
        for key in self._pace.overdue(self._clock()):
            self.queue.add(key)
        if self._pace.unsaid:
            self.queue.add_after(FIRST_WORDS, LOOK_SECONDS)

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

    async def _read_commands(self, key: str, ledger: Ledger) -> None:
        """Put commands into the mail. A command is carried out exactly once: the status that shows its effect names it,
        and it is deleted after that; who finds one that the status names already has only to delete it."""
        while ledger.commands:
            command, job = ledger.commands[0], self.mailroom.current(key, ledger)
            if (job is None or not _is_for(command, job)) and await self._is_early(key, command):
                raise Waits(f"command {command.metadata.key} is for a job that the watch has not shown yet")
            if not ledger.commands or ledger.commands[0] is not command:
                return  # the job has gone meanwhile: whose ledger comes next has its commands
            ledger.obeyed.append(ledger.commands.popleft())
            meta, job = command.metadata, self.mailroom.current(key, ledger)
            if job is None or not _is_for(command, job):
                log.info("command %s is for a job that is gone", meta.key)
            elif job.status.controlled_resources.get(COMMAND_MARKER) != meta.uid:
                message = (
                    f"Start to execute command {command.action}, "
                    "and clean it up to make sure executed not more than once."
                )
                self._performer.note(job, "Normal", "CommandIssued", message)
                ledger.mail.append(events.command_issued(command.action, meta.uid))

    async def _is_early(self, key: str, command: Command) -> bool:
        """Whether there is the job that a command is for: not everybody waits until we have heard of his job."""
        namespace, _, name = key.partition("/")
        try:
            return _is_for(command, await self._context.client.get(resources.JOBS, name, namespace))
        except NotFound:
            return False

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

    def _facts(self, job: Job, *, has_credit: bool) -> Facts:
        queue = self._queues.store.get(job.spec.queue)
        return Facts(
            priorities=self._values(),
            queue_exists=queue is not None or not job.spec.queue,
            queue_closed=queue.status.state if queue is not None and not queue.is_open else "",
            home_queue=self._home_queue(job),
            has_credit=has_credit,
            forwards=queue is not None and bool(queue.spec.extend_clusters),
            hold=self._hold(job),
            plugins=self._plugins,
        )

    def _values(self) -> Mapping[str, int]:
        return {name: item.value for name, item in self._priorities.store.items()}

    def _home_queue(self, job: Job) -> str:
        home = self._namespaces.store.get(job.metadata.namespace)
        return home.metadata.annotations.get(keys.POD_QUEUE_NAME, "") if home is not None else ""

    def _has_credit(self, job: Job, ledger: Ledger) -> bool:
        """Whether a podgroup that is made now, the job's first, is let in already, in the queue that the job names."""
        queue = job.spec.queue
        if not self._balance.offers(queue) or job.status.version:
            return False
        if ledger.had_credit or group_name(job) in ledger.ensured:
            return False
        if len(self._pods.of(job.metadata.uid)):
            return False  # somebody has taken its podgroup away, or it is there and we hear of it late
        if queue == keys.DEFAULT_QUEUE and self._home_queue(job):
            return False
        wanted = declared(job, self._values())
        return self._balance.covers(queue, job.spec.scheduler_name, wanted, self._context.now())

    def _hold(self, job: Job) -> Hold | None:
        """What other jobs the job waits for; it hears of their changes from now on."""
        found = after.hold(job, lambda name: self.mailroom.phase(f"{job.metadata.namespace}/{name}"))
        for name in found.jobs if found is not None else ():
            self.mailroom.hear_of(f"{job.metadata.namespace}/{name}", job.metadata.key)
        return found

    def _clock(self) -> float:
        return asyncio.get_running_loop().time()


def _is_for(command: Command, job: Job) -> bool:
    target = command.target
    return target is not None and (not target.uid or target.uid == job.metadata.uid)


def installed_plugins() -> Plugins:
    """Ours, and those that other packages offer as entry points; theirs win over ours of the same name."""
    factories: dict[str, Factory] = builtin_factories()
    for entry in entry_points(group=PLUGIN_ENTRY_POINTS):
        try:
            factories[entry.name] = entry.load()
        except Exception:
            log.exception("the job plugin %s (%s) cannot be loaded", entry.name, entry.value)
    return Plugins(factories)
