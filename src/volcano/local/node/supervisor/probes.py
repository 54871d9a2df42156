"""Startup, readiness and liveness of running containers: when to probe next, and what the results add up to.

Neighbours: `actions` performs a probe; `pod` acts on the verdicts.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from volcano.local.node.supervisor import actions
from volcano.local.node.supervisor.documents import ContainerPlan, ProbeKind, ProbePlan
from volcano.local.node.supervisor.isolation import Kernel


class Track:
    """One probe during one run. Results turn the verdict when enough of them agree. Pure."""

    def __init__(self, plan: ProbePlan, begun_at: float) -> None:
        self.plan = plan
        self.next_at = begun_at + plan["initial_delay"]
        self.verdict: bool | None = None
        self._last: bool | None = None
        self._streak = 0

    def observe(self, ok: bool, now: float) -> bool:
        """Count a result; whether it has turned the verdict."""
        self._streak = self._streak + 1 if ok is self._last else 1
        self._last = ok
        self.next_at = now + self.plan["period"]
        needed = self.plan["success_threshold"] if ok else self.plan["failure_threshold"]
        if self._streak < needed or self.verdict is ok:
            return False
        self.verdict = ok
        return True


class Verdict(NamedTuple):
    """A probe of container `name` has changed its mind."""

    name: str
    kind: ProbeKind
    ok: bool


class _Attempt(NamedTuple):
    name: str
    kind: ProbeKind
    give_up_at: float


class Probes:
    """All probes of a pod's running containers."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._running: dict[str, tuple[ContainerPlan, int]] = {}
        self._tracks: dict[str, dict[ProbeKind, Track]] = {}
        self._attempts: dict[int, _Attempt] = {}

    def begin(self, container: ContainerPlan, pid: int, now: float) -> None:
        if container["probes"]:
            self._running[container["name"]] = (container, pid)
            self._tracks[container["name"]] = {k: Track(p, now) for k, p in container["probes"].items()}

    def end(self, name: str) -> None:
        self._running.pop(name, None)
        self._tracks.pop(name, None)

    def launch_due(self, now: float) -> None:
        """Start the probes whose time has come, end those that take too long."""
        for pid, attempt in self._attempts.items():
            if now >= attempt.give_up_at:
                os.kill(pid, signal.SIGKILL)
        busy = {(attempt.name, attempt.kind) for attempt in self._attempts.values()}
        for name, kind, track in self._active():
            if (name, kind) in busy or track.next_at > now:
                continue
            container, target = self._running[name]
            pid = actions.start(track.plan["action"], container, target, self._kernel)
            self._attempts[pid] = _Attempt(name, kind, now + track.plan["timeout"])

    def reaped(self, pid: int, status: int, now: float) -> Verdict | None:
        """A child has ended: if it was a probe, and turned a verdict, which."""
        attempt = self._attempts.pop(pid, None)
        if attempt is None:
            return None
        track = self._tracks.get(attempt.name, {}).get(attempt.kind)
        ok = os.waitstatus_to_exitcode(status) == 0
        if track is None or not track.observe(ok, now):
            return None
        return Verdict(attempt.name, attempt.kind, ok)

    def postpone(self, seconds: float) -> None:
        """Let all that is due be due later by so much."""
        for tracks in self._tracks.values():
            for track in tracks.values():
                track.next_at += seconds
        self._attempts = {
            pid: attempt._replace(give_up_at=attempt.give_up_at + seconds) for pid, attempt in self._attempts.items()
        }

    def next_at(self) -> float | None:
        """When there is something to do again."""
        busy = {(attempt.name, attempt.kind) for attempt in self._attempts.values()}
        times = [track.next_at for name, kind, track in self._active() if (name, kind) not in busy]
        return min((*times, *(attempt.give_up_at for attempt in self._attempts.values())), default=None)

    def _active(self) -> list[tuple[str, ProbeKind, Track]]:
        """Until a container has started up, only its startup probe counts; afterwards only the others."""
        result: list[tuple[str, ProbeKind, Track]] = []
        for name, tracks in self._tracks.items():
            startup = tracks.get("startup")
            is_starting = startup is not None and startup.verdict is not True
            result += [(name, kind, track) for kind, track in tracks.items() if (kind == "startup") is is_starting]
        return result
