"""From a command's flags to a connected client, and from asynchronous work to a command's result."""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from volcano.cli.errors import told_plainly

if TYPE_CHECKING:
    from volcano.kube.client import Client
    from volcano.kube.transport import HttpTransport

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Work = Callable[["Client"], Coroutine[Any, Any, T]]

PATIENCE_SECONDS = 5.0
"""So long a command waits for an API server that does not answer: it may be restarting."""


def connection_flags(command: F) -> F:
    """The flags every command that talks to a cluster has."""
    command = click.option("-k", "--kubeconfig", default="", help="Path of the kubeconfig file.")(command)
    return click.option("-s", "--master", default="", help="Address of the API server, over the kubeconfig's.")(command)


def on_cluster(command: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    """A command whose first argument is a client of the cluster that is meant; adds those flags.

    It asks, answers and ends: it runs without an event loop, which takes longer to load than most commands take. It
    may wait by `volcano.kube.pause` only. What follows something until it ends is `following` instead.
    """
    return _commanded(command, lambda _: False)


def following(*flags: str) -> Callable[[Callable[..., Coroutine[Any, Any, T]]], Callable[..., T]]:
    """`on_cluster` for a command that does several things at a time, on an event loop: with any of these flags only,
    or always."""

    def decorate(command: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
        return _commanded(command, lambda given: not flags or any(given[flag] for flag in flags))

    return decorate


def _commanded(
    command: Callable[..., Coroutine[Any, Any, T]], follows: Callable[[dict[str, Any]], bool]
) -> Callable[..., T]:
    @connection_flags
    @functools.wraps(command)
    def run(*args: Any, master: str, kubeconfig: str, **kwargs: Any) -> T:
        def work(client: Client) -> Coroutine[Any, Any, T]:
            return command(client, *args, **kwargs)

        return ask(work, master, kubeconfig, loop=follows(kwargs))

    return run


def ask(work: Work[T], master: str = "", kubeconfig: str = "", *, loop: bool = False) -> T:
    """Run `work` with a client of the cluster that the flags, the environment or this machine's local mode name.

    Errors of the API and the connection become the command's error.
    """
    with told_plainly():
        connecting, loop = reach(master, kubeconfig, loop=loop)
        return run(_asked(connecting, work), loop=loop)


async def _asked(connecting: AbstractAsyncContextManager[Client], work: Work[T]) -> T:
    async with connecting as client:
        return await work(client)


def reach(master: str, kubeconfig: str, *, loop: bool) -> tuple[AbstractAsyncContextManager[Client], bool]:
    """How to connect, and whether that takes an event loop, as it does for some clusters in any case."""
    from volcano.kube.transport import HttpTransport, needs_loop
    from volcano.local.home import find_cluster

    config = find_cluster(kubeconfig, master=master)
    loop = loop or needs_loop(config)
    return _connected(HttpTransport(config, blocking=not loop)), loop


@asynccontextmanager
async def _connected(transport: HttpTransport) -> AsyncIterator[Client]:
    from volcano.kube.client import Client
    from volcano.kube.patience import PatientTransport

    patient = PatientTransport(transport, seconds=PATIENCE_SECONDS, on_wait=_show_wait)
    try:
        yield Client(patient, user_agent="vcctl", on_warning=show_warning)
    finally:
        await transport.close()


def run(work: Coroutine[Any, Any, T], *, loop: bool) -> T:
    """Run `work` to its end; without a loop it must not suspend, which the blocking client never does."""
    if loop:
        import asyncio

        return asyncio.run(work)
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise RuntimeError("this command waits for something that takes an event loop: it is one of `following`")


def show_warning(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


def _show_wait(error: ConnectionError) -> None:
    if sys.stderr.isatty():
        click.echo(f"{error}; waiting for it", err=True)
