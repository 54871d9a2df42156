"""Whatever happens to a job, in whatever order: it never sticks, its counters tell the truth, its end is the end.

The machine alone, with histories that shrink when they fail. The whole controller: test_job_simulation.py.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.controllers.job_world import COMMANDS, Interrupted, World, new_world, replace_member
from volcano.api.batch import LifecyclePolicy
from volcano.controllers.job import events
from volcano.controllers.job.vocabulary import FINAL, Action, EventKind, Phase, PodPhase

POLICY_EVENTS = (
    EventKind.POD_FAILED,
    EventKind.POD_EVICTED,
    EventKind.TASK_COMPLETED,
    EventKind.UNKNOWN,
    EventKind.ANY,
    EventKind.POD_PENDING,
)
POLICY_ACTIONS = (
    Action.RESTART_JOB,
    Action.RESTART_TASK,
    Action.RESTART_POD,
    Action.ABORT_JOB,
    Action.TERMINATE_JOB,
    Action.COMPLETE_JOB,
)
RULES = st.builds(
    LifecyclePolicy,
    action=st.sampled_from(POLICY_ACTIONS),
    event=st.sampled_from(POLICY_EVENTS),
    timeout=st.sampled_from([None, None, "5s"]),
)


class JobLife(RuleBasedStateMachine):
    world: World

    @initialize(
        sizes=st.lists(st.integers(1, 3), min_size=1, max_size=2),
        spare=st.integers(0, 2),
        max_retry=st.integers(0, 4),
        rules=st.lists(RULES, max_size=3),
    )
    def create(self, sizes: list[int], spare: int, max_retry: int, rules: list[LifecyclePolicy]) -> None:
        tasks = [(f"t{position}", size) for position, size in enumerate(sizes)]
        self.world = new_world(tasks, max(1, sum(sizes) - spare), max_retry, rules)
        self.ended = ""

    # What may happen

    @rule()
    def reconcile(self) -> None:
        self.world.seconds += 1
        self.world.reconcile()

    @rule(seconds=st.integers(1, 20))
    def wait(self, seconds: int) -> None:
        self.world.seconds += seconds

    @rule()
    def admit(self) -> None:
        self.world.admit()

    @rule(data=st.data(), phase=st.sampled_from([*PodPhase]), told=st.booleans())
    @precondition(lambda self: self.world.pods)
    def pod_changes(self, data: st.DataObject, phase: PodPhase, told: bool) -> None:
        member = self.world.pods[data.draw(st.sampled_from(sorted(self.world.pods)))]
        if member.finished:
            return
        exit_code = 1 if phase == PodPhase.FAILED else 0
        self.world.change(replace_member(member, phase=phase, exit_code=exit_code), told=told)

    @rule(data=st.data())
    @precondition(lambda self: self.world.pods)
    def pod_vanishes(self, data: st.DataObject) -> None:
        self.world.vanish(data.draw(st.sampled_from(sorted(self.world.pods))))

    @rule(action=st.sampled_from(COMMANDS))
    def command(self, action: Action) -> None:
        self.world.mail.append(events.command_issued(action))

    @rule(replicas=st.integers(0, 4))
    def scale(self, replicas: int) -> None:
        job = self.world.job
        tasks = [msgspec.structs.replace(job.spec.tasks[0], replicas=replicas), *job.spec.tasks[1:]]
        minimum = min(job.spec.min_available, sum(task.replicas for task in tasks))  # admission sees to that
        spec = msgspec.structs.replace(job.spec, tasks=tasks, min_available=minimum)
        self.world.job = msgspec.structs.replace(job, spec=spec)
        self.world.mail.append(events.SYNC)

    @rule(data=st.data())
    @precondition(lambda self: self.world.mail)
    def event_is_repeated_or_lost(self, data: st.DataObject) -> None:
        mail = self.world.mail
        if data.draw(st.booleans()):
            mail.append(data.draw(st.sampled_from(mail)))
        else:
            mail.pop(data.draw(st.integers(0, len(mail) - 1)))

    @rule()
    def podgroup_is_deleted_or_unknown(self) -> None:
        world = self.world
        if world.podgroup is not None:
            world.podgroup.status.phase = "Unknown"
            world.mail.append(events.Event(EventKind.UNKNOWN))

    @rule(writes=st.integers(0, 6))
    def controller_is_killed(self, writes: int) -> None:
        self.world.writes_left = writes
        with suppress(Interrupted):
            self.world.reconcile()
        self.world.restart()

    # What always holds

    @invariant()
    def final_phases_absorb(self) -> None:
        phase = self.world.job.status.state.phase
        assert not self.ended or phase == self.ended
        if phase in FINAL:
            self.ended = phase

    @invariant()
    def retries_are_bounded(self) -> None:
        """Each restart costs a retry, and the last one allowed ends in Failed."""
        job = self.world.job
        commands = self.world.phases.count(Phase.RESTARTING)
        assert job.status.retry_count <= max(job.spec.max_retry, 1) + 1
        assert job.status.retry_count == commands

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.comes_to_rest_with_true_counters()
            self.ends_when_everybody_cooperates()

    def comes_to_rest_with_true_counters(self) -> None:
        world = self.world
        world.settle()
        self.final_phases_absorb()
        assert {name: getattr(world.job.status, name) for name in world.counters()} == world.counters()
        world.writes_left = 0  # and at rest nothing is written
        world.reconcile()
        world.writes_left = None

    def ends_when_everybody_cooperates(self) -> None:
        world = self.world
        world.cooperate()
        job = world.job
        resting: set[str] = {*FINAL, Phase.ABORTED}
        if not any(task.replicas for task in job.spec.tasks):
            resting |= {Phase.RUNNING, Phase.PENDING}  # scaled to nothing: waits to be scaled up
        assert job.status.state.phase in resting, (job.status, world.pods)


def test_random_histories() -> None:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    histories = settings(max_examples=100, stateful_step_count=40, suppress_health_check=checks)
    run_state_machine_as_test(JobLife, settings=histories)
