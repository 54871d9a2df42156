"""Options of Slurm's sbatch that vsub does not have, and what to use in their place."""

from __future__ import annotations

from typing import Final

_LOG: Final = "output is in the log of each pod: see `vcctl job logs NAME`"
_MAIL: Final = "nothing sends mail: wait with `vsub --wait` or `vcctl wait job/NAME`, and send it then"
_DEVICES: Final = "ask for devices by their resource: --requests cpu=1,nvidia.com/gpu=1"
_TASKS: Final = "each task is a pod: say how many with --ntasks"
_NODES: Final = "nodes are chosen by their labels: write a manifest with a nodeSelector"

_INSTEAD: Final = {
    "-A": "accounts are queues: use --queue",
    "-C": _NODES,
    "-G": _DEVICES,
    "-o": _LOG,
    "-w": _NODES,
    "-x": _NODES,
    "--account": "accounts are queues: use --queue",
    "--begin": "start on a schedule with `vcctl cronjob create`, or after other jobs with --dependency",
    "--constraint": _NODES,
    "--error": _LOG,
    "--exclude": _NODES,
    "--exclusive": "ask for all CPUs of a node with --cpus-per-task",
    "--export": "pass variables with --env NAME=VALUE",
    "--gpus": _DEVICES,
    "--gpus-per-node": _DEVICES,
    "--gpus-per-task": _DEVICES,
    "--gres": _DEVICES,
    "--mail-type": _MAIL,
    "--mail-user": _MAIL,
    "--mem-per-cpu": "give the memory of a pod with --mem",
    "--nodelist": _NODES,
    "--nodes": _TASKS,
    "--ntasks-per-node": _TASKS,
    "--output": _LOG,
    "--qos": "use --priority with the name of a PriorityClass",
    "--requeue": "use --retries with how often",
    "--wrap": "give the command with --command",
}


def instead_of(option: str) -> str:
    """What does the work of an option of sbatch; empty for one that sbatch does not have either."""
    return _INSTEAD.get(option, "")
