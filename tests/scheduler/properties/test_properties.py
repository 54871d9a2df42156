"""What holds after every cycle of every cluster, under every configuration.

A few clusters each here, thousands under `soak`. Rollback is tested beside the statement, bulk placement beside the
plugins; pods that are evicted on purpose although nothing changed, in test_on_purpose.py.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.scheduler.properties.faults import FAULTS
from tests.scheduler.properties.worlds import CONFS, PAGES, TREE, WORLDS, Draw, build
from volcano.api.core import Pod
from volcano.api.scheduling import PodGroup
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, Ingest
from volcano.scheduler.cluster.tasks import TERMINATED_STATUSES, Status, Task
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.world import World

FEW = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
"""The same ones every time, so that a build turns red for what was changed; `soak` draws others every time."""
FEWER = settings(FEW, max_examples=4)
THOUSANDS = settings(FEW, max_examples=1500, derandomize=False, print_blob=True)
HUNDREDS = settings(THOUSANDS, max_examples=300)

LIMITING = ("proportion", "capacity")
HOLDING = frozenset({Status.RUNNING, Status.BOUND, Status.BINDING})


@pytest.mark.parametrize("conf", CONFS)
@FEW
@given(WORLDS)
def test_a_cycle_breaks_nothing(conf: str, draw: Draw) -> None:
    _a_cycle_breaks_nothing(conf, draw)


@pytest.mark.parametrize("conf", CONFS)
@FEW
@given(WORLDS)
def test_cycles_come_to_rest(conf: str, draw: Draw) -> None:
    _cycles_come_to_rest(conf, draw)


@pytest.mark.parametrize("page", PAGES)
@FEWER
@given(WORLDS)
def test_what_the_documentation_configures_holds_as_well(page: str, draw: Draw) -> None:
    _a_cycle_breaks_nothing(page, draw)
    _cycles_come_to_rest(page, draw)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_wrong_once(fault: str) -> None:
    _a_cycle_breaks_nothing(*FAULTS[fault])
    _cycles_come_to_rest(*FAULTS[fault])


@pytest.mark.soak
@pytest.mark.parametrize("conf", CONFS)
@THOUSANDS
@given(WORLDS)
def test_a_cycle_breaks_nothing_in_thousands(conf: str, draw: Draw) -> None:
    _a_cycle_breaks_nothing(conf, draw)


@pytest.mark.soak
@pytest.mark.parametrize("conf", CONFS)
@THOUSANDS
@given(WORLDS)
def test_thousands_come_to_rest(conf: str, draw: Draw) -> None:
    _cycles_come_to_rest(conf, draw)


@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES)
@HUNDREDS
@given(WORLDS)
def test_what_the_documentation_configures_holds_hundreds_of_times(page: str, draw: Draw) -> None:
    _a_cycle_breaks_nothing(page, draw)
    _cycles_come_to_rest(page, draw)


def _a_cycle_breaks_nothing(conf: str, draw: Draw) -> None:
    world = build(draw, conf)
    before = {key: _holding(job.tasks.values()) for key, job in world.cluster.jobs.items()}
    used = _used_by_queue(world.cluster)

    decisions = world.cycle()

    assert decisions.warnings == []
    _no_node_is_over_allocated(world.cluster)
    _no_queue_exceeds_its_capability(world, used)
    _no_gang_is_broken(world, decisions, before)
    assert not decisions.evictions or decisions.pipelined, "an eviction without a placed claimant"
    stays_at_rest(world)


def stays_at_rest(world: World) -> None:
    """Nobody else touches the cluster, so what is bound stays, and who is evicted is not made anew.

    Every pod is bound once and evicted once at most: no more cycles than that decide anything. One more may only change
    phases, which is why two in a row have to be quiet.
    """
    quiet = 0
    for _ in range(2 * len(world.cluster.tasks) + 2):
        decisions = world.cycle()
        quiet = 0 if decisions.binds or decisions.evictions else quiet + 1
        if quiet == 2:
            return
    pytest.fail("binds and evicts more pods than there are")


def _cycles_come_to_rest(conf: str, draw: Draw) -> None:
    """Bound pods run, evicted ones vanish and are made anew: after a while, nothing is left to decide.

    A cycle that evicts makes one more job complete, or takes from queues what they hold too much and no placement gives
    back; the next one binds those for whom it was. The jobs, twice, and two for what is bound without evictions: that
    is enough where all of them must wait for each other.
    """
    world = build(draw, conf)
    ideal = IdealCluster(world)
    history: list[tuple[dict[str, str], list[str]]] = []
    promised: set[str] = set()
    for _ in range(2 * len(draw.jobs) + 4):
        decisions = world.cycle()
        assert promised <= decisions.binds.keys(), "others were evicted in vain"
        promised = {task.key for task in world.cluster.tasks.values() if task.promised}
        history.append((dict(decisions.binds), [eviction.key for eviction in decisions.evictions]))
        ideal.settle(decisions)
        if history[-2:] == [({}, [])] * 2:
            break
    _books_equal_a_rebuild(world, ideal)
    assert history[-1] == ({}, []), history


class IdealCluster:
    """The objects behind a world, moved on as its decisions say."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pods: dict[str, Pod] = {task.key: task.pod for task in world.cluster.tasks.values()}
        self.groups: dict[str, PodGroup] = {
            key: job.pod_group for key, job in world.cluster.jobs.items() if job.pod_group is not None
        }

    def settle(self, decisions: Decisions) -> None:
        for key, node in decisions.binds.items():
            pod = self.pods[key]
            self._put(
                msgspec.structs.replace(
                    pod,
                    spec=msgspec.structs.replace(pod.spec, node_name=node),
                    status=msgspec.structs.replace(pod.status, phase="Running"),
                )
            )
        for eviction in decisions.evictions:
            gone = self.pods[eviction.key]
            self.world.remove("pods", gone)
            self.world.add("pods", self._keep(_made_anew(gone)))
        for key, decided in decisions.podgroups.items():
            group = self.groups[key]
            status = msgspec.structs.replace(group.status, phase=decided.phase, running=decided.running)
            self.groups[key] = msgspec.structs.replace(group, status=status)
            self.world.update("podgroups", self.groups[key])

    def _put(self, pod: Pod) -> None:
        self.world.update("pods", self._keep(pod))

    def _keep(self, pod: Pod) -> Pod:
        self.pods[pod.metadata.key] = pod
        return pod


def _made_anew(pod: Pod) -> Pod:
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, uid=f"{pod.metadata.uid}+"),
        spec=msgspec.structs.replace(pod.spec, node_name=""),
        status=msgspec.structs.replace(pod.status, phase="Pending"),
    )


def _books_equal_a_rebuild(world: World, ideal: IdealCluster) -> None:
    """What events have changed step by step is what the objects say."""
    rebuilt = Cluster()
    ingest = Ingest(rebuilt)
    for plural, objects in (
        ("queues", (queue.object for queue in world.cluster.queues.values())),
        ("nodes", (one for one in world.cluster.nodes.objects if one is not None)),
        ("podgroups", ideal.groups.values()),
        ("pods", ideal.pods.values()),
    ):
        for source in objects:
            ingest.apply(ADDED, plural, source)

    assert _books(world.cluster) == _books(rebuilt)


def _books(cluster: Cluster) -> dict[str, Any]:
    """By name, with resources by name: rows and dimensions are numbered as they come."""
    names = cluster.dimensions.names

    def named(amounts: np.ndarray[Any, Any]) -> dict[str, int]:
        return {name: int(amount) for name, amount in zip(names, amounts.tolist(), strict=False) if amount}

    table = cluster.nodes
    columns = ("allocatable", "idle", "future", "used", "releasing", "pipelined", "requested")
    return {
        **{
            f"node {name}": {column: named(getattr(table, column)[row]) for column in columns}
            for name, row in table.row_of.items()
        },
        **{
            f"job {key}": (named(job.allocated), job.tally.describe(), job.tally.ready, sorted(job.pending))
            for key, job in cluster.jobs.items()
        },
        **{f"queue {name}": (named(q.allocated), named(q.pending)) for name, q in cluster.queues.items()},
    }


def _holding(tasks: Any) -> int:
    return sum(task.status in HOLDING for task in tasks)


def _no_node_is_over_allocated(cluster: Cluster) -> None:
    table = cluster.nodes
    assert (table.idle[table.active] >= 0).all()
    for row in table.active.tolist():
        members: list[Task] = list(table.tasks[row].values())
        used = sum((task.profile.request for task in members if task.status not in TERMINATED_STATUSES), 0)
        assert (used <= table.allocatable[row]).all()


def _used_by_queue(cluster: Cluster) -> dict[str, int]:
    """CPU per queue, with all below it."""
    used: Counter[str] = Counter()
    for job in cluster.jobs.values():
        held = sum(int(task.profile.request[0]) for task in job.tasks.values() if task.status in HOLDING)
        name = job.queue_name
        while name:
            used[name] += held
            name = TREE.get(name, "")
    return used


def _no_queue_exceeds_its_capability(world: World, before: dict[str, int]) -> None:
    """Nor do its ancestors, where the queues are a tree. Who was above it already does not grow."""
    limiting = [option for option in world.conf.plugins if option.name in LIMITING]
    if not limiting:
        return
    is_tree = "enableHierarchy" in limiting[0].switches
    for name, used in _used_by_queue(world.cluster).items():
        capability = world.cluster.queues[name].object.spec.capability.get("cpu")
        if capability is not None and (is_tree or name not in TREE.values()):
            assert used <= max(int(capability) * 1000, before.get(name, 0)), f"{name} uses {used}"


def _no_gang_is_broken(world: World, decisions: Decisions, before: dict[str, int]) -> None:
    """Unless it was before, or its configuration lets `preempt` break gangs."""
    gang = next(option for option in world.conf.plugins if option.name == "gang")
    given_up = set()
    if "enablePreemptable" not in gang.switches:
        given_up = {eviction.job for eviction in decisions.evictions if eviction.cause == "preempt"}
    for key, job in world.cluster.jobs.items():
        best_effort = sum(task.best_effort and task.status is Status.PENDING for task in job.tasks.values())
        held = _holding(job.tasks.values())
        if held and held + best_effort < job.min_available and key not in given_up:
            assert held <= before[key] < job.min_available, f"{key} has {held} of {job.min_available}"
