"""Options of Slurm's programs that ours do not have, and what to use in their place; Slurm's words for states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from volcano.api import phases

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
    "--wrap": "give the command with --command 'sh -c …'",
}


_NO_USERS: Final = "jobs know no user: choose with --namespace, --queue or --labels"
_LISTING: Final = {
    "-j": "name the job: vjobs NAME",
    "-p": "partitions are queues: use --queue",
    "-u": _NO_USERS,
    "-w": "see what is on a node with `kubectl get pods -o wide`",
    "--format": "use --output wide or --output 'jsonpath={…}'",
    "--iterate": "see what changes with `vcctl top`",
    "--jobs": "name the job: vjobs NAME",
    "--me": _NO_USERS,
    "--partition": "partitions are queues: use --queue",
    "--start": "ask what a job waits for with `vcctl explain job NAME`",
    "--user": _NO_USERS,
}
_BY_NAME: Final = "name the jobs; `vjobs --output name` with --queue, --labels or --states lists some"
_CANCELLING: Final = {
    **dict.fromkeys(("-p", "-q", "-t", "-u", "--me", "--partition", "--qos", "--state", "--user"), _BY_NAME),
    "-s": "pods are asked to end by TERM: send another signal with `kubectl exec POD -- kill`",
    "--signal": "pods are asked to end by TERM: send another signal with `kubectl exec POD -- kill`",
}

_STATES: Final = {
    "PD": (phases.PENDING,),
    "R": (phases.RUNNING,),
    "S": (phases.ABORTED,),
    "CG": (phases.COMPLETING, phases.TERMINATING, phases.ABORTING),
    "CD": (phases.COMPLETED,),
    "F": (phases.FAILED,),
    "CA": (phases.TERMINATED,),
    "RQ": (phases.RESTARTING,),
}
_LONG: Final = {
    "PENDING": "PD",
    "SUSPENDED": "S",
    "COMPLETING": "CG",
    "CANCELLED": "CA",
    "REQUEUED": "RQ",
}


class AdvisedCommand(click.Command):
    """Says what to use in the place of an option of Slurm's that it does not have."""

    instead: Mapping[str, str] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if advice := self.instead.get(error.option_name):
                raise click.UsageError(f"There is no option {error.option_name} here: {advice}", ctx) from error
            raise


class ListingCommand(AdvisedCommand):
    instead = _LISTING


class CancellingCommand(AdvisedCommand):
    instead = _CANCELLING


def phases_of(_ctx: click.Context, _param: click.Parameter, words: str) -> frozenset[str]:
    """The phases that a list of states means, in Slurm's words or ours; none for all."""
    ours = {phase.upper(): (phase,) for phase in _PHASES}
    found: set[str] = set()
    for word in filter(None, (word.strip().upper() for word in words.split(","))):
        if word == "ALL":
            return frozenset()
        meant = _STATES.get(_LONG.get(word, word)) or ours.get(word)
        if meant is None:
            raise click.BadParameter(f"{word!r} is no state: use {', '.join(_STATES)} or {', '.join(_PHASES)}")
        found |= set(meant)
    return frozenset(found)


_PHASES: Final = (
    phases.PENDING,
    phases.RUNNING,
    phases.RESTARTING,
    phases.COMPLETING,
    phases.COMPLETED,
    phases.ABORTING,
    phases.ABORTED,
    phases.TERMINATING,
    phases.TERMINATED,
    phases.FAILED,
)


def instead_of(option: str) -> str:
    """What does the work of an option of sbatch; empty for one that sbatch does not have either."""
    return _INSTEAD.get(option, "")
