"""Transcripts: what a person types at a terminal, and what is answered.

    == file.yaml          a file, up to the line `==`
    $ vcctl wait hello    a command; `$NS` is the namespace of the test
    ~ vcctl job list      one that looks, again and again until it answers so
    job/hello Completed   standard output; `…` stands for any text, a line of `…` for any lines
    ! Warning: …          standard error
    [1]                   the exit status, where it is not 0

Empty lines, and those that begin with `#`, are for readers.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Step:
    """A command and what it must answer."""

    line: int
    words: list[str]
    is_repeated: bool = False
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    status: int = 0


def steps(text: str, folder: Path) -> Iterator[Step]:
    """The commands of a transcript; its files are written to `folder` on the way."""
    step: Step | None = None
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        if line.startswith("== "):
            body = iter(lambda: next(lines)[1], "==")
            (folder / line.removeprefix("== ")).write_text("\n".join(body) + "\n")
        elif line.startswith(("$ ", "~ ")):
            if step is not None:
                yield step
            step = Step(number, shlex.split(line[2:]), line.startswith("~ "))
        elif not line or line.startswith("#") or step is None:
            continue
        elif status := re.fullmatch(r"\[(\d+)\]", line):
            step.status = int(status[1])
        elif line == "!" or line.startswith("! "):
            step.err.append(line[2:])
        else:
            step.out.append(line)
    if step is not None:
        yield step


def commands(text: str) -> set[str]:
    """The words of every command, without what follows its first flag."""
    found = set()
    for line in text.splitlines():
        if line.startswith(("$ ", "~ ")):
            words = line[2:].split(" -")[0].split()
            found |= {" ".join(words[:length]) for length in (1, 2, 3)}
    return found


def matches(expected: list[str], shown: str) -> bool:
    """Whether the text is as expected, blanks at the ends of lines aside."""
    lines = [line.rstrip() for line in shown.splitlines()]
    pattern = "".join(_pattern(line.rstrip()) for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _pattern(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    return r"[^\n]*".join(re.sub(r"(?:\\ ){2,}", r"\\ +", re.escape(part)) for part in line.split("…")) + r"\n"
