"""The zygote process as the node sees it: started on demand, asked for supervisors, replaced when it dies.

Neighbours: `supervisor.zygote` is the program; `runtime` asks for forks.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import volcano

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from volcano.local.node.supervisor.zygote import main; main()"


class Zygote:
    """Forks pod supervisors. They live on when it, or the node, ends."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[int]] = {}
        self._starting = asyncio.Lock()
        self.isolation_fault = ""

    async def start(self) -> None:
        """Start the process and learn what it can do on this machine."""
        async with self._starting:
            if self._process is not None:
                return
            source = str(Path(volcano.__file__).parents[1])
            with self._log.open("ab") as log:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-I", "-S", "-c", _PROGRAM, source),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            try:
                assert process.stdout is not None
                hello = await process.stdout.readline()
                if not hello:
                    raise RuntimeError(f"the supervisors' parent process did not start: see {self._log}")
            except BaseException:  # whoever starts it is stopped: it has forked nothing yet, and must not stay behind
                await _ended(process)
                raise
            self.isolation_fault = json.loads(hello)["isolation"]
            self._process = process
            self._reader = asyncio.create_task(self._read(process.stdout))

    async def fork(self, folder: str) -> int:
        """The process id of a new supervisor for the pod in `folder`."""
        await self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[folder] = answer
        try:
            self._process.stdin.write(json.dumps({"folder": folder}).encode() + b"\n")
            await self._process.stdin.drain()
            return await answer
        finally:
            self._waiting.pop(folder, None)

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._process is not None:
            await _ended(self._process)

    async def _read(self, answers: asyncio.StreamReader) -> None:
        while line := await answers.readline():
            answer = json.loads(line)
            waiting = self._waiting.get(answer["folder"])
            if waiting is None or waiting.done():
                continue
            if "pid" in answer:
                waiting.set_result(answer["pid"])
            else:
                waiting.set_exception(OSError(answer["error"]))
        self._process = None  # whoever needs a fork next starts another
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the supervisors' parent process ended"))


async def _ended(process: asyncio.subprocess.Process) -> None:
    """The process ends once it has nothing more to read."""
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
