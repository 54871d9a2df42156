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


@pytest.mark.parametrize("live", [False, True], ids=["lines", "live"])
def test_who_watches_a_job_that_waits_is_told_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], live: bool
) -> None:
    asked = 0
    enough = asyncio.Event()

    async def states(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        yield {"metadata": {"name": "train", "uid": "u"}, "status": {"state": {"phase": "Pending"}}}
        await enough.wait()
        yield {"metadata": {"name": "train", "uid": "u"}, "status": {"state": {"phase": "Completed"}, "succeeded": 1}}

    async def podgroup_of(*_: object) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise OSError("the API server starts again")
        if asked == 5:
            enough.set()
        message = f"4 cpu needed, {asked} available"
        refused = {"type": "Unschedulable", "status": "True", "reason": "ClusterOverused", "message": message}
        return {"metadata": {"name": "train-u"}, "status": {"phase": "Pending", "conditions": [refused]}}

    monkeypatch.setattr(job_watch, "states", states)
    monkeypatch.setattr(job_watch, "podgroup_of", podgroup_of)
    monkeypatch.setattr(job_watch, "ASK_SECONDS", 0.01)

    assert asyncio.run(follow(cast("Client", None), "", "train", live=live)) == DONE

    said = capsys.readouterr().out
    if live:
        assert "Completed: 1 succeeded" in said
    else:
        assert said.splitlines() == [
            "job train  Pending",
            "job train  waits: 4 cpu needed, 2 available",
            "job train  Completed: 1 succeeded",
        ]
