"""The two documents a node and a supervisor share on disk: the plan (what to run) and the report (what became of it).

Neighbours: `volcano.local.node.plan` writes plans; `pod` writes reports; `volcano.local.node.status` reads them.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

PLAN_FILE = "plan.json"
REPORT_FILE = "report.json"
STOP_FILE = "stop.json"
LOCK_FILE = "lock"
LOG_FOLDER = "logs"
INPUT_FOLDER = "inputs"
"""A named pipe per container that reads what is typed; once nobody may type any more, the pipe's name is gone."""
TERMINAL_SUFFIX = ".terminal"
"""Of the link beside it that leads to the device of the container's terminal, where it has one."""
TERMINAL_KIND = "xterm"
"""What programs in a terminal take it for (TERM), as in other runtimes of containers."""
EVENTS_PIPE = "events"

RestartPolicy = Literal["Always", "OnFailure", "Never"]


class Mount(TypedDict):
    """A host file or folder that the container sees at `target`."""

    source: str
    target: str
    read_only: bool


class ActionPlan(TypedDict):
    """Something done inside a container; `seconds` is how long to sleep, or to wait for a connection."""

    kind: Literal["exec", "http", "tcp", "sleep"]
    argv: list[str]
    host: str
    port: int
    path: str
    scheme: str
    headers: list[list[str]]
    seconds: float


ProbeKind = Literal["startup", "readiness", "liveness"]


class ProbePlan(TypedDict):
    """An action repeated every `period` seconds."""

    action: ActionPlan
    initial_delay: float
    period: float
    timeout: float
    success_threshold: int
    failure_threshold: int


class ContainerPlan(TypedDict):
    """`cgroups` are the folders of the container's cgroups: one with cgroup v2, one for each controller with v1.

    `input` says whether it reads what is typed: never, always, or until the first who types has ended; `tty` whether it
    has a terminal for its streams.
    """

    name: str
    argv: list[str]
    env: dict[str, str]
    folder: str
    restart: RestartPolicy
    sidecar: bool
    mounts: list[Mount]
    user: int | None
    group: int | None
    cgroups: list[str]
    probes: dict[ProbeKind, ProbePlan]
    post_start: ActionPlan | None
    pre_stop: ActionPlan | None
    input: NotRequired[Literal["", "open", "once"]]
    tty: NotRequired[bool]


class PodPlan(TypedDict):
    """`address` and `started_at` are the node's own memory of the pod, kept here to survive its restarts."""

    namespace: str
    name: str
    uid: str
    hostname: str
    address: str
    started_at: float
    isolate: bool
    grace_seconds: float
    deadline_at: float | None
    backoff_base_seconds: float
    backoff_cap_seconds: float
    init: list[ContainerPlan]
    containers: list[ContainerPlan]


class Exit(TypedDict):
    """How one run of a container ended."""

    code: int
    signal: int
    reason: str
    message: str
    started_at: float
    finished_at: float


class ContainerReport(TypedDict):
    """`pid` and `birth` name the process beyond doubt; `last` is the run before the current one."""

    state: Literal["waiting", "running", "terminated"]
    is_started: bool
    is_ready: bool
    pid: int
    birth: str
    started_at: float
    exit: Exit | None
    last: Exit | None
    restarts: int
    streak: int
    retry_at: float | None


class PodReport(TypedDict):
    pid: int
    birth: str
    stopping: str
    finished: bool
    containers: dict[str, ContainerReport]


class StopOrder(TypedDict):
    grace_seconds: float
    reason: str


def new_container_report() -> ContainerReport:
    return {
        "state": "waiting",
        "is_started": False,
        "is_ready": False,
        "pid": 0,
        "birth": "",
        "started_at": 0.0,
        "exit": None,
        "last": None,
        "restarts": 0,
        "streak": 0,
        "retry_at": None,
    }


def new_pod_report(plan: PodPlan) -> PodReport:
    """The report of a pod of which nothing has been started."""
    names = [container["name"] for container in (*plan["init"], *plan["containers"])]
    return {
        "pid": 0,
        "birth": "",
        "stopping": "",
        "finished": False,
        "containers": {name: new_container_report() for name in names},
    }
