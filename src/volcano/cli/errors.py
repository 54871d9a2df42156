"""What a command raises when it cannot do what was asked, and how other errors become that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from volcano.cli.statuses import USAGE

if TYPE_CHECKING:
    from volcano.kube.errors import ApiError


IN_WORDS = {
    "config lint": "check the configuration",
    "doctor": "examine the cluster",
    "events": "list events",
    "job logs": "read logs",
    "local down": "stop the cluster",
    "local status": "look at the cluster",
    "local up": "start the cluster",
    "logs": "read logs",
    "policies": "print the policies",
    "queue tree": "show the tree of queues",
    "top": "show what is used",
}
"""What commands do whose path is no verb; those of the Go Volcano are called by their path, as there."""


class CommandError(Exception):
    """A failed command. `command` is the path without the root ("job run"); shown as `Failed to job run: …`,
    by what it does where `IN_WORDS` says that, and as `vsub: …` for a program of one command."""

    def __init__(self, message: str, *, command: str = "", exit_status: int = 0) -> None:
        super().__init__(message)
        self.command = command
        self.exit_status = exit_status


def command_path() -> str:
    """The running command without the program's name, for example "queue list"."""
    context = click.get_current_context(silent=True)
    return context.command_path.partition(" ")[2] if context else ""


def fail(message: str, *, exit_status: int = 0) -> CommandError:
    """A CommandError of the running command, to be raised."""
    return CommandError(message, command=command_path(), exit_status=exit_status)


def misuse(message: str) -> CommandError:
    """A CommandError of the running command for a command line that is wrong, to be raised."""
    return fail(message, exit_status=USAGE)


def tell(error: CommandError, program: str) -> None:
    """Say on standard error what failed."""
    what = f"Failed to {IN_WORDS.get(error.command, error.command)}" if error.command else program
    click.echo(f"{what}: {error}", err=True)


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn errors of the API, the connection, manifests and files into a CommandError of the running command."""
    from volcano.kube.config import ConfigError
    from volcano.kube.errors import ApiError

    try:
        yield
    except CommandError as error:
        error.command = error.command or command_path()
        raise
    except BrokenPipeError:
        raise  # who reads the output has left: no failure, and `program` ends quietly
    except ApiError as error:
        raise fail(describe_api_error(error)) from error
    except (ConfigError, OSError) as error:
        raise fail(str(error)) from error


def describe_api_error(error: ApiError) -> str:
    """What the server says, with its causes, and what to do where it does not know the caller or refuses him."""
    from volcano.kube.errors import Forbidden, Unauthorized

    lines = [error.explained()]
    if isinstance(error, Forbidden) and " cannot " in error.message:  # names verb and resource: authorization
        lines.append("  your kubeconfig lacks this right: ask for a Role with that verb on that resource")
    if isinstance(error, Unauthorized):
        lines.append("  the server does not know you: the credentials of the kubeconfig are wrong or have expired")
    return "\n".join(lines)
