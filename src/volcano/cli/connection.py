"""From a command's flags to a connected client, and from asynchronous work to a command's result."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from volcano.cli.errors import told_plainly

if TYPE_CHECKING:
    from volcano.kube.client import Client

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PATIENCE_SECONDS = 5.0
"""So long a command waits for an API server that does not answer: it may be restarting."""


def connection_flags(command: F) -> F:
    """The flags every command that talks to a cluster has."""
    command = click.option("-k", "--kubeconfig", default="", help="Path of the kubeconfig file.")(command)
    return click.option("-s", "--master", default="", help="Address of the API server, over the kubeconfig's.")(command)


def on_cluster(command: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    """A command whose first argument is a client of the cluster that is meant; adds those flags."""

    @connection_flags
    @functools.wraps(command)
    def run(*args: Any, master: str, kubeconfig: str, **kwargs: Any) -> T:
        async def work() -> T:
            async with connected(master, kubeconfig) as client:
                return await command(client, *args, **kwargs)

        return run_async(work())

    return run


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end; errors of the API and the connection become the command's error."""
    with told_plainly():
        return asyncio.run(work)


@asynccontextmanager
async def connected(master: str, kubeconfig: str) -> AsyncIterator[Client]:
    """A client for the cluster that the flags, the environment or this machine's local mode name."""
    from volcano.kube.client import Client
    from volcano.kube.patience import PatientTransport
    from volcano.kube.transport import HttpTransport
    from volcano.local.home import find_cluster

    transport = HttpTransport(find_cluster(kubeconfig, master=master))
    patient = PatientTransport(transport, seconds=PATIENCE_SECONDS, on_wait=_show_wait)
    try:
        yield Client(patient, user_agent="vcctl", on_warning=_show_warning)
    finally:
        await transport.close()


def _show_warning(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


def _show_wait(error: ConnectionError) -> None:
    if sys.stderr.isatty():
        click.echo(f"{error}; waiting for it", err=True)
