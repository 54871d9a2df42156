"""From a command's flags to a connected client, and from asynchronous work to a command's result."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from volcano.cli.errors import told_plainly

if TYPE_CHECKING:
    from volcano.kube.client import Client

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def connection_flags(command: F) -> F:
    """The flags every command that talks to a cluster has."""
    command = click.option("-k", "--kubeconfig", default="", help="Path of the kubeconfig file.")(command)
    return click.option("-s", "--master", default="", help="Address of the API server, over the kubeconfig's.")(command)


def name_argument(command: F) -> F:
    """NAME as a positional, besides the flag that upstream has for it; a command gets what was given as `name`."""

    @functools.wraps(command)
    def with_one_name(*args: Any, name: str, name_argument: str, **kwargs: Any) -> Any:
        if name and name_argument and name != name_argument:
            raise click.UsageError(f"Two names are given, {name!r} and {name_argument!r}: give one.")
        return command(*args, name=name or name_argument, **kwargs)

    return click.argument("name_argument", metavar="[NAME]", required=False, default="")(cast("F", with_one_name))


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end; errors of the API and the connection become the command's error."""
    with told_plainly():
        return asyncio.run(work)


@asynccontextmanager
async def connected(master: str, kubeconfig: str) -> AsyncIterator[Client]:
    """A client for the cluster that the flags, the environment or this machine's local mode name."""
    from volcano.kube import config
    from volcano.kube.client import Client
    from volcano.kube.transport import HttpTransport

    transport = HttpTransport(config.load(kubeconfig=kubeconfig or local_kubeconfig(), master=master or None))
    try:
        yield Client(transport, user_agent="vcctl", on_warning=_show_warning)
    finally:
        await transport.close()


def _show_warning(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


def local_kubeconfig() -> str | None:
    """The kubeconfig of this machine's local mode, where nothing else says which cluster is meant."""
    if os.environ.get("KUBECONFIG") or (Path.home() / ".kube" / "config").exists():
        return None
    path = local_root() / "kubeconfig"
    return str(path) if path.exists() else None


def local_root() -> Path:
    """The folder of this machine's local mode: $VOLCANO_HOME/local, by default ~/.volcano/local."""
    home = os.environ.get("VOLCANO_HOME")
    return (Path(home) if home else Path.home() / ".volcano") / "local"
