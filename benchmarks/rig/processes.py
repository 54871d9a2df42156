"""What a process costs, and running part of a benchmark in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop


def in_process(target: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a coroutine function in a fresh process on uvloop and return its result."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, target, arguments))
    process.start()
    theirs.close()
    try:
        result: dict[str, Any] = ours.recv()
    except EOFError:
        raise SystemExit("the load process failed, see above") from None
    process.join()
    return result


def _child(pipe: Any, target: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    pipe.send(uvloop.run(target(*arguments)))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int) -> float:
    """Memory in use now, shared pages counted in parts."""
    return _kibibytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:") / 1024


def peak_mib(pid: int) -> float:
    """The most memory that was ever resident."""
    return _kibibytes(Path(f"/proc/{pid}/status"), "VmHWM:") / 1024


def _kibibytes(file: Path, label: str) -> int:
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(label))
