"""A plugin, an action or a job that fails: named, passed over, and the cycle goes on."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.scheduler.actions.placing import Placing
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.action import Action
from volcano.scheduler.framework.plugin import Plugin, ScoreTerm
from volcano.scheduler.framework.reasons import Stage
from volcano.scheduler.framework.remedies import remedy
from volcano.scheduler.framework.session import Session
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World

HOOKS = (
    "job_order",
    "queue_order",
    "task_order",
    "job_valid",
    "job_ready",
    "missing_members",
    "job_pipelined",
    "job_enqueueable",
    "job_enqueued",
    "overused",
    "allocatable",
    "allowance",
    "pre_filter",
    "filter",
    "score",
    "score_terms",
    "couples_nodes",
    "affected",
    "best_node",
    "domain_scores",
    "allocated",
    "deallocated",
    "bind_annotations",
    "open",
    "close",
)
HARMFUL = {  # without this answer the jobs cannot be placed safely, so they wait
    "job_valid",
    "job_ready",
    "job_enqueueable",
    "overused",
    "allocatable",
    "pre_filter",
    "filter",
    "allocated",
}
CONF = "actions: {actions}\ntiers:\n- plugins:\n  - name: gang\n  - name: fragile\n"


def fragile(*hooks: str) -> type[Plugin]:
    """A plugin that raises in these hooks."""

    def fail(*_: Any) -> Any:
        raise ValueError("out of cheese")

    return type("Fragile", (Plugin,), {"name": "fragile", **dict.fromkeys(hooks, fail)})


def world(plugin: type[Plugin], *, actions: str = "enqueue, allocate, backfill", **more: Any) -> World:
    job = gang("train", pods=2, cpu=1, phase="Pending", min_resources={"cpu": 2})
    return World(
        nodes=[node("n1", cpu=4), node("n2", cpu=4)],
        jobs=[job, gang("other", pods=1, cpu=1, created=1)],
        conf=CONF.format(actions=actions),
        registry=registries.built_in().extended([plugin], more.get("actions_too", ())),
    )


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_raises_is_named_and_the_cycle_goes_on(hook: str) -> None:
    made = world(fragile(hook))
    made.add("queues", queue("second"))
    made.add_gang(gang("third", cpu=1, queue="second"))

    decisions = made.cycle()

    if hook not in ("deallocated", "affected", "allowance", "missing_members", "job_pipelined"):  # not asked here
        assert any("'fragile'" in warning and "out of cheese" in warning for warning in decisions.warnings)
    if hook not in HARMFUL:
        assert len(decisions.binds) == 4, decisions.warnings
    else:
        assert len(decisions.binds) < 4


def test_a_plugin_that_fails_to_open_answers_no_question() -> None:
    decisions = world(fragile("open", "filter")).cycle()

    assert decisions.binds == {}
    assert any("open failed" in warning for warning in decisions.warnings)


def test_a_score_term_that_raises_counts_nothing() -> None:
    class Terms(Plugin):
        name = "fragile"

        def score_terms(self, profile: Any) -> Any:
            return (ScoreTerm(divided),)

    def divided(profile: Any, rows: Any) -> Any:
        return 1 / 0

    decisions = world(Terms).cycle()

    assert len(decisions.binds) == 3
    assert any("ZeroDivisionError" in warning for warning in decisions.warnings)


def test_an_action_that_raises_leaves_nothing_half_done() -> None:
    class Rash(Action):
        name = "rash"

        def execute(self, session: Session) -> None:
            tasks = list(session.jobs["default/other"].pending.values())
            session.statement().allocate(tasks, [0])
            raise RuntimeError("too fast")

    made = world(fragile(), actions="rash, allocate", actions_too=[Rash])

    decisions = made.cycle()

    assert len(decisions.binds) == 3
    assert "action 'rash' failed: RuntimeError: too fast" in decisions.warnings


def test_one_job_that_fails_does_not_spoil_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Placing.run

    def run(self: Placing) -> None:
        original(self)
        if self.job.name == "train":
            raise KeyError("odd")

    monkeypatch.setattr(Placing, "run", run)
    made = world(fragile())
    before = made.cluster.nodes.idle.copy()

    decisions = made.cycle()

    assert set(decisions.binds) == {"default/other-worker-0"}
    reason = decisions.reason("train")
    assert reason is not None
    assert (reason.stage, reason.code, reason.blocker) == (Stage.PLUGIN, "ActionFailed", "allocate")
    assert (before - made.cluster.nodes.idle).sum(axis=0)[0] == 1000
    assert isinstance(made.cluster.jobs["default/train"], Job)


def test_a_filter_that_raises_names_its_exception_as_the_reason() -> None:
    reason = world(fragile("filter")).cycle().reason("train")

    assert reason is not None
    assert reason.nodes == (("plugin fragile failed (filter failed: ValueError: out of cheese)", 2),)
    assert remedy(reason).startswith("correct the plugin, or remove it")
