"""The process runtime: creates pods' folders, starts, stops and adopts their supervisors, and hears what they report.

Neighbours: `agent` decides what should run; `supervisor` runs it; `zygotes` forks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from volcano.api.meta import JsonObject
from volcano.local.node import files
from volcano.local.node.cgroups import Cgroups, find
from volcano.local.node.deaths import Watch, watch_death
from volcano.local.node.kubepods import Kubepods
from volcano.local.node.layout import Layout
from volcano.local.node.supervisor import record
from volcano.local.node.supervisor.documents import PodPlan, PodReport, StopOrder, new_pod_report
from volcano.local.node.volumes import Content, Files
from volcano.local.node.zygotes import Zygote

log = logging.getLogger(__name__)

_CLAIM_SECONDS = 5.0
Limits = Mapping[str, Mapping[str, str]]


class DataFolderInUse(Exception):
    """Two node processes must not share a data folder."""


@dataclass
class Run:
    """One pod on this node: what was planned, what is reported, and its supervisor if one lives."""

    plan: PodPlan
    report: PodReport
    supervisor: Watch | None = None
    losses: int = 0
    supervisor_pid: int = 0

    @property
    def needs_supervisor(self) -> bool:
        return self.supervisor is None and not self.report["finished"]

    @property
    def processes(self) -> list[int]:
        """Those that the pod's others come from: what a container leaves behind falls to the supervisor."""
        return [self.supervisor_pid] if self.supervisor is not None else []

    def wake(self) -> None:
        """Have the supervisor look at what has changed in the pod's folder. Alone, the signal means no more."""
        if self.supervisor is not None:
            self.supervisor.send(signal.SIGTERM)


class ProcessRuntime:
    """`runs` holds every pod with a folder, by uid; `changed(uid)` is called when a report or a supervisor changes."""

    def __init__(self, layout: Layout, changed: Callable[[str], None], cgroup_root: str = "") -> None:
        self.layout = layout
        self._cgroup_root = cgroup_root
        self.cgroups: Cgroups | Kubepods | None = None
        self.runs: dict[str, Run] = {}
        self._changed = changed
        self._zygote = Zygote(layout.supervisor_log)
        self._lock: int | None = None
        self._pipe: int | None = None
        self._rest = b""

    @property
    def isolation_fault(self) -> str:
        """Why containers share the host's view of files, or "" when each has its own."""
        return self._zygote.isolation_fault

    async def start(self) -> None:
        """Listen to supervisors, then adopt an earlier node process's pods. `close` undoes it, also when it fails."""
        self.layout.pods.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = record.claim(str(self.layout.lock))
        if self._lock is None:
            raise DataFolderInUse(f"data folder {self.layout.root} is in use by another node process: stop that one")
        self.cgroups = Kubepods(self._cgroup_root) if self._cgroup_root else find(self.layout.root)
        self._listen()
        await self._zygote.start()
        for folder in sorted(self.layout.pods.iterdir()):
            await self._adopt(folder.name)

    async def close(self) -> None:
        """Let go, however far `start` has come: supervisors and their pods go on, the folder is free for the next."""
        for run in self.runs.values():
            if run.supervisor is not None:
                run.supervisor.cancel()
        if self._pipe is not None:
            asyncio.get_running_loop().remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None
        try:
            await self._zygote.close()
        finally:  # last, for until then a supervisor may be forked here; also when one no longer waits for that
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def folders_of(self, pod: JsonObject) -> Callable[[str], list[str]]:
        """The folders of cgroups, by container."""
        cgroups = self.cgroups
        return (lambda _container: []) if cgroups is None else partial(cgroups.folders, pod)

    # Acting on pods

    async def launch(self, pod: JsonObject, plan: PodPlan, contents: Mapping[str, Content], limits: Limits) -> None:
        """Write down a new pod and give it a supervisor. `limits` are cgroup files by container."""
        await asyncio.to_thread(self._create, pod, plan, contents, limits)
        self.runs[plan["uid"]] = Run(plan, new_pod_report(plan))
        await self.supervise(plan["uid"])

    async def supervise(self, uid: str) -> None:
        """Give the pod a supervisor; it takes over where a killed one left off. Never two: the pod's lock decides."""
        run = self.runs[uid]
        pid = await self._zygote.fork(str(self.layout.pod(uid).root))
        self._attend(uid, run, pid)

    def stop(self, uid: str, grace_seconds: float, reason: str) -> None:
        """Order the pod's containers to end: TERM now, KILL after the grace. An order stands even when all restart."""
        order: StopOrder = {"grace_seconds": grace_seconds, "reason": reason}
        path = self.layout.pod(uid).stop
        earlier = cast("StopOrder | None", record.read(str(path)))
        if earlier is None or earlier["grace_seconds"] > grace_seconds:
            record.write_durably(str(path), order)
        run = self.runs[uid]
        run.wake()

    async def refresh(self, uid: str, contents: Mapping[str, Content]) -> None:
        """Bring the files in the pod's volumes up to date."""
        for name, content in contents.items():
            if isinstance(content, Files):
                await asyncio.to_thread(files.write_files, self.layout.pod(uid).volume(name), content)

    async def remove(self, uid: str) -> None:
        """Forget a pod that is finished or never started, with its logs and scratch volumes."""
        run = self.runs.pop(uid, None)
        if run is not None and run.supervisor is not None:
            run.supervisor.cancel()
        if self.cgroups is not None:
            self.cgroups.remove(uid)
        await asyncio.to_thread(shutil.rmtree, self.layout.pod(uid).root, ignore_errors=True)

    def _create(self, pod: JsonObject, plan: PodPlan, contents: Mapping[str, Content], limits: Limits) -> None:
        files.prepare(self.layout, plan, contents)
        if self.cgroups is not None:
            containers = (*plan["init"], *plan["containers"])
            self.cgroups.create(pod, {one["name"]: one["cgroups"] for one in containers}, limits)
        record.write_durably(str(self.layout.pod(plan["uid"]).plan), plan)

    # Knowing what they do

    async def _adopt(self, uid: str) -> None:
        """Take up a pod that an earlier node process left: alive, finished, or in need of a supervisor."""
        pod = self.layout.pod(uid)
        plan = cast("PodPlan | None", record.read(str(pod.plan)))
        if plan is None:  # the earlier process ended before the pod was written down: it never started
            shutil.rmtree(pod.root, ignore_errors=True)
            return
        run = self.runs[uid] = Run(plan, new_pod_report(plan))
        self._read_report(uid, run)
        pid = await self._holder(pod.lock)
        if pid is not None:
            self._attend(uid, run, pid)
            self._read_report(uid, run)

    async def _holder(self, lock: Path) -> int | None:
        """The supervisor that has claimed a pod, if one lives."""
        deadline = asyncio.get_running_loop().time() + _CLAIM_SECONDS
        while True:
            claim = record.claim(str(lock))
            if claim is not None:
                os.close(claim)
                return None
            text = await asyncio.to_thread(lock.read_text)
            if text:
                return int(text)
            if asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(f"{lock} is held by a process that does not say who it is: end it and try again")
            await asyncio.sleep(0.01)

    def _attend(self, uid: str, run: Run, pid: int) -> None:
        """Notice when supervisor `pid` ends."""

        def ended() -> None:
            run.supervisor = None
            self._read_report(uid, run)
            if not run.report["finished"]:
                run.losses += 1
                log.warning("pod %s: its supervisor (process %d) was lost", run.plan["name"], pid)
            self._changed(uid)

        run.supervisor_pid = pid
        run.supervisor = watch_death(pid, ended)

    def _listen(self) -> None:
        pipe = self.layout.events
        with contextlib.suppress(FileExistsError):
            os.mkfifo(pipe, 0o600)
        self._pipe = os.open(pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(self._pipe, self._hear)

    def _hear(self) -> None:
        """Supervisors name their pods, one line per changed report."""
        assert self._pipe is not None
        try:
            data = self._rest + os.read(self._pipe, 65536)
        except BlockingIOError:
            return
        *lines, self._rest = data.split(b"\n")
        for uid in dict.fromkeys(line.decode() for line in lines):
            run = self.runs.get(uid)
            if run is not None:
                self._read_report(uid, run)
                self._changed(uid)

    def _read_report(self, uid: str, run: Run) -> None:
        report = cast("PodReport | None", record.read(str(self.layout.pod(uid).report)))
        if report is not None:
            run.report = report
