"""What a command raises when it cannot do what was asked, and how other errors become that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


class CommandError(Exception):
    """A failed command. `command` is the path without the root ("job run"); shown as `Failed to job run: …`."""

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


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn errors of the API, the connection and files into a CommandError of the running command."""
    from volcano.kube.config import ConfigError
    from volcano.kube.errors import ApiError

    try:
        yield
    except CommandError as error:
        error.command = error.command or command_path()
        raise
    except ApiError as error:
        raise fail(describe_api_error(error)) from error
    except ConfigError as error:
        raise fail(str(error)) from error
    except OSError as error:
        raise fail(str(error)) from error


def describe_api_error(error: object) -> str:
    """The server's message, then one line per cause that adds a field or a hint."""
    lines = [str(error)]
    details = getattr(error, "details", None) or {}
    causes = details.get("causes", ()) if isinstance(details, dict) else getattr(details, "causes", ())
    for cause in causes or ():
        field, message = (
            (cause.get("field", ""), cause.get("message", ""))
            if isinstance(cause, dict)
            else (cause.field, cause.message)
        )
        line = f"  {field}: {message}" if field else f"  {message}"
        if message and message not in lines[0]:
            lines.append(line)
    return "\n".join(lines)
