"""What is let in before it is there would have been let in, had it waited for its turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tests.scheduler.properties.test_properties import FEW, THOUSANDS
from tests.scheduler.properties.worlds import GPU, WORLDS, Draw, build
from volcano.scheduler.cluster.credit import CreditRequest, CreditRequests
from volcano.scheduler.framework import conf as conf_file, registry as registries
from volcano.testing.builders import gang
from volcano.testing.world import World

CONF = """
actions: "enqueue"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{{name: predicates}}, {plugins}]
"""
ADMITTING = {
    "overcommit": "{name: overcommit}",
    "proportion": "{name: proportion}",
    "capacity": "{name: capacity}",
    "capacity-tree": "{name: capacity, enableHierarchy: true}",
    "overcommit-proportion": "{name: overcommit}, {name: proportion}",
    "overcommit-capacity": "{name: overcommit}, {name: capacity}",
}
"""Alone, for where there are two the stricter one hides what the other one does."""
GROUPS = 16
EACH = st.fixed_dictionaries({"cpu": st.sampled_from(("0", "50m", "1", "2"))}, optional={GPU: st.just("1")})


def asking(draw: Draw) -> Draw:
    """The same, where each job says what it needs, and most are in two queues whose parent has less than both may."""
    jobs = tuple(replace(job, says_resources=True, queue="a2" if job.queue == "b" else job.queue) for job in draw.jobs)
    parent, *others = draw.queues
    limits = (replace(parent, capability=8), *(replace(one, capability=one.capability or 16) for one in others))
    return replace(draw, jobs=jobs, queues=limits)


CLUSTERS = WORLDS.map(asking) | WORLDS
QUEUES = st.sampled_from(("a1", "a2", "a2", "a", "b"))


@pytest.mark.parametrize("plugins", ADMITTING)
@FEW
@given(CLUSTERS, QUEUES, EACH)
def test_all_of_them_are_let_in_when_they_come(plugins: str, draw: Draw, queue: str, each: dict[str, str]) -> None:
    _all_are_let_in(plugins, draw, queue, each)


@pytest.mark.soak
@pytest.mark.parametrize("plugins", ADMITTING)
@THOUSANDS
@given(CLUSTERS, QUEUES, EACH)
def test_thousands_are_let_in(plugins: str, draw: Draw, queue: str, each: dict[str, str]) -> None:
    _all_are_let_in(plugins, draw, queue, each)


def test_there_is_something_to_let_in() -> None:
    """Else the others would say nothing."""
    found = []

    @FEW
    @given(CLUSTERS, QUEUES, EACH)
    def look(draw: Draw, queue: str, each: dict[str, str]) -> None:
        found.append(_granted("proportion", draw, queue, each)[0])

    look()
    assert any(found)
    assert not all(found)


def _all_are_let_in(plugins: str, draw: Draw, queue: str, each: Mapping[str, str]) -> None:
    """They come in the next cycle, and nothing else happens meanwhile."""
    groups, admitted = _granted(plugins, draw, queue, each)
    jobs = tuple(
        replace(job, phase="Inqueue") if f"default/g{n}" in admitted else job for n, job in enumerate(draw.jobs)
    )
    world = _world(plugins, replace(draw, jobs=jobs))
    for number in range(groups):
        world.add_gang(gang(f"new-{number}", pods=[], queue=queue, phase="Pending", min_resources=each, created=100))

    decided = world.cycle().podgroups

    assert [decided[f"default/new-{number}"].phase for number in range(groups)] == ["Inqueue"] * groups


def _granted(plugins: str, draw: Draw, queue: str, each: Mapping[str, str]) -> tuple[int, set[str]]:
    """How many are let in where there has to be room for them, not for twice as many; and who of the others is."""
    world = _world(plugins, draw)
    world.cluster.index(CreditRequests).by_queue = {queue: CreditRequest(GROUPS, each, queues=0)}
    decisions = world.cycle()
    return decisions.credits[queue], {key for key, decided in decisions.podgroups.items() if decided.phase == "Inqueue"}


def _world(plugins: str, draw: Draw) -> World:
    world = build(draw, "default")
    world.conf = conf_file.parse(CONF.format(plugins=ADMITTING[plugins]), registries.built_in().actions)
    return world
