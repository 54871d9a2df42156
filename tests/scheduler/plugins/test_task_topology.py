"""task-topology: roles that want each other share nodes, roles that do not are kept apart."""

from __future__ import annotations

from collections import defaultdict

import pytest

from volcano.api import keys
from volcano.scheduler.plugins.task_topology.roles import RolesError, roles_of
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: task-topology, arguments: {task-topology.weight: 10}}]
"""


def world_of(nodes: int, annotations: dict[str, str], **roles: int) -> World:
    members = [
        pod(f"t-{role}-{i}", group="t", cpu=1, role=role) for role, number in roles.items() for i in range(number)
    ]
    job = gang("t", pods=members)
    job.pod_group.metadata.annotations.update(annotations)
    return World(nodes=[node(f"n{i}", cpu=3) for i in range(nodes)], jobs=[job], conf=CONF)


def by_node(binds: dict[str, str]) -> list[list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, name in binds.items():
        found[name].append(key.split("-")[1])
    return sorted(sorted(roles) for roles in found.values())


def test_affine_roles_share_a_node() -> None:
    world = world_of(
        2, {keys.TASK_TOPOLOGY_AFFINITY: "ps,worker", keys.TASK_TOPOLOGY_ANTI_AFFINITY: "ps"}, ps=2, worker=4
    )

    assert by_node(world.cycle().binds) == [["ps", "worker", "worker"], ["ps", "worker", "worker"]]


def test_a_role_that_avoids_itself_is_spread() -> None:
    world = world_of(4, {keys.TASK_TOPOLOGY_ANTI_AFFINITY: "worker"}, worker=4)

    assert by_node(world.cycle().binds) == [["worker"]] * 4


def test_an_undone_placement_leaves_the_buckets_as_they_were() -> None:
    world = world_of(1, {keys.TASK_TOPOLOGY_AFFINITY: "worker"}, worker=2)
    session = world.session()
    plugin = session.plugins["task-topology"]
    first, second = session.cluster.tasks.values()
    before = plugin.domain_scores(second, session.rows)
    statement = session.statement()

    statement.allocate([first], [int(session.rows[0])])
    statement.rollback()

    after = plugin.domain_scores(second, session.rows)
    assert before is not None
    assert after is not None
    assert before.tolist() == after.tolist()
    session.restore()


@pytest.mark.parametrize(("text", "problem"), [("ps,nobody", "no task has the role 'nobody'"), ("ps,ps", "twice")])
def test_wishes_that_cannot_be_met_are_named(text: str, problem: str) -> None:
    with pytest.raises(RolesError, match=problem):
        roles_of({keys.TASK_TOPOLOGY_AFFINITY: text}, {"ps", "worker"})


def test_a_job_with_bad_wishes_is_placed_without_them() -> None:
    world = world_of(2, {keys.TASK_TOPOLOGY_AFFINITY: "ps,nobody"}, ps=2)

    decisions = world.cycle()

    assert len(decisions.binds) == 2
    assert any("no task has the role 'nobody'" in warning for warning in decisions.warnings)
