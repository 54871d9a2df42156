"""extender: a service of the user's answers hooks over HTTP. Each question waits for its answer within the cycle:
a predicate costs a request for each profile and node, and one more for each placement; prioritize one for all nodes.

documents.py writes the requests, port.py is how they get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from volcano.api import duration
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Index, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm, Vote
from volcano.scheduler.framework.reasons import FITS, Codes, Reason, Refusal, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.extender import documents
from volcano.scheduler.plugins.extender.documents import Document
from volcano.scheduler.plugins.extender.port import ExtenderError, ExtenderPort

DEFAULT_TIMEOUT_SECONDS: Final = 1.0
T = TypeVar("T", bound=msgspec.Struct)


def _verb(name: str) -> Any:
    return msgspec.field(default="", name=f"extender.{name}")


class Arguments(msgspec.Struct, frozen=True):
    """A hook without a verb is not delegated."""

    url_prefix: str = _verb("urlPrefix")
    http_timeout: str = msgspec.field(default="1s", name="extender.httpTimeout")
    ignorable: bool = msgspec.field(default=False, name="extender.ignorable")
    managed_resources: list[str] = msgspec.field(default_factory=list, name="extender.managedResources")
    opened: str = _verb("onSessionOpenVerb")
    closed: str = _verb("onSessionCloseVerb")
    predicate: str = _verb("predicateVerb")
    prioritize: str = _verb("prioritizeVerb")
    preemptable: str = _verb("preemptableVerb")
    reclaimable: str = _verb("reclaimableVerb")
    overused: str = _verb("queueOverusedVerb")
    enqueueable: str = _verb("jobEnqueueableVerb")
    enqueued: str = _verb("jobEnqueuedVerb")
    ready: str = _verb("jobReadyVerb")
    allocated: str = _verb("allocateFuncVerb")
    deallocated: str = _verb("deallocateFuncVerb")


class Ignored(msgspec.Struct):
    """An answer that nobody reads."""


class Predicate(msgspec.Struct):
    status: str = ""
    code: int = 0


class Priorities(msgspec.Struct, rename="camel"):
    node_score: dict[str, float] | None = None
    error_message: str = ""


class Named(msgspec.Struct):
    uid: str = msgspec.field(default="", name="UID")


class Victims(msgspec.Struct):
    status: int = 0
    victims: list[Named] | None = None


class Overused(msgspec.Struct):
    overused: bool = False


class Voted(msgspec.Struct):
    status: int = 0


class Ready(msgspec.Struct):
    status: bool = False


class Event(msgspec.Struct, rename="camel"):
    error_message: str = ""


class Extender(Plugin):
    name = "extender"
    Arguments = Arguments
    watches = ("pods",)  # who is asked may want to know anything about them

    def open(self, session: Session) -> None:
        self._post = session.cluster.index(ExtenderPort).post
        self._timeout_seconds = self._timeout()
        self._interesting: dict[int, bool] = {}
        self._samples: dict[int, Task] = {}
        """The task that was last asked about, by profile."""
        self._on = True
        verb = self.arguments.opened
        if verb:
            known = self._ask(verb, self._world(), Ignored)
            self._on = known is not None or self.arguments.ignorable

    def close(self) -> None:
        if self._on and self.arguments.closed:
            self._ask(self.arguments.closed, {}, Ignored)

    # Nodes

    def pre_filter(self, task: Task) -> Reason | None:
        self._samples[task.profile.id] = task
        return None

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        codes = np.full(len(rows), FITS, dtype=np.int32)
        if self._judges(profile, self.arguments.predicate):
            task = self._document_of(profile)
            for position, row in enumerate(rows.index.tolist()):
                text, resolvable = self._verdict(task, row)
                if text:
                    refusal = Refusal(self.name, text, resolvable=resolvable, stage=Stage.PLUGIN)
                    codes[position] = self.session.refusals.code(refusal)
        return codes

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        return (ScoreTerm(self._scores),) if self._judges(profile, self.arguments.prioritize) else ()

    def couples_nodes(self, profile: Profile) -> bool:
        arguments: Arguments = self.arguments
        return any(self._judges(profile, verb) for verb in (arguments.predicate, arguments.prioritize))

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return changed[:0]

    # Victims

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.arguments.preemptable, claimant, candidates)

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.arguments.reclaimable, claimant, candidates)

    # Queues and jobs

    def overused(self, queue: Queue) -> bool:
        verb = self.arguments.overused
        if not self._on or not verb:
            return False
        answer = self._ask(verb, {"queue": documents.queue(queue)}, Overused)
        return answer.overused if answer is not None else not self.arguments.ignorable

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        verb = self.arguments.enqueueable
        if not self._on or not verb:
            return Vote.ABSTAIN
        answer = self._ask(verb, {"job": self._job(job)}, Voted)
        if answer is None:
            return Vote.PERMIT if self.arguments.ignorable else Vote.REJECT
        return Vote(max(-1, min(answer.status, 1)))

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        wants_to_see_each = self.arguments.enqueueable or self.arguments.enqueued
        return not (self._on and wants_to_see_each)

    def job_enqueued(self, job: Job) -> None:
        if self._on and self.arguments.enqueued:
            self._ask(self.arguments.enqueued, {"job": self._job(job)}, Ignored)

    def job_ready(self, job: Job) -> bool:
        verb = self.arguments.ready
        if not self._on or not verb:
            return True
        answer = self._ask(verb, {"job": self._job(job)}, Ready)
        return answer.status if answer is not None else not self.arguments.ignorable

    # Events

    def allocated(self, tasks: Sequence[Task]) -> Reason | None:
        for task in tasks:
            problem = self._tell(self.arguments.allocated, task)
            if problem:
                return Reason(Stage.PLUGIN, "ExtenderRefused", blocker=task.key, message=problem)
        return None

    def deallocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            problem = self._tell(self.arguments.deallocated, task)
            if problem:
                self.session.warn(f"extender: {self.arguments.deallocated} for {task.key}: {problem}")

    # Inside

    def _judges(self, profile: Profile, verb: str) -> bool:
        return self._on and bool(verb) and self._is_interested(profile)

    def _is_interested(self, profile: Profile) -> bool:
        managed = self.arguments.managed_resources
        if not managed:
            return True
        found = self._interesting.get(profile.id)
        if found is None:
            spec = profile.pod.spec
            lists = [c.resources for c in (*spec.containers, *spec.init_containers)]
            found = any(name in r.requests or name in r.limits for r in lists for name in managed)
            self._interesting[profile.id] = found
        return found

    def _verdict(self, task: Document, row: int) -> tuple[str, bool]:
        """Why the node is refused, if it is, and whether evictions may help: the service says so by code 2."""
        request = {"task": task, "node": documents.node(self.nodes, row)}
        answer = self._ask(self.arguments.predicate, request, Predicate)
        if answer is None:
            return ("" if self.arguments.ignorable else "extender cannot be asked"), False
        return answer.status, answer.code == 2

    def _scores(self, profile: Profile, rows: Rows) -> Scores:
        index = rows.index.tolist()
        nodes = [documents.node(self.nodes, row) for row in index]
        request = {"task": self._document_of(profile), "nodes": nodes}
        answer = self._ask(self.arguments.prioritize, request, Priorities)
        if answer is None or answer.node_score is None:
            if answer is not None:
                self.session.warn(f"extender: {self.arguments.prioritize}: {answer.error_message or 'no scores'}")
            return np.zeros(len(rows))
        found = answer.node_score
        return np.fromiter((found.get(self.nodes.names[row], 0.0) for row in index), np.float64, len(index))

    def _victims(self, verb: str, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        if not self._judges(claimant.profile, verb):
            return None
        dimensions = self.nodes.dimensions
        request = {
            "evictor": documents.task(claimant, dimensions),
            "evictees": documents.tasks(candidates, dimensions),
        }
        answer = self._ask(verb, request, Victims)
        if answer is None:
            return ()
        if answer.status == Vote.ABSTAIN:
            return None
        chosen = {victim.uid for victim in answer.victims or ()}
        return [task for task in candidates if task.uid in chosen]

    def _tell(self, verb: str, task: Task) -> str:
        """What the service has against the event; not reaching it is a problem only where that counts."""
        if not self._judges(task.profile, verb):
            return ""
        answer = self._ask(verb, {"task": documents.task(task, self.nodes.dimensions)}, Event)
        if answer is None:
            return "" if self.arguments.ignorable else "extender cannot be asked"
        return answer.error_message

    def _document_of(self, profile: Profile) -> Document:
        sample = self._samples.get(profile.id) or Task(profile.pod, profile)
        return documents.task(sample, self.nodes.dimensions)

    def _job(self, job: Job) -> Document:
        return documents.job(job, self.nodes.dimensions)

    def _world(self) -> Document:
        session = self.session
        return {
            "Jobs": {key: self._job(job) for key, job in session.jobs.items()},
            "Nodes": {name: documents.node(self.nodes, row) for name, row in self.nodes.row_of.items()},
            "Queues": {name: documents.queue(queue) for name, queue in session.queues.items()},
            "NamespaceInfo": {},
            "RevocableNodes": {},
            "NodeList": None,
        }

    def _ask(self, verb: str, request: Document, kind: type[T]) -> T | None:
        """The answer; None if there is none, which is told once."""
        url = f"{self.arguments.url_prefix.rstrip('/')}/{verb}"
        try:
            body = self._post(url, msgspec.json.encode(request), self._timeout_seconds)
            return kind() if kind is Ignored else msgspec.json.decode(body, type=kind)
        except (ExtenderError, msgspec.MsgspecError) as problem:
            self.session.warn(f"extender: {problem}")
            return None

    def _timeout(self) -> float:
        try:
            return duration.parse_seconds(self.arguments.http_timeout)
        except duration.DurationError as problem:
            self.session.warn(f"extender: extender.httpTimeout: {problem}; 1s is used")
            return DEFAULT_TIMEOUT_SECONDS
