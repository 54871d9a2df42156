"""The live cluster: every table, and the few operations that change them together.

`ingest.py` calls it between cycles with what the API server says; `framework/statement.py` within a cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np

from volcano.scheduler.cluster import subgroups
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Index, NodeTable
from volcano.scheduler.cluster.profiles import Profile, Profiles
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import CPU, MEMORY, Dimensions, Vector
from volcano.scheduler.cluster.tasks import NO_NODE, Status, Task

if TYPE_CHECKING:
    from volcano.api.scheduling import PodGroup, Queue as QueueObject

NOT_ON_NODES: Final = frozenset({Status.SUCCEEDED, Status.FAILED, Status.PENDING})
"""Statuses in which a task takes nothing of its node."""

T = TypeVar("T")
PodsMoved = Callable[[Index, Vector, Profile, bool], None]


@runtime_checkable
class Timed(Protocol):
    """An index that remembers a time of day."""

    def shift_times(self, seconds: float) -> None: ...


class Cluster:
    """Never copied. Everything that a cycle changes and does not commit is undone from its journal."""

    def __init__(self, default_queue: str = "default") -> None:
        self.default_queue = default_queue
        self.dimensions = Dimensions()
        self.nodes = NodeTable(self.dimensions)
        self.profiles = Profiles(self.dimensions)
        self.tasks: dict[str, Task] = {}
        self.jobs: dict[str, Job] = {}
        self.scheduled: dict[str, Job] = {}
        """Jobs whose PodGroup and queue exist; others are not scheduled."""
        self.homeless: dict[str, Job] = {}
        """Jobs with a PodGroup whose queue does not exist."""
        self.queues: dict[str, Queue] = {}
        self.priority_classes: dict[str, int] = {}
        self.default_priority = 0
        self.objects: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        """Everything else that a plugin may read, by plural resource name, then by key."""
        self.object_versions: defaultdict[str, int] = defaultdict(int)
        """Counts the changes of each of `objects`, for caches."""
        self.evicting: set[str] = set()
        """Tasks whose eviction has been decided and is not visible in the API yet."""
        self.resting: dict[str, float] = {}
        """Tasks that must not be tried before a time, because their bind was refused."""
        self.dirty_jobs: set[str] = set()
        """Jobs whose published status may be out of date."""
        self.stranded: defaultdict[str, dict[str, Task]] = defaultdict(dict)
        """Tasks on nodes that are not known (yet), by node name."""
        self.on_pods_moved: list[PodsMoved] = []
        """Called with rows, how many pods came to (or left) each, their profile, and whether they are terminating."""
        self._registers: list[dict[str, Job]] = []
        self._restless = self.register()
        self._indexes: dict[Any, Any] = {}
        self.dimensions.on_widen(self._widen)

    def index(self, kind: Callable[[Cluster], T]) -> T:
        """The one index of this class that is kept beside the tables, made when somebody first asks for it."""
        found: T | None = self._indexes.get(kind)
        if found is None:
            found = self._indexes[kind] = kind(self)
        return found

    def shift_times(self, seconds: float) -> None:
        """The clock was set: what is due at some time stays as far away as it was."""
        self.resting = {uid: until + seconds for uid, until in self.resting.items()}
        for job in self.jobs.values():
            if job.wait is not None:
                job.wait.due += seconds
        for index in self._indexes.values():
            if isinstance(index, Timed):
                index.shift_times(seconds)

    def register(self) -> dict[str, Job]:
        """A register of the jobs that have changed, all at first. Who asks for it takes out what it has dealt with."""
        self._registers.append(dict(self.jobs))
        return self._registers[-1]

    def restless_jobs(self) -> list[Job]:
        """Scheduled jobs that wait for something: the only ones for which a cycle has anything to do."""
        scheduled, register = self.scheduled, self._restless
        for key in [key for key, job in register.items() if not (key in scheduled and job.is_restless)]:
            del register[key]
        return list(register.values())

    # Tasks in and out

    def add_task(self, task: Task, job_key: str) -> None:
        """Enter a task; it occupies its node if it has one and is a member of its job if it names one."""
        self.tasks[task.uid] = task
        if job_key:
            job = self.job(job_key)
            task.job = job
            job.tasks[task.uid] = task
            job.total_request += task.profile.request
            task.sub_job = subgroups.join(job, task)
            job.move((task,), 1, None, task.status)
            if task.status is Status.PENDING:
                job.pending[task.uid] = task
            self.dirty_jobs.add(job_key)
        if task.node_name and task.status not in NOT_ON_NODES:
            self._settle(task)

    def remove_task(self, task: Task) -> None:
        self.tasks.pop(task.uid, None)
        self.evicting.discard(task.uid)
        self.resting.pop(task.uid, None)
        self._unsettle(task)
        job = task.job
        if job is None:
            return
        job.move((task,), 1, task.status, None)
        job.total_request -= task.profile.request
        job.tasks.pop(task.uid, None)
        job.pending.pop(task.uid, None)
        subgroups.leave(task)
        task.job = None
        self.dirty_jobs.add(job.key)
        self._forget_if_empty(job)

    def change_status(self, task: Task, status: Status) -> None:
        """The status alone; the node, if any, stays."""
        old = task.status
        if old is status:
            return
        if task.node == NO_NODE:
            self.move_status((task,), status)
            if task.node_name and status not in NOT_ON_NODES:
                self._settle(task)
        elif status in NOT_ON_NODES:
            self._account(task.node, task.profile, old, -1)
            self.move_status((task,), status)
            self.nodes.tasks[task.node].pop(task.uid, None)
            task.node = NO_NODE
        else:
            self.restate((task,), status)
        if task.job is not None:
            self.dirty_jobs.add(task.job.key)

    # The operations of a cycle: bulk, on identical tasks (one job, one sub-job, one profile, one status)

    def move_status(self, tasks: Sequence[Task], status: Status) -> None:
        """Set the status of identical tasks and keep every counter; node accounting is the caller's."""
        first = tasks[0]
        old, job = first.status, first.job
        for task in tasks:
            task.status = status
        if job is None:
            return
        job.move(tasks, len(tasks), old, status)
        if old is Status.PENDING:
            for task in tasks:
                job.pending.pop(task.uid, None)
        elif status is Status.PENDING:
            for task in tasks:
                job.pending[task.uid] = task

    def occupy(self, tasks: Sequence[Task], rows: Sequence[int], status: Status) -> None:
        """Put identical pending tasks on the given rows with `status` (allocated, pipelined or binding)."""
        self.move_status(tasks, status)
        nodes = self.nodes
        for task, row in zip(tasks, rows, strict=True):
            task.node = row
            task.node_name = nodes.names[row]
            nodes.tasks[row][task.uid] = task
        self._account_many(rows, tasks[0].profile, status, 1)

    def vacate(self, tasks: Sequence[Task]) -> None:
        """Take identical tasks off their nodes and make them pending again: `occupy` backwards."""
        rows = [task.node for task in tasks]
        self._account_many(rows, tasks[0].profile, tasks[0].status, -1)
        for task in tasks:
            self.nodes.tasks[task.node].pop(task.uid, None)
            task.node = NO_NODE
            task.node_name = ""
        self.move_status(tasks, Status.PENDING)

    def restate(self, tasks: Sequence[Task], status: Status) -> None:
        """Give identical tasks another status where they are (evict, bind, and their opposites)."""
        old = tasks[0].status
        if _takes(old) != _takes(status):
            rows = [task.node for task in tasks if task.node != NO_NODE]
            if rows:
                self._account_many(rows, tasks[0].profile, old, -1)
                self._account_many(rows, tasks[0].profile, status, 1)
        self.move_status(tasks, status)

    def hide(self, task: Task, sign: int) -> None:
        """Kubernetes' scorers stop counting a pod once it is evicted (sign -1); +1 counts it again."""
        if task.node == NO_NODE:
            return
        nodes, row, profile = self.nodes, task.node, task.profile
        nodes.requested[row] += sign * profile.request
        nodes.nonzero[row] += sign * profile.nonzero
        nodes.pod_count[row] += sign
        nodes.changes.add(row)
        self._tell_moved(np.array([row], dtype=np.intp), np.array([sign], dtype=np.int64), profile, task.status)

    # Jobs and queues

    def job(self, key: str) -> Job:
        """The job of this key, made if need be: pods may come before their PodGroup."""
        job = self.jobs.get(key)
        if job is None:
            job = self.jobs[key] = Job(key, self.dimensions, self._registers)
        return job

    def put_pod_group(self, pod_group: PodGroup) -> Job:
        job = self.job(pod_group.metadata.key)
        spec, status = pod_group.spec, pod_group.status
        before = job.pod_group
        policies_changed = before is None or job.policies != spec.sub_group_policy
        if before is None or status.phase != before.status.phase:  # what was decided stands until written
            job.phase = status.phase
        job.pod_group = pod_group
        if not policies_changed:
            subgroups.follow(job)
        if before is not None and before.metadata.uid == pod_group.metadata.uid and before.spec == spec:
            if job.told is None or not job.told.is_shown_by(status):
                self.dirty_jobs.add(job.key)
            return job
        self.dirty_jobs.add(job.key)
        job.uid = pod_group.metadata.uid
        created = pod_group.metadata.creation_timestamp
        job.created = created.timestamp() if created else 0.0
        job.min_available = spec.min_member
        job.role_minimums = dict(spec.min_task_member)
        min_resources = spec.min_resources
        job.min_resources = None if min_resources is None else self.dimensions.amounts(min_resources)
        job.priority = self.priority_of(spec.priority_class_name)
        if policies_changed:
            self._regroup(job)
        for sub_job in job.sub_jobs.values():
            subgroups.set_minimum(job, sub_job)
        self._join_queue(job, spec.queue or self.default_queue)
        return job

    def remove_pod_group(self, key: str) -> None:
        job = self.jobs.get(key)
        if job is None:
            return
        job.pod_group = None
        self._join_queue(job, "")
        job.phase = ""
        self._forget_if_empty(job)

    def put_queue(self, source: QueueObject) -> Queue:
        queue = self.queues.get(source.metadata.name)
        if queue is not None:
            queue.update(source, self.dimensions)
            return queue
        queue = self.queues[source.metadata.name] = Queue(source, self.dimensions)
        for job in self.jobs.values():
            if job.queue_name == queue.name:
                self._join_queue(job, queue.name)
        return queue

    def remove_queue(self, name: str) -> None:
        queue = self.queues.pop(name, None)
        if queue is not None:
            for job in queue.jobs.values():
                job.queue = None
                self._sort_in(job)

    def priority_of(self, class_name: str) -> int:
        return self.priority_classes.get(class_name, self.default_priority)

    def set_priority_class(self, name: str, value: int | None, *, is_default: bool = False) -> None:
        """Add, change or (None) remove a priority class; jobs follow."""
        if value is None:
            self.priority_classes.pop(name, None)
        else:
            self.priority_classes[name] = value
        if is_default:
            self.default_priority = value or 0
        for job in self.jobs.values():
            if job.pod_group is not None:
                job.priority = self.priority_of(job.pod_group.spec.priority_class_name)

    def stop_counting(self, names: Iterable[str]) -> None:
        """Resources that a plugin accounts by itself: from now on they are zero in every table."""
        fresh = set(names) - self.dimensions.ignored
        self.dimensions.ignored |= fresh
        for dimension in (self.dimensions.find(name) for name in fresh):
            if dimension is None:
                continue
            self.nodes.clear(dimension)
            self.profiles.clear(dimension)
            for job in self.jobs.values():
                job.allocated[dimension] = job.total_request[dimension] = 0
                (job.min_resources or {}).pop(dimension, None)
                job.note_change()
            for queue in self.queues.values():
                queue.allocated[dimension] = queue.pending[dimension] = 0

    # Inside

    def _settle(self, task: Task) -> None:
        """Account a task on the node that it names; unknown nodes keep it aside until they appear."""
        row = self.nodes.row_of.get(task.node_name)
        if row is None:
            self.stranded[task.node_name][task.uid] = task
            return
        task.node = row
        self.nodes.tasks[row][task.uid] = task
        self._account(row, task.profile, task.status, 1)

    def _unsettle(self, task: Task) -> None:
        if task.node != NO_NODE:
            self._account(task.node, task.profile, task.status, -1)
            self.nodes.tasks[task.node].pop(task.uid, None)
            task.node = NO_NODE
        elif task.node_name in self.stranded:
            self.stranded[task.node_name].pop(task.uid, None)

    def settle_stranded(self, node_name: str) -> None:
        """A node has appeared: account the tasks that were waiting for it."""
        for task in self.stranded.pop(node_name, {}).values():
            self._settle(task)

    def strand(self, node_name: str) -> None:
        """A node has vanished; its tasks are kept aside, should it come back."""
        row = np.array([self.nodes.row_of[node_name]], dtype=np.intp)
        for task in self.nodes.remove(node_name).values():
            self._tell_moved(row, np.array([-1], dtype=np.int64), task.profile, task.status)
            task.node = NO_NODE
            self.stranded[node_name][task.uid] = task

    def _account(self, row: int, profile: Profile, status: Status, sign: int) -> None:
        """`_account_rows` for one pod on one row: without arrays it takes a tenth of the time."""
        nodes = self.nodes
        takes = _takes(status)
        for dimension, each in profile.amounts:
            amount = each * sign
            nodes.requested[row, dimension] += amount
            if takes != _RELEASING:
                nodes.future[row, dimension] -= amount
            if takes == _PIPELINED:
                nodes.pipelined[row, dimension] += amount
                continue
            nodes.idle[row, dimension] -= amount
            nodes.used[row, dimension] += amount
            if takes == _RELEASING:
                nodes.releasing[row, dimension] += amount
        nodes.nonzero[row, CPU] += profile.milli_cpu_scored * sign
        nodes.nonzero[row, MEMORY] += profile.memory_scored * sign
        nodes.pod_count[row] += sign
        nodes.changes.add(row, profile if sign == 1 and not takes else None)
        if self.on_pods_moved:
            self._tell_moved(np.array([row], dtype=np.intp), np.array([sign], dtype=np.int64), profile, status)

    def _account_many(self, rows: Sequence[int], profile: Profile, status: Status, sign: int) -> None:
        if len(rows) == 1:
            self._account(rows[0], profile, status, sign)
            return
        distinct, counts = np.unique(np.array(rows, dtype=np.intp), return_counts=True)
        self._account_rows(distinct, counts * sign, profile, status)
        self.nodes.changes.extend(distinct.tolist())

    def _account_rows(self, rows: Index, counts: Vector, profile: Profile, status: Status) -> None:
        nodes = self.nodes
        takes = _takes(status)
        for dimension, each in profile.amounts:
            amount = counts * each
            nodes.requested[rows, dimension] += amount
            if takes != _RELEASING:
                nodes.future[rows, dimension] -= amount
            if takes == _PIPELINED:
                nodes.pipelined[rows, dimension] += amount
                continue
            nodes.idle[rows, dimension] -= amount
            nodes.used[rows, dimension] += amount
            if takes == _RELEASING:
                nodes.releasing[rows, dimension] += amount
        nodes.nonzero[rows] += counts[:, None] * profile.nonzero
        nodes.pod_count[rows] += counts
        self._tell_moved(rows, counts, profile, status)

    def _tell_moved(self, rows: Index, counts: Vector, profile: Profile, status: Status) -> None:
        for told in self.on_pods_moved:
            told(rows, counts, profile, status is Status.RELEASING)

    def _join_queue(self, job: Job, name: str) -> None:
        if job.queue is not None:
            job.queue.jobs.pop(job.key, None)
            job.queue.allocated -= job.allocated
            job.queue.pending -= job.pending_request()
        job.queue_name = name
        job.queue = self.queues.get(name)
        if job.queue is not None:
            job.queue.jobs[job.key] = job
            job.queue.allocated += job.allocated
            job.queue.pending += job.pending_request()
        self._sort_in(job)

    def _sort_in(self, job: Job) -> None:
        """Among the jobs that are scheduled, or have no queue to be scheduled in, or neither."""
        job.note_change()
        known = job.pod_group is not None
        for members, belongs in ((self.scheduled, known and job.queue), (self.homeless, known and not job.queue)):
            if belongs:
                members[job.key] = job
            else:
                members.pop(job.key, None)

    def _regroup(self, job: Job) -> None:
        """Distribute the tasks over sub-jobs anew: the policies have changed."""
        job.sub_jobs.clear()
        for task in job.tasks.values():
            task.sub_job = subgroups.join(job, task)
            if task.sub_job.tally is not job.tally:
                task.sub_job.tally.add(task.status, 1, task.best_effort)

    def _forget_if_empty(self, job: Job) -> None:
        if job.pod_group is None and not job.tasks:
            self.jobs.pop(job.key, None)
            self.dirty_jobs.discard(job.key)

    def _widen(self, width: int) -> None:
        for job in self.jobs.values():
            job.widen(width)
        for queue in self.queues.values():
            queue.widen(width)


_PIPELINED: Final = 1
_RELEASING: Final = 2


def _takes(status: Status) -> int:
    """The three ways of taking room on a node: promised for later, in use, in use but leaving."""
    if status is Status.PIPELINED:
        return _PIPELINED
    return _RELEASING if status is Status.RELEASING else 0
