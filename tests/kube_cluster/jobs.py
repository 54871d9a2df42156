"""Jobs that tests submit."""

from __future__ import annotations

from typing import Any

from tests.kubectl.objects import vcjob


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
