"""Compares the servers by hand: `KUBECONFIG=… python -m tests.differential.run [SEQUENCE…]`.

KUBECONFIG is that of a kube-apiserver as `servers.kubernetes` starts it; it may go on running between comparisons.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.differential import catalogue, known, servers
from tests.differential.compare import differences
from tests.differential.recordings import fresh_namespace


async def main(wanted: list[str]) -> int:
    count = 0
    for name, sequence in catalogue.sequences().items():
        if wanted and not any(word in name for word in wanted):
            continue
        namespace = fresh_namespace(name)
        sys.stdout.flush()
        async with servers.real(Path(os.environ["KUBECONFIG"])) as transport:
            real = await servers.played(transport, namespace, sequence)
        async with servers.ours() as transport:
            ours = await servers.played(transport, namespace, sequence)
        found = [item for item in differences(name, real, ours) if not known.reason(item)]
        for difference in found:
            sys.stdout.write(f"{difference}\n")
        sys.stdout.write(f"== {name}: {len(real)} steps, {len(found)} differences\n")
        count += len(found)
    sys.stdout.write(f"{count} differences\n")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
