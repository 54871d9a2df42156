"""The base of all plugins: override the methods you need, the rest is not asked.

How the answers of several plugins combine is in hooks.py. One instance lives for one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster
    from volcano.scheduler.cluster.jobs import Job, SubJob
    from volcano.scheduler.cluster.nodes import Index, Mask, NodeTable, Rows
    from volcano.scheduler.cluster.profiles import Profile
    from volcano.scheduler.cluster.queues import Queue
    from volcano.scheduler.cluster.resources import Vector
    from volcano.scheduler.cluster.tasks import Task
    from volcano.scheduler.framework.decisions import Settlement
    from volcano.scheduler.framework.reasons import Codes, Reason
    from volcano.scheduler.framework.session import Session

SortKey = Any  # whatever compares with its like: bool, int, float, str, tuple
Scores = NDArray[np.float64]


class Vote(IntEnum):
    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class NoArguments(msgspec.Struct, frozen=True):
    """For plugins without arguments."""


@dataclass(frozen=True, slots=True)
class ScoreTerm:
    """One addend of a node's score.

    `raw(profile, rows)` gives one number per row and depends on nothing but these rows (or the plugin says so through
    `affected`). `normalize(raw, feasible)` then maps the whole column, given which nodes compete; what it returns is
    multiplied with `weight`. A term with `normalize` must have a `raw` that placements do not change, else the plugin
    must say that it couples nodes.
    """

    raw: Callable[[Profile, Rows], NDArray[Any]]
    normalize: Callable[[NDArray[Any], Mask], NDArray[Any]] | None = None
    weight: float = 1.0
    own_rows: bool = False
    """The raw score of a row never changes because another row does: rows that `affected` adds keep theirs."""
    settled: bool = False
    """The raw score of a row changes with its Node object only, not within a session."""


@dataclass(frozen=True, slots=True)
class EvictionContext:
    """Who evicts in a gang eviction: `kind` is "gangpreempt" or "gangreclaim"."""

    kind: str
    job: Job
    hypernode: str = ""


class Plugin:
    """Hook methods get live objects: read them, never change them."""

    name: ClassVar[str] = ""
    Arguments: ClassVar[type[Any]] = NoArguments
    """The typed arguments; `msgspec.field(name="binpack.weight")` gives the spelling in the conf file."""

    watches: ClassVar[tuple[str, ...]] = ()
    """Plural names of resources that the plugin reads from `cluster.objects`; the daemon then watches them.

    "pods": it wants to see them whole. Else what no decision here depends on (environment, mounts, commands) is empty.
    """

    judges_by_queue: ClassVar[bool] = True
    """What it says of nodes may depend on `profile.queue`. If not, say so: pods of all queues then share one board."""

    reorders_queues: bool = False
    """A placement for one queue may change how two others compare."""

    protects: ClassVar[bool] = False
    """Whom it does not give up to an eviction, no other tier gives up either."""

    shares_out: ClassVar[bool] = False
    """It shares the cluster out among queues: a job that is complete takes back only what this plugin gives up."""

    keeps_gangs_whole: ClassVar[bool] = False
    """Where it is asked about victims, a gang loses what it can spare, or all of its members."""

    session: Session
    nodes: NodeTable

    def __init__(self, arguments: Any = None, switches: Mapping[str, bool] | None = None) -> None:
        self.arguments: Any = arguments if arguments is not None else self.Arguments()
        self.switches = switches or {}

    @classmethod
    def watched(cls, _arguments: Mapping[str, Any]) -> Iterable[str]:
        """What the daemon watches on behalf of the plugin; `plural/namespace/name` means a single object."""
        return cls.watches

    # Life

    @classmethod
    def prepare(cls, cluster: Cluster) -> None:
        """A session is about to begin: last chance to change what nodes offer."""

    def open(self, session: Session) -> None:
        """A session begins. `self.session` and `self.nodes` are set."""

    def close(self) -> None:
        """The session's actions are done; its placements are still visible."""

    # Order: the smaller key is served first

    def job_order(self, job: Job) -> SortKey: ...

    def queue_order(self, queue: Queue) -> SortKey: ...

    def victim_queue_compare(self, left: Queue, right: Queue, claimant: Queue) -> int:
        """Negative if tasks of `left` are evicted first on behalf of `claimant`."""
        raise NotImplementedError

    def task_order(self, task: Task) -> SortKey: ...

    def sub_job_order(self, sub_job: SubJob) -> SortKey: ...

    # Gangs

    def job_valid(self, job: Job) -> Reason | None:
        """None if the job can be scheduled at all."""

    def job_ready(self, job: Job) -> bool:
        """Enough members hold a node: what has been placed may be bound."""
        raise NotImplementedError

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        raise NotImplementedError

    def missing_members(self, job: Job) -> int:
        """A lower bound of the placements without which `job_ready` cannot become true."""
        raise NotImplementedError

    def job_pipelined(self, job: Job) -> Vote:
        """Enough members hold a node or the promise of one."""
        raise NotImplementedError

    def sub_job_pipelined(self, sub_job: SubJob) -> Vote:
        raise NotImplementedError

    def job_starving(self, job: Job) -> bool:
        """The job may evict others."""
        raise NotImplementedError

    # Queues

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        """May the job leave Pending? A reason is a rejection that explains itself."""
        raise NotImplementedError

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        """Would `job_enqueueable` let in jobs of this queue that ask for `amount` together, one after another?

        Asked in a rush of small jobs, of which the next ones are let in before they are there: no vote is held about
        them. Never say yes where a vote might say no. Worth overriding along with `job_enqueueable` and `job_enqueued`:
        where a plugin has one of those and not this, nobody is let in in advance.
        """
        raise NotImplementedError

    def entitled(self, job: Job) -> bool:
        """Is what the job needs within what its queue deserves? Then no sum over all queues keeps it out."""
        raise NotImplementedError

    def job_enqueued(self, job: Job) -> None: ...

    def overused(self, queue: Queue) -> bool:
        raise NotImplementedError

    def allocatable(self, queue: Queue, task: Task) -> bool:
        """May the queue take this task now?"""
        raise NotImplementedError

    def allowance(self, queue: Queue, task: Task, wanted: int) -> int:
        """How many tasks like this one, up to `wanted`, `allocatable` would let through one after another.

        Worth overriding along with `allocatable`: without it identical replicas are placed one at a time.
        """
        raise NotImplementedError

    def quota_refusal(self, queue: Queue, task: Task) -> Reason | None:
        """Why `allocatable` refuses this task now, with numbers. Asked only after it has refused."""

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        """May the queue take from others for these tasks?"""
        raise NotImplementedError

    # Nodes

    def pre_filter(self, task: Task) -> Reason | None:
        """An objection before any node is looked at."""

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        """One code per row: `FITS`, or what `session.refusals.code(...)` gave for the refusal."""
        raise NotImplementedError

    def score(self, profile: Profile, rows: Rows) -> Scores:
        """One number per row; larger is better. For more than one term override `score_terms`."""
        raise NotImplementedError

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        """The addends of this plugin for pods of this profile; a term that has nothing to say is left out."""
        return (ScoreTerm(self.score),)

    def couples_nodes(self, profile: Profile) -> bool:
        """Placing one pod of this profile changes verdicts or scores of other nodes (spread, inter-pod affinity).

        Such pods are placed one by one, and `affected` must say which rows change.
        """
        raise NotImplementedError

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        """Rows whose verdict or score for `profile` may have changed because `changed` did (those are included anyway).

        None means all rows.
        """
        raise NotImplementedError

    def best_node(self, task: Task, rows: Index, scores: Scores) -> int | None:
        """Choose the row yourself instead of the best score."""

    def domain_scores(self, task: Task, rows: Index) -> Scores | None:
        """An addend to the scores of these candidates that depends on where others are; None: nothing to say.

        Asked before every placement and never cached: keep it cheap.
        """

    def hypernode_order(self, sub_job: SubJob, hypernodes: Mapping[str, Index]) -> Mapping[str, float]:
        raise NotImplementedError

    def hypernode_gradients(self, subject: Job | SubJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        raise NotImplementedError

    # Victims: None abstains; an empty answer ends the tier

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None: ...

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None: ...

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task] | None: ...

    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        raise NotImplementedError

    # Events: `tasks` are identical replicas of one job

    def let_out(self, tasks: Sequence[Task]) -> None:
        """The gate at which they waited for their queue is opened: their room must be there when they come back."""

    def allocated(self, tasks: Sequence[Task]) -> Reason | None:
        """They got nodes (for now or for later). A reason undoes it."""

    def deallocated(self, tasks: Sequence[Task]) -> None:
        """They gave up their nodes: undone, or evicted."""

    def bind_claims(self, task: Task) -> Sequence[Settlement]:
        """Claims of volumes and devices, and locks, that have to be settled before the pod is bound."""
        raise NotImplementedError

    def bind_annotations(self, task: Task) -> Mapping[str, str]:
        """Annotations to write onto the pod with its binding."""
        raise NotImplementedError


def overrides(kind: type[Plugin], method: str) -> bool:
    """Whether plugins of this class define this hook themselves."""
    if method == "score_terms" and getattr(kind, "score", None) is not Plugin.score:
        return True
    return getattr(kind, method) is not getattr(Plugin, method)
