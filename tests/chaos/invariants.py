"""What must hold at every version of the history. Each function names what broke it; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from volcano.api import keys, quantity

if TYPE_CHECKING:
    from tests.chaos.history import Change

ENDED = ("Succeeded", "Failed")


def pods(changes: Iterable[Change]) -> Iterator[Change]:
    return (change for change in changes if change.kind == "pods")


def over_allocated(changes: Iterable[Change], milli_cpu: Mapping[str, int]) -> Iterator[str]:
    """No node ever holds more than it has."""
    held: dict[str, dict[str, int]] = defaultdict(dict)
    for change in pods(changes):
        node = change.object["spec"].get("nodeName")
        if not node:
            continue
        if change.gone or phase(change.object) in ENDED:
            held[node].pop(change.uid, None)
            continue
        held[node][change.uid] = requested(change.object)
        if sum(held[node].values()) > milli_cpu[node]:
            yield f"node {node} holds {sum(held[node].values())} of {milli_cpu[node]} milli-CPU at {change.version}"


def bound_twice(changes: Iterable[Change]) -> Iterator[str]:
    """A pod stays on the node to which it was bound, and no member has two pods at once."""
    nodes: dict[str, str] = {}
    for change in pods(changes):
        node = change.object["spec"].get("nodeName")
        if node and nodes.setdefault(change.uid, node) != node:
            yield f"pod {change.name} was bound to {nodes[change.uid]} and to {node}"


def half_gangs(changes: Sequence[Change], minimum: Mapping[str, int], patience: float) -> Iterator[str]:
    """No job holds nodes for less than its minimum of members for longer than `patience` seconds."""
    bound: dict[str, set[str]] = defaultdict(set)
    ran: dict[str, set[str]] = defaultdict(set)
    since: dict[str, float] = {}
    for change in pods(changes):
        job = (change.object["metadata"].get("annotations") or {}).get(keys.JOB_NAME, "")
        if job not in minimum:
            continue
        if phase(change.object) == "Succeeded":
            ran[job].add(change.name)
        holds = change.object["spec"].get("nodeName") and phase(change.object) not in ENDED and not change.gone
        (bound[job].add if holds else bound[job].discard)(change.uid)
        half = 0 < len(bound[job]) < minimum[job] - len(ran[job])
        if not half:
            since.pop(job, None)
        elif change.at - since.setdefault(job, change.at) > patience:
            yield f"job {job} held {len(bound[job])} of {minimum[job]} members for {change.at - since[job]:.0f} s"


def wrong_ends(jobs: Mapping[str, Mapping[str, Any]], expected: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Every job reaches an end that what was asked of it allows."""
    for name, ends in expected.items():
        found = job_phase(jobs[name]) if name in jobs else "gone"
        if found not in ends:
            yield f"job {name} is {found}, not {' or '.join(ends)}"


def disobeyed(jobs: Mapping[str, Mapping[str, Any]], restarts: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """A job was restarted once for each command; of those without an answer, some may have arrived."""
    for name, (least, most) in restarts.items():
        version = (jobs[name].get("status") or {}).get("version", 0)
        if not least <= version <= most:
            yield f"job {name} was restarted {version} times by {least} to {most} commands"


def orphans(left: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[str]:
    """Nothing stays when its owner is gone."""
    for kind, items in left.items():
        for item in items:
            yield f"{kind} {item['metadata']['name']} is left behind"


def phase(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def job_phase(job: Mapping[str, Any]) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase", ""))


def requested(pod: Mapping[str, Any]) -> int:
    """In milli-CPU."""
    containers = pod["spec"]["containers"]
    return sum(quantity.milli((each.get("resources") or {}).get("requests", {}).get("cpu", 0)) for each in containers)
