"""The program that becomes a command inside a running container: joins its namespaces, then executes.

Started by `node.exec` with one argument, the order as JSON; `isolation.join` enters the container's view.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import termios

from volcano.local.node.supervisor.containers import reset_signals
from volcano.local.node.supervisor.isolation import Kernel, join

CANNOT_RUN = 126
NOT_FOUND = 127


def main() -> None:
    order = json.loads(sys.argv[-1])
    if order["tty"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        reset_signals()
        join(Kernel(), order["target"])
        os.chdir(order["folder"])
        if os.geteuid() == 0:
            if order["group"] is not None:
                os.setgid(order["group"])
            if order["user"] is not None:
                os.setuid(order["user"])
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    except FileNotFoundError:
        print(f"{order['argv'][0]}: not found in the container", file=sys.stderr)
        os._exit(NOT_FOUND)
    except OSError as error:
        print(f"cannot run {order['argv'][0]!r} in the container: {error}", file=sys.stderr)
        os._exit(CANNOT_RUN)
