"""Starting and ending one container: fork, wait for the record, enter namespaces, exec; signal the whole group.

Neighbours: `pod` supervises the processes made here; `isolation` builds their view of files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import termios
from typing import NamedTuple

from volcano.local.node.supervisor import isolation
from volcano.local.node.supervisor.documents import ContainerPlan, PodPlan
from volcano.local.node.supervisor.inputs import Terminal
from volcano.local.node.supervisor.record import birth_of

START_ERROR_CODE = 128
_SHELL_SCRIPT_HINT = "a script needs a first line such as #!/bin/sh"


class Process(NamedTuple):
    """A forked container that has not run its command yet: it waits at `gate` and reports failure on `fault`.

    `outputs` are what it writes, then its errors, unless it has a terminal, which is both.
    """

    pid: int
    birth: str
    gate: int
    fault: int
    outputs: tuple[int, ...]


def fork(
    plan: PodPlan,
    container: ContainerPlan,
    kernel: isolation.Kernel,
    scratch: str,
    typed: int,
    terminal: Terminal | None = None,
) -> Process:
    """A child in a session of its own, held before exec until `release`; it ends by itself if this process does.

    `typed` is what it reads, and closed here; of a `terminal`, it is the container's end.
    """
    gate_out, gate = os.pipe()
    fault, fault_in = os.pipe()
    outputs, streams = _outputs(typed) if terminal is None else ((terminal.shown,), (typed, typed, typed))
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(gate)
        _become(
            plan, container, kernel, scratch, parent, gate_out, fault_in, streams, has_terminal=terminal is not None
        )
    for fd in {gate_out, fault_in, *streams}:
        os.close(fd)
    return Process(pid, birth_of(pid), gate, fault, outputs)


def _outputs(typed: int) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Pipes for what a container writes and for its errors: our ends, and its streams."""
    output, output_in = os.pipe()
    errors, errors_in = os.pipe()
    for fd in (output, errors):
        os.set_blocking(fd, False)
    return (output, errors), (typed, output_in, errors_in)


def release(process: Process) -> str:
    """Let the command run, once its start is recorded; what went wrong, or ""."""
    with contextlib.suppress(BrokenPipeError):  # the child is dead already: its wait status tells how
        os.write(process.gate, b"1")
    os.close(process.gate)
    with os.fdopen(process.fault, "rb") as fault:
        return fault.read().decode(errors="replace")


def kill(pid: int, number: int) -> None:
    """Signal the container's whole process group; one that is gone already is no error."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def empty_cgroup(container: ContainerPlan) -> None:
    """Kill whatever is left in the container's cgroups. With cgroup v1 the kernel offers no way to."""
    for folder in container["cgroups"]:
        with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.kill"), "w") as file:
            file.write("1")


def out_of_memory_kills(container: ContainerPlan) -> int:
    """How often the kernel has killed in the container's cgroups for lack of memory."""
    for folder in container["cgroups"]:
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError), open(os.path.join(folder, name)) as file:
                return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return 0


def _become(
    plan: PodPlan,
    container: ContainerPlan,
    kernel: isolation.Kernel,
    scratch: str,
    parent: int,
    gate: int,
    fault: int,
    streams: tuple[int, int, int],
    *,
    has_terminal: bool,
) -> None:
    """Turn the child into the container. Never returns."""
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent or os.read(gate, 1) != b"1":
            os._exit(START_ERROR_CODE)
        _redirect(*streams)
        if has_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _limit(container)
        if plan["isolate"]:
            isolation.enter(kernel, plan["hostname"], container["mounts"], container["folder"], scratch)
        os.chdir(container["folder"])
        _drop_rights(container)
        kernel.die_with_parent(signal.SIGKILL)  # changing the user clears it
        reset_signals()
        _exec(container)
    except OSError as error:
        os.write(fault, _explain(container, error).encode())
    except Exception as error:  # noqa: BLE001 - the forked child must never return into the supervisor's code
        os.write(fault, f"cannot start container {container['name']!r}: {error!r}".encode())
    os._exit(START_ERROR_CODE)


def _redirect(typed: int, output: int, errors: int) -> None:
    for source, target in ((typed, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)


def _limit(container: ContainerPlan) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for folder in container["cgroups"]:
        with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs"), "w") as file:
            file.write("0")


def _drop_rights(container: ContainerPlan) -> None:
    if os.geteuid() != 0:
        return
    if container["group"] is not None:
        os.setgroups([])
        os.setgid(container["group"])
    if container["user"] is not None:
        os.setuid(container["user"])


def reset_signals() -> None:
    """Give a forked child the signal handling that a program expects."""
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _exec(container: ContainerPlan) -> None:
    argv, env = container["argv"], container["env"]
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    os.execvpe(argv[0], argv, env)


def _explain(container: ContainerPlan, error: OSError) -> str:
    command = container["argv"][0]
    tried = os.fsdecode(error.filename or b"")
    about_command = tried == command or ("/" not in command and os.path.basename(tried) == command)
    if isinstance(error, FileNotFoundError) and about_command:
        where = "no such file or directory" if "/" in command else "executable file not found in $PATH"
        return f'exec: "{command}": {where}: install it on this machine or correct the container\'s command'
    if isinstance(error, PermissionError) and about_command:
        return f'exec: "{command}": permission denied: make it executable'
    if isinstance(error, FileNotFoundError) and error.filename == container["folder"]:
        return f"workingDir {error.filename!r} does not exist on this machine: create it or mount a volume there"
    if error.errno == errno.ENOEXEC:
        return f'exec: "{command}": exec format error: {_SHELL_SCRIPT_HINT}'
    return f"cannot start container {container['name']!r}: {error}"
