"""The engine alone: gangs of identical pods on a large cluster, beside the bare NumPy loop of the same placements.

`python benchmarks/engine.py [--nodes 5000] [--gangs 20] [--size 500] [--profile]` prints JSON; `ratio` is what matters.
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
from pathlib import Path
from typing import Any

import numpy as np

from volcano.scheduler import engine
from volcano.scheduler.framework import conf as conf_file, registry as registries
from volcano.testing.builders import gang, node
from volcano.testing.world import World

CPU, MEMORY = 0, 1


def world_of(nodes: int, gangs: int, size: int, conf: str) -> World:
    """`gangs` gangs of `size` pods (500m, 1Gi) on nodes of 32 CPUs: about a tenth of the room is asked for."""
    return World(
        nodes=[node(f"n{i}", cpu=32, memory="128Gi") for i in range(nodes)],
        jobs=[gang(f"g{i}", pods=size, cpu="500m", memory="1Gi", created=i) for i in range(gangs)],
        conf=conf,
    )


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


def measure(nodes: int, gangs: int, size: int, conf: str, *, profile: bool) -> dict[str, Any]:
    world = world_of(nodes, gangs, size, conf)
    gc.collect()
    gc.freeze()
    profiler = cProfile.Profile() if profile else None
    began = time.perf_counter()
    if profiler:
        profiler.enable()
    decisions = engine.cycle(
        world.cluster,
        world.conf,
        world.options,
        0.0,
        random.Random(1),
        registry=world.registry,
        timer=time.perf_counter,
    )
    if profiler:
        profiler.disable()
    seconds = time.perf_counter() - began
    if profiler:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    began = time.perf_counter()
    world.cycle()
    again = time.perf_counter() - began
    bare = floor_seconds(nodes, len(decisions.binds))
    return {
        "nodes": nodes,
        "gangs": gangs,
        "pods_per_gang": size,
        "bound": len(decisions.binds),
        "seconds": round(seconds, 4),
        "floor_seconds": round(bare, 4),
        "ratio": round(seconds / bare, 2) if bare else None,
        "idle_cycle_seconds": round(again, 4),
        "actions": {name: round(value, 4) for name, value in decisions.timings.items() if value >= 0.0001},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--gangs", type=int, default=20)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--conf", default="", help="scheduler configuration file (default: the built-in one)")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to stderr")
    options = parser.parse_args()
    text = conf_file.DEFAULT_CONF
    if options.conf:
        text = Path(options.conf).read_text()
    conf_file.parse(text, registries.built_in().actions)
    print(json.dumps(measure(options.nodes, options.gangs, options.size, text, profile=options.profile), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
