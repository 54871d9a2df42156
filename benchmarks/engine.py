"""The engine alone, in one process: scenarios that stress it, each beside the bare NumPy loop of the same placements.

`python -m benchmarks.engine [SCENARIO…] [--profile]` prints JSON; `ratio` is what matters. Scenarios: gangs, singles,
topology, idle, preempt, reclaim.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from volcano.api.batch import NetworkTopologySpec
from volcano.api.meta import ObjectMeta
from volcano.api.topology import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec
from volcano.scheduler import engine
from volcano.scheduler.framework import conf as conf_file
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.builders import gang, node, priority_class, queue
from volcano.testing.world import World

CPU, MEMORY = 0, 1


def gangs(conf: str, nodes: int = 5000, count: int = 20, size: int = 500) -> World:
    """`count` gangs of `size` pods (500m, 1Gi) on nodes of 32 CPUs."""
    return World(
        nodes=_nodes(nodes),
        jobs=[gang(f"g{i}", pods=size, cpu="500m", memory="1Gi", created=i) for i in range(count)],
        conf=conf,
    )


def singles(conf: str, nodes: int = 5000, count: int = 10000, profiles: int = 200) -> World:
    """`count` jobs of one pod each, of `profiles` different requests."""
    return World(
        nodes=_nodes(nodes),
        jobs=[gang(f"g{i}", cpu=f"{100 + i % profiles}m", memory="1Gi", created=i) for i in range(count)],
        conf=conf,
    )


def topology(conf: str, nodes: int = 8192, rack: int = 64, row: int = 16, count: int = 20, size: int = 256) -> World:
    """Gangs that must stay within one row of racks: three tiers of domains over `nodes` nodes."""
    world = World(nodes=_nodes(nodes, cpu=8), conf=conf + "  - name: network-topology-aware\n")
    racks = [[f"n{i}" for i in range(first, first + rack)] for first in range(0, nodes, rack)]
    rows = [[f"rack-{i}" for i in range(first, first + row)] for first in range(0, len(racks), row)]
    world.add("hypernodes", *(_domain(f"rack-{i}", 1, members, "Node") for i, members in enumerate(racks)))
    world.add("hypernodes", *(_domain(f"row-{i}", 2, members, "HyperNode") for i, members in enumerate(rows)))
    world.add("hypernodes", _domain("hall", 3, [f"row-{i}" for i in range(len(rows))], "HyperNode"))
    for number in range(count):
        job = gang(f"g{number}", pods=size, cpu=1, memory="1Gi", created=number, min_resources={"cpu": size})
        job.pod_group.spec.network_topology = NetworkTopologySpec(mode="hard", highest_tier_allowed=2)
        world.add_gang(job)
    return world


def idle(conf: str, nodes: int = 5000, count: int = 1000, size: int = 100) -> World:
    """Everything runs, nothing waits."""
    world = World(nodes=_nodes(nodes), conf=conf)
    for number in range(count):
        on = [f"n{(number * size + i) % nodes}" for i in range(size)]
        world.add_gang(gang(f"g{number}", pods=size, cpu="500m", memory="1Gi", nodes=on, phase="Running"))
    world.cycle()
    return world


def preempt(_conf: str) -> World:
    """A thousand full nodes, and a gang of 500 that is more important than who runs there."""
    return _full(EVICTING.format(action="preempt", quota="conformance"), claimant_queue="a")


def reclaim(_conf: str) -> World:
    """The same where another queue claims its share."""
    return _full(EVICTING.format(action="reclaim", quota="capacity"), claimant_queue="b")


EVICTING = """
actions: "enqueue, allocate, {action}"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableJobStarving: false
  - name: {quota}
- plugins:
  - name: predicates
  - name: nodeorder
"""

SCENARIOS: dict[str, Callable[[str], World]] = {
    "gangs": gangs,
    "singles": singles,
    "topology": topology,
    "idle": idle,
    "preempt": preempt,
    "reclaim": reclaim,
}


def _full(conf: str, *, claimant_queue: str, nodes: int = 1000, jobs: int = 200, size: int = 100) -> World:
    world = World(
        nodes=_nodes(nodes, cpu=jobs * size // nodes),
        queues=[queue("a", deserved={"cpu": nodes * 10}), queue("b", deserved={"cpu": nodes * 10})],
        priority_classes=[priority_class("high", 100)],
        conf=conf,
    )
    for number in range(jobs):
        on = [f"n{(number * size + i) % nodes}" for i in range(size)]
        world.add_gang(gang(f"g{number}", pods=size, cpu=1, min_available=10, queue="a", nodes=on, phase="Running"))
    world.add_gang(gang("claim", pods=500, cpu=1, queue=claimant_queue, priority_class="high"))
    return world


def _nodes(count: int, cpu: int = 32) -> list[Any]:
    return [node(f"n{i}", cpu=cpu, memory="128Gi") for i in range(count)]


def _domain(name: str, tier: int, members: list[str], kind: str) -> HyperNode:
    specs = [MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members]
    return HyperNode(metadata=ObjectMeta(name=name), spec=HyperNodeSpec(tier=tier, members=specs))


def floor_seconds(nodes: int, placements: int) -> float:
    """The same number of placements by a bare loop: filter, four score terms, argmax, update of one row."""
    allocatable = np.tile(np.array([[32000.0, 128 * 2**30]]), (nodes, 1))
    used = np.zeros_like(allocatable)
    request = np.array([500.0, 2**30])
    began = time.perf_counter()
    scores = _score(allocatable, used, request)
    for _ in range(placements):
        row = int(np.argmax(scores))
        used[row] += request
        scores[row] = _score(allocatable[row : row + 1], used[row : row + 1], request)[0]
    return time.perf_counter() - began


def _score(allocatable: Any, used: Any, request: Any) -> Any:
    after = used + request
    fits = (after <= allocatable).all(axis=1)
    fraction = after / allocatable
    least = ((1 - fraction) * 100).mean(axis=1)
    balanced = (1 - np.abs(fraction[:, CPU] - fraction[:, MEMORY])) * 100
    packed = (fraction * 100).mean(axis=1)
    return np.where(fits, least + balanced + packed + 3.0, -np.inf)


def measure(scenario: str, conf: str, *, profile: bool) -> dict[str, Any]:
    world = SCENARIOS[scenario](conf)
    gc.collect()
    gc.freeze()
    decisions, seconds = _timed(world, profile=profile)
    _, again = _timed(world, profile=False)
    gc.unfreeze()
    result: dict[str, Any] = {
        "nodes": len(world.cluster.nodes),
        "pods": len(world.cluster.tasks),
        "jobs": len(world.cluster.jobs),
        "bound": len(decisions.binds),
        "pipelined": len(decisions.pipelined),
        "evicted": len(decisions.evictions),
        "seconds": round(seconds, 4),
        "next_cycle_seconds": round(again, 4),
    }
    if decisions.binds:
        bare = floor_seconds(len(world.cluster.nodes), len(decisions.binds))
        result |= {"floor_seconds": round(bare, 4), "ratio": round(seconds / bare, 2)}
    result["parts"] = {name: round(value, 4) for name, value in decisions.timings.items() if value >= 0.001}
    return result


def _timed(world: World, *, profile: bool) -> tuple[Decisions, float]:
    profiler = cProfile.Profile() if profile else None
    if profiler:
        profiler.enable()
    began = time.perf_counter()
    decisions = engine.cycle(
        world.cluster,
        world.conf,
        world.options,
        0.0,
        random.Random(1),
        registry=world.registry,
        timer=time.perf_counter,
    )
    seconds = time.perf_counter() - began
    if profiler:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    return decisions, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help=f"any of {', '.join(SCENARIOS)} (default: all)"
    )
    parser.add_argument("--conf", default="", help="scheduler configuration file (default: the built-in one)")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to stderr")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}: choose from {', '.join(SCENARIOS)}")
    text = Path(options.conf).read_text() if options.conf else conf_file.DEFAULT_CONF
    chosen = options.scenarios or list(SCENARIOS)
    print(json.dumps({name: measure(name, text, profile=options.profile) for name in chosen}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
