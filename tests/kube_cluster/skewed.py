"""Runs a module as its main program on a wall clock of its own: `python skewed.py FILE MODULE ARGUMENT…`.

The file says by how many seconds that clock is ahead; it is read at each look at the clock. Steady clocks are true.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import runpy
import sys
import time
from pathlib import Path
from typing import Any

true_time = time.time
true_now = datetime.datetime.now


class Skew:
    """Keeps a file with the seconds, for processes that were started with it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)

    def set(self, seconds: float) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.file)

    def site(self, folder: Path) -> Path:
        """A folder for PYTHONPATH, by which every interpreter that is not isolated sees that time."""
        folder.mkdir()
        tests = Path(__file__).parents[2]
        lines = "import sys", f"sys.path.append({str(tests)!r})", "from pathlib import Path"
        last = "from tests.kube_cluster.skewed import install", f"install(Path({str(self.file)!r}))"
        (folder / "sitecustomize.py").write_text("\n".join((*lines, *last, "")))
        return folder

    def command(self, module: str) -> list[str]:
        return [sys.executable, __file__, str(self.file), module]


def now() -> datetime.datetime:
    """The true time."""
    return true_now(datetime.UTC)


def install(file: Path) -> None:
    """Have this process see the time that the file says."""

    def ahead() -> float:
        return float(file.read_text())

    def skewed_now(tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return true_now(tz) + datetime.timedelta(seconds=ahead())

    time.time = lambda: true_time() + ahead()
    time.time_ns = lambda: int(time.time() * 1e9)
    # A class of our own would not do: types of fields are looked up by what `datetime.datetime` is.
    attributes: dict[str, Any] = gc.get_referents(datetime.datetime.__dict__)[0]
    attributes["now"] = staticmethod(skewed_now)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


def main() -> None:
    _, file, module, *arguments = sys.argv
    sys.path[0] = str(Path.cwd())  # as `python -m` has it
    sys.argv = [module, *arguments]
    install(Path(file))
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
