"""Where a random world is decided otherwise on purpose: rules over worlds, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.corpus.loader import Record


def _waiting(record: Record) -> list[dict[str, Any]]:
    """Runs of like pods of which some are pending."""
    nodes = ((run, run.get("node")) for run in record["objects"].get("pods") or ())
    return [run for run, node in nodes if node is None or (isinstance(node, list) and None in node)]


def _terms(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    affinity = (run.get("spec") or {}).get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        yield from (weighted["podAffinityTerm"] for weighted in preferred)


def _pods_with_terms_wait_beside_others(record: Record) -> bool:
    """Pods with affinity terms are placed in the cycle, and others, which these terms mean, after them."""
    waiting = _waiting(record)
    return any(next(_terms(run), None) is not None for run in waiting) and len(waiting) > 1


def _like_pods_are_spread(record: Record) -> bool:
    """Members of one role with a hard spread constraint: each changes where the next one may go."""
    return any(
        run.get("task")
        and (".." in run["names"] or len(run["names"]) > 1)
        and any(
            constraint.get("whenUnsatisfiable") == "DoNotSchedule"
            for constraint in (run.get("spec") or {}).get("topologySpreadConstraints") or ()
        )
        for run in _waiting(record)
    )


def _budgets_and_evictions(record: Record) -> bool:
    return bool(record["objects"].get("poddisruptionbudgets")) and bool(record["expect"].get("jobEvictions"))


def _tree_with_a_fault(record: Record) -> bool:
    """A queue whose parent does not exist, or a job in a queue that has children."""
    queues = {queue["metadata"]["name"]: queue["spec"].get("parent") for queue in record["objects"].get("queues") or ()}
    parents = {parent for parent in queues.values() if parent}
    lost = any(parent not in queues for parent in parents)
    misplaced = any(group.get("queue") in parents for group in record["objects"].get("podgroups") or ())
    return bool(parents) and (lost or misplaced)


RULES: dict[str, Callable[[Record], bool]] = {
    "a node that refused one replica may take the next, once the domains have evened out": _like_pods_are_spread,
    "the affinity of pods placed in this cycle counts for those after them, though their nodes had none before": (
        _pods_with_terms_wait_beside_others
    ),
    "one misplaced job or queue does not stop the queues that are in order": _tree_with_a_fault,
    "a disruption budget is spent once in a cycle, not anew for every claimant": _budgets_and_evictions,
}


def reason(record: Record) -> str:
    """Why the world's outcome is not ours; empty if it should be."""
    return next((text for text, applies in RULES.items() if applies(record)), "")
