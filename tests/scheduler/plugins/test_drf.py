"""drf: the smaller dominant share goes first, flat between jobs and along the tree between queues."""

from __future__ import annotations

from volcano.api import keys
from volcano.api.scheduling import Queue
from volcano.scheduler.plugins.drf import Drf
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World

FLAT = """
actions: "allocate"
tiers:
- plugins: [{name: gang}, {name: drf}, {name: predicates}, {name: nodeorder}]
"""
TREE = FLAT.replace("{name: drf}", "{name: drf, enableHierarchy: true}")


def at(name: str, path: str, weights: str) -> Queue:
    return queue(name, annotations={keys.HIERARCHY: path, keys.HIERARCHY_WEIGHTS: weights})


def test_the_job_with_the_smaller_dominant_share_is_served_first() -> None:
    world = World(
        nodes=[node("n1", cpu=10, memory="100Gi")],
        jobs=[
            gang("cpu", pods=9, min_available=1, cpu=1, nodes=["n1"] * 5, phase="Running"),
            gang("memory", pods=9, min_available=1, memory="10Gi", nodes=["n1"] * 4, phase="Running", created=9),
        ],
        conf=FLAT,
    )

    order = [name.split("/")[1].split("-")[0] for name, _ in world.cycle().bind_order]

    assert order[0] == "memory"
    assert order[:6] == ["memory", "cpu", "memory", "cpu", "memory", "cpu"]


def test_a_preemptor_takes_only_from_jobs_with_no_smaller_share() -> None:
    world = World(
        nodes=[node("n1", cpu=10)],
        jobs=[
            gang("rich", pods=6, min_available=1, cpu=1, nodes=["n1"] * 6, phase="Running"),
            gang("poor", pods=2, min_available=1, cpu=1, nodes=["n1"], phase="Running"),
        ],
        conf=FLAT,
    )
    session = world.session()
    drf = session.plugins["drf"]
    tasks = {task.name: task for task in session.cluster.tasks.values()}
    running = [tasks[f"rich-worker-{i}"] for i in range(6)]

    victims = drf.preemptable(tasks["poor-worker-1"], running)

    assert victims is not None
    assert [task.name for task in victims] == [f"rich-worker-{i}" for i in range(4)]


def test_queues_are_compared_level_by_level_of_the_tree() -> None:
    world = World(
        nodes=[node("n1", cpu=10)],
        queues=[
            at("sci", "root/sci", "100/50"),
            at("dev", "root/eng/dev", "100/50/50"),
            at("prod", "root/eng/prod", "100/50/50"),
        ],
        jobs=[gang(name, pods=10, min_available=1, cpu=1, queue=name) for name in ("sci", "dev", "prod")],
        conf=TREE,
    )

    binds = world.cycle().binds

    counts = {name: sum(key.startswith(f"default/{name}-") for key in binds) for name in ("sci", "dev", "prod")}
    assert counts == {"sci": 4, "dev": 3, "prod": 3}, "eng counts as twice the smaller of dev and prod"


def test_a_queue_reclaims_along_the_tree_and_not_from_poorer_ones() -> None:
    world = World(
        nodes=[node("n1", cpu=10)],
        queues=[at("a", "root/a", "1/1"), at("b", "root/b", "1/1")],
        jobs=[
            gang("a", pods=8, min_available=1, cpu=1, queue="a", nodes=["n1"] * 8, phase="Running"),
            gang("b", pods=5, min_available=1, cpu=1, queue="b", nodes=["n1"] * 2, phase="Running"),
        ],
        conf=TREE,
    )
    session = world.session()
    drf = session.plugins["drf"]
    assert isinstance(drf, Drf)
    tasks = {task.name: task for task in session.cluster.tasks.values()}

    assert drf.reclaimable(tasks["b-worker-2"], [tasks["a-worker-0"]]) == [tasks["a-worker-0"]]
    assert drf.reclaimable(tasks["a-worker-0"], [tasks["b-worker-0"]]) == []
