"""The one reconcile loop: informers are shared, keys wait in a queue, workers reconcile them, failures come back later.

Every controller of this package is a `Controller`; manager.py puts them into one `Runtime`.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from volcano.api.meta import ObjectReference, whole_seconds
from volcano.api.resources import Resource
from volcano.http.lifetime import keep_collector_settled
from volcano.http.metrics import Registry
from volcano.kube.client import Client
from volcano.kube.clock import ClockWatch
from volcano.kube.complaints import Complaints
from volcano.kube.errors import ApiError, Forbidden, InternalError, ServiceUnavailable, Timeout, TooManyRequests
from volcano.kube.events import EventRecorder
from volcano.kube.informer import EventHandler, Informer
from volcano.kube.rivals import Rivals
from volcano.kube.versions import ServerVersion
from volcano.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

T = TypeVar("T")
COMPONENT = "vc-controller-manager"
UNLIMITED = -1
Followed: TypeAlias = list[Informer[Any]]
TASKS_PER_WORKER = 8
"""A worker thread of upstream's waits for every write; a task of ours costs nothing while it waits."""
SERVER_TROUBLE = (OSError, TimeoutError, TooManyRequests, ServiceUnavailable, InternalError, Timeout)


class Waits(Exception):
    """Somebody else has to move first (create a claim, free a name): the key is tried again, however often."""


class NotAllowed(Waits):
    """The account of the daemon lacks a right."""


def _now() -> datetime.datetime:
    return whole_seconds(datetime.datetime.now(datetime.UTC))


class Informers:
    """One informer per kind of object, shared by all controllers, one generation of them after another."""

    def __init__(self, client: Client, rng: random.Random | None = None) -> None:
        """`rng` draws how long the informers wait after failures."""
        self._client = client
        self._rng = rng
        self._shared: dict[tuple[Any, ...], Informer[Any]] = {}
        self._followed: Followed = []
        self._handlers: list[tuple[Informer[Any], EventHandler[Any]]] = []

    def followed_from_now(self) -> Followed:
        """A list to which every informer is added that is asked for until the next call."""
        self._followed = []
        return self._followed

    def of(self, resource: Resource[T], handler: EventHandler[T] | None = None) -> Informer[T]:
        """The informer of `resource` (and its type); `handler` is told what it knows once handlers are attached."""
        key = (resource.group, resource.version, resource.plural, resource.type)
        informer: Informer[T] | None = self._shared.get(key)
        if informer is None:
            informer = self._shared[key] = Informer(self._client, resource, rng=self._rng)
        self._followed.append(informer)
        if handler is not None:
            self.tell(informer, handler)
        return informer

    def one(self, resource: Resource[T], name: str, namespace: str, handler: EventHandler[T]) -> Informer[T]:
        """An informer of a single object."""
        key = (resource.group, resource.version, resource.plural, resource.type, namespace, name)
        informer: Informer[T] | None = self._shared.get(key)
        if informer is None:
            field_selector = f"metadata.name={name}"
            informer = Informer(
                self._client, resource, namespace=namespace, field_selector=field_selector, rng=self._rng
            )
            self._shared[key] = informer
        self._followed.append(informer)
        self.tell(informer, handler)
        return informer

    def tell(self, informer: Informer[T], handler: EventHandler[T]) -> None:
        """Have the handler told from the moment when handlers are attached."""
        self._handlers.append((informer, handler))

    def attach(self) -> None:
        """Tell the handlers of a generation of controllers about everything known, and about all changes."""
        for informer, handler in self._handlers:
            informer.add_handler(handler)

    def detach(self) -> None:
        """This generation is over."""
        self._handlers.clear()
        for informer in self._shared.values():
            informer.forget_handlers()

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        return [informer.run() for informer in self._shared.values()]


@dataclass(slots=True)
class Context:
    """What controllers work with: the server, events, metrics and the clock."""

    client: Client
    informers: Informers
    recorder: EventRecorder
    metrics: Registry
    now: Callable[[], datetime.datetime] = field(default=_now)
    clock: ClockWatch = field(default_factory=ClockWatch)
    """Tells controllers that wait for a time of `now`."""


class Controller(Protocol):
    """A room's controller: it feeds `queue` from informer callbacks; `reconcile` settles one key."""

    name: str
    workers: int
    queue: WorkQueue[str]

    async def reconcile(self, key: str) -> None:
        """Bring what `key` names into its wanted state; raising means: again, later."""

    async def gave_up(self, key: str, error: Exception) -> None:
        """`key` was refused for good, after as many attempts as are allowed."""


class Loop:
    """Workers of one controller. One bad object delays only itself."""

    def __init__(self, controller: Controller, metrics: LoopMetrics, max_requeues: int) -> None:
        self._controller = controller
        self._metrics = metrics
        self._max_requeues = max_requeues
        self._refusals: dict[str, int] = {}
        self._seconds = metrics.seconds.labels(controller.name)
        self._denied: dict[str, str] = {}
        """What could not be done for want of a right, by key."""

    def problem(self) -> str | None:
        """Which right the controller lacks; somebody has to grant it, and no object is given up over it."""
        denial = next(iter(self._denied.values()), None)
        return f"{self._controller.name} lacks a right: {denial}" if denial else None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._controller.workers):
                group.create_task(self._controller.queue.work(self._reconcile))

    async def _reconcile(self, key: str) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            await self._controller.reconcile(key)
        except Exception as error:  # noqa: BLE001 - judged by what it is
            await self._failed(key, error)
        else:
            self._controller.queue.forget(key)
            self._refusals.pop(key, None)
            self._denied.pop(key, None)
        self._seconds.observe(clock() - started)

    async def _failed(self, key: str, error: Exception) -> None:
        name = self._controller.name
        if isinstance(error, NotAllowed) or (isinstance(error, Forbidden) and error.lacks_right):
            log.error("%s: %s waits for a right: %s", name, key, error)
            self._denied[key] = str(error)
            self._later(key, error)
            return
        self._denied.pop(key, None)
        if isinstance(error, Waits):
            log.info("%s: %s waits: %s", name, key, error)
            self._later(key, error)
        elif isinstance(error, SERVER_TROUBLE):
            log.warning("%s: %s waits for the API server: %s", name, key, error)
            self._later(key, error)
        else:
            expected = isinstance(error, ApiError | ValueError | LookupError)
            log.warning("%s: %s failed: %s", name, key, error, exc_info=None if expected else error)
            await self._refused(key, error)

    def _later(self, key: str, error: BaseException) -> None:
        self._metrics.retries.labels(self._controller.name).inc()
        wait = error.retry_after if isinstance(error, ApiError) else None
        if wait:
            self._controller.queue.add_after(key, wait)
        else:
            self._controller.queue.add_rate_limited(key)

    async def _refused(self, key: str, error: Exception) -> None:
        """Only refusals count against the limit: a server that is down, or a wait, condemns nobody."""
        refusals = self._refusals[key] = self._refusals.get(key, 0) + 1
        if self._max_requeues == UNLIMITED or refusals <= self._max_requeues:
            self._later(key, error)
            return
        self._refusals.pop(key, None)
        self._controller.queue.forget(key)
        try:
            await self._controller.gave_up(key, error)
        except Exception as trouble:
            log.warning("%s: giving up on %s failed: %s", self._controller.name, key, trouble, exc_info=trouble)
            self._later(key, trouble)


class LoopMetrics:
    """What every loop reports, under the names of Kubernetes' work queues."""

    def __init__(self, registry: Registry) -> None:
        self.depth = registry.gauges("workqueue_depth", "Keys that wait to be reconciled.", "name")
        self.adds = registry.gauges("workqueue_adds_total", "Keys added so far.", "name")
        self.retries = registry.counters("workqueue_retries_total", "Reconciliations put off after a failure.", "name")
        self.seconds = registry.histograms("workqueue_work_duration_seconds", "Time of one reconciliation.", "name")

    def watch(self, registry: Registry, controller: Controller) -> None:
        def refresh() -> None:
            self.depth.labels(controller.name).set(len(controller.queue))
            self.adds.labels(controller.name).set(controller.queue.adds)

        registry.before_scrape(refresh)


class Runtime:
    """Runs controllers on one set of informers. Each starts when its own kinds can be read; `about` gets the events.

    Controllers remember what they did: whoever loses the lease needs new ones, on the informers that there are.
    """

    def __init__(
        self,
        context: Context,
        *,
        max_requeues: int = 15,
        about: ObjectReference | None = None,
        rivals: Rivals | None = None,
    ) -> None:
        self.context = context
        self._rivals = rivals
        self._complaints = Complaints(context.recorder, about)
        self.server_version = ServerVersion(context.client, self._complaints)
        self._controllers: list[tuple[Controller, Followed]] = []
        self._loops: list[Loop] = []
        self._max_requeues = max_requeues if max_requeues >= 0 else UNLIMITED
        self._metrics = LoopMetrics(context.metrics)

    def add(self, make: Callable[[Context], Controller]) -> None:
        followed = self.context.informers.followed_from_now()
        controller = make(self.context)
        self._controllers.append((controller, followed))
        self._metrics.watch(self.context.metrics, controller)

    async def run(self) -> None:
        """Follow the server and reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.follow())
            group.create_task(self.reconcile())

    async def follow(self, complaint: Callable[[], str | None] | None = None) -> None:
        """Know what there is, and tell what is in the way, until cancelled. Standbys do this alone.

        `complaint` says what is in the way, where that is more than `complaint` of this runtime.
        """
        async with asyncio.TaskGroup() as group:
            for task in self.context.informers.tasks():
                group.create_task(task)
            group.create_task(self.context.recorder.run())
            group.create_task(keep_collector_settled())
            group.create_task(self._complaints.follow(complaint or self.complaint))
            group.create_task(self.server_version.look())
            if self._rivals is not None:
                group.create_task(self._rivals.look())

    async def reconcile(self) -> None:
        """Let the controllers work until cancelled; once only."""
        self.context.informers.attach()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.context.clock.look())
                for controller, followed in self._controllers:
                    group.create_task(self._run(controller, followed))
        finally:
            self.context.informers.detach()
            for controller, _ in self._controllers:
                controller.queue.shut_down()

    async def _run(self, controller: Controller, followed: Followed) -> None:
        for informer in followed:
            await informer.synced()
        log.info("reconciling: %s", controller.name)
        loop = Loop(controller, self._metrics, self._max_requeues)
        self._loops.append(loop)
        await loop.run()

    def problem(self) -> str | None:
        """A readiness check: which controllers wait, and for what."""
        return _joined(self._waits(lambda informer: informer.problem()), self._denials())

    def complaint(self) -> str | None:
        """The same without those whose first list is on its way, and what else there is to tell."""
        waits = self._waits(lambda informer: informer.problem() if informer.trouble else None)
        return _joined(waits, self._denials(), self.rivalry())

    def _denials(self) -> str | None:
        return _joined(*(loop.problem() for loop in self._loops))

    def rivalry(self) -> str | None:
        """A note for /readyz: where another installation is at work."""
        return self._rivals.problem() if self._rivals is not None else None

    def _waits(self, problem_of: Callable[[Informer[Any]], str | None]) -> str | None:
        waits = []
        for controller, followed in self._controllers:
            if kinds := sorted(filter(None, map(problem_of, followed))):
                waits.append(f"{controller.name} waits for {', '.join(kinds)}")
        return _joined(*waits)


def _joined(*texts: str | None) -> str | None:
    return "; ".join(filter(None, texts)) or None
