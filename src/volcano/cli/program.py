"""Running a command tree as a program: its exit status, and how failures are shown. Decided here and nowhere else."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

from volcano.cli.errors import CommandError, tell
from volcano.cli.statuses import DONE, FAILED, INTERRUPTED, USAGE

GARBAGE = 50_000
"""Start-up makes many objects and hardly any garbage: looking for it as often as usual costs a tenth of the time."""


def main(command: click.Command, name: str) -> NoReturn:
    """Be the program: run it and end the process."""
    gc.set_threshold(GARBAGE)
    _take_any_output()
    _read_unicode()
    leave(run(command, name))


def leave(status: int) -> NoReturn:
    """End the process at once: taking all modules apart one by one costs a tenth of what a short command takes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):  # its reader has left: nobody misses the rest
            stream.flush()
    os._exit(status)


def _take_any_output() -> None:
    """Letters that the locale does not have are shown as `?`, and what goes to a closed output is lost: no fault."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _read_unicode() -> None:
    """Standard input is UTF-8 as files are, whatever the locale; what is not raises UnicodeDecodeError when read."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - until the end
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")


def run(command: click.Command, name: str, argv: Sequence[str] | None = None) -> int:
    """Run the program in this process and return its exit status."""
    try:
        result = command.main(args=list(argv) if argv is not None else None, prog_name=name, standalone_mode=False)
    except CommandError as error:
        tell(error, name)
        return error.exit_status or FAILED
    except click.UsageError as error:
        error.show()
        return USAGE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed has no reader
        return DONE
    return result if isinstance(result, int) else DONE
