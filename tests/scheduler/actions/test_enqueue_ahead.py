"""enqueue: of the podgroups that a queue expects, how many are let in before they are there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.scheduler.plugins.test_extender import Service
from volcano.scheduler.cluster.credit import CreditRequest, CreditRequests
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.plugin import Plugin, Vote
from volcano.scheduler.plugins.extender.port import ExtenderPort
from volcano.scheduler.plugins.overcommit import Overcommit
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World

EACH = {"cpu": "1", "memory": "1Gi"}
CONF = """
actions: "enqueue"
tiers:
- plugins: [{name: gang}]
- plugins: [{name: predicates}, %s]
"""
OVERCOMMIT = "{name: overcommit, arguments: {overcommit-factor: 1.0}}"


def world_of(
    *plugins: str, capability: int | None = None, mine: Sequence[type[Plugin]] = (), state: str = "Open"
) -> World:
    """A queue "q" of a large cluster, with a job of 1 CPU that is waiting."""
    return World(
        nodes=[node("n0", cpu=10_000, memory="10Ti")],
        queues=[queue("root"), queue("q", capability={"cpu": capability} if capability else None, state=state)],
        jobs=[gang("waiting", pods=1, cpu=1, queue="q", phase="Pending", min_resources={"cpu": 1})],
        conf=CONF % ", ".join(plugins),
        registry=registries.built_in().extended(mine),
    )


def credits_of(world: World, **requests: CreditRequest) -> dict[str, int]:
    """What a cycle grants, in which the waiting job has been let in as well."""
    world.cluster.index(CreditRequests).by_queue = requests or {"q": CreditRequest(256, EACH)}
    decisions = world.cycle()
    assert decisions.podgroups["default/waiting"].phase == "Inqueue"
    assert decisions.warnings == []
    return decisions.credits


def test_nobody_asks_and_nobody_gets_anything() -> None:
    assert world_of(OVERCOMMIT, "{name: proportion}").cycle().credits == {}


@pytest.mark.parametrize(
    ("capability", "granted"),
    [(513, 256), (512, 64), (129, 64), (128, 16), (33, 16), (32, 0)],
)
@pytest.mark.parametrize("plugin", ["proportion", "capacity", "capacity, enableHierarchy: true"])
def test_all_or_a_part_of_it_is_let_in_as_there_is_room_for_twice_as_much(
    plugin: str, capability: int, granted: int
) -> None:
    """One CPU is for the job that has just been let in."""
    world = world_of(OVERCOMMIT, f"{{name: {plugin}}}", capability=capability)

    assert credits_of(world) == {"q": granted}


def test_of_several_queues_in_a_rush_none_takes_the_room_of_the_others() -> None:
    """Each could have 500 for itself: there are 1,000 beside the job that has just been let in."""
    world = world_of(OVERCOMMIT, "{name: capacity}")
    world.update("nodes", node("n0", cpu=1001, memory="10Ti"))
    others = ("a", "b", "c")
    for name in others:
        world.add("queues", queue(name))

    granted = credits_of(world, **dict.fromkeys(("q", *others), CreditRequest(256, EACH, queues=4)))

    assert granted == dict.fromkeys(("q", *others), 64)


def test_the_cluster_has_to_have_room_as_well() -> None:
    world = world_of(OVERCOMMIT, "{name: proportion}")
    world.update("nodes", node("n0", cpu=129, memory="10Ti"))

    assert credits_of(world) == {"q": 64}


def test_what_asks_for_nothing_finds_room_everywhere() -> None:
    assert credits_of(world_of(OVERCOMMIT, "{name: proportion}", capability=1), q=CreditRequest(256, {})) == {"q": 256}


def test_each_queue_is_answered_for_itself() -> None:
    world = world_of(OVERCOMMIT, "{name: capacity}")
    world.add("queues", queue("small", capability={"cpu": 40}))

    assert credits_of(world, q=CreditRequest(256, EACH), small=CreditRequest(256, EACH)) == {"q": 256, "small": 16}


def test_a_queue_that_is_not_there_gets_no_answer() -> None:
    world = world_of(OVERCOMMIT, "{name: proportion}")

    assert credits_of(world, gone=CreditRequest(256, EACH), q=CreditRequest(256, EACH)) == {"q": 256}


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_queue_that_is_closed_lets_nobody_in(plugin: str) -> None:
    world = world_of(OVERCOMMIT, f"{{name: {plugin}}}", state="Closed")
    world.cluster.index(CreditRequests).by_queue = {"q": CreditRequest(256, EACH)}

    assert world.cycle().credits == {"q": 0}


@pytest.mark.parametrize(("plugin", "granted"), [("proportion", 0), ("capacity", 256)])
def test_a_queue_whose_jobs_have_gone_as_fast_as_they_came(plugin: str, granted: int) -> None:
    """proportion keeps no account of it any more."""
    world = world_of(OVERCOMMIT, f"{{name: {plugin}}}")
    world.add("queues", queue("idle"))

    assert credits_of(world, idle=CreditRequest(256, EACH)) == {"idle": granted}


@pytest.mark.parametrize(("claimed", "granted"), [(0, 16), (20, 0)])
def test_what_other_queues_below_the_same_one_have_been_let_in_counts(claimed: int, granted: int) -> None:
    world = world_of(OVERCOMMIT, "{name: capacity, enableHierarchy: true}")
    world.add("queues", queue("above", parent="root", capability={"cpu": 40}))
    world.add("queues", queue("one", parent="above"), queue("other", parent="above"))
    world.add_gang(gang("admitted", pods=[], queue="other", phase="Inqueue", min_resources={"cpu": claimed}))

    assert credits_of(world, one=CreditRequest(256, EACH)) == {"one": granted}


def test_jobs_belong_into_the_queues_below() -> None:
    """This queue has no job yet of which that would be said."""
    world = world_of(OVERCOMMIT, "{name: capacity, enableHierarchy: true}")
    world.add("queues", queue("above", parent="root"), queue("below", parent="above"))

    assert credits_of(world, above=CreditRequest(256, EACH), below=CreditRequest(256, EACH)) == {
        "above": 0,
        "below": 256,
    }


def test_a_resource_that_nothing_and_nobody_has_told_of_is_not_let_in() -> None:
    """To learn it would change the shape of everything, in the middle of a cycle."""
    world = world_of(OVERCOMMIT, "{name: proportion}")
    many = {f"example.com/r{number}": "0" for number in range(64)}
    width = world.cluster.dimensions.width

    assert credits_of(world, q=CreditRequest(256, many)) == {"q": 0}
    assert world.cluster.dimensions.width == width


# Who is asked


class Votes(Plugin):
    name = "mine"

    def job_enqueueable(self, job: Job) -> Vote:
        return Vote.PERMIT


class Counts(Plugin):
    name = "mine"

    def job_enqueued(self, job: Job) -> None: ...


class Looks(Plugin):
    """It has nothing to do with who is let in."""

    name = "mine"

    def job_valid(self, job: Job) -> None: ...


class Answers(Votes):
    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        return bool(amount[0] <= 128_000)


class Stricter(Overcommit):
    """Made out of another, with a vote of its own."""

    name = "mine"

    def job_enqueueable(self, job: Job) -> Vote:
        return Vote.PERMIT


class Renamed(Overcommit):
    name = "mine"


class Raises(Votes):
    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        raise ValueError("out of cheese")


@pytest.mark.parametrize(
    ("plugin", "granted"),
    [(Votes, 0), (Counts, 0), (Looks, 256), (Answers, 64), (Stricter, 0), (Renamed, 256)],
)
def test_each_plugin_that_has_a_word_in_admissions_has_to_agree(plugin: type[Plugin], granted: int) -> None:
    assert credits_of(world_of(OVERCOMMIT, "{name: mine}", mine=[plugin])) == {"q": granted}


def test_it_has_no_word_where_that_is_switched_off() -> None:
    assert credits_of(world_of(OVERCOMMIT, "{name: mine, enableJobEnqueued: false}", mine=[Votes])) == {"q": 256}


def test_a_plugin_that_raises_lets_nobody_in_and_the_cycle_goes_on() -> None:
    world = world_of(OVERCOMMIT, "{name: mine}", mine=[Raises])
    world.cluster.index(CreditRequests).by_queue = {"q": CreditRequest(256, EACH)}

    decisions = world.cycle()

    assert decisions.credits == {"q": 0}
    assert decisions.podgroups["default/waiting"].phase == "Inqueue"
    assert {warning.partition(" failed")[0] for warning in decisions.warnings} == {
        "plugin 'mine': admits_ahead for queue q"
    }


def test_who_is_always_let_in_in_the_end_keeps_nobody_out() -> None:
    assert credits_of(world_of(OVERCOMMIT, "{name: sla}")) == {"q": 256}


def test_quotas_of_namespaces_are_looked_at_for_each_job() -> None:
    assert credits_of(world_of(OVERCOMMIT, "{name: resourcequota}")) == {"q": 0}


@pytest.mark.parametrize(
    ("verb", "granted"),
    [("predicateVerb: check", 256), ("jobEnqueueableVerb: vote", 0), ("jobEnqueuedVerb: note", 0)],
)
def test_a_service_that_is_asked_about_each_job_is_asked_about_each(verb: str, granted: int) -> None:
    arguments = f"extender.urlPrefix: 'http://e/v1/', extender.{verb}"
    world = world_of(OVERCOMMIT, f"{{name: extender, arguments: {{{arguments}}}}}")
    world.cluster.index(ExtenderPort).post = Service(vote={"status": 1}, note={}, check={}).post

    assert credits_of(world) == {"q": granted}
