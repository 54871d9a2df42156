"""What is news to a job, and what it knows already from the answers to its own requests."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from volcano.api import keys, resources
from volcano.api.batch import Job, JobSpec, JobState, JobStatus, LifecyclePolicy, TaskSpec
from volcano.api.meta import ObjectMeta, OwnerReference
from volcano.api.scheduling import PodGroup, PodGroupStatus
from volcano.controllers.job.controller import JobController
from volcano.controllers.job.mailroom import Mailroom
from volcano.controllers.job.members import member_of
from volcano.controllers.job.metrics import JobMetrics
from volcano.controllers.job.vocabulary import EventKind
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND
from volcano.controllers.runtime import Context, Informers
from volcano.controllers.views import POD_VIEWS, PodStatusView, PodView
from volcano.http.metrics import Registry
from volcano.kube.client import Client
from volcano.kube.codec import WatchEvent
from volcano.kube.events import EventRecorder
from volcano.kube.informer import Informer
from volcano.kube.workqueue import WorkQueue

KEY = "n/j"
OWNER = OwnerReference(api_version=JOB_API_VERSION, kind=JOB_KIND, name="j", uid="u", controller=True)


def show(informer: Informer[Any], obj: Any) -> None:
    """Let a watch show an object."""
    informer._apply(WatchEvent("MODIFIED", obj, obj.metadata.resource_version))


class Post:
    """A mailroom whose watches are told by hand."""

    def __init__(self, **spec: object) -> None:
        informers = Informers(cast("Client", None))
        queue: WorkQueue[str] = WorkQueue()
        self.room = Mailroom(informers, queue, JobMetrics(Registry()), commands=False)
        self.room.read = True
        task = TaskSpec(name="w", replicas=1, template={})
        self.job = Job(
            metadata=ObjectMeta(name="j", namespace="n", uid="u", resource_version="1"),
            spec=JobSpec(tasks=[task], **spec),  # type: ignore[arg-type]
        )
        self.jobs = self.room._jobs
        self.pods = informers.of(POD_VIEWS)
        self.podgroups = self.room._podgroups
        informers.attach()
        show(self.jobs, self.job)
        self.collect()

    def scales(self, replicas: int, version: str) -> None:
        """The watch shows the job with so many pods."""
        [task] = self.job.spec.tasks
        spec = msgspec.structs.replace(self.job.spec, tasks=[msgspec.structs.replace(task, replicas=replicas)])
        meta = msgspec.structs.replace(self.job.metadata, resource_version=version)
        show(self.jobs, msgspec.structs.replace(self.job, metadata=meta, spec=spec))

    def collect(self) -> int:
        """How many letters there are; they are read."""
        mail = self.room.ledger(KEY).mail
        count = len(mail)
        mail.clear()
        return count

    def shows(self, phase: str, version: str, *, written: bool, **numbers: int) -> int:
        """The watch shows the job in this phase, as we wrote it or somebody else did; how much mail that makes."""
        status = JobStatus(state=JobState(phase=phase), **numbers)  # type: ignore[arg-type]
        meta = msgspec.structs.replace(self.job.metadata, resource_version=version)
        later = msgspec.structs.replace(self.job, metadata=meta, status=status)
        self.room.ledger(KEY).written = later if written else None
        show(self.jobs, later)
        return self.collect()


def pod(version: str, phase: str = "Pending") -> PodView:
    annotations = {keys.TASK_SPEC: "w", keys.JOB_VERSION: "0"}
    meta = ObjectMeta(name="j-w-0", namespace="n", uid="p", resource_version=version, annotations=annotations)
    meta.owner_references = [OWNER]
    return PodView(metadata=meta, status=PodStatusView(phase=phase))


def group(phase: str, version: str) -> PodGroup:
    meta = ObjectMeta(name="j-u", namespace="n", resource_version=version, owner_references=[OWNER])
    return PodGroup(metadata=meta, status=PodGroupStatus(phase=phase))


def test_a_pod_that_we_have_just_made_is_no_news() -> None:
    post = Post()
    post.room.pods.created(member_of(pod("1")), 0.0)
    show(post.pods, pod("1"))
    assert post.collect() == 0
    show(post.pods, pod("2", "Running"))
    assert post.collect() == 1


def test_a_pod_that_runs_before_we_hear_of_it_is_news() -> None:
    post = Post()
    post.room.pods.created(member_of(pod("1")), 0.0)
    show(post.pods, pod("2", "Running"))
    assert post.collect() == 1


def test_a_pod_that_the_watch_shows_before_the_answer_is_no_news() -> None:
    post = Post()
    post.room.pods.asked_for("u", "j-w-0")
    show(post.pods, pod("1"))

    assert post.collect() == 0
    post.room.pods.answered("u", "j-w-0")
    show(post.pods, pod("2", "Running"))
    assert post.collect() == 1


def test_a_pod_that_runs_before_the_answer_is_news() -> None:
    post = Post()
    post.room.pods.asked_for("u", "j-w-0")
    show(post.pods, pod("1", "Running"))

    assert post.collect() == 1


def test_a_pod_that_somebody_else_made_is_news() -> None:
    post = Post()
    show(post.pods, pod("1"))
    assert post.collect() == 1


def test_a_pod_that_may_not_be_pending_for_long_is_news() -> None:
    post = Post(policies=[LifecyclePolicy(event="PodPending", action="RestartJob", timeout="5m")])
    post.room.pods.created(member_of(pod("1")), 0.0)
    show(post.pods, pod("1"))
    assert post.collect() == 1


@pytest.mark.parametrize(("phase", "kind"), [("Pending", EventKind.POD_PENDING), ("Unknown", EventKind.OUT_OF_SYNC)])
def test_a_pod_on_a_silent_node_is_not_taken_for_one_that_waits_for_a_node(phase: str, kind: EventKind) -> None:
    post = Post()
    show(post.pods, pod("1", phase))
    assert [event.kind for event in post.room.ledger(KEY).mail] == [kind]


def test_the_echo_of_our_word_that_a_job_runs_is_no_news() -> None:
    assert Post().shows("Running", "2", written=True, running=1) == 0


@pytest.mark.parametrize(
    ("phase", "written", "numbers"),
    [("Running", False, {"running": 1}), ("Running", True, {"succeeded": 1}), ("Restarting", True, {})],
)
def test_other_phases_and_words_of_others_are_news(phase: str, written: bool, numbers: dict[str, int]) -> None:
    assert Post().shows(phase, "2", written=written, **numbers) == 1


@pytest.mark.parametrize(("phase", "completed"), [("Succeeded", 1), ("Running", 0)])
def test_a_task_that_is_scaled_down_to_what_has_succeeded_is_completed(phase: str, completed: int) -> None:
    post = Post()
    post.scales(3, "2")
    show(post.pods, pod("3", phase))
    post.collect()
    post.scales(2, "4")
    assert [event.kind for event in post.room.ledger(KEY).mail] == [EventKind.OUT_OF_SYNC]
    post.collect()
    post.scales(1, "5")
    assert [event.kind for event in post.room.ledger(KEY).mail][1:] == [EventKind.TASK_COMPLETED] * completed


def test_a_podgroup_that_runs_because_of_its_pods_is_no_news() -> None:
    post = Post()
    show(post.podgroups, group("Pending", "1"))
    show(post.podgroups, group("Inqueue", "2"))
    assert post.collect() == 1
    show(post.podgroups, group("Running", "3"))
    assert post.collect() == 0
    show(post.podgroups, group("Unknown", "4"))
    assert post.collect() == 1


@pytest.mark.parametrize(
    ("awaited", "phase", "letters"), [(True, "Inqueue", 1), (True, "Pending", 0), (False, "Inqueue", 0)]
)
def test_a_podgroup_that_is_let_in_when_it_is_first_seen_is_news_to_a_job_that_waits_for_it(
    awaited: bool, phase: str, letters: int
) -> None:
    post = Post()
    post.room.ledger(KEY).awaits_podgroup = awaited
    show(post.podgroups, group(phase, "1"))
    assert post.collect() == letters


def test_a_look_drops_what_an_earlier_one_waited_for() -> None:
    async def main() -> list[str]:
        informers = Informers(cast("Client", None))
        controller = JobController(
            Context(cast("Client", None), informers, cast("EventRecorder", None), Registry()), workers=1
        )
        informers.attach()
        at_rest = Job(
            metadata=ObjectMeta(name="j", namespace="n", uid="u", resource_version="1"),
            status=JobStatus(state=JobState(phase="Aborted")),
        )
        show(informers.of(resources.JOBS), at_rest)
        for _ in range(2):
            controller.queue.add_after(KEY, 0.05)
            key = await controller.queue.get()
            await controller.reconcile(key)
            controller.queue.done(key)
        await asyncio.sleep(0.2)
        return [await controller.queue.get() for _ in range(len(controller.queue))]

    assert asyncio.run(main()) == []
