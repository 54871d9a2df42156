"""Functions that tests submit: a module of the user's own."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any


def square(number: int) -> int:
    return number * number


def rank() -> int:
    return int(os.environ["VC_TASK_INDEX"])


def refuse(number: int) -> None:
    raise LookupError(f"no {number} here")


def fail_on(number: int, bad: int) -> int:
    if number == bad:
        raise LookupError(f"no {number} here")
    return number


def die(code: int) -> None:
    print("last words")
    sys.stdout.flush()
    os._exit(code)


def die_once(flag: str) -> int:
    if not Path(flag).exists():
        Path(flag).touch()
        os._exit(3)
    return os.getpid()


def meet(folder: str, number: int, count: int) -> int:
    """Wait until as many as `count` have come to the folder; how many there are then."""
    (Path(folder) / str(number)).touch()
    while (there := len(list(Path(folder).iterdir()))) < count:
        time.sleep(0.05)
    return there


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def large(size: int) -> bytes:
    return b"x" * size


def unpicklable() -> Any:
    return (number for number in range(3))


def talk() -> str:
    print("spoken, without an end of line", end="")
    return "returned"
