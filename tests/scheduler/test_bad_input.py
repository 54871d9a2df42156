"""Input that cannot be right: it is named, it spoils only itself, and the cycle goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_origin

import msgspec
import pytest

from tests.scheduler.daemon.bench import Bench, bench
from tests.waiting import until
from volcano.api.resources import EVENTS
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework import conf as grammar, registry as registries
from volcano.scheduler.framework.arguments import REST
from volcano.scheduler.framework.decisions import Decisions
from volcano.scheduler.framework.plugin import Plugin
from volcano.testing.builders import Gang, gang, node, queue
from volcano.testing.world import World

CONF = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: SHARES, enableHierarchy: true}, {name: nodeorder}]
"""


def world(*jobs: Gang, queues: Sequence[object] = (), shares: str = "capacity") -> World:
    return World(
        nodes=[node("n0"), node("n1")],
        queues=[queue("root"), queue("good"), *queues],  # type: ignore[list-item]
        jobs=[gang("good", pods=1, cpu=1, queue="good"), *jobs],
        conf=CONF.replace("SHARES", shares),
    )


GOOD = "default/good-worker-0"


@pytest.mark.parametrize(
    "queues",
    [
        pytest.param([queue("bad", parent="worse"), queue("worse", parent="bad")], id="in a circle"),
        pytest.param([queue("bad", parent="bad")], id="its own parent"),
        pytest.param([queue("bad", parent="nobody")], id="an orphan"),
    ],
)
def test_a_tree_with_a_fault_holds_up_only_whoever_is_in_it(queues: list[object]) -> None:
    decisions = world(gang("bad", pods=1, cpu=1, queue="bad"), queues=queues).cycle()

    assert list(decisions.binds) == [GOOD]
    reason = decisions.reason("bad")
    assert reason is not None
    assert (reason.cause or reason).code == "QueueMisplaced"
    assert "'bad'" in str(reason.cause or reason)


@pytest.mark.parametrize("amount", ["-1", -4, "1e400", "999999999999999999999", "9e99", "", "many"])
@pytest.mark.parametrize("field", ["pod", "node", "queue", "minResources"])
@pytest.mark.parametrize("shares", ["capacity", "proportion"])
def test_an_absurd_amount_spoils_only_its_object(field: str, amount: str, shares: str) -> None:
    made = world(shares=shares)
    bad = gang("bad", pods=1, cpu=amount if field == "pod" else 1, queue="good", created=1)
    if field == "minResources":
        bad.pod_group.spec.min_resources = {"cpu": amount}
    others: dict[str, tuple[str, list[Any]]] = {
        "node": ("nodes", [node("bad", cpu=amount)]),
        "queue": ("queues", [queue("bad", capability={"cpu": amount}, deserved={"cpu": amount})]),
    }
    own: list[tuple[str, list[Any]]] = [("podgroups", [bad.pod_group]), ("pods", list(bad.pods))]
    for plural, objects in [others[field]] if field in others else own:
        for source in objects:
            with suppress(ValueError, OverflowError):  # the daemon names the object and goes on
                made.add(plural, source)

    decisions = made.cycle()

    assert GOOD in decisions.binds
    table = made.cluster.nodes
    assert (table.idle[table.active] <= table.allocatable[table.active]).all()


def test_a_selector_that_nothing_can_match_is_a_reason() -> None:
    decisions = world(gang("bad", pods=1, cpu=1, queue="good", node_selector={"moon": "full"})).cycle()

    assert GOOD in decisions.binds
    assert "node affinity/selector" in str(decisions.reason("bad").cause)  # type: ignore[union-attr]


class Shrinking(Plugin):
    """Takes a node away while it is asked."""

    name = "shrinking"
    world: World

    def allocatable(self, queue: Queue, task: Task) -> bool:
        if "n1" in self.world.cluster.nodes.row_of:
            self.world.remove("nodes", node("n1"))
        return True


def test_a_node_that_vanishes_in_mid_cycle_gets_nothing_that_lasts() -> None:
    registry = registries.built_in().extended([Shrinking])
    made = World(
        nodes=[node("n0", cpu=1), node("n1", cpu=1)],
        queues=[queue("good")],
        jobs=[gang("good", pods=2, cpu=1, queue="good", min_available=1)],
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: shrinking}]\n",
        registry=registry,
    )
    Shrinking.world = made
    made.cycle()

    assert made.cycle().binds == {}
    assert "n1" not in made.cluster.nodes.row_of
    held = [task for row in made.cluster.nodes.active for task in made.cluster.nodes.tasks[row].values()]
    assert {task.node_name for task in held} <= {"n0"}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param("actions: allocate\ntiers: {", "line 2", id="no YAML"),
        pytest.param("actions: alocate\ntiers: []", "did you mean 'allocate'", id="an unknown action"),
        pytest.param("actions: allocate\ntiers: 7", "tiers", id="a number for a list"),
        pytest.param(
            "actions: allocate\ntiers:\n- plugins: [{name: drf, enableHierarchy: true}, {name: proportion}]",
            "proportion",
            id="plugins that exclude each other",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_is_rejected_in_log_metric_and_event(
    broken: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "conf.yaml"
    file.write_text("actions: allocate\ntiers: []\n")

    async def scenario() -> None:
        async with bench(scheduler_conf=str(file)) as b:
            file.write_text(broken)

            async def told() -> bool:
                found = (await b.client.list(EVENTS)).items
                return any(event.reason == "ConfigurationRejected" and said in event.message for event in found)

            await until(told)
            assert b.scheduler.configuration.conf.actions == ("allocate",)
            assert 'reloads_total{outcome="rejected"} 1' in b.scheduler.metrics.registry.render().decode()
            assert "the configuration stays as it was" in caplog.text
            await b.submit(gang("train", pods=1, cpu=1))

            async def bound() -> bool:
                return bool((await b.pod("train-worker-0")).spec.node_name)

            await until(bound)

            file.write_text("actions: enqueue, allocate\ntiers: []\n")
            await until(lambda: said_on_the_lease(b, "ConfigurationLoaded", "is in force: actions enqueue, allocate"))

    asyncio.run(scenario())


async def said_on_the_lease(b: Bench, reason: str, said: str) -> bool:
    found = (await b.client.list(EVENTS)).items
    return any(
        event.reason == reason and said in event.message and event.involved_object.kind == "Lease" for event in found
    )


def test_a_scheduler_that_starts_with_a_bad_configuration_says_so_and_its_successor_that_it_is_over(
    tmp_path: Path,
) -> None:
    file = tmp_path / "conf.yaml"
    file.write_text("actions: alocate\ntiers: []\n")

    async def scenario() -> None:
        async with bench(scheduler_conf=str(file)) as b:
            await until(lambda: said_on_the_lease(b, "ConfigurationRejected", "did you mean 'allocate'"))
            assert "allocate" in b.scheduler.configuration.conf.actions
        file.write_text("actions: allocate\ntiers: []\n")
        async with bench(scheduler_conf=str(file)) as b:
            await until(lambda: said_on_the_lease(b, "ConfigurationLoaded", "is in force: actions allocate"))

    asyncio.run(scenario())


def cycle_with(*plugins: str) -> Decisions:
    """With these plugins beside the usual ones."""
    listed = ", ".join(("{name: gang}", "{name: predicates}", *plugins))
    made = World(
        nodes=[node("n0")],
        queues=[queue("root"), queue("good")],
        jobs=[gang("good", pods=1, cpu=1, queue="good")],
        conf=f"actions: allocate\ntiers:\n- plugins: [{listed}]\n",
    )
    return made.cycle()


def test_an_unknown_plugin_is_named_and_left_out() -> None:
    decisions = cycle_with("{name: binpak}")

    assert list(decisions.binds) == [GOOD]
    assert decisions.warnings == ["plugin 'binpak' is not known and is left out: did you mean 'binpack'?"]


def _wrong(wanted: Any) -> str:
    """A value that is not of this type, in YAML."""
    return "7.5" if get_origin(wanted) in (list, dict, tuple) or wanted is str else "[wrong]"


def _typed() -> list[Any]:
    plugins = registries.built_in().plugins
    fields = {
        name: {
            info.encode_name: _wrong(info.type)
            for info in msgspec.structs.fields(plugin.Arguments)
            if info.name != REST
        }
        for name, plugin in plugins.items()
    }
    return [pytest.param(name, values, id=name) for name, values in sorted(fields.items()) if values]


@pytest.mark.parametrize(("plugin", "values"), _typed())
def test_an_argument_of_a_wrong_type_is_named_and_its_default_stays(plugin: str, values: dict[str, str]) -> None:
    arguments = ", ".join(f'"{name}": {value}' for name, value in values.items())

    decisions = cycle_with(f"{{name: {plugin}, arguments: {{{arguments}}}}}")

    said = "\n".join(decisions.warnings)
    assert [name for name in values if f"argument {name!r} is" not in said] == []
    assert "the default stays" in said
    assert decisions.binds == cycle_with(f"{{name: {plugin}}}").binds


def test_switches_that_exclude_each_other_are_named() -> None:
    both = "{name: deviceshare, arguments: {deviceshare.GPUSharingEnable: true, deviceshare.VGPUEnable: true}}"

    decisions = cycle_with(both)

    assert any(warning.startswith("deviceshare: ") for warning in decisions.warnings)
    assert list(decisions.binds) == [GOOD]


@pytest.mark.parametrize("hook", ["open", "close", "prepare", "filter", "job_order", "allocatable"])
def test_a_plugin_of_a_user_that_raises_is_named_and_the_cycle_goes_on(hook: str, tmp_path: Path) -> None:
    first = "cls" if hook == "prepare" else "self"
    source = "from volcano.scheduler.framework.plugin import Plugin\n\n\nclass Mine(Plugin):\n    name = 'mine'\n\n"
    source += "    @classmethod\n" if hook == "prepare" else ""
    (tmp_path / "mine.py").write_text(f"{source}    def {hook}({first}, *about):\n        raise KeyError('oops')\n")
    made = world()
    made.add_gang(gang("fine", cpu=1, queue="good"))  # a job that is alone is not asked whether it comes first
    made.registry = registries.from_directory(made.registry, tmp_path)
    tiers = "tiers:\n- plugins: [{name: gang}, {name: predicates}, {name: mine}]\n"
    made.conf = grammar.parse(f"actions: allocate\n{tiers}", made.registry.actions)

    decisions = made.cycle()

    assert any("plugin 'mine'" in warning and "oops" in warning for warning in decisions.warnings)
    assert sorted(decisions.podgroups) == ["default/fine", "default/good"]
    made.conf = grammar.parse(f"actions: allocate\n{tiers.replace(', {name: mine}', '')}", made.registry.actions)
    assert sorted([*decisions.binds, *made.cycle().binds]) == ["default/fine-worker-0", GOOD]
