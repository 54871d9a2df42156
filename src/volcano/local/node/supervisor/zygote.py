"""The parent of all pod supervisors: loaded once, then forked per pod, so that each costs little and starts at once.

Neighbours: `volcano.local.node.runtime` writes folders to its standard input; `pod` is what each fork becomes.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys

from volcano.local.node.supervisor import isolation
from volcano.local.node.supervisor.pod import supervise


def main() -> None:
    """Say what this machine can do, then fork a supervisor per line read, until the node goes away."""
    kernel = isolation.Kernel()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _say({"isolation": isolation.available()})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks are never waited for: the node watches them itself
    gc.collect()
    gc.freeze()
    orders = os.fdopen(os.dup(0), "rb", buffering=0)
    while line := orders.readline():
        folder = json.loads(line)["folder"]
        try:
            pid = os.fork()
        except OSError as error:
            _say({"folder": folder, "error": f"cannot fork a supervisor: {error}"})
            continue
        if pid == 0:
            orders.close()
            _become_supervisor(folder, kernel)
        _say({"folder": folder, "pid": pid})


def _say(answer: dict[str, object]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


def _become_supervisor(folder: str, kernel: isolation.Kernel) -> None:
    """Leave the node's session and pipes, supervise, and end. Never returns."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, 0)
        os.dup2(2, 1)  # what a supervisor has to say goes to the node's supervisor log
        os.close(silence)
        supervise(folder, kernel)
        status = 0
    except BaseException as error:  # noqa: BLE001 - a fork must never go on as a second zygote
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(status)
