"""vcctl local: a cluster on this machine. up, down, status."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.api import keys
from volcano.cli.errors import fail, misuse
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.statuses import NO
from volcano.cli.text import columns
from volcano.local.home import local_root

if TYPE_CHECKING:
    from volcano.local.layout import Layout


@click.group(cls=SuggestingGroup)
def local() -> None:
    """Start and stop a cluster on this machine."""


def root_flag(command: Any) -> Any:
    return click.option(
        "--root", type=click.Path(path_type=Path), default=None, help="Its folder; by default ~/.volcano/local."
    )(command)


@local.command()
@root_flag
@click.option("-d", "--detach", is_flag=True, help="Return when it is ready and leave it running.")
@click.option("--in-process", is_flag=True, help="Run it in one process instead of one for each daemon.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the API server; by default the last one used, or a free one.",
)
@click.option(
    "--cpus", type=click.FloatRange(0.0, min_open=True), default=None, help="CPUs of this machine's node, if not all."
)
@click.option("--memory", default="", help="Memory of this machine's node (for example 8Gi), if not all.")
@click.option(
    "--cgroup-root",
    default="",
    help="Lay out the pods' cgroups below it as the kubelet does, for vc-agent (root only).",
)
@click.option(
    "--nodes",
    type=click.IntRange(0),
    default=0,
    help="Simulated nodes to add, for experiments at scale: they run no commands.",
)
@click.option(
    "--node-cpus", type=click.FloatRange(0.0), default=8.0, show_default=True, help="CPUs of each simulated node."
)
@click.option("--node-memory", default="32Gi", show_default=True, help="Memory of each simulated node.")
@click.option(
    "--plugins-dir",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default=None,
    metavar="DIR",
    help="Folder of plugins of your own for the scheduler, which its configuration names.",
)
def up(root: Path | None, detach: bool, in_process: bool, **size: Any) -> None:
    """Start the cluster.

    Ctrl-C stops it and its pods; where it is detached, `vcctl local down` does.
    """
    from volcano.local.cluster import LocalError, Options, prepare
    from volcano.local.layout import Layout

    layout = Layout((root or local_root()).absolute())
    options = Options(
        port=size["port"],
        cpus=size["cpus"] or 0.0,
        memory=_memory("--memory", size["memory"]),
        cgroup_root=size["cgroup_root"],
        plugins_dir=size["plugins_dir"] or "",
        simulated_nodes=size["nodes"],
        simulated_cpus=size["node_cpus"],
        simulated_memory=_memory("--node-memory", size["node_memory"]),
    )

    def run(ready: Callable[[], None]) -> None:
        if in_process:
            from volcano.local import inprocess

            inprocess.run(layout, options, ready)
        else:
            from volcano.local import cluster

            cluster.run(layout, options, ready)

    def announce() -> None:
        click.echo("The cluster is ready. In another shell:" if not detach else "The cluster is ready.")
        click.echo(_how_to_use(layout))
        if options.simulated_nodes:
            click.echo(f"Simulated nodes run no commands: how long a pod there runs is its {keys.SIMULATE_DURATION}.")

    try:
        if detach:
            prepare(layout)
            _detached(layout.logs / "supervisor.log", run)
            announce()
        else:
            run(announce)
            if not layout.keep_pods.exists():
                _stop_pods(layout)
            click.echo("The cluster is stopped.")
    except LocalError as error:
        raise fail(str(error)) from error


def _memory(flag: str, amount: str) -> str:
    """The amount as it is given, if it is one that a node can have."""
    from volcano.api import quantity

    try:
        if amount and quantity.parse(amount) <= quantity.parse(0):
            raise misuse(f"{flag} {amount}: a node needs some memory, for example 8Gi")
    except quantity.QuantityError as error:
        raise misuse(f"{flag} {error}") from error
    return amount


def _detached(log: Path, start: Callable[[Callable[[], None]], None]) -> None:
    """Run `start(ready)` in a process of its own session; return once it called `ready`, or tell its error."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    if os.fork():
        os.close(writer)
        with os.fdopen(reader) as pipe:
            answer = pipe.readline()  # not up to the end: the daemons hold the other side open too
            if answer == "ready\n":
                return
            answer += pipe.read()
        raise fail(answer.strip() or f"the cluster ended before it was ready: see {log}")
    os.close(reader)
    os.setsid()
    status = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (descriptor, 1), (descriptor, 2)):
            os.dup2(source, target)
        start(lambda: _tell(writer, "ready\n"))
        status = 0
    except Exception as error:  # noqa: BLE001 - the parent process shows it
        _tell(writer, str(error))
    finally:
        os._exit(status)


def _tell(descriptor: int, text: str) -> None:
    os.write(descriptor, text.encode())
    os.close(descriptor)


@local.command()
@root_flag
@click.option("--keep-pods", is_flag=True, help="Leave the processes of running pods alone; `up` adopts them.")
@click.option("--delete", is_flag=True, help="Remove its files too: objects, logs and the data of pods.")
def down(root: Path | None, keep_pods: bool, delete: bool) -> None:
    """Stop the cluster and the processes of its pods."""
    from volcano.local.cluster import LocalError, running, stop
    from volcano.local.layout import Layout

    layout = Layout((root or local_root()).absolute())
    try:
        if keep_pods and not delete and running(layout) is not None:
            layout.keep_pods.touch()
        stopped = stop(layout)
    except LocalError as error:
        raise fail(str(error)) from error
    pods = _stop_pods(layout) if not keep_pods or delete else 0
    removed = delete and layout.delete()
    if stopped:
        click.echo("The cluster is stopped.")
    elif pods:
        left = "a pod that one had" if pods == 1 else f"{pods} pods that one had"
        click.echo(f"No cluster was running any more in {layout.root}; ended {left} left.")
    else:
        click.echo(f"No cluster is running in {layout.root}.")
    if removed:
        click.echo(f"What it had in {layout.root} is removed: objects, logs and the data of pods.")


@local.command()
@root_flag
def status(root: Path | None) -> int:
    """Say whether the cluster runs, and what each of its processes uses."""
    from volcano.local.cluster import LocalError, running
    from volcano.local.layout import Layout

    layout = Layout((root or local_root()).absolute())
    try:
        supervisor = running(layout)
    except LocalError as error:
        raise fail(str(error)) from error
    if supervisor is None:
        click.echo(f"No cluster is running in {layout.root}. Start one with `vcctl local up`.")
        return NO
    rows = [("supervisor", supervisor, _proportional_set_mib(supervisor))]
    for file in sorted(layout.run.glob("*.pid")):
        pid = int(file.read_text())
        rows.append((file.stem, pid, _proportional_set_mib(pid)))
    click.echo(columns(("PROCESS", "PID", "MEMORY"), [(name, pid, f"{mib:.0f}Mi") for name, pid, mib in rows]))
    click.echo(f"{'all'}: {sum(mib for _, _, mib in rows):.0f}Mi")
    click.echo(_how_to_use(layout))
    return 0


def _stop_pods(layout: Layout) -> int:
    from volcano.local.node.shutdown import stop_pods

    return stop_pods(layout.node)


def _how_to_use(layout: Layout) -> str:
    return f"export KUBECONFIG={shlex.quote(str(layout.kubeconfig))}"


def _proportional_set_mib(pid: int) -> float:
    """Memory of a process with shared pages counted by share (PSS), in MiB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
