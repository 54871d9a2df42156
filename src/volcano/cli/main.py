"""The vcctl command tree and its one error boundary.

Nouns are loaded when they are named (`lazy.py`), so `vcctl --help` costs little. How a failure is shown is
decided here and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from volcano.cli.errors import CommandError
from volcano.cli.lazy import LazyGroup

FAILED = 255
"""Exit status of a command that failed, as upstream's tools give it."""
USAGE = 2

NOUNS = {
    "job": "volcano.cli.job:job",
    "queue": "volcano.cli.queue:queue",
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


def main(argv: Sequence[str] | None = None) -> None:
    """Run vcctl and end the process with its exit status: 0, 255 when a command failed, 2 for bad usage."""
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run vcctl in this process and return its exit status."""
    try:
        result = vcctl.main(args=list(argv) if argv is not None else None, prog_name="vcctl", standalone_mode=False)
    except CommandError as error:
        click.echo(f"Failed to {error.command}: {error}" if error.command else str(error), err=True)
        return error.exit_status or FAILED
    except click.UsageError as error:
        error.show()
        return USAGE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        return 0
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
