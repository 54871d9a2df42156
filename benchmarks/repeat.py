"""Any benchmark several times: median, and smallest to largest, of every number it prints.

    python -m benchmarks.repeat 5 cluster --jobs 20 --replicas 500

What is no number, or always the same, is shown as it is. Runs one after the other, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=int)
    parser.add_argument("benchmark", help="its name, and what it is to be told", metavar="BENCHMARK …")
    options, told = parser.parse_known_args()
    results = []
    for number in range(options.times):
        print(f"# {options.benchmark}, run {number + 1} of {options.times}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", f"benchmarks.{options.benchmark}", *told]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        results.append(json.loads(run.stdout))
    print(json.dumps(merged(results), indent=2))
    return 0


def merged(results: list[Any]) -> Any:
    """Documents of the same shape as one, numbers as text: `median (smallest-largest)`."""
    last = results[-1]
    if isinstance(last, dict):
        return {key: merged([one[key] for one in results if key in one]) for key in last}
    if isinstance(last, int | float) and len(set(results)) > 1:
        return f"{statistics.median(results):g} ({min(results):g}-{max(results):g})"
    return last


if __name__ == "__main__":
    sys.exit(main())
