"""Jobs that tests submit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kubectl.objects import vcjob

if TYPE_CHECKING:
    import datetime


def gang(name: str, members: int, *command: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    """A job whose members start together or not at all."""
    job = vcjob(name, minAvailable=members, **spec)
    task = job["spec"]["tasks"][0]
    task["replicas"] = members
    container = task["template"]["spec"]["containers"][0]
    container["command"] = list(command or ("sleep", "600"))
    container["resources"] = {"requests": {"cpu": cpu}}
    task["template"]["spec"]["restartPolicy"] = "Never"
    task["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return job


def patient(name: str) -> dict[str, Any]:
    """A job of which one pod fails, and that is aborted half an hour later."""
    job = gang(name, 2, "sh", "-c", 'test "$VC_TASK_INDEX" != 0 && sleep 600', plugins={"env": []})
    job["spec"]["minAvailable"] = 1
    job["spec"]["policies"] = [{"event": "PodFailed", "action": "AbortJob", "timeout": "30m"}]
    return job


def hourly(name: str, at: datetime.datetime) -> dict[str, Any]:
    """A cronjob that starts a job at this minute of each hour."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {
            "schedule": f"{at.minute} * * * *",
            "timeZone": "Etc/UTC",
            "jobTemplate": {"spec": gang(name, 1)["spec"]},
        },
    }
