"""The plugin of the documentation does what it says, from its file."""

from __future__ import annotations

from pathlib import Path

from volcano.scheduler.framework import registry as registries
from volcano.testing.builders import gang, node, pod
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
