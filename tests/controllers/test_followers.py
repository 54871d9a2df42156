"""Controllers that follow others where network and clock misbehave: in the end all is as a fresh one would make it.

First random histories of each; then, one by one, decisions that were made on what was not true any more.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.controllers.simulation.colocation_life import Colocations
from tests.controllers.simulation.domain_life import HALL, RACK, Domains, member_of
from tests.controllers.simulation.expiry_life import Expiries
from tests.controllers.simulation.followers import Follower
from tests.controllers.simulation.group_life import Groups
from tests.controllers.simulation.shard_life import Shards
from tests.controllers.simulation.template_life import Templates
from tests.controllers.simulation.world import lived, run

SETTLED: Final = 10.0


@pytest.mark.parametrize("life", [Colocations, Domains, Expiries, Groups, Shards, Templates])
def test_whatever_happens_nothing_is_left_to_do(life: type[Follower]) -> None:
    for seed in range(15):
        lived(life, seed, 20)


def test_a_domain_made_of_too_few_nodes_gets_the_others_when_it_is_seen() -> None:
    async def story() -> None:
        life = Domains(0)
        life.configure(enabled=True)
        life.start()
        await life.pause(SETTLED)
        with life.server.held("hypernodes"):
            for name in ("n0", "n1"):
                life.make("nodes", name, metadata={"labels": {RACK: "r0", HALL: ""}})
                await life.pause(SETTLED)
        await life.pause(SETTLED)
        life.check()
        await life.stop()

    run(story())


def test_a_count_that_was_right_before_our_own_is_written_again() -> None:
    async def story() -> None:
        life = Domains(0)
        life.configure(enabled=False)
        life.make("hypernodes", "mine", spec={"tier": 1, "members": [member_of("Node", "n0")]})
        life.start()
        await life.pause(SETTLED)
        with life.server.held("hypernodes"):
            life.make("nodes", "n0", metadata={"labels": {}})
            await life.pause(SETTLED)
            await life.node_goes()
            await life.pause(SETTLED)
        await life.pause(SETTLED)
        life.check()
        await life.stop()

    run(story())


def test_a_domain_that_somebody_made_in_place_of_ours_is_left_alone() -> None:
    async def story() -> None:
        life = Domains(0)
        life.configure(enabled=True)
        life.make("nodes", "n0", metadata={"labels": {RACK: "r0", HALL: ""}})
        life.start()
        await life.pause(SETTLED)
        [found] = life.documents("hypernodes")
        name = found["metadata"]["name"]
        with life.server.held("hypernodes"):
            life.server.remove("hypernodes", name)
            life.make("hypernodes", name, spec={"tier": 1, "members": [member_of("Node", "n1")]})
            await life.node_goes()
            await life.pause(SETTLED)
        await life.pause(SETTLED)
        assert [one["spec"]["members"] for one in life.documents("hypernodes")] == [[member_of("Node", "n1")]]
        await life.stop()

    run(story())
