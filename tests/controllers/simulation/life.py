"""One random history of jobs under the real controller: users, scheduler, nodes, collectors and bad luck, then rest.

`play` draws what happens; the invariants are checked at every write, and at the end when everybody cooperates.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, cast

from tests.controllers.simulation.clock import JumpingLoop
from tests.controllers.simulation.invariants import (
    FINAL,
    Invariants,
    check_company,
    check_counters,
    check_end,
    phase_of,
)
from tests.controllers.simulation.jobs import COMMANDS, edited, some_job
from tests.controllers.simulation.server import Client, Server, Trouble
from volcano.controllers.job.controller import JobController
from volcano.controllers.job.plugins import builtin_plugins
from volcano.controllers.runtime import Context, Informers, Loop, LoopMetrics, Waits
from volcano.http.metrics import Registry
from volcano.kube.errors import ApiError

NAMES = ("a", "b")
PAUSES = (0.0, 0.0, 0.001, 0.05, 0.5, 2.0, 20.0)
LONGEST_BACK_OFF_SECONDS = 60.0
MAX_REQUEUES = 15
ROUNDS = 30
PLUGINS = builtin_plugins()
KINDS = ("jobs", "pods", "podgroups", "queues", "commands")


class Silent:
    """Takes the place of the recorder of Kubernetes events."""

    def record(self, *_words: object) -> None: ...


class Overheard(logging.Handler):
    """What is logged with a traceback: an exception that nobody expected."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.tracebacks: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, ApiError | OSError | Waits):
            self.tracebacks.append(error)


class Life:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.invariants = Invariants()
        self.server = Server(self.random, self.invariants.observe)
        self.orders = 0
        self.kills = 0
        self.told: list[str] = []

    async def play(self, steps: int) -> None:
        self.server.put("queues", "q", {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}})
        self.start()
        await self.somebody_submits()
        for _ in range(steps):
            act = self.random.choices(ACTS, WEIGHTS)[0]
            self.told.append(f"{asyncio.get_running_loop().time():.3f} {act.__name__}")
            await act(self)
            await self.pause(self.random.choice(PAUSES))
        await self.comes_to_rest()
        await self.ends_when_everybody_cooperates()
        await self.leaves_nothing_behind()
        await self.stop()

    # The controller's process

    def start(self) -> None:
        self.informers = Informers(cast("Any", Client(self.server)))
        self.lead()

        async def follow() -> None:
            async with asyncio.TaskGroup() as group:
                for task in self.informers.tasks():
                    group.create_task(task)

        self.following = asyncio.get_running_loop().create_task(follow())

    def lead(self) -> None:
        """Begin to reconcile on what is known."""
        followed = self.informers.followed_from_now()
        client = cast("Any", Client(self.server))
        context = Context(client, self.informers, cast("Any", Silent()), Registry(), now=self.server.now)
        self.controller = JobController(context, workers=1, plugins=PLUGINS)
        self.informers.attach()
        loop = Loop(self.controller, LoopMetrics(Registry()), MAX_REQUEUES)

        async def reconcile() -> None:
            for informer in followed:
                await informer.synced()
            await loop.run()

        self.leading = asyncio.get_running_loop().create_task(reconcile())

    async def stop(self) -> None:
        await ended(self.leading)
        await ended(self.following)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        for task in (self.following, self.leading):
            assert not task.done(), task

    # Bad luck

    async def controller_is_killed(self) -> None:
        """Between two writes, or between a write and its answer."""
        self.kills += 1
        await self.stop()
        self.start()

    async def standby_takes_over(self) -> None:
        """It has followed the server all along, though perhaps not up to the last write of the one that led."""
        self.kills += 1
        await ended(self.leading)
        self.informers.detach()
        self.lead()

    async def network_changes(self) -> None:
        random = self.random
        self.server.trouble = Trouble(
            refuses=random.choice((0.0, 0.0, 0.1, 0.5, 1.0)),
            loses_answer=random.choice((0.0, 0.0, 0.1, 0.5)),
            answers_within=random.choice((0.0, 0.01, 1.0)),
            lags=random.choice((0.0, 0.1, 5.0)),
        )

    async def watch_breaks(self) -> None:
        self.server.break_watches(self.random.choice(KINDS), forget=self.random.random() < 0.5)

    # Users

    async def somebody_submits(self) -> None:
        """A new job; in place of one of the same name that is over."""
        name = self.random.choice(NAMES)
        present = self.server.objects["jobs"].get(f"ns/{name}")
        if present is not None and phase_of(present) in FINAL:
            self.server.remove("jobs", f"ns/{name}")
            present = None
        if present is None:
            self.server.put("jobs", f"ns/{name}", some_job(self.random, name))

    async def somebody_edits(self) -> None:
        if key := self.some("jobs"):
            self.server.put("jobs", key, edited(self.random, self.server.objects["jobs"][key]))

    async def somebody_commands(self) -> None:
        if key := self.some("jobs"):
            meta = self.server.objects["jobs"][key]["metadata"]
            self.orders += 1
            target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": meta["name"]}
            if self.random.random() < 0.5:
                target["uid"] = meta["uid"]
            order = {"name": f"order-{self.orders}", "namespace": "ns"}
            document = {"metadata": order, "action": self.random.choice(COMMANDS), "target": target}
            self.server.put("commands", f"ns/order-{self.orders}", document)

    async def somebody_deletes_a_job(self) -> None:
        if (key := self.some("jobs")) is None:
            return
        if self.random.random() < 0.5:
            self.server.remove("jobs", key)
        else:  # in the foreground: after what it owns
            self.server.patch(
                "jobs", key, {"metadata": {"deletionTimestamp": f"{self.server.now():%Y-%m-%dT%H:%M:%SZ}"}}
            )

    async def somebody_deletes_a_pod(self) -> None:
        if key := self.some("pods"):
            self.server.end("pods", key)

    async def somebody_meddles_with_a_podgroup(self) -> None:
        if (key := self.some("podgroups")) is None:
            return
        if self.random.random() < 0.5:
            self.server.remove("podgroups", key)
        else:
            self.server.patch("podgroups", key, {"spec": {"minMember": 7, "queue": "elsewhere"}})

    async def queue_comes_and_goes(self) -> None:
        if "q" in self.server.objects["queues"]:
            self.server.remove("queues", "q")
        else:
            self.server.put("queues", "q", {"metadata": {"name": "q"}, "spec": {"weight": 1}})

    # Scheduler and nodes

    async def scheduler_admits(self) -> None:
        for key, group in list(self.server.objects["podgroups"].items()):
            if group.get("status", {}).get("phase", "Pending") == "Pending":
                self.server.patch("podgroups", key, {"status": {"phase": "Inqueue"}})

    async def scheduler_loses_a_gang(self) -> None:
        if key := self.some("podgroups"):
            self.server.patch("podgroups", key, {"status": {"phase": "Unknown"}})

    async def pod_gets_on(self) -> None:
        if key := self.some("pods"):
            pod = self.server.objects["pods"][key]
            phase = pod["status"]["phase"]
            if phase == "Pending":
                self.run(key)
            elif phase == "Running":
                self.random.choice((self.succeed, self.fail, self.restart))(key)

    async def nodes_run_everything(self) -> None:
        for key, pod in list(self.server.objects["pods"].items()):
            if pod["status"]["phase"] in {"Pending", "Unknown"} and "deletionTimestamp" not in pod["metadata"]:
                self.run(key)

    async def node_is_lost(self) -> None:
        if key := self.some("pods"):
            if self.random.random() < 0.5:
                self.server.remove("pods", key)
            elif self.server.objects["pods"][key]["status"]["phase"] == "Running":
                self.server.patch("pods", key, {"status": {"phase": "Unknown"}})

    def run(self, key: str) -> None:
        status = {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 0}]}
        self.server.patch("pods", key, {"spec": {"nodeName": "n"}, "status": status})

    def succeed(self, key: str) -> None:
        self.server.patch("pods", key, {"status": {"phase": "Succeeded", "containerStatuses": [{"ready": False}]}})

    def fail(self, key: str) -> None:
        ended = {"terminated": {"exitCode": self.random.choice((1, 3))}}
        status = {"phase": "Failed", "containerStatuses": [{"ready": False, "state": ended}]}
        self.server.patch("pods", key, {"status": status})

    def restart(self, key: str) -> None:
        """Of its container."""
        [container] = self.server.objects["pods"][key]["status"]["containerStatuses"]
        again = {**container, "restartCount": container.get("restartCount", 0) + 1}
        self.server.patch("pods", key, {"status": {"containerStatuses": [again]}})

    # Collectors

    async def what_is_doomed_goes(self) -> None:
        """Nodes end pods, and the garbage collector takes what has lost its owner."""
        jobs, pods = self.server.objects["jobs"], self.server.objects["pods"]
        for key, pod in list(pods.items()):
            if "deletionTimestamp" in pod["metadata"]:
                self.server.remove("pods", key)
        doomed = {job["metadata"]["uid"] for job in jobs.values() if "deletionTimestamp" in job["metadata"]}
        kept = {job["metadata"]["uid"] for job in jobs.values()} - doomed
        for plural, key, owner in self.owned():
            if owner not in kept:
                self.server.end(plural, key)
        waiting = {owner for _, _, owner in self.owned()}
        for key, job in list(jobs.items()):
            if job["metadata"]["uid"] in doomed - waiting:
                self.server.remove("jobs", key)

    def owned(self) -> list[tuple[str, str, str]]:
        """Kind, key and owner of what belongs to jobs."""
        found = []
        for plural, documents in self.server.objects.items():
            for key, document in documents.items():
                if owners := document["metadata"].get("ownerReferences"):
                    [owner] = owners
                    found.append((plural, key, owner["uid"]))
        return found

    # The end

    async def comes_to_rest(self) -> None:
        server = self.server
        server.trouble = Trouble()
        if "q" not in server.objects["queues"]:
            await self.queue_comes_and_goes()
        for seconds in (LONGEST_BACK_OFF_SECONDS, *[1.0] * 5):
            await self.what_is_doomed_goes()
            await self.pause(2 * seconds)
        await self.what_is_doomed_goes()
        await self.pause(2 * LONGEST_BACK_OFF_SECONDS)
        writes = server.writes
        await self.pause(5 * LONGEST_BACK_OFF_SECONDS)
        assert server.writes == writes, "writes though nothing changes"
        assert not server.objects["commands"]
        for job in server.objects["jobs"].values():
            check_counters(job, server.objects)
            check_company(job, server.objects)
        if not self.kills and not server.answers_lost:
            assert not server.collisions, "created what it had created already"

    async def ends_when_everybody_cooperates(self) -> None:
        """Groups are admitted, pods run and succeed."""
        for _ in range(ROUNDS):
            for help_along in (self.scheduler_admits, self.nodes_run_everything, self.every_pod_succeeds):
                await help_along()
                await self.pause(11.0)
                await self.what_is_doomed_goes()
                await self.pause(11.0)
            if all(job["status"]["state"]["phase"] in FINAL for job in self.server.objects["jobs"].values()):
                break
        await self.comes_to_rest()
        for job in self.server.objects["jobs"].values():
            check_end(job, self.server.objects)

    async def every_pod_succeeds(self) -> None:
        for key, pod in list(self.server.objects["pods"].items()):
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
                self.succeed(key)

    async def leaves_nothing_behind(self) -> None:
        for key in list(self.server.objects["jobs"]):
            self.server.remove("jobs", key)
        for _ in range(3):
            await self.what_is_doomed_goes()
            await self.pause(LONGEST_BACK_OFF_SECONDS)
        left = {plural: documents for plural, documents in self.server.objects.items() if documents}
        assert set(left) == {"queues"}, left
        controller = self.controller
        assert not controller._ledgers
        assert not controller._pods._by_job
        assert not controller._dependents

    def some(self, plural: str) -> str | None:
        keys = list(self.server.objects[plural])
        return self.random.choice(keys) if keys else None


ODDS: dict[Callable[[Life], Awaitable[None]], int] = {
    Life.pod_gets_on: 12,
    Life.scheduler_admits: 6,
    Life.nodes_run_everything: 4,
    Life.what_is_doomed_goes: 6,
    Life.somebody_submits: 4,
    Life.somebody_edits: 2,
    Life.somebody_commands: 3,
    Life.somebody_deletes_a_job: 1,
    Life.somebody_deletes_a_pod: 1,
    Life.somebody_meddles_with_a_podgroup: 1,
    Life.queue_comes_and_goes: 1,
    Life.scheduler_loses_a_gang: 1,
    Life.node_is_lost: 1,
    Life.controller_is_killed: 1,
    Life.standby_takes_over: 1,
    Life.network_changes: 2,
    Life.watch_breaks: 1,
}
ACTS, WEIGHTS = list(ODDS), list(ODDS.values())


async def ended(task: asyncio.Task[None]) -> None:
    """As abruptly as a process that is killed."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def lived(seed: int, steps: int) -> Life:
    """The history of a seed, checked; who fails tells how to see it again."""
    life, overheard = Life(seed), Overheard()
    logger = logging.getLogger("volcano")
    logger.addHandler(overheard)
    try:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            runner.run(life.play(steps))
        if overheard.tracebacks:
            raise overheard.tracebacks[0]
    except BaseException as error:
        error.add_note(f"lived({seed}, {steps}) after " + "; ".join(life.told[-8:]))
        raise
    finally:
        logger.removeHandler(overheard)
    return life
