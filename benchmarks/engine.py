"""The engine alone, in one process: worlds that stress it, each beside the bare NumPy loop of the same placements.

    python -m benchmarks.engine [SCENARIO…] [--profile] [--once]

Prints JSON: CPU seconds of one cycle, the limit, the floor of the same run and the ratio (what matters on a busy
machine), and the exponents with which the time grows when nodes or pods double. `ingest` takes lists of JSON
documents into the model instead, in a process of its own; its floor is decoding them.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import math
import pstats
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.worlds import ingest
from benchmarks.worlds.scenarios import SCENARIOS, Scenario
from volcano.scheduler import engine
from volcano.scheduler.framework import conf as conf_file
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.world import World

INGEST = "ingest"
INGEST_SIZE = (5000, 100_000)
INGEST_LIMIT_SECONDS = 8.0
INGEST_LIMIT_MIB = 1200
PROFILE_LINES = 25


def measure(scenario: Scenario, conf: str, *, profile: bool, once: bool) -> dict[str, Any]:
    """One cycle at full size, then with half the nodes and with half the pods."""
    world = scenario.build(conf, scenario.nodes, scenario.pods)
    decisions, seconds = _timed(world, profile=profile)
    result: dict[str, Any] = {
        "nodes": len(world.cluster.nodes),
        "pods": len(world.cluster.tasks),
        "jobs": len(world.cluster.jobs),
        "bound": len(decisions.binds),
        "pipelined": len(decisions.pipelined),
        "evicted": len(decisions.evictions),
        "cpu_seconds": round(seconds, 4),
        "limit_seconds": scenario.limit_seconds,
        "next_cycle_cpu_seconds": round(_timed(world)[1], 4),
    }
    if scenario.floor is not None:
        bare = scenario.floor(scenario.nodes, scenario.pods)
        result |= {"floor_seconds": round(bare, 4), "ratio": round(seconds / bare, 2)}
    if not once:
        del world

        def repeated(nodes: int, pods: int) -> float:
            return _timed(scenario.build(conf, nodes, pods))[1]

        result |= _growth(seconds, repeated, scenario.nodes, scenario.pods)
    result["parts"] = {name: round(value, 4) for name, value in decisions.timings.items() if value >= 0.001}
    return result


def measure_ingest(*, once: bool) -> dict[str, Any]:
    nodes, pods = INGEST_SIZE
    result = _ingested(nodes, pods)
    limits = {"limit_seconds": INGEST_LIMIT_SECONDS, "limit_mib": INGEST_LIMIT_MIB}
    ratio = round(result["cpu_seconds"] / result["floor_seconds"], 2)
    if not once:
        limits |= _growth(result["cpu_seconds"], lambda n, p: float(_ingested(n, p)["cpu_seconds"]), nodes, pods)
    return result | limits | {"ratio": ratio}


def _growth(seconds: float, measured: Callable[[int, int], float], nodes: int, pods: int) -> dict[str, float]:
    """1 is linear: twice as many, twice as long."""
    halves = {"nodes": measured(nodes // 2, pods), "pods": measured(nodes, pods // 2)}
    return {f"exponent_{what}": round(math.log2(seconds / half), 2) for what, half in halves.items()}


def _ingested(nodes: int, pods: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        ingest.write(Path(folder), nodes, pods)
        command = [sys.executable, "-m", ingest.__name__, folder]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def _timed(world: World, *, profile: bool = False) -> tuple[Decisions, float]:
    gc.collect()
    gc.freeze()
    profiler = cProfile.Profile() if profile else None
    if profiler:
        profiler.enable()
    began = time.process_time()
    decisions = engine.cycle(
        world.cluster,
        world.conf,
        world.options,
        0.0,
        random.Random(1),
        registry=world.registry,
        timer=time.process_time,
    )
    seconds = time.process_time() - began
    gc.unfreeze()
    if profiler:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
    return decisions, seconds


def main() -> int:
    known = (*SCENARIOS, INGEST)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"any of {', '.join(known)} (default: all)")
    parser.add_argument("--conf", default="", help="scheduler configuration file (default: the built-in one)")
    parser.add_argument("--profile", action="store_true", help="print which functions take the time to stderr")
    parser.add_argument("--once", action="store_true", help="at full size only: do not see how the time grows")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(known)
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    text = Path(options.conf).read_text() if options.conf else conf_file.DEFAULT_CONF
    results: dict[str, Any] = {}
    for name in options.scenarios or known:
        if name == INGEST:
            results[name] = measure_ingest(once=options.once)
        else:
            results[name] = measure(SCENARIOS[name], text, profile=options.profile, once=options.once)
    print(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
