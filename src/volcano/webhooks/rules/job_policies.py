"""Lifecycle policies of jobs and tasks: which event or exit code leads to which action.

A list of policies is judged as a whole: one event, one action.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from volcano.webhooks.rules.fields import invalid, text
from volcano.webhooks.rules.model import Cause

if TYPE_CHECKING:
    from volcano.api.batch import LifecyclePolicy

ANY_EVENT: Final = "*"
EVENTS: Final = (
    ANY_EVENT,
    "JobUpdated",
    "PodEvicted",
    "PodFailed",
    "PodPending",
    "TaskCompleted",
    "TaskFailed",
    "Unknown",
)
ACTIONS: Final = (
    "AbortJob",
    "CompleteJob",
    "RestartJob",
    "RestartPartition",
    "RestartPod",
    "RestartTask",
    "ResumeJob",
    "TerminateJob",
)
VALID_VALUES: Final = f" valid events are [{' '.join(EVENTS)}], valid actions are [{' '.join(ACTIONS)}];"


def errors(policies: Sequence[LifecyclePolicy], path: str, field: str) -> list[Cause]:
    """The first policy that is wrong, and `*` beside other events.

    `path` is how messages name the list, `field` where it is in the manifest.
    """
    events: set[str] = set()
    found = list(islice(_policy_errors(policies, path, field, events), 1))
    if ANY_EVENT in events and len(events) > 1:
        problem = "if there's * here, no other policy should be here"
        found.append(Cause(field, problem, "keep the policy for '*' or those for single events"))
    return found


def _policy_errors(policies: Sequence[LifecyclePolicy], path: str, field: str, events: set[str]) -> Iterator[Cause]:
    """Policies in their order; then the actions of exit codes, which only we look at."""
    exit_codes: set[int] = set()
    for index, policy in enumerate(policies):
        if problem := _policy_error(policy, path, events, exit_codes):
            yield Cause(f"{field}[{index}]", problem, _hint(problem))
    for index, policy in enumerate(policies):
        if policy.exit_code is not None and policy.action not in ACTIONS:
            problem = text(invalid(path, policy.action, "invalid policy action"))
            yield Cause(f"{field}[{index}].action", problem, _hint(problem))


def message(found: Sequence[Cause]) -> str:
    """Numbered as a list, with the values that would have been accepted."""
    count = "1 error occurred" if len(found) == 1 else f"{len(found)} errors occurred"
    lines = "".join(f"\n\t* {cause.message}" for cause in found)
    return f"{count}:{lines}\n\n{VALID_VALUES}"


def _policy_error(policy: LifecyclePolicy, path: str, events: set[str], exit_codes: set[int]) -> str:
    """What is wrong with one policy, given the events and codes of those before it (both sets grow)."""
    named = _events(policy)
    if named and policy.exit_code is not None:
        return "must not specify event and exitCode simultaneously"
    if not named and policy.exit_code is None:
        return "either event and exitCode should be specified"
    for event in named:
        if event not in EVENTS:
            return text(invalid(path, event, "invalid policy event"))
        if policy.action not in ACTIONS:
            return text(invalid(path, policy.action, "invalid policy action"))
        if event in events:
            return f"duplicate event {event}  across different policy"
        events.add(event)
    if policy.exit_code is None:
        return ""
    if policy.exit_code == 0:
        return "0 is not a valid error code"
    if policy.exit_code in exit_codes:
        return f"duplicate exitCode {policy.exit_code}"
    exit_codes.add(policy.exit_code)
    return ""


def _events(policy: LifecyclePolicy) -> list[str]:
    """`events`, then `event`, each once."""
    return list(dict.fromkeys([*policy.events, *([policy.event] if policy.event else [])]))


def _hint(problem: str) -> str:
    if "policy event" in problem:
        return f"use one of {', '.join(EVENTS)}"
    if "policy action" in problem:
        return f"use one of {', '.join(ACTIONS)}"
    if "duplicate" in problem:
        return "keep one policy, so that it is clear what happens"
    return ""
