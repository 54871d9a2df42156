"""Bring-up of local mode: which daemons run, in which order, and when the cluster is ready.

`supervisor.py` keeps them running, `inprocess.py` runs them in one process; `vcctl local` is the hand on both.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from volcano.local.layout import Layout
from volcano.local.probe import Unreachable, get_json
from volcano.local.supervisor import Daemon, Supervisor

READY_SECONDS = 60.0
LEFTOVER_SECONDS = 20.0
"""How long the daemons of a supervisor that was killed may take to end."""
FREE_BYTES = 20 * 1024 * 1024
"""Less than this on the disk and a cluster would come up only to fail at its first writes."""
_TITLES = {"apiserver": "the API server", "node": "the node"}
_PRELOADED = (
    "asyncio",
    "hashlib",
    "logging",
    "ssl",
    "uvloop",
    "volcano.api.core",
    "volcano.api.resources",
    "volcano.http.health",
    "volcano.http.lifetime",
    "volcano.http.metrics",
    "volcano.http.server",
    "volcano.kube.events",
    "volcano.kube.informer",
    "volcano.kube.kubeconfig",
    "volcano.kube.leader",
    "volcano.kube.transport",
    "volcano.kube.workqueue",
)

DEFAULT_SCHEDULER_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


class LocalError(Exception):
    """Local mode could not do what was asked; the message says what to do."""


@dataclass(frozen=True)
class Options:
    """How large the cluster is and where it listens. 0 and "" mean: as this machine is, and no plugins."""

    port: int = 0
    cpus: float = 0.0
    memory: str = ""
    cgroup_root: str = ""
    plugins_dir: str = ""
    simulated_nodes: int = 0
    simulated_cpus: float = 8.0
    simulated_memory: str = "32Gi"


def api_server(layout: Layout, options: Options) -> Daemon:
    """The daemon that everything else talks to."""
    argv = ("--data-dir", str(layout.data), "--port", str(options.port), "--kubeconfig", str(layout.kubeconfig))
    return Daemon("apiserver", "volcano.local.apiserver.main:main", argv)


def daemons(layout: Layout, options: Options) -> list[Daemon]:
    """The daemons that talk to the API server: those of production, the node, and Kubernetes' own controllers."""
    socket = f"unix://{layout.data / 'api.sock'}"  # TLS costs both ends 0.3 MB per watch
    kubeconfig = ("--kubeconfig", str(layout.kubeconfig), "--master", socket)
    loopback = ("--listen-address", "127.0.0.1:0", "--healthz-address", "127.0.0.1:0")
    alone = ("--leader-elect=false",)
    everything = ("--scheduler-name", "volcano", "--scheduler-name", "default-scheduler")  # ours is the only one here
    node = [*kubeconfig, "--name", "local", "--data-dir", str(layout.node)]
    node += ["--client-ca-file", str(layout.data / "pki" / "ca.crt")]  # who may read logs: the API server
    if options.cpus:
        node += ["--cpus", str(options.cpus)]
    if options.memory:
        node += ["--memory", options.memory]
    if options.cgroup_root:
        node += ["--cgroup-root", options.cgroup_root]
    if options.simulated_nodes:
        node += ["--simulated", str(options.simulated_nodes), "--simulated-cpu", str(options.simulated_cpus)]
        node += ["--simulated-memory", options.simulated_memory]
    scheduler = [*kubeconfig, *loopback, *alone, *everything, "--scheduler-conf", str(layout.scheduler_conf)]
    if options.plugins_dir:
        scheduler += ["--plugins-dir", options.plugins_dir]
    controllers = (*kubeconfig, *loopback, *alone, *everything)
    return [
        Daemon("vc-scheduler", "volcano.scheduler.daemon.main:main", tuple(scheduler)),
        Daemon("vc-controller-manager", "volcano.controllers.manager:main", controllers),
        Daemon("kube-controllers", "volcano.local.builtin.main:main", kubeconfig),
        Daemon("node", "volcano.local.node.main:main", tuple(node)),
    ]


def run(layout: Layout, options: Options, ready: Callable[[], None]) -> None:
    """Start the cluster, call `ready` when it takes jobs, and keep it running until SIGTERM or SIGINT.

    Raises LocalError when it cannot start.
    """
    with claimed(layout):
        for module in _PRELOADED:
            importlib.import_module(module)
        import gc

        gc.freeze()
        supervisor = Supervisor((), layout.logs, layout.run)
        lock = _lock_file(layout)
        signal.signal(signal.SIGTERM, _give_up)
        try:
            supervisor.start(api_server(layout, options))
            _await_api_server(layout, supervisor)
            for daemon in daemons(layout, options):
                supervisor.start(daemon)
            _await(layout, supervisor, takes_jobs, "queue default to be made and opened")
            ready()
            supervisor.watch(
                lambda name, status: _log(f"{name} ended with status {status}: restarting it"), _same_file(lock)
            )
        except BaseException:
            supervisor.stop()
            raise


def _same_file(path: Path) -> Callable[[], bool]:
    """Whether `path` is the file that it was. Where its folder was removed, nobody could stop the cluster any more."""
    inode = path.stat().st_ino

    def same() -> bool:
        try:
            return path.stat().st_ino == inode
        except OSError:
            return False

    return same


def _give_up(number: int, _frame: object) -> None:
    """What SIGTERM means while the cluster starts: the daemons that run already are to be stopped."""
    raise SystemExit(128 + number)


@contextmanager
def claimed(layout: Layout) -> Iterator[None]:
    """The cluster's folder, complete and ours alone while the context lasts. Raises LocalError."""
    prepare(layout)
    with _only_one(layout):
        for stale in (*layout.run.glob("*.pid"), layout.keep_pods):
            stale.unlink(missing_ok=True)
        if not layout.scheduler_conf.exists():
            layout.scheduler_conf.write_text(DEFAULT_SCHEDULER_CONF)
        yield


def prepare(layout: Layout) -> None:
    """Make the cluster's folders. Raises LocalError where they cannot be, or the disk has no room."""
    try:
        layout.create()
        _lock_file(layout).touch()
        free = shutil.disk_usage(layout.root).free
    except OSError as error:
        raise LocalError(f"cannot use {layout.root}: {error.strerror or error}: choose another --root") from error
    if free < FREE_BYTES:
        raise LocalError(
            f"the disk of {layout.root} is full: {free // 1024} KiB are free, a cluster needs at least "
            f"{FREE_BYTES // 1024} KiB: make room, or choose another --root"
        )


def stop(layout: Layout, timeout_seconds: float = 30.0) -> bool:
    """Stop the cluster of `layout`; False when none was running."""
    pid = running(layout)
    if pid is None:
        return False
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_seconds
    while running(layout) is not None:
        if time.monotonic() > deadline:
            raise LocalError(f"process {pid} did not stop in {timeout_seconds:.0f} s: see {layout.logs}, or kill it")
        time.sleep(0.05)
    return True


def running(layout: Layout) -> int | None:
    """The process id of the supervisor that runs this cluster, or None. Until its last daemon has ended it counts.

    Raises LocalError where that cannot be known.
    """
    try:
        with _lock_file(layout).open("r+") as lock:
            return _holder(lock)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LocalError(f"cannot use {layout.root}: {error.strerror or error}: is it another user's?") from error


def _lock_file(layout: Layout) -> Path:
    return layout.run / "lock"


@contextmanager
def _only_one(layout: Layout) -> Iterator[None]:
    """Hold the cluster's lock. Forked daemons hold it too, so that it outlives a supervisor that is killed."""
    with _lock_file(layout).open("a+") as lock:
        os.set_inheritable(lock.fileno(), False)
        deadline = time.monotonic() + LEFTOVER_SECONDS
        while (pid := _holder(lock)) is not None:
            if _exists(pid):
                raise LocalError(
                    f"a cluster is running in {layout.root} already (process {pid}): "
                    "use it, or stop it with `vcctl local down`"
                )
            if time.monotonic() > deadline:
                raise LocalError(
                    f"daemons of a cluster whose supervisor was killed still run in {layout.root}: "
                    f"kill the processes that {layout.run}/*.pid name"
                )
            time.sleep(0.05)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _holder(lock: IO[str]) -> int | None:
    """Take the lock and return None; where others hold it, the process id in it: 0 until they have written theirs."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        text = lock.read().strip()
        return int(text) if text.isdigit() else 0
    return None


def _exists(pid: int) -> bool:
    """Whether there is such a process, and not only its exit status; 0 stands for one about to write its number."""
    if pid == 0:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with suppress(OSError):  # there is no /proc outside Linux
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return True


def _await_api_server(layout: Layout, supervisor: Supervisor) -> None:
    _await(layout, supervisor, lambda layout: get_json(layout.data / "api.sock", "/readyz") is None, "the API server")


def _await(layout: Layout, supervisor: Supervisor, done: Callable[[Layout], bool], what: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        seen = "it answers"
        try:
            if done(layout):
                return
        except Unreachable as error:
            seen = str(error)
        for name, status in supervisor.failed().items():
            why = f"killed by signal {-status}" if status < 0 else _last_line(layout.logs / f"{name}.log")
            raise LocalError(f"{_TITLES.get(name, name)} could not start: {why}")
        if time.monotonic() > deadline:
            raise LocalError(f"waited {READY_SECONDS:.0f} s for {what} ({seen}): see the logs in {layout.logs}")
        time.sleep(0.02)


def takes_jobs(layout: Layout) -> bool:
    """Whether the queue has a state: Open when it is new, whatever users have made of it later. Raises Unreachable."""
    found = get_json(layout.data / "api.sock", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
    return isinstance(found, dict) and bool(found.get("status", {}).get("state"))


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else f"no output in {log}"


def _log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")
    sys.stderr.flush()
