"""Batch scripts: the directives at their head, and the command that runs them in a container. Pure.

The text travels inside the command, so nothing has to be mounted or cleaned up.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MARK = "#VSUB"
FOREIGN_MARK = "#SBATCH"
LARGEST_BYTES = 120 * 1024
"""Linux takes no longer word in a command."""
PREFIXES = ("VSUB_", "SLURM_")
"""Scripts that were written for Slurm find the variables they know."""


class ScriptError(ValueError):
    """The file cannot be submitted; the message says what it lacks."""


@dataclass(frozen=True)
class Directive:
    line: int
    words: list[str]


@dataclass(frozen=True)
class Script:
    interpreter: Sequence[str]
    text: str

    def directives(self) -> Iterator[Directive]:
        """The words after `#VSUB` on the lines before the first command."""
        for number, line in self._head():
            if line.startswith(MARK):
                try:
                    yield Directive(number, shlex.split(line.removeprefix(MARK), comments=True))
                except ValueError as error:
                    raise ScriptError(f"line {number}: {error}") from error

    def first_foreign(self) -> int | None:
        """The number of the first line that speaks to Slurm alone."""
        return next((number for number, line in self._head() if line.startswith(FOREIGN_MARK)), None)

    def _head(self) -> Iterator[tuple[int, str]]:
        """The numbered lines before the first command."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                return
            yield number, line

    def command(self, arguments: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """What a container runs; `variables` get values that its shell works out."""
        end = "VSUB_END"
        while end in self.text:
            end += "_"
        run = f"exec {shlex.join(self.interpreter)} /dev/fd/9 \"$@\" 9<<'{end}'"
        text = f"{exports(variables)}{run}\n{self.text.rstrip()}\n{end}"
        return ["/bin/sh", "-c", text, "vsub", *arguments]


def parse(text: str) -> Script:
    """The script of a file's text."""
    first = text.partition("\n")[0].rstrip()
    if not first.startswith("#!") or not first[2:].strip():
        raise ScriptError("its first line must name an interpreter, such as #!/bin/sh")
    if len(text.encode()) > LARGEST_BYTES:
        raise ScriptError(f"it is longer than {LARGEST_BYTES} bytes: put it into the image or a volume")
    if "\0" in text:
        raise ScriptError("it is not text")
    return Script(first[2:].split(), text)


def wrapped(command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """A command that gets the same variables as a script."""
    return ["/bin/sh", "-c", f'{exports(variables)}exec "$@"', "vsub", *command]


def exports(variables: Mapping[str, str]) -> str:
    """Shell text that sets each variable under every prefix."""
    return "".join(
        f"export {' '.join(f'{prefix}{name}={value}' for prefix in PREFIXES)}\n" for name, value in variables.items()
    )
