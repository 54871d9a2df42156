"""vcctl wait and --watch: goals that are never reached are refused, and a job that vanishes is said to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from tests.cli.conftest import Terminal
from volcano.cli import job_watch, wait
from volcano.cli.job_watch import follow
from volcano.cli.statuses import DONE, FAILED, NO, USAGE
from volcano.kube.client import Client


@pytest.mark.parametrize(
    ("target", "goal", "message"),
    [
        ("job/x", "Runing", "--for 'Runing' is no phase of a job: did you mean \"Running\"?"),
        ("queue/q", "Shut", "--for 'Shut' is no phase of a queue: say deleted, Open, Closed, Closing or Unknown"),
        ("queue/q", "finished", "a queue does not finish: say --for deleted or a phase"),
        ("hypernode/h", "Ready", "a hypernode has no phase: say --for deleted"),
    ],
)
def test_a_phase_that_the_kind_does_not_have_is_refused_at_once(
    vcctl: Terminal, target: str, goal: str, message: str
) -> None:
    assert vcctl("wait", target, "--for", goal) == USAGE
    assert vcctl.err == f"Failed to wait: {message}\n"


def test_phases_are_known_in_any_case(vcctl: Terminal) -> None:
    assert vcctl("wait", "job/gone", "--for", "running") == FAILED
    assert '"gone" not found' in vcctl.err


@pytest.mark.parametrize(
    ("goal", "status", "phase"),
    [("Running", DONE, "Running"), ("finished", NO, "Aborted"), ("Failed", NO, "Completed")],
)
def test_a_suspended_job_has_ended_but_may_run_again(
    monkeypatch: pytest.MonkeyPatch, vcctl: Terminal, goal: str, status: int, phase: str
) -> None:
    async def states(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        for passed in ("Aborted", "Pending", "Running", "Completed"):
            yield {"metadata": {"name": "again"}, "status": {"state": {"phase": passed}}}

    async def one(*_: object) -> None:
        """It is there."""

    monkeypatch.setattr(wait, "states", states)
    monkeypatch.setattr(wait, "one", one)

    assert vcctl("wait", "job/again", "--for", goal) == status
    assert (vcctl.out or vcctl.err) == f"job/again {phase}\n"


def test_why_a_job_failed_is_told_with_its_phase(monkeypatch: pytest.MonkeyPatch, vcctl: Terminal) -> None:
    async def states(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        state = {"phase": "Failed", "reason": "RetriesUsedUp", "message": "retries are used up (3 of 3)"}
        yield {"metadata": {"name": "a"}, "status": {"state": state}}

    async def one(*_: object) -> None:
        """It is there."""

    monkeypatch.setattr(wait, "states", states)
    monkeypatch.setattr(wait, "one", one)

    assert vcctl("wait", "job/a") == NO
    assert vcctl.err == "job/a Failed: RetriesUsedUp: retries are used up (3 of 3)\n"
    assert vcctl("wait", "job/a", "--for", "Failed") == DONE
    assert vcctl.out == "job/a Failed\n"


def test_a_job_that_is_deleted_while_it_is_watched_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def states(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        yield {"metadata": {"name": "wdel"}, "status": {"state": {"phase": "Running"}, "running": 1}}

    monkeypatch.setattr(job_watch, "states", states)

    assert asyncio.run(follow(cast("Client", None), "default", "wdel", live=False)) == NO

    said = capsys.readouterr()
    assert (said.out, said.err) == ("job wdel  Running: 1 running\n", "job/wdel deleted\n")
