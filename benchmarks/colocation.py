"""What an online pod keeps of its throughput beside batch pods on one core, and what these get.

    python -m benchmarks.colocation [--seconds 8] [--every 10]

Pods are processes of local mode, pinned to one core, in cgroups as the kubelet makes them; needs root. `vc-agent`
runs with its rounds `--every` so many seconds, and is killed in the end. Prints JSON: percentages of what the same
pod gets done alone, measured by turns, and how long after the kill nothing is throttled any more.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.agent import colocation

TARGETS = {
    "online_percent_of_alone_with_agent": 90.0,
    "half_busy_online_percent_of_alone_with_agent": 90.0,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between the agent's rounds")
    arguments = parser.parse_args()
    if why := colocation.absence():
        print(json.dumps({"skipped": why}))
        return 0
    print(json.dumps({**colocation.measure(arguments.every, arguments.seconds), "targets": TARGETS}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
