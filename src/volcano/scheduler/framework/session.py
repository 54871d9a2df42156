"""A session: one cycle's view on the live cluster, with the plugins' answers and the journal of what is decided.

Actions speak to it; `statement.py` changes the cluster on its behalf; `outcome.py` draws the conclusions at its end.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.jobs import INQUEUE, Job, SubJob
from volcano.scheduler.cluster.nodes import Index, Mask
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import FloatVector, Vector
from volcano.scheduler.cluster.shards import Shards
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.board import Board
from volcano.scheduler.framework.decisions import ClusterEvent, Condition, Decisions
from volcano.scheduler.framework.dispatch import HOOK, NO_HOOKS, Dispatcher
from volcano.scheduler.framework.guard import Guarded, describe
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.journal import Journal, OnCommit
from volcano.scheduler.framework.options import SHARD_SOFT, Options, nodes_to_find
from volcano.scheduler.framework.plugin import Plugin, overrides
from volcano.scheduler.framework.reasons import FitError, Reason, Refusals, Stage
from volcano.scheduler.framework.statement import Statement
from volcano.scheduler.framework.topology import SessionTopology

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster
    from volcano.scheduler.framework.conf import Conf

Allowance = Callable[[Queue, Task, int], int]
_ABOUT_NODES: Final = ("filter", "score_terms", "couples_nodes", "affected")
Clock = Callable[[], float]


class Isolated:
    """What `Session.isolated` says. One is made per job and action, so it is no generator."""

    __slots__ = ("_job", "_mark", "_session")

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._mark = session.journal.mark

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> bool:
        if not isinstance(problem, Exception):
            return False
        session, job = self._session, self._job
        session.journal.abandon(self._mark)
        text = f"action {session.action!r} failed for job {job.key}: {type(problem).__name__}: {problem}"
        session.warn(text)
        session.refuse(job, Reason(Stage.PLUGIN, "ActionFailed", blocker=session.action, message=text))
        return True


class Session:
    """One cycle. Plugins answer its questions; actions ask them and leave their decisions here."""

    def __init__(
        self,
        cluster: Cluster,
        conf: Conf,
        options: Options,
        now: float,
        rng: random.Random,
        on_commit: OnCommit | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.cluster = cluster
        self.nodes = cluster.nodes
        self.conf = conf
        self.options = options
        self.now = now
        self.rng = rng
        self.uid = f"{rng.getrandbits(128):032x}"
        self.total: FloatVector = cluster.nodes.total()
        """All that the cluster offers."""
        self.jobs: Mapping[str, Job] = cluster.scheduled
        """Jobs whose PodGroup and queue exist; others are not scheduled."""
        self.queues = cluster.queues
        self.refusals = Refusals()
        self.decisions = Decisions(session=self.uid)
        self.action = ""
        self.fit_errors: dict[str, FitError] = {}
        """Why a task found no node, by uid; the last attempt counts."""
        self.job_texts: dict[str, str] = {}
        """How the tasks of a job stand, for those that were asked about."""
        self.job_messages: dict[str, str] = {}
        """What is said about a job's pods that have no error of their own."""
        self.reasons: dict[str, Reason] = {}
        self.obstacles: dict[str, Reason] = {}
        """Why a job could not take room from others, by key."""
        self.conditions: defaultdict[str, list[Condition]] = defaultdict(list)
        self.events: list[ClusterEvent] = []
        self.tried: set[Task] = set()
        self.touched: set[str] = set()
        """Jobs that this session changed."""
        self.rows: Index = np.empty(0, dtype=np.intp)
        self.hooks = NO_HOOKS
        self.plugins: dict[str, Plugin] = {}
        self.journal = Journal(self, on_commit)
        self.clock: Clock = clock or (lambda: 0.0)
        self._boards: dict[int, Board] = {}
        self._positions: Index = np.empty(0, dtype=np.intp)
        self._allowances: list[Allowance] = []
        self._judged_by_queue = True
        self._shuffle_nodes()

    def use(self, tiers: Sequence[Sequence[tuple[Plugin, frozenset[str]]]]) -> None:
        """Open the plugins and wire their hooks. Of several instances of one plugin the last one's hooks count."""
        plugins = [plugin for tier in tiers for plugin, _ in tier]
        self.plugins = {plugin.name: plugin for plugin in plugins}
        broken: set[str] = set()
        for plugin in plugins:
            plugin.session = self
            plugin.nodes = self.nodes
            began = self.clock()
            if not self._open(plugin):
                broken.add(plugin.name)
            self.decisions.timings[f"open/{plugin.name}"] = self.clock() - began
        self.hooks = Dispatcher(
            [[(self.plugins[plugin.name], switches) for plugin, switches in tier] for tier in tiers], self.warn, broken
        )
        self._allowances = [_allowance(callback) for callback in self.hooks.callbacks("allocatable")]
        judges = {callback.plugin for hook in _ABOUT_NODES for callback in self.hooks.callbacks(hook)}
        self._judged_by_queue = any(plugin.judges_by_queue for plugin in judges)

    def _open(self, plugin: Plugin) -> bool:
        try:
            plugin.open(self)
        except Exception as problem:  # noqa: BLE001 - it is named, and answers no question in this session
            self.warn(describe(plugin, "open", (), problem))
            return False
        return True

    def close_plugin(self, plugin: Plugin) -> None:
        try:
            plugin.close()
        except Exception as problem:  # noqa: BLE001 - as above
            self.warn(describe(plugin, "close", (), problem))

    @property
    def restless_jobs(self) -> list[Job]:
        """Those that wait for something, as it is now: all others an action need not look at."""
        return self.cluster.restless_jobs()

    # Questions to the plugins

    def job_order(self, job: Job) -> tuple[Any, ...]:
        """By the plugins; of those that none tells apart the older one is first, as among queues."""
        return (*self.hooks.order("job_order", job), job.created, job.key)

    def queue_order(self, queue: Queue) -> tuple[Any, ...]:
        return (*self.hooks.order("queue_order", queue), queue.created, queue.uid)

    def queue_heap(self, queues: Iterable[Queue]) -> Heap[Queue]:
        """Queues to take turns, the next one first."""
        restless = any(plugin.reorders_queues for plugin in self.plugins.values())
        return Heap(self.queue_order, queues, restless=restless)

    def task_order(self, task: Task) -> tuple[Any, ...]:
        return (*self.hooks.order("task_order", task), *task.order)

    def sub_job_order(self, sub_job: SubJob) -> tuple[Any, ...]:
        return (*self.hooks.order("sub_job_order", sub_job), sub_job.match_index, sub_job.key)

    def job_valid(self, job: Job) -> Reason | None:
        return self.hooks.first_failure("job_valid", job)

    def job_ready(self, job: Job) -> bool:
        return self.hooks.all("job_ready", job)

    def job_pipelined(self, job: Job) -> bool:
        return self.hooks.vote("job_pipelined", job)[0]

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        if not sub_job.job.policies:
            return self.job_ready(sub_job.job)
        return self.hooks.all("sub_job_ready", sub_job)

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        if not sub_job.job.policies:
            return self.job_pipelined(sub_job.job)
        return self.hooks.vote("sub_job_pipelined", sub_job)[0]

    def missing_members(self, job: Job) -> int:
        """At least so many more placements before the job can be ready."""
        return self.hooks.largest("missing_members", job, default=1)

    def job_starving(self, job: Job) -> bool:
        return self.hooks.first_tier_all("job_starving", job)

    def compare_victim_queues(self, left: Job, right: Job, claimant: Job) -> int:
        """Negative if tasks of `left` are evicted before those of `right`: by default, the queue served last."""
        assert left.queue is not None and right.queue is not None  # noqa: PT018 - session jobs have queues
        by_plugins = self.hooks.compare("victim_queue_compare", left.queue, right.queue, claimant.queue)
        if by_plugins:
            return by_plugins
        return -1 if self.queue_order(right.queue) < self.queue_order(left.queue) else 1

    @cached_property
    def largest_free(self) -> Vector:
        """Of each resource the most that one node has free, or will have. To be asked when the actions are done."""
        if not len(self.rows):
            return self.cluster.dimensions.zeros()
        largest: Vector = self.nodes.future_idle(self.rows).max(axis=0)
        return largest

    def overused(self, queue: Queue) -> bool:
        return self.hooks.any("overused", queue)

    def allowance(self, queue: Queue, task: Task, wanted: int) -> int:
        """How many replicas of `task`, up to `wanted`, the queue may take now."""
        for allowance in self._allowances:
            wanted = min(wanted, allowance(queue, task, wanted))
            if wanted <= 0:
                return 0
        return wanted

    def quota_refusal(self, queue: Queue, task: Task) -> Reason:
        """Why the queue may not take this task: as precisely as the plugins can say."""
        told = self.hooks.first_failure("quota_refusal", queue, task)
        text = f"queue {queue.name!r} may not take another pod like {task.key}"
        return told or Reason(Stage.QUEUE, "QueueQuotaExceeded", blocker=queue.name, message=text)

    def tell_allocated(self, tasks: Sequence[Task]) -> Reason | None:
        """Tell the plugins; one that objects makes those that were told before take it back."""
        callbacks = self.hooks.callbacks("allocated")
        for number, callback in enumerate(callbacks, 1):
            reason: Reason | None = callback(tasks)
            if reason is not None:
                told = {callback.plugin.name for callback in callbacks[:number]}
                for taking_back in self.hooks.callbacks("deallocated"):
                    if taking_back.plugin.name in told:
                        taking_back(tasks)
                return reason
        return None

    # Domains

    @cached_property
    def topology(self) -> SessionTopology:
        return SessionTopology(self)

    def hypernode_gradients(self, subject: Job | SubJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        """Groups of domains under `root`, to be tried in order. Only the first plugin with an opinion is asked."""
        for callback in self.hooks.callbacks("hypernode_gradients"):
            found: Sequence[Sequence[str]] = callback(subject, root, purpose)
            return found
        return [[root]]

    def hypernode_scores(self, sub_job: SubJob, hypernodes: Mapping[str, Index]) -> dict[str, float]:
        scores = dict.fromkeys(hypernodes, 0.0)
        for callback in self.hooks.callbacks("hypernode_order"):
            for name, score in callback(sub_job, hypernodes).items():
                scores[name] += score
        return scores

    def domain_scores(self, task: Task, rows: Index) -> NDArray[np.float64] | None:
        """What the position of others adds to the scores of these candidates."""
        total: NDArray[np.float64] | None = None
        for callback in self.hooks.callbacks("domain_scores"):
            scores = callback(task, rows)
            if scores is not None:
                total = scores if total is None else total + scores
        return total

    # Nodes

    def board(self, profile: Profile) -> Board:
        key = profile.id if self._judged_by_queue else profile.like
        board = self._boards.get(key)
        if board is None:
            board = self._boards[key] = Board(self, profile)
        return board

    def is_alike(self, left: Profile, right: Profile) -> bool:
        """Whether the two have one board."""
        return left.id == right.id if self._judged_by_queue else left.like == right.like

    def positions_of(self, rows: Index) -> Index:
        """Where these rows stand in `rows`; rows that are not there are left out."""
        positions = self._positions[rows]
        return positions[positions >= 0]

    def mask_of(self, rows: Index) -> Mask:
        mask = np.zeros(len(self.rows), dtype=np.bool_)
        mask[self.positions_of(rows)] = True
        return mask

    def mask_of_node(self, name: str) -> Mask:
        """That node, or none if it is not there."""
        row = self.nodes.row_of.get(name)
        return self.mask_of(np.empty(0, dtype=np.intp) if row is None else np.array([row]))

    @property
    def samples_nodes(self) -> bool:
        return nodes_to_find(len(self.rows), self.options) < len(self.rows)

    @cached_property
    def takes_best_of_all(self) -> bool:
        """No part of the nodes is preferred or left out, and no plugin chooses by itself."""
        asked = (*self.hooks.callbacks("best_node"), *self.hooks.callbacks("domain_scores"))
        return not asked and not self.samples_nodes and self.options.sharding_mode != SHARD_SOFT

    def first_feasible(self, feasible: Mask) -> Mask:
        """Only as many feasible nodes as the options ask to find."""
        enough = nodes_to_find(len(self.rows), self.options)
        return feasible & (np.cumsum(feasible) <= enough)

    def by_preference(self, feasible: Mask) -> Iterator[Mask]:
        """Groups of nodes, the better one first: with soft sharding those of our own shard."""
        if self.options.sharding_mode != SHARD_SOFT:
            yield feasible
            return
        own = self.in_shard[self.rows]
        yield feasible & own
        yield feasible & ~own

    @cached_property
    def in_shard(self) -> Mask:
        """By row of the node table, whether the node belongs to this scheduler's shard."""
        found = np.zeros(self.nodes.capacity, dtype=np.bool_)
        names = self.cluster.index(Shards).use(self.options.sharding_name).in_use
        found[[self.nodes.row_of[name] for name in names if name in self.nodes.row_of]] = True
        return found

    # Decisions

    def rests(self, task: Task) -> bool:
        """Its bind was refused a moment ago."""
        until = self.cluster.resting.get(task.uid)
        return until is not None and until > self.now

    def statement(self) -> Statement:
        return self.journal.statement()

    def admit(self, job: Job) -> None:
        """The job leaves Pending: its pods may be created and placed."""
        job.phase = INQUEUE
        self.touched.add(job.key)

    def refuse(self, job: Job, reason: Reason) -> None:
        """Remember why the job does not get on; the latest reason counts."""
        self.reasons[job.key] = reason

    def warn(self, text: str) -> None:
        """Something in the configuration is wrong and has no effect, or a plugin has failed."""
        if text not in self.decisions.warnings:
            self.decisions.warnings.append(text)

    def gauge(self, name: str, value: float, *labels: str) -> None:
        """Report a metric (without its prefix), with its label values."""
        self.decisions.gauges[name, labels] = value

    def tell_pod_group(self, job: Job, reason: str, message: str) -> None:
        """A Normal event on the job's PodGroup."""
        self.events.append(ClusterEvent("PodGroup", job.key, "Normal", reason, message))

    def isolated(self, job: Job) -> Isolated:
        """Whatever goes wrong with this job is undone and told as its reason; the others go on."""
        return Isolated(self, job)

    def touch(self, task: Task) -> None:
        """The task's job is changed by this session."""
        if task.job is not None:
            self.touched.add(task.job.key)

    def restore(self) -> None:
        """The end: undo what was not decided, forget what was only for this session."""
        self.journal.close()
        for task in self.tried:
            task.trial = None
        self.nodes.changes.trim()
        self.nodes.object_changes.trim()

    # Inside

    def _shuffle_nodes(self) -> None:
        """Equal scores are decided by this order: seeded, so that a cycle can be repeated."""
        rows = self.nodes.active
        generator = np.random.default_rng(self.rng.getrandbits(64))
        self.rows = generator.permutation(rows) if len(rows) else rows
        self._positions = np.full(self.nodes.capacity, -1, dtype=np.intp)
        self._positions[self.rows] = np.arange(len(self.rows), dtype=np.intp)


def _allowance(allocatable: Guarded) -> Allowance:
    """The bulk form of a plugin's `allocatable`: its own `allowance`, or one task at a time."""
    if overrides(type(allocatable.plugin), "allowance"):
        return Guarded(allocatable.plugin, HOOK["allowance"], allocatable.report, broken=allocatable.broken)
    return lambda queue, task, _wanted: 1 if allocatable(queue, task) else 0
