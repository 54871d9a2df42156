"""The vcctl command tree. Nouns are loaded when they are named (`lazy.py`), so `vcctl --help` costs little."""

from __future__ import annotations

from collections.abc import Sequence

import click

from volcano.cli import program
from volcano.cli.lazy import LazyGroup

COMMANDS = {
    "job": ("volcano.cli.job:job", "Run, list, view, suspend, resume and delete jobs."),
    "queue": ("volcano.cli.queue:queue", "List, create, operate and delete queues; draw their tree."),
    "pod": ("volcano.cli.pod:pod", "List the pods of jobs and queues."),
    "podgroup": ("volcano.cli.podgroup:podgroup", "List podgroups and why they wait."),
    "jobflow": ("volcano.cli.jobflow:jobflow", "Create, list, describe and delete flows of jobs."),
    "jobtemplate": ("volcano.cli.jobtemplate:jobtemplate", "Create, list, describe and delete templates of jobs."),
    "cronjob": ("volcano.cli.cronjob:cronjob", "Create, list, suspend and trigger jobs on a schedule."),
    "hypernode": ("volcano.cli.hypernode:hypernode", "List and describe the domains of the network."),
    "logs": ("volcano.cli.logs:logs", "Print what all pods of a job write."),
    "events": ("volcano.cli.events:events", "Show what happened to jobs and other objects."),
    "top": ("volcano.cli.top:top", "Show what queues and jobs hold of the cluster; live on a terminal."),
    "wait": ("volcano.cli.wait:wait", "Wait until jobs have finished, or other objects are where they should be."),
    "apply": ("volcano.cli.apply:apply", "Create the objects of manifests, or change them to what these say."),
    "diff": ("volcano.cli.diff:diff", "Show what apply would change, and which queues it would not know."),
    "config": ("volcano.cli.config:config", "Check the scheduler's configuration."),
    "explain": ("volcano.cli.explain:explain", "Say why a job, pod or queue waits."),
    "dump": (
        "volcano.cli.dump:dump_cluster",
        "Write what the scheduler sees to a file, to repeat its decisions elsewhere.",
    ),
    "doctor": ("volcano.cli.doctor:doctor", "Say what does not work in a cluster, and what to do about it."),
    "local": ("volcano.cli.local:local", "Start and stop a cluster on this machine."),
    "policies": ("volcano.cli.policies:policies", "Print the admission rules as policies for the API server."),
    "schedule": (
        "volcano.cli.schedule:schedule",
        "Show what the scheduler would decide about manifests, without a cluster.",
    ),
    "validate": ("volcano.cli.validate:validate", "Check manifests against the admission rules, without a cluster."),
    "completion": ("volcano.cli.completion:completion", "Print a shell completion script."),
    "version": ("volcano.cli.version:version", "Print the version."),
}
"""Where each command is, and its line in the help."""


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def vcctl() -> None:
    """Manage Volcano jobs and queues, on a Kubernetes cluster or on this machine."""


def main() -> None:
    """Run vcctl and end the process with its exit status."""
    program.main(vcctl, "vcctl")


def run(argv: Sequence[str] | None = None) -> int:
    """Run vcctl in this process and return its exit status."""
    return program.run(vcctl, "vcctl", argv)


if __name__ == "__main__":
    main()
