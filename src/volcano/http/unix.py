"""Unix sockets at any path: the address of a socket holds about a hundred bytes, paths may be longer.

Used by the server, the client and others that connect.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADDRESS_BYTES = 100
"""What every system takes: Linux 107, others 103."""


@contextmanager
def short_path(path: str) -> Iterator[str]:
    """`path`, or where it is too long another path of the same file, which is good while the context lasts."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES or not Path("/proc/self/fd").is_dir():
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
