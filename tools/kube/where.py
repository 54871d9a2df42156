"""Says where the built programs are: a folder of the user's cache, named after the files that decide what is built."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
DECIDING = ("go.mod", "go.sum", "../helm/go.mod", "../helm/go.sum", "build.sh")


def folder() -> Path:
    """The folder of this version's programs; it need not exist."""
    digest = hashlib.sha256(b"\0".join((HERE / name).read_bytes() for name in DECIDING)).hexdigest()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "volcano-kube" / digest[:16]


if __name__ == "__main__":
    sys.stdout.write(f"{folder()}\n")
