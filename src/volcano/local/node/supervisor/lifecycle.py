"""What a pod should do next, decided from its plan and its report alone: start, wait, or finish.

Neighbours: `pod` performs the decision; `volcano.local.node.status` shows the same facts to the API.
"""

from __future__ import annotations

from typing import NamedTuple

from volcano.local.node.supervisor.documents import ContainerPlan, ContainerReport, Exit, PodPlan, PodReport, ProbeKind

STEADY_SECONDS = 600.0
"""A run at least this long starts the back-off anew."""


class Decision(NamedTuple):
    """Containers to start now, a reason to stop those that run, or the end."""

    start: tuple[ContainerPlan, ...] = ()
    stop: str = ""
    finished: bool = False


def decide(plan: PodPlan, report: PodReport, now: float) -> Decision:
    """The next step of the pod. Pure: same plan, report and time, same step."""
    if report["stopping"]:
        return Decision(finished=not any_running(report))
    sidecars = tuple(c for c in plan["init"] if c["sidecar"])
    initial = _initial_step(plan, report, now)
    if initial is not None:
        return initial
    states = report["containers"]
    active = tuple(c for c in plan["containers"] if not is_over(c, states[c["name"]]))
    if not active:
        return _end(report, "Completed")
    return Decision(start=_due(active + sidecars, report, now))


def _initial_step(plan: PodPlan, report: PodReport, now: float) -> Decision | None:
    """The step while init containers run, in their order; None once all have done their part."""
    if has_begun(plan, report):
        return None
    for container in plan["init"]:
        state = report["containers"][container["name"]]
        if container["sidecar"]:
            if not state["is_started"]:
                return Decision(start=_due((container,), report, now))
            continue
        if state["exit"] is None or restarts(container, state["exit"]):
            return Decision(start=_due((container,), report, now))
        if state["exit"]["code"] != 0:
            return _end(report, "InitContainerFailed")
    return None


def _end(report: PodReport, reason: str) -> Decision:
    return Decision(stop=reason) if any_running(report) else Decision(finished=True)


def _due(containers: tuple[ContainerPlan, ...], report: PodReport, now: float) -> tuple[ContainerPlan, ...]:
    """Those of `containers` that do not run and may start now."""
    states = report["containers"]
    return tuple(
        c for c in containers if states[c["name"]]["state"] != "running" and (states[c["name"]]["retry_at"] or 0) <= now
    )


def probed(container: ContainerPlan, state: ContainerReport, kind: ProbeKind, *, ok: bool) -> ContainerReport:
    """The container's report after a probe has changed its verdict."""
    if kind == "startup" and ok:
        return {**state, "is_started": True, "is_ready": "readiness" not in container["probes"]}
    if kind == "readiness":
        return {**state, "is_ready": ok}
    return state


def next_retry(report: PodReport, now: float) -> float | None:
    """When the next container in back-off may run again."""
    times = [state["retry_at"] for state in report["containers"].values() if state["state"] == "terminated"]
    return min((at for at in times if at is not None and at > now), default=None)


def postponed(report: PodReport, seconds: float) -> PodReport:
    """The report with every back-off ending later by `seconds`, or earlier where these are negative."""
    retries = {name: state["retry_at"] for name, state in report["containers"].items()}
    later = {name: None if at is None else at + seconds for name, at in retries.items()}
    containers: dict[str, ContainerReport] = {
        name: {**state, "retry_at": later[name]} for name, state in report["containers"].items()
    }
    return {**report, "containers": containers}


def has_begun(plan: PodPlan, report: PodReport) -> bool:
    """Whether the init containers are over and the others have had their start."""
    return any(report["containers"][container["name"]]["state"] != "waiting" for container in plan["containers"])


def any_running(report: PodReport) -> bool:
    return any(state["state"] == "running" for state in report["containers"].values())


def restarts(container: ContainerPlan, exit_: Exit) -> bool:
    """Whether the restart policy asks for another run after `exit_`."""
    if container["sidecar"] or container["restart"] == "Always":
        return True
    return container["restart"] == "OnFailure" and exit_["code"] != 0


def is_over(container: ContainerPlan, state: ContainerReport) -> bool:
    return state["state"] == "terminated" and state["exit"] is not None and not restarts(container, state["exit"])


def ended(plan: PodPlan, container: ContainerPlan, state: ContainerReport, exit_: Exit) -> ContainerReport:
    """The container's report after a run ended with `exit_`, with the time of its next run if there is one."""
    steady = exit_["finished_at"] - exit_["started_at"] >= STEADY_SECONDS
    streak = 0 if steady else state["streak"]
    again = restarts(container, exit_)
    delay = 0.0
    if streak > 0:
        delay = min(plan["backoff_base_seconds"] * 2 ** min(streak - 1, 30), plan["backoff_cap_seconds"])
    return {
        **state,
        "state": "terminated",
        "is_started": False,
        "is_ready": False,
        "exit": exit_,
        "retry_at": exit_["finished_at"] + delay if again else None,
        "streak": streak + 1,
    }


def started(container: ContainerPlan, state: ContainerReport, pid: int, birth: str, now: float) -> ContainerReport:
    """The container's report once process `pid` exists for its next run."""
    again = state["exit"] is not None
    return {
        **state,
        "state": "running",
        "is_started": "startup" not in container["probes"],
        "is_ready": not {"startup", "readiness"} & set(container["probes"]),
        "pid": pid,
        "birth": birth,
        "started_at": now,
        "last": state["exit"] if again else state["last"],
        "exit": None,
        "restarts": state["restarts"] + 1 if again else 0,
        "retry_at": None,
    }
