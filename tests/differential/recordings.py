"""What a real kube-apiserver answered, kept in files: local mode is compared with them where there is no real server.

`python -m tests.differential.recordings` makes them anew from the server of KUBECONFIG (see `run`).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.differential import catalogue, servers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.session import Record

FOLDER = Path(__file__).parent / "recordings"


def load(name: str) -> list[Record]:
    records: list[Record] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return records


def save(name: str, records: Sequence[Record]) -> None:
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(records, sort_keys=True, separators=(",", ":"))
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def fresh_namespace(name: str) -> str:
    return f"diff-{name.replace('_', '-')}"[:45] + f"-{time.time_ns() % 10**9}"


async def record(kubeconfig: Path) -> None:
    for name, sequence in catalogue.sequences().items():
        async with servers.real(kubeconfig) as transport:
            save(name, await servers.played(transport, fresh_namespace(name), sequence))
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    asyncio.run(record(Path(os.environ["KUBECONFIG"])))
