"""Whatever happens to a flow, in whatever order: steps keep their order, nothing runs twice, the end is reached."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from volcano.api import phases
from volcano.api.batch import Job
from volcano.api.flow import JobFlow, JobFlowStatus
from volcano.controllers.jobflow import machine
from volcano.controllers.jobflow.machine import Phase
from volcano.controllers.jobflow.probes import Question

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NEXT = {
    "": [phases.PENDING],
    phases.PENDING: [phases.RUNNING, phases.FAILED],
    phases.RUNNING: [phases.COMPLETING, phases.FAILED, phases.TERMINATED, phases.ABORTED, phases.RESTARTING],
    phases.RESTARTING: [phases.PENDING],
    phases.ABORTED: [phases.RESTARTING],
    phases.COMPLETING: [phases.COMPLETED],
}
GOOD = {
    "": phases.PENDING,
    phases.PENDING: phases.RUNNING,
    phases.RUNNING: phases.COMPLETING,
    phases.COMPLETING: phases.COMPLETED,
    phases.RESTARTING: phases.PENDING,
    phases.ABORTED: phases.RESTARTING,
}
BROKEN = {phases.FAILED, phases.TERMINATED}


class FlowLife(RuleBasedStateMachine):
    """`jobs` are the server's, `seen` what the controller's watch has shown so far."""

    @initialize(
        edges=st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=1, max_size=5),
        probed=st.booleans(),
        retain=st.sampled_from(["retain", "delete"]),
    )
    def create(self, edges: list[set[int]], probed: bool, retain: str) -> None:
        steps: list[dict[str, Any]] = []
        for index, targets in enumerate(edges):
            earlier = [f"s{target}" for target in sorted(targets) if target < index]
            step: dict[str, Any] = {"name": f"s{index}"}
            if earlier:
                step["dependsOn"] = {"targets": earlier}
                if probed:
                    step["dependsOn"]["probe"] = {"tcpSocketList": [{"port": 80}]}
            steps.append(step)
        document = {
            "metadata": {"name": "f", "namespace": "default", "uid": "u"},
            "spec": {"flows": steps, "jobRetainPolicy": retain},
        }
        self.flow = msgspec.convert(document, JobFlow)
        self.probed = probed
        self.jobs: dict[str, Job] = {}
        self.seen: dict[str, Job] = {}
        self.answering: set[str] = set()
        self.seconds = 0
        self.starts: list[str] = []

    # What may happen

    @rule()
    def watch(self) -> None:
        self.seen = dict(self.jobs)

    @rule()
    def reconcile(self) -> None:
        self.perform(self.plan())

    @rule(data=st.data())
    def controller_is_killed(self, data: st.DataObject) -> None:
        plan = self.plan()
        started = data.draw(st.integers(0, len(plan.start)))
        self.perform(machine.Plan(start=plan.start[:started], remove=plan.remove[:started]))

    @rule(data=st.data())
    @precondition(lambda self: self.jobs)
    def job_gets_on(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.jobs)))
        following = NEXT.get(self.jobs[name].status.state.phase)
        if following:
            self.change(name, data.draw(st.sampled_from(following)))

    @rule(data=st.data())
    @precondition(lambda self: self.jobs)
    def job_is_removed(self, data: st.DataObject) -> None:
        """By hand, or at the end of its time to live."""
        del self.jobs[data.draw(st.sampled_from(sorted(self.jobs)))]

    @rule(data=st.data())
    @precondition(lambda self: self.jobs)
    def pods_answer(self, data: st.DataObject) -> None:
        self.answering.add(data.draw(st.sampled_from(sorted(self.jobs))))

    # What always holds

    @invariant()
    def the_phase_is_one_that_is_known(self) -> None:
        if hasattr(self, "flow"):
            assert self.flow.status.state.phase in {"", *Phase}

    def teardown(self) -> None:
        if hasattr(self, "flow"):
            self.comes_to_rest()
            self.ends_when_everybody_cooperates()

    def comes_to_rest(self) -> None:
        for _ in range(6):
            self.watch()
            self.reconcile()
        before, count = msgspec.to_builtins(self.flow.status), len(self.starts)
        self.watch()
        self.reconcile()
        assert (msgspec.to_builtins(self.flow.status), len(self.starts)) == (before, count)

    def ends_when_everybody_cooperates(self) -> None:
        for _ in range(12 * len(self.flow.spec.flows) + 12):
            for name, job in list(self.jobs.items()):
                if (following := GOOD.get(job.status.state.phase)) is not None:
                    self.change(name, following)
                self.answering.add(name)
            self.watch()
            self.reconcile()
        status = self.flow.status
        if status.state.phase == Phase.FAILED:
            assert status.failed_jobs or status.terminated_jobs
            return
        assert status.state.phase == Phase.SUCCEED, (status, self.jobs)
        assert len(status.completed_jobs) == len(self.flow.spec.flows)
        if self.flow.spec.job_retain_policy == machine.DELETE:
            assert not self.jobs

    # The world

    def plan(self) -> machine.Plan:
        self.seconds += 1
        now = START + datetime.timedelta(seconds=self.seconds)
        plan = machine.step(self.flow, self.seen, (), now)
        if plan.questions:
            yes = [Question(one.job, "", 80) for one in plan.questions if one.job in self.answering]
            plan = machine.step(self.flow, self.seen, yes, now)
        return plan

    def perform(self, plan: machine.Plan) -> None:
        for name in plan.remove:
            self.jobs.pop(name, None)
        for name in plan.start:
            self.start(name)
        if plan.status is not None:
            self.flow = msgspec.structs.replace(self.flow, status=self.stored(plan.status))

    def start(self, name: str) -> None:
        job_name = f"f-{name}"
        assert job_name not in self.flow.status.completed_jobs, "it has completed already"
        step = next(one for one in self.flow.spec.flows if one.name == name)
        for target in step.depends_on.targets if step.depends_on is not None else ():
            self.check_target(f"f-{target}")
        if job_name not in self.jobs:  # else the server says AlreadyExists
            self.jobs[job_name] = msgspec.convert({"metadata": {"name": job_name}}, Job)
            self.starts.append(name)

    def check_target(self, target: str) -> None:
        """A step starts after its targets completed, or, with a probe, while they answer."""
        job = self.seen.get(target)
        completed = job.status.state.phase == phases.COMPLETED if job is not None else False
        known = target in self.flow.status.completed_jobs
        assert completed or known or (self.probed and target in self.answering)

    def change(self, name: str, phase: str) -> None:
        job = self.jobs[name]
        state = msgspec.structs.replace(job.status.state, phase=phase)
        self.jobs[name] = msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, state=state))

    def stored(self, status: JobFlowStatus) -> JobFlowStatus:
        return msgspec.convert(msgspec.to_builtins(status), JobFlowStatus)


def histories(count: int, steps: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=count, stateful_step_count=steps, suppress_health_check=checks)


def test_random_histories() -> None:
    run_state_machine_as_test(FlowLife, settings=histories(200, 40))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_long_random_histories() -> None:
    run_state_machine_as_test(FlowLife, settings=histories(20_000, 80))
