"""What holds for every job at every moment, and what holds when nothing happens any more.

Told of each change of a document by server.py; an abstract model of a job's life, without its reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from volcano.api.meta import JsonObject

FINAL = frozenset({"Completed", "Failed", "Terminated"})
_KILLS = {"Restarting", "Aborting", "Completing", "Terminating"}
NEXT: Mapping[str, set[str]] = {
    "": {"Pending", "Running", *_KILLS},
    "Pending": {"Running", *_KILLS},
    "Running": {"Pending", "Completed", "Failed", *_KILLS},
    "Restarting": {"Pending", "Failed"},
    "Aborting": {"Aborted", "Restarting"},
    "Aborted": {"Restarting"},
    "Completing": {"Completed"},
    "Terminating": {"Terminated"},
    "Completed": set(),
    "Failed": set(),
    "Terminated": set(),
}
COUNTERS = {
    "pending": "Pending",
    "running": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "unknown": "Unknown",
    "terminating": "Terminating",
}
Objects = Mapping[str, Mapping[str, JsonObject]]


class Invariants:
    def __init__(self) -> None:
        self.ended: set[str] = set()
        """uids of jobs in a final phase"""

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        if plural == "jobs" and before is not None and after is not None:
            self._job_changed(before, after)
        if before is None and after is not None and (owners := after["metadata"].get("ownerReferences")):
            assert owners[0]["uid"] not in self.ended, f"{after['metadata']['name']} is made for a job that is over"

    def _job_changed(self, before: JsonObject, after: JsonObject) -> None:
        old, new = before.get("status", {}), after.get("status", {})
        was, phase = phase_of(before), phase_of(after)
        if was != phase:
            assert phase in NEXT[was], f"{was} became {phase}"
            assert new["conditions"][-1]["status"] == phase
        else:
            assert old.get("state", {}).get("lastTransitionTime") == new.get("state", {}).get("lastTransitionTime")
        if phase in FINAL:
            self.ended.add(after["metadata"]["uid"])
        restarts = int(phase == "Restarting" != was)
        assert new.get("retryCount", 0) == old.get("retryCount", 0) + restarts, "a retry is a restart"
        assert new.get("retryCount", 0) <= max(after["spec"]["maxRetry"], 1), "more retries than allowed"
        assert new.get("version", 0) >= old.get("version", 0)
        assert all(new.get(name, 0) >= 0 for name in COUNTERS), new
        phases = [condition["status"] for condition in new.get("conditions", [])]
        assert len(phases) == len(set(phases)), phases
        times = [condition["lastTransitionTime"] for condition in new.get("conditions", [])]
        assert times == sorted(times), times


def lacks_a_dependency(job: JsonObject) -> bool:
    """Too many pods of a task have failed that another one waits for: the user is told, and must act."""
    counts = job["status"].get("taskStatusCount", {})
    failed = {name: state["phase"].get("Failed", 0) for name, state in counts.items()}
    tasks = {task["name"]: task for task in job["spec"]["tasks"]}
    for task in tasks.values():
        for name in task.get("dependsOn", {}).get("name", []):
            other = tasks[name]
            if other["replicas"] - failed.get(name, 0) < other.get("minAvailable", 0):
                return True
    return False


def phase_of(job: JsonObject) -> str:
    phase: str = job.get("status", {}).get("state", {}).get("phase", "")
    return phase


def pods_of(job: JsonObject, objects: Objects) -> Iterator[JsonObject]:
    for pod in objects["pods"].values():
        if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]:
            yield pod


def check_counters(job: JsonObject, objects: Objects) -> None:
    """The status says what the pods are."""
    status, standing, by_task = job["status"], Counter[str](), Counter[tuple[str, str]]()
    for pod in pods_of(job, objects):
        terminating = "deletionTimestamp" in pod["metadata"]
        standing["Terminating" if terminating else pod["status"]["phase"]] += 1
        if not terminating:
            by_task[pod["metadata"]["annotations"]["volcano.sh/task-spec"], pod["status"]["phase"]] += 1
    for name, phase in COUNTERS.items():
        assert status.get(name, 0) == standing[phase], (name, status, standing)
    told = {
        (task, phase): count
        for task, state in status.get("taskStatusCount", {}).items()
        for phase, count in state["phase"].items()
    }
    assert told == by_task


def check_company(job: JsonObject, objects: Objects) -> None:
    """A job that lives has its podgroup, its volume, and what its plugins keep beside it."""
    if phase_of(job) not in {"Pending", "Running"}:
        return
    plural = ["podgroups"]
    plural += ["services", "configmaps", "networkpolicies"] if "svc" in job["spec"].get("plugins", {}) else []
    plural += ["persistentvolumeclaims"] if "volumes" in job["spec"] else []
    for kind in plural:
        owners = [one["metadata"]["ownerReferences"][0]["uid"] for one in objects[kind].values()]
        assert job["metadata"]["uid"] in owners, f"{job['metadata']['name']} lacks its {kind}"


def check_end(job: JsonObject, objects: Objects) -> None:
    """Everybody did their part: the job is over, and has let go of everything but finished pods."""
    phase, meta = phase_of(job), job["metadata"]
    if not any(task["replicas"] for task in job["spec"]["tasks"]):
        assert phase in {*FINAL, "Aborted", "Running", "Pending"}
        return
    if phase in {"Pending", "Running"} and lacks_a_dependency(job):  # one that grew meanwhile may run already
        return
    assert phase in {*FINAL, "Aborted"}, job
    alive = [pod for pod in pods_of(job, objects) if pod["status"]["phase"] not in {"Succeeded", "Failed", "Unknown"}]
    assert not alive
    for plural in ("podgroups", "services", "configmaps", "networkpolicies"):
        owned = [one for one in objects[plural].values() if one["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]]
        assert not owned, owned
