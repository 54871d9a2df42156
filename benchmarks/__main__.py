"""Run every benchmark, one after the other, each in a process of its own: `python -m benchmarks`."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import benchmarks


def main() -> int:
    names = sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name[0] != "_" and module.name != "repeat" and not module.ispkg
    )
    failed = []
    for name in names:
        print(f"# {name}", file=sys.stderr, flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
