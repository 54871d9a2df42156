"""Watch events in any order: the tables end the same, and what was decided stands until the API shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from volcano.api import keys
from volcano.api.core import ContainerStatus, Pod, PodSchedulingGate, ResourceRequirements, Toleration
from volcano.api.meta import LabelSelector
from volcano.api.scheduling import PodGroup, PodGroupCondition, PodGroupStatus, SubGroupPolicySpec
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.cluster.resources import CPU, PODS
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.testing.builders import at, gang, node, pod, priority_class, queue
from volcano.testing.world import World


def empty() -> tuple[Cluster, Ingest]:
    cluster = Cluster()
    return cluster, Ingest(cluster, ["volcano"])


def changed(source: Pod, *, node_name: str = "", phase: str = "", deleted: bool = False) -> Pod:
    """The same pod a little later."""
    later = msgspec.json.decode(msgspec.json.encode(source), type=Pod)
    later.spec.node_name = node_name or later.spec.node_name
    later.status.phase = phase or later.status.phase
    if deleted:
        later.metadata.deletion_timestamp = at(100)
    return later


def only_task(cluster: Cluster) -> Task:
    (task,) = cluster.tasks.values()
    return task


def test_pods_may_come_before_their_group_queue_and_node() -> None:
    cluster, ingest = empty()
    train = gang("train", pods=2, cpu=1, nodes=["n1"])
    for member in train.pods:
        ingest.apply(ADDED, "pods", member)
    ingest.apply(ADDED, "podgroups", train.pod_group)
    ingest.apply(ADDED, "nodes", node("n1", cpu=4))
    ingest.apply(ADDED, "queues", queue("default"))

    assert cluster.jobs["default/train"].queue is cluster.queues["default"]
    assert cluster.queues["default"].allocated[CPU] == 1000
    assert cluster.queues["default"].pending[CPU] == 1000
    row = cluster.nodes.row_of["n1"]
    assert cluster.nodes.idle[row, CPU] == 3000
    assert cluster.nodes.idle[row, PODS] == 109


def test_a_node_that_vanishes_and_comes_back_has_its_pods() -> None:
    cluster, ingest = empty()
    ingest.apply(ADDED, "nodes", node("n1", cpu=4))
    ingest.apply(ADDED, "pods", pod("p", cpu=1, node="n1"))

    ingest.apply(DELETED, "nodes", node("n1"))
    assert "n1" not in cluster.nodes.row_of
    ingest.apply(ADDED, "nodes", node("n1", cpu=2))

    assert cluster.nodes.idle[cluster.nodes.row_of["n1"], CPU] == 1000


def test_a_node_that_shrinks_below_what_runs_there_is_overdrawn() -> None:
    cluster, ingest = empty()
    ingest.apply(ADDED, "nodes", node("n1", cpu=4))
    ingest.apply(ADDED, "pods", pod("p", cpu=3, node="n1"))

    ingest.apply(MODIFIED, "nodes", node("n1", cpu=2))

    assert cluster.nodes.idle[cluster.nodes.row_of["n1"], CPU] == -1000


def test_pods_of_other_schedulers_count_where_they_run() -> None:
    cluster, ingest = empty()
    ingest.apply(ADDED, "nodes", node("n1", cpu=4))
    foreign = pod("p", cpu=1, node="n1")
    foreign.spec.scheduler_name = "default-scheduler"
    waiting = pod("q", cpu=1)
    waiting.spec.scheduler_name = "default-scheduler"

    ingest.apply(ADDED, "pods", foreign)
    ingest.apply(ADDED, "pods", waiting)

    assert [task.name for task in cluster.tasks.values()] == ["p"]


@pytest.mark.parametrize(
    ("phase", "left"), [("Running", 3000), ("Succeeded", 4000), ("Failed", 4000), ("Unknown", 3000)]
)
def test_only_live_pods_take_room(phase: str, left: int) -> None:
    cluster, ingest = empty()
    ingest.apply(ADDED, "nodes", node("n1", cpu=4))
    member = pod("p", cpu=1, node="n1")
    ingest.apply(ADDED, "pods", member)

    ingest.apply(MODIFIED, "pods", changed(member, phase=phase))

    assert cluster.nodes.idle[cluster.nodes.row_of["n1"], CPU] == left


def test_a_bind_stands_until_the_api_shows_it() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=1, cpu=1)])
    world.cycle()
    task = only_task(world.cluster)
    assert task.status is Status.BINDING

    world.update("pods", changed(task.pod))  # an old view arrives late
    assert (task.status, task.node_name) == (Status.BINDING, "n1")

    world.update("pods", changed(task.pod, node_name="n1"))
    assert task.status is Status.BOUND
    assert len(world.cluster.nodes.tasks[task.node]) == 1


def test_a_refused_bind_rests_and_is_tried_again() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=1, cpu=1)], now=100.0)
    world.cycle()
    world.ingest.bind_refused("default-train-worker-0", not_before=105.0)

    assert world.cycle().binds == {}
    world.now = 106.0
    assert world.cycle().binds == {"default/train-worker-0": "n1"}


def test_an_eviction_stands_until_the_pod_has_gone_or_it_is_refused() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=1, cpu=1, nodes=["n1"])])
    task = only_task(world.cluster)
    session = world.session()
    statement = session.statement()
    statement.evict([task], "preempt")
    statement.commit()
    session.restore()

    world.update("pods", changed(task.pod))
    assert task.status is Status.RELEASING

    world.ingest.eviction_refused(task.uid)
    assert task.status is Status.RUNNING
    assert world.cluster.nodes.releasing[task.node, CPU] == 0


def test_the_phase_that_was_decided_stands_until_it_is_written() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=1, cpu=1, phase="Pending")])
    world.cycle()
    job = world.cluster.jobs["default/train"]
    assert job.phase == "Inqueue"
    assert job.pod_group is not None

    world.update("podgroups", msgspec.structs.replace(job.pod_group))

    assert job.phase == "Inqueue"


@pytest.mark.parametrize(
    ("field", "value"), [("phase", "Pending"), ("running", 1), ("succeeded", 1), ("failed", 1), ("conditions", [])]
)
def test_a_job_is_looked_at_again_where_its_podgroup_shows_something_else(field: str, value: object) -> None:
    world = World(nodes=[node("n1", cpu=4)], jobs=[gang("train", pods=2, cpu=1)])
    decided = world.cycle().podgroups["default/train"]
    shown = PodGroupStatus(
        phase=decided.phase,
        conditions=[PodGroupCondition(type=c.type, status=c.status, reason=c.reason) for c in decided.conditions],
    )

    def look(status: PodGroupStatus) -> set[str]:
        before = world.cluster.jobs["default/train"].pod_group
        assert before is not None
        world.update("podgroups", msgspec.structs.replace(before, status=status))
        return world.cluster.dirty_jobs

    assert decided.conditions
    assert look(shown) == set()
    assert look(msgspec.structs.replace(shown, **{field: value})) == {"default/train"}


def test_a_job_that_moves_to_another_queue_takes_its_claims_along() -> None:
    train = gang("train", pods=2, cpu=1, nodes=["n1"], queue="a")
    world = World(nodes=[node("n1")], queues=[queue("a"), queue("b")], jobs=[train])

    moved = msgspec.convert(msgspec.to_builtins(train.pod_group), type(train.pod_group))
    moved.spec.queue = "b"
    world.update("podgroups", moved)

    queues = world.cluster.queues
    assert (queues["a"].allocated[CPU], queues["a"].pending[CPU]) == (0, 0)
    assert (queues["b"].allocated[CPU], queues["b"].pending[CPU]) == (1000, 1000)


def test_priorities_follow_their_classes() -> None:
    world = World(jobs=[gang("a", priority_class="high"), gang("b")])
    jobs = world.cluster.jobs
    world.add("priorityclasses", priority_class("high", 100), priority_class("usual", 5, is_default=True))
    assert (jobs["default/a"].priority, jobs["default/b"].priority) == (100, 5)

    world.remove("priorityclasses", priority_class("usual", 5, is_default=True))

    assert jobs["default/b"].priority == 0


def test_nothing_is_left_of_a_job_that_is_gone() -> None:
    train = gang("train", pods=2, cpu=1, nodes=["n1"])
    world = World(nodes=[node("n1")], jobs=[train])

    world.remove("pods", *train.pods)
    world.remove("podgroups", train.pod_group)

    assert world.cluster.jobs == {}
    assert not world.cluster.queues["default"].jobs
    assert not world.cluster.queues["default"].allocated.any()


def test_resources_seen_late_fit_into_every_table() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=1, cpu=1, nodes=["n1"])])

    resources: dict[str, Any] = {f"example.com/r{i}": 1 for i in range(20)}
    world.add("nodes", node("n2", **resources))
    world.add_gang(gang("late", pods=1, resources={"example.com/r19": 1}))

    assert world.cycle().binds == {"default/late-worker-0": "n2"}


def test_sub_groups_stay_known_when_only_the_status_of_their_podgroup_changes() -> None:
    cluster, ingest = empty()
    train = gang("train", pods=4, cpu=1)
    policy = SubGroupPolicySpec(
        name="worker",
        sub_group_size=2,
        min_sub_groups=2,
        label_selector=LabelSelector(match_labels={"role": "worker"}),
        match_label_keys=["part"],
    )
    train.pod_group.spec.sub_group_policy = [policy]
    for number, member in enumerate(train.pods):
        member.metadata.labels = {"role": "worker", "part": str(number // 2)}
    ingest.apply(ADDED, "queues", queue("default"))
    ingest.apply(ADDED, "podgroups", train.pod_group)
    for member in train.pods:
        ingest.apply(ADDED, "pods", member)
    later = msgspec.json.decode(msgspec.json.encode(train.pod_group), type=PodGroup)
    later.status.phase = "Running"

    ingest.apply(MODIFIED, "podgroups", later)

    assert not cluster.jobs["default/train"].groups_short_of("valid")


def moved_on(source: Pod) -> Pod:
    return changed(source, node_name="n1", phase="Running")


def relabelled(source: Pod) -> Pod:
    later = moved_on(source)
    later.metadata.labels = {"tier": "back"}
    return later


def annotated(source: Pod) -> Pod:
    later = moved_on(source)
    later.metadata.annotations = {**later.metadata.annotations, keys.TASK_PRIORITY: "7", keys.PREEMPTABLE: "false"}
    return later


def tolerating(source: Pod) -> Pod:
    later = moved_on(source)
    later.spec.tolerations = [Toleration(key="spare", operator="Exists")]
    return later


def ungated(source: Pod) -> Pod:
    later = changed(source)
    later.spec.scheduling_gates = []
    return later


def resized(source: Pod) -> Pod:
    later = moved_on(source)
    later.status.container_statuses = [
        ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": "2"}))
    ]
    return later


def nominated(source: Pod) -> Pod:
    later = changed(source)
    later.status.nominated_node_name = "n1"
    return later


@pytest.mark.parametrize("change", [moved_on, relabelled, annotated, tolerating, ungated, resized, nominated])
def test_a_pod_that_changes_becomes_what_it_would_be_if_it_came_like_that(change: Callable[[Pod], Pod]) -> None:
    train = gang("train", pods=1, cpu=1)
    (waiting,) = train.pods
    waiting.spec.scheduling_gates = [PodSchedulingGate(name="example.org/wait")] if change is ungated else []
    before = [train.pod_group, node("n1", cpu=4), queue("default")]

    def seen(*pods: tuple[str, Pod]) -> tuple[object, ...]:
        cluster, ingest = empty()
        for plural, source in zip(("podgroups", "nodes", "queues"), before, strict=True):
            ingest.apply(ADDED, plural, source)
        for event, source in pods:
            ingest.apply(event, "pods", source)
        task = only_task(cluster)
        row = cluster.nodes.row_of["n1"]
        known = (
            task.status,
            task.node_name,
            task.node,
            task.priority,
            task.preemptable,
            task.gates,
            task.nominated_node,
        )
        room = (cluster.nodes.idle[row].tolist(), cluster.nodes.used[row].tolist(), cluster.queues["default"].allocated)
        profile = (task.profile.labels, task.profile.pod.spec.tolerations, task.profile.request.tolist())
        return (*known, *room[:2], room[2].tolist(), *profile)

    later = change(waiting)

    assert seen((ADDED, waiting), (MODIFIED, later)) == seen((ADDED, later))
    assert change is nominated or seen((ADDED, waiting)) != seen((ADDED, later))


def test_a_pod_that_was_changed_in_place_is_looked_at_again() -> None:
    cluster, ingest = empty()
    same = pod("p", cpu=1)
    ingest.apply(ADDED, "pods", same)
    same.metadata.annotations = {**same.metadata.annotations, keys.TASK_PRIORITY: "7"}

    ingest.apply(MODIFIED, "pods", same)

    assert only_task(cluster).priority == 7
