"""NodeShards: schedulers that divide the nodes of a cluster between them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.meta import ObjectMeta
from volcano.api.resources import NODE_SHARDS
from volcano.api.shard import NodeShard, NodeShardSpec, NodeShardStatus
from volcano.scheduler.cluster.shards import Shards
from volcano.scheduler.framework.options import Options
from volcano.testing.builders import gang, node
from volcano.testing.world import World


def shard(name: str, *desired: str, in_use: Sequence[str] = ()) -> NodeShard:
    return NodeShard(
        metadata=ObjectMeta(name=name),
        spec=NodeShardSpec(nodes_desired=list(desired)),
        status=NodeShardStatus(nodes_in_use=list(in_use)),
    )


def world(mode: str, *shards: NodeShard, pods: int = 1) -> World:
    made = World(
        nodes=[node("n0", cpu=1), node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[gang("train", pods=pods, cpu=1, min_available=1)],
        options=Options(sharding_mode=mode),
    )
    made.add("nodeshards", *shards)
    return made


def test_with_hard_sharding_only_own_nodes_are_used() -> None:
    decisions = world("hard", shard("volcano", "n1"), pods=2).cycle()

    assert list(decisions.binds.values()) == ["n1"]


def test_a_job_that_only_foreign_nodes_would_take_is_told_so() -> None:
    decisions = world("hard", shard("volcano"), shard("other", "n0", "n1", "n2")).cycle()

    assert decisions.binds == {}
    assert "3 node isn't in scheduler node shard" in decisions.pods[0].message


def test_with_soft_sharding_own_nodes_come_first() -> None:
    assert list(world("soft", shard("volcano", "n2")).cycle().binds.values()) == ["n2"]
    assert len(world("soft", shard("volcano", "n2"), pods=3).cycle().binds) == 3


def test_nodes_that_another_scheduler_still_uses_are_not_taken() -> None:
    made = world("hard", shard("volcano", "n0", "n1"), shard("other", "n2", in_use=["n1", "n2"]))

    use = made.cycle().shard

    assert use is not None
    assert (use.in_use, use.to_add) == ({"n0"}, {"n1"})


def test_a_shard_that_has_gone_leaves_its_nodes_as_they_were() -> None:
    made = world("hard", shard("volcano", "n1"))
    assert made.cluster.index(Shards).use("volcano").in_use == {"n1"}
    made.remove("nodeshards", shard("volcano"))

    use = made.cluster.index(Shards).use("volcano")

    assert (use.in_use, use.is_known) == ({"n1"}, False)


def test_the_daemon_keeps_to_its_shard_and_says_what_it_uses() -> None:
    async def scenario() -> None:
        async with bench(nodes=2, scheduler_sharding_mode="hard") as b:
            (_, second) = sorted(b.scheduler.cluster.nodes.row_of)
            await b.client.create(NODE_SHARDS, shard("volcano", second))
            await b.submit(gang("train", pods=2, cpu=1, min_available=1))

            async def settled() -> bool:
                live = await b.client.get(NODE_SHARDS, "volcano")
                pods = [await b.pod(f"train-worker-{i}") for i in range(2)]
                return live.status.nodes_in_use == [second] and all(pod.spec.node_name for pod in pods)

            await until(settled)
            assert {(await b.pod(f"train-worker-{i}")).spec.node_name for i in range(2)} == {second}

    asyncio.run(scenario())
