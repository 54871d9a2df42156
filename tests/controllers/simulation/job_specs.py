"""Random jobs that admission would let in: tasks, policies, partitions, dependencies, volumes, plugins."""

from __future__ import annotations

from random import Random
from typing import Any

from volcano.api.meta import JsonObject

EVENTS = ("PodFailed", "PodEvicted", "PodPending", "TaskCompleted", "TaskFailed", "Unknown", "*")
ACTIONS = (
    "RestartJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "AbortJob",
    "TerminateJob",
    "CompleteJob",
)
COMMANDS = ("AbortJob", "RestartJob", "TerminateJob", "CompleteJob", "ResumeJob", "ResumeJob")


def some_job(random: Random, name: str) -> JsonObject:
    tasks = [_task(random, f"t{position}") for position in range(random.randint(1, 2))]
    if len(tasks) == 2 and random.random() < 0.3:
        tasks[1]["dependsOn"] = {"name": ["t0"]}
    total = sum(task["replicas"] for task in tasks)
    spec: JsonObject = {
        "queue": "q",
        "schedulerName": "volcano",
        "tasks": tasks,
        "minAvailable": max(0, total - random.randint(0, 2)),
        "maxRetry": random.randint(1, 4),
        "policies": [_policy(random) for _ in range(random.randint(0, 3))],
        "plugins": random.choice(({}, {}, {"env": [], "svc": []})),
    }
    if random.random() < 0.2:
        spec["minSuccess"] = random.randint(1, max(1, total))
    if random.random() < 0.2:
        spec["volumes"] = [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": spec,
    }


def _task(random: Random, name: str) -> JsonObject:
    task: JsonObject = {
        "name": name,
        "replicas": random.randint(0, 3),
        "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
        "policies": [_policy(random)] if random.random() < 0.3 else [],
    }
    if random.random() < 0.3:
        task["minAvailable"] = random.randint(0, task["replicas"])
    if random.random() < 0.2:
        task["maxRetry"] = random.choice((-1, 1, 2))
    if random.random() < 0.2:
        task["replicas"] = 4
        task["partitionPolicy"] = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}
    return task


def _policy(random: Random) -> JsonObject:
    policy: JsonObject = {"action": random.choice(ACTIONS)}
    if random.random() < 0.2:
        policy["exitCode"] = 3
    else:
        policy["events"] = random.sample(EVENTS, random.randint(1, 2))
    if random.random() < 0.3:
        policy["timeout"] = random.choice(("1s", "30s"))
    return policy


def edited(random: Random, job: JsonObject) -> JsonObject:
    """The job after an edit that admission allows."""
    spec = job["spec"]
    changes: dict[str, Any] = {}
    if random.random() < 0.7:
        position = random.randrange(len(spec["tasks"]))
        task = spec["tasks"][position]
        if "partitionPolicy" in task:
            return job
        replicas = random.randint(task.get("minAvailable", 0), 4)
        tasks = [*spec["tasks"][:position], {**task, "replicas": replicas}, *spec["tasks"][position + 1 :]]
        total = sum(task["replicas"] for task in tasks)
        changes = {"tasks": tasks, "minAvailable": min(spec["minAvailable"], total)}
    elif random.random() < 0.5:
        changes = {"minAvailable": random.randint(0, sum(task["replicas"] for task in spec["tasks"]))}
    else:
        changes = {"priorityClassName": random.choice(("low", "high"))}
    return {**job, "spec": {**spec, **changes}}
