"""Random histories of jobs under the real controller: users, scheduler, nodes and collectors; then all cooperate."""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.controllers.simulation.job_credits import Credits
from tests.controllers.simulation.job_invariants import (
    FINAL,
    Invariants,
    check_company,
    check_counters,
    check_end,
    phase_of,
)
from tests.controllers.simulation.job_specs import COMMANDS, edited, some_job
from tests.controllers.simulation.world import LONGEST_BACK_OFF_SECONDS, World
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.meta import JsonObject
from volcano.controllers.job.controller import JobController
from volcano.controllers.job.plugins import builtin_plugins
from volcano.controllers.runtime import Context

NAMES = ("a", "b")
ROUNDS = 30
PLUGINS = builtin_plugins()


class Jobs(World):
    kinds = ("jobs", "pods", "podgroups", "queues", "commands")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.invariants = Invariants()
        self.credits = Credits()
        self.orders = 0
        self.promises = 0

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def start(self) -> None:
        self.credits.are_found()
        super().start()

    def controller(self, context: Context) -> JobController:
        self.credits.leader_begins()
        self.jobs = JobController(context, workers=1, plugins=PLUGINS)
        return self.jobs

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        self.invariants.observe(plural, before, after)
        self.credits.observe(plural, before, after, self.server.now())

    async def begin(self) -> None:
        self.server.put("queues", "q", {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}})
        await self.somebody_submits()

    async def end(self) -> None:
        await self.comes_to_rest()
        await self.hears_late(2)
        await self.ends_when_everybody_cooperates()
        await self.leaves_nothing_behind()

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
            uid = meta["uid"] if self.random.random() < 0.5 else ""
            self.order(meta["name"], self.random.choice(COMMANDS), uid)

    def order(self, name: str, action: str, uid: str = "") -> None:
        self.orders += 1
        target = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": name,
            **({"uid": uid} if uid else {}),
        }
        order = {"name": f"order-{self.orders}", "namespace": "ns"}
        document = {"metadata": order, "action": action, "target": target}
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

    async def scheduler_lets_in_the_next(self) -> None:
        """Before they are there: some that are not too large, for a while. Or it takes that back."""
        if "q" not in self.server.objects["queues"]:
            return
        said = None
        if self.random.random() < 0.8:
            self.promises += 1
            pods = str(self.random.randint(2, 8))
            seconds = datetime.timedelta(seconds=self.random.choice((3, 60, 600)))
            said = json.dumps(
                {
                    "id": f"credit-{self.promises}",
                    "schedulerNames": ["volcano"],
                    "groups": self.random.randint(1, 3),
                    "each": {"count/pods": pods, "pods": pods},
                    "until": f"{self.server.now() + seconds:%Y-%m-%dT%H:%M:%SZ}",
                }
            )
        self.server.patch("queues", "q", {"metadata": {"annotations": {ADMISSION_CREDIT: said}}})

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
        if "q" not in server.objects["queues"]:
            await self.queue_comes_and_goes()
        for seconds in (LONGEST_BACK_OFF_SECONDS, *[1.0] * 5):
            await self.what_is_doomed_goes()
            await self.pause(2 * seconds)
        await self.what_is_doomed_goes()
        await self.rests()
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
        mailroom = self.jobs.mailroom
        assert not mailroom.ledgers
        assert not mailroom.pods._by_job
        assert not mailroom.pods._unseen
        assert not mailroom._dependents


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Jobs.pod_gets_on: 12,
    Jobs.scheduler_admits: 6,
    Jobs.scheduler_lets_in_the_next: 6,
    Jobs.nodes_run_everything: 4,
    Jobs.what_is_doomed_goes: 6,
    Jobs.somebody_submits: 4,
    Jobs.somebody_edits: 2,
    Jobs.somebody_commands: 3,
    Jobs.somebody_deletes_a_job: 1,
    Jobs.somebody_deletes_a_pod: 1,
    Jobs.somebody_meddles_with_a_podgroup: 1,
    Jobs.queue_comes_and_goes: 1,
    Jobs.scheduler_loses_a_gang: 1,
    Jobs.node_is_lost: 1,
}
