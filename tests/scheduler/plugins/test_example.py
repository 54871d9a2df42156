"""The plugin of the documentation does what it says, from its file."""

from __future__ import annotations

from pathlib import Path

from volcano.scheduler.daemon.reload import Configuration
from volcano.scheduler.framework import registry as registries
from volcano.testing.builders import at, gang, node, pod
from volcano.testing.world import World

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
CONF = "actions: allocate\ntiers:\n- plugins:\n  - name: spread-teams\n"


def test_the_example_spreads_teams() -> None:
    red = {"team": "red"}
    world = World(
        nodes=[node("n1"), node("n2")],
        jobs=[gang("old", pods=[pod("old-0", group="old", node="n1", labels=red)], phase="Running")],
        conf=CONF,
        registry=registries.from_directory(registries.built_in(), EXAMPLES),
    )
    world.add_gang(gang("new", pods=[pod("new-0", group="new", cpu=1, labels=red)]))

    assert world.cycle().binds == {"default/new-0": "n2"}


def test_the_example_action_ends_what_runs_for_too_long() -> None:
    pods = [
        pod(f"p{hours}", group="old", node="n1", annotations={"example.com/max-hours": str(hours)}) for hours in (1, 3)
    ]
    for one in pods:
        one.status.start_time = at(0)
    world = World(
        nodes=[node("n1")],
        jobs=[gang("old", pods=pods, min_available=0, phase="Running")],
        conf="actions: time-limit\ntiers: []\n",
        registry=registries.from_directory(registries.built_in(), EXAMPLES),
        now=at(2 * 3600).timestamp(),
    )

    assert [(eviction.key, eviction.cause) for eviction in world.cycle().evictions] == [("default/p1", "time-limit")]


def test_actions_are_loaded_and_reloaded_with_the_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "time_limit.py").write_text((EXAMPLES / "time_limit.py").read_text())
    conf = tmp_path / "conf.yaml"
    conf.write_text("actions: allocate\ntiers: []\n")
    configuration = Configuration(str(conf), plugins_dir=str(folder))
    assert "time-limit" in configuration.registry.actions

    (folder / "other.py").write_text((EXAMPLES / "time_limit.py").read_text().replace("time-limit", "other-limit"))
    conf.write_text("actions: allocate, other-limit\ntiers: []\n")

    assert configuration.refresh()
    assert configuration.conf.actions == ("allocate", "other-limit")
