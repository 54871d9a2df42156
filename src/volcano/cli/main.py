"""The vcctl command tree. Nouns are loaded when they are named (`lazy.py`), so `vcctl --help` costs little."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from volcano.cli import program
from volcano.cli.lazy import LazyGroup

NOUNS = {
    "job": "volcano.cli.job:job",
    "queue": "volcano.cli.queue:queue",
    "pod": "volcano.cli.pod:pod",
    "jobflow": "volcano.cli.jobflow:jobflow",
    "jobtemplate": "volcano.cli.jobtemplate:jobtemplate",
    "logs": "volcano.cli.logs:logs",
    "dump": "volcano.cli.dump:dump_cluster",
    "explain": "volcano.cli.explain:explain",
    "local": "volcano.cli.local:local",
    "policies": "volcano.cli.policies:policies",
    "schedule": "volcano.cli.schedule:schedule",
    "validate": "volcano.cli.validate:validate",
    "completion": "volcano.cli.completion:completion",
    "version": "volcano.cli.version:version",
}

NOUN_HELP = {
    "job": "Run, list, view, suspend, resume and delete jobs.",
    "queue": "List, create, operate and delete queues.",
    "pod": "List the pods of jobs and queues.",
    "jobflow": "Create, list, get, describe and delete flows of jobs.",
    "jobtemplate": "Create, list, get, describe and delete templates of jobs.",
    "logs": "Print what all pods of a job write.",
    "dump": "Write what the scheduler sees to a file, to repeat its decisions elsewhere.",
    "explain": "Say why a job, pod or queue waits.",
    "local": "Start and stop a cluster on this machine.",
    "policies": "Print the admission rules as policies for the API server.",
    "schedule": "Show what the scheduler would decide about manifests, without a cluster.",
    "validate": "Check manifests against the admission rules, without a cluster.",
    "completion": "Print a shell completion script.",
    "version": "Print the version.",
}


@click.group(
    cls=LazyGroup,
    nouns=NOUNS,
    noun_help=NOUN_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def vcctl() -> None:
    """Manage Volcano jobs and queues, on a Kubernetes cluster or on this machine."""


def main() -> None:
    """Run vcctl and end the process with its exit status."""
    sys.exit(run())


def run(argv: Sequence[str] | None = None) -> int:
    """Run vcctl in this process and return its exit status."""
    return program.run(vcctl, "vcctl", argv)


if __name__ == "__main__":
    main()
