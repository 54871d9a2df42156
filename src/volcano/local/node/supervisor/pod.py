"""The life of one pod: one loop that reaps, obeys, decides, starts and waits; every fact is on disk before it counts.

Neighbours: `lifecycle` decides, `containers` and `logs` act, `zygote` forks this program.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from typing import cast

from volcano.local.node.supervisor import actions, containers, lifecycle, record
from volcano.local.node.supervisor.documents import (
    EVENTS_PIPE,
    INPUT_FOLDER,
    LOCK_FILE,
    LOG_FOLDER,
    PLAN_FILE,
    REPORT_FILE,
    STOP_FILE,
    ContainerPlan,
    ContainerReport,
    Exit,
    PodPlan,
    PodReport,
    StopOrder,
    new_pod_report,
)
from volcano.local.node.supervisor.inputs import Inputs, Terminal
from volcano.local.node.supervisor.isolation import Kernel
from volcano.local.node.supervisor.logs import Outputs
from volcano.local.node.supervisor.probes import Probes, Verdict
from volcano.local.steady import SteadyClock

RETRY_SECONDS = 1.0
FOLDER_SECONDS = 30.0
"""How often an idle pod looks whether its folder is there: without it nobody can stop or see the pod."""
LOST_CODE = 137


def supervise(folder: str, kernel: Kernel) -> None:
    """Run the pod planned in `folder` to its end. Does nothing when another supervisor has it."""
    lock = record.claim(os.path.join(folder, LOCK_FILE))
    if lock is None:
        return
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    kernel.adopt_orphans()
    PodSupervisor(folder, kernel).run()


class PodSupervisor:
    def __init__(self, folder: str, kernel: Kernel) -> None:
        self._folder = folder
        self._kernel = kernel
        self._clock = SteadyClock()
        self._plan = cast("PodPlan", record.read(os.path.join(folder, PLAN_FILE)))
        self._all = [*self._plan["init"], *self._plan["containers"]]
        self._report = self._recover(cast("PodReport | None", record.read(os.path.join(folder, REPORT_FILE))))
        self._inputs = Inputs(os.path.join(folder, INPUT_FOLDER))
        self._outputs = Outputs(os.path.join(folder, LOG_FOLDER))
        self._probes = Probes(kernel)
        self._hooks: dict[int, ContainerPlan] = {}
        self._late: dict[int, float] = {}
        self._starved: dict[str, int] = {}
        self._kill_at: float | None = None
        self._is_saved = False
        self._is_announced = False
        self._wake, wake_in = os.pipe()
        for fd in (self._wake, wake_in):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)

    def run(self) -> None:
        """Reap, obey, decide, start, wait; until the pod is finished and the disk says so, or its folder is gone."""
        while self._is_wanted():
            self._keep_time()
            self._reap()
            self._obey()
            self._probe()
            decision = lifecycle.decide(self._plan, self._report, self._clock.now())
            if decision.stop:
                self._stop(decision.stop, self._plan["grace_seconds"])
            if decision.finished and not self._report["finished"]:
                self._end_stragglers()
                self._report["finished"] = True
                self._is_saved = False
            self._start(decision.start)
            self._save()
            self._announce()
            if self._report["finished"] and self._is_saved and self._is_announced:
                return
            self._wait()
        self._end_stragglers()

    def _keep_time(self) -> None:
        """Whoever sets the clock: what is to be waited for takes as long as it was to."""
        step = self._clock.adjust()
        if not step:
            return
        self._report = lifecycle.postponed(self._report, step)
        self._is_saved = False
        self._probes.postpone(step)
        self._late = {pid: at + step for pid, at in self._late.items()}
        if self._kill_at is not None:
            self._kill_at += step
        if self._plan["deadline_at"] is not None:
            self._plan["deadline_at"] += step

    def _is_wanted(self) -> bool:
        return os.path.exists(os.path.join(self._folder, PLAN_FILE))

    def _recover(self, earlier: PodReport | None) -> PodReport:
        """Take over from a supervisor that was killed: what it ran is ended and counts as failed."""
        report = earlier or new_pod_report(self._plan)
        report["pid"], report["birth"] = os.getpid(), record.birth_of(os.getpid())
        for container in self._all:
            state = report["containers"][container["name"]]
            if state["state"] == "running":
                end_leftovers(state["pid"], state["birth"])
                lost = self._exit(state, LOST_CODE, 9, "SupervisorLost", "the pod's supervisor was killed")
                report["containers"][container["name"]] = lifecycle.ended(self._plan, container, state, lost)
        return report

    def _start(self, due: tuple[ContainerPlan, ...]) -> None:
        """Fork, write down, then release: a container whose start is not on disk never runs its command."""
        forked = [(container, self._fork(container)) for container in due]
        if not forked:
            return
        self._is_saved = False
        while not self._save():
            if not self._is_wanted():
                return
            time.sleep(RETRY_SECONDS)
        for container, process in forked:
            run = self._report["containers"][container["name"]]["restarts"]
            prompts = bool(container.get("input") or container.get("tty"))
            self._outputs.open(container["name"], run, process.outputs, prompts=prompts)
            self._starved[container["name"]] = containers.out_of_memory_kills(container)
            fault = containers.release(process)
            if fault:
                self._fail_start(container, process, fault)
                continue
            self._probes.begin(container, process.pid, self._clock.now())
            if container["post_start"] is not None:
                self._hooks[actions.start(container["post_start"], container, process.pid, self._kernel)] = container

    def _fork(self, container: ContainerPlan) -> containers.Process:
        scratch = os.path.join(self._folder, "view")
        process = containers.fork(self._plan, container, self._kernel, scratch, *self._open_input(container))
        name = container["name"]
        state = self._report["containers"][name]
        self._report["containers"][name] = lifecycle.started(
            container, state, process.pid, process.birth, self._clock.now()
        )
        return process

    def _open_input(self, container: ContainerPlan) -> tuple[int, Terminal | None]:
        """What the container reads, which is nothing where its pipe or terminal cannot be made."""
        try:
            return self._inputs.open(container)
        except OSError as error:
            print(f"pod {self._plan['uid']}: {container['name']} reads no input: {error}", flush=True)
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), None

    def _fail_start(self, container: ContainerPlan, process: containers.Process, fault: str) -> None:
        os.waitpid(process.pid, 0)
        state = self._report["containers"][container["name"]]
        self._ended(container, self._exit(state, containers.START_ERROR_CODE, 0, "StartError", fault))

    def _reap(self) -> None:
        running = {self._report["containers"][c["name"]]["pid"]: c for c in self._running()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in running:
                self._ended(running[pid], self._judge(running[pid], status))
            elif pid in self._hooks:
                self._hook_ended(self._hooks.pop(pid), status)
            else:
                verdict = self._probes.reaped(pid, status, self._clock.now())
                if verdict is not None:
                    self._follow(verdict)

    def _probe(self) -> None:
        if not self._report["stopping"]:
            self._probes.launch_due(self._clock.now())

    def _follow(self, verdict: Verdict) -> None:
        """Show what a probe has found; a container that fails to start up or to live is ended, and may restart."""
        container = self._container(verdict.name)
        state = self._report["containers"][verdict.name]
        if not verdict.ok and verdict.kind != "readiness" and state["state"] == "running":
            self._signal(container, signal.SIGTERM)
            self._late[state["pid"]] = self._clock.now() + self._plan["grace_seconds"]
            return
        self._report["containers"][verdict.name] = lifecycle.probed(container, state, verdict.kind, ok=verdict.ok)
        self._is_saved = False

    def _hook_ended(self, container: ContainerPlan, status: int) -> None:
        """After preStop comes TERM; a postStart that failed ends the container."""
        if self._report["stopping"] or os.waitstatus_to_exitcode(status) != 0:
            self._signal(container, signal.SIGTERM)

    def _judge(self, container: ContainerPlan, status: int) -> Exit:
        state = self._report["containers"][container["name"]]
        code, number = os.waitstatus_to_exitcode(status), 0
        if code < 0:
            code, number = 128 - code, -code
        reason = "Completed" if code == 0 else "Error"
        starved = containers.out_of_memory_kills(container) > self._starved.get(container["name"], 0)
        if number == signal.SIGKILL and starved:
            reason = "OOMKilled"
        return self._exit(state, code, number, reason, "")

    def _ended(self, container: ContainerPlan, exit_: Exit) -> None:
        name = container["name"]
        state = self._report["containers"][name]
        containers.kill(state["pid"], signal.SIGKILL)
        containers.empty_cgroup(container)
        self._probes.end(name)
        self._late.pop(state["pid"], None)
        self._outputs.close(name)
        self._inputs.close(name)
        self._report["containers"][name] = lifecycle.ended(self._plan, container, state, exit_)
        self._is_saved = False

    def _obey(self) -> None:
        """Follow the deadline and the node's order to stop; a later order may only shorten the grace."""
        deadline = self._plan["deadline_at"]
        if deadline is not None and self._clock.now() >= deadline and not self._report["stopping"]:
            self._stop("DeadlineExceeded", self._plan["grace_seconds"])
        order = cast("StopOrder | None", record.read(os.path.join(self._folder, STOP_FILE)))
        if order is not None:
            self._stop(order["reason"], order["grace_seconds"])
        if self._kill_at is not None and self._clock.now() >= self._kill_at:
            self._kill_at = None
            for container in self._running():
                self._signal(container, signal.SIGKILL)
        self._inputs.close_ended()
        for pid, kill_at in list(self._late.items()):
            if self._clock.now() >= kill_at:
                del self._late[pid]
                containers.kill(pid, signal.SIGKILL)

    def _stop(self, reason: str, grace_seconds: float) -> None:
        kill_at = self._clock.now() + grace_seconds
        if not self._report["stopping"]:
            self._report["stopping"] = reason
            self._is_saved = False
            self._kill_at = kill_at
            for container in self._running():
                self._end(container, grace_seconds)
        elif self._kill_at is not None:
            self._kill_at = min(self._kill_at, kill_at)

    def _end(self, container: ContainerPlan, grace_seconds: float) -> None:
        """Ask a container to end: through its preStop hook if it has one, at once when there is no time."""
        pid = self._report["containers"][container["name"]]["pid"]
        if grace_seconds <= 0:
            self._signal(container, signal.SIGKILL)
        elif container["pre_stop"] is not None:
            self._hooks[actions.start(container["pre_stop"], container, pid, self._kernel)] = container
        else:
            self._signal(container, signal.SIGTERM)

    def _signal(self, container: ContainerPlan, number: int) -> None:
        state = self._report["containers"][container["name"]]
        if state["state"] == "running":
            containers.kill(state["pid"], number)

    def _exit(self, state: ContainerReport, code: int, number: int, reason: str, message: str) -> Exit:
        return {
            "code": code,
            "signal": number,
            "reason": reason,
            "message": message,
            "started_at": state["started_at"],
            "finished_at": self._clock.now(),
        }

    def _running(self) -> list[ContainerPlan]:
        return [c for c in self._all if self._report["containers"][c["name"]]["state"] == "running"]

    def _container(self, name: str) -> ContainerPlan:
        return next(c for c in self._all if c["name"] == name)

    def _end_stragglers(self) -> None:
        """End processes that left their container's group: they are this process's children by now."""
        while True:
            for pid in _children():
                os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return

    def _save(self) -> bool:
        if not self._is_saved:
            try:
                record.write_durably(os.path.join(self._folder, REPORT_FILE), self._report)
            except OSError as error:
                print(f"pod {self._plan['uid']}: cannot write the report: {error}", flush=True)
                return False
            self._is_saved, self._is_announced = True, False
        return True

    def _announce(self) -> None:
        """Tell the node, if one listens, that the report changed. A node that starts later reads every report."""
        if self._is_announced:
            return
        pipe = os.path.join(self._folder, "..", "..", EVENTS_PIPE)
        try:
            fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self._is_announced = error.errno in (errno.ENXIO, errno.ENOENT)
            return
        try:
            os.write(fd, f"{self._plan['uid']}\n".encode())
            self._is_announced = True
        except BlockingIOError:
            return
        finally:
            os.close(fd)

    def _wait(self) -> None:
        """Sleep until output, a signal, or the next moment something is due."""
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        for fd in self._outputs.fds():
            poller.register(fd, select.POLLIN)
        typed = self._inputs.polled()
        for fd, event in typed.items():
            poller.register(fd, event)
        for fd, _ in poller.poll(self._timeout_milliseconds()):
            if fd == self._wake:
                os.read(self._wake, 4096)
            elif fd in typed:
                self._inputs.pump()
            else:
                self._outputs.pump(fd)

    def _timeout_milliseconds(self) -> int:
        now = self._clock.now()
        due = [now + FOLDER_SECONDS, self._kill_at, lifecycle.next_retry(self._report, now), *self._late.values()]
        if not self._report["stopping"]:
            due += [self._plan["deadline_at"], self._probes.next_at()]
        if not (self._is_saved and self._is_announced):
            due.append(now + RETRY_SECONDS)
        times = [at for at in due if at is not None]
        return max(1, int((min(times) - now) * 1000) + 1)


def end_leftovers(leader: int, birth: str) -> None:
    """Kill what is left of a session whose leader was process `leader` born at `birth`, and nothing else."""
    found = record.birth_of(leader)
    if found and found != birth:
        return  # the number belongs to a stranger now, so the session is gone
    containers.kill(leader, signal.SIGKILL)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:
        return []
