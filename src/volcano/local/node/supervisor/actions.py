"""One small deed inside a container: run a command, open a connection, ask a URL, sleep. A child does it.

Neighbours: `probes` repeats actions, `pod` runs hooks; `isolation.join` enters the container's view.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from volcano.local.node.supervisor.containers import reset_signals
from volcano.local.node.supervisor.documents import ActionPlan, ContainerPlan
from volcano.local.node.supervisor.isolation import Kernel, join


def start(action: ActionPlan, container: ContainerPlan, target: int, kernel: Kernel) -> int:
    """Begin `action` for the container whose process is `target`; the child's process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL)
        reset_signals()
        status = 0 if _perform(action, container, target, kernel) else 1
    except (OSError, ValueError):
        status = 1
    finally:
        os._exit(status)


def _perform(action: ActionPlan, container: ContainerPlan, target: int, kernel: Kernel) -> bool:
    if action["kind"] == "sleep":
        time.sleep(action["seconds"])
        return True
    if action["kind"] == "exec":
        return _execute(action, container, target, kernel)
    with socket.create_connection((action["host"], action["port"]), timeout=action["seconds"]) as connection:
        return action["kind"] == "tcp" or _ask(connection, action)


def _execute(action: ActionPlan, container: ContainerPlan, target: int, kernel: Kernel) -> bool:
    silence = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(silence, fd)
    join(kernel, target)
    os.chdir(container["folder"])
    if container["user"] is not None and os.geteuid() == 0:
        os.setuid(container["user"])
    os.execvpe(action["argv"][0], action["argv"], container["env"])


def _ask(connection: socket.socket, action: ActionPlan) -> bool:
    """An HTTP request; any answer from 200 to 399 is good."""
    stream = connection
    if action["scheme"].upper() == "HTTPS":
        import ssl

        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        stream = context.wrap_socket(connection)
    headers = "".join(f"{name}: {value}\r\n" for name, value in action["headers"])
    request = f"GET {action['path']} HTTP/1.1\r\nHost: {action['host']}\r\nConnection: close\r\n{headers}\r\n"
    stream.sendall(request.encode())
    answer = stream.recv(64).split(b" ", 2)
    return len(answer) > 1 and answer[1].isdigit() and 200 <= int(answer[1]) < 400
