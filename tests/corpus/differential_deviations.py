"""Where a random world is decided otherwise on purpose: rules over worlds and what we decide, each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.corpus import differential_worlds as worlds
from tests.corpus.loader import Record

Outcome = dict[str, Any]
PLACEMENTS = ("jobBinds", "jobPipelined")
MANY_TIES = 10


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


def _pods_with_terms_wait_beside_others(record: Record, got: Outcome) -> bool:
    """Pods with affinity terms are placed in the cycle, and others, which these terms mean, after them."""
    waiting = _waiting(record)
    return any(next(_terms(run), None) is not None for run in waiting) and len(waiting) > 1


def _like_pods_are_spread(record: Record, got: Outcome) -> bool:
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


def _budgets_and_evictions(record: Record, got: Outcome) -> bool:
    return bool(record["objects"].get("poddisruptionbudgets")) and bool(record["expect"].get("jobEvictions"))


def _tree_with_a_fault(record: Record, got: Outcome) -> bool:
    """A queue whose parent does not exist, or a job in a queue that has children."""
    queues = {queue["metadata"]["name"]: queue["spec"].get("parent") for queue in record["objects"].get("queues") or ()}
    parents = {parent for parent in queues.values() if parent}
    lost = any(parent not in queues for parent in parents)
    misplaced = any(group.get("queue") in parents for group in record["objects"].get("podgroups") or ())
    return bool(parents) and (lost or misplaced)


def _spares_victims(record: Record, got: Outcome) -> bool:
    """Fewer are evicted, and at most as many pods fewer are placed: those had their room from needless evictions."""
    expect = record["expect"]
    if any(level not in expect for level in (*PLACEMENTS, "jobEvictions")):
        return False
    spared = sum(expect["jobEvictions"].values()) - len(got["evicted"])
    return bool(0 < spared >= _placed(expect) - _placed(got))


def _placed(outcome: Outcome) -> int:
    return sum(sum(outcome[level].values()) for level in PLACEMENTS)


def _promise_was_lost(record: Record, got: Outcome) -> bool:
    """There: victims, but nobody to whom their room is promised."""
    expect = record["expect"]
    victims = expect.get("jobEvictions") or (record.get("stable") or {}).get("jobEvictions")
    return bool(victims) and expect.get("jobPipelined") == {} and bool(expect.get("jobBinds"))


def _books_do_not_add_up(record: Record, got: Outcome) -> bool:
    """There: a queue's books hold other pods at the end than its jobs won and lost since they were opened."""
    expect = record["expect"]
    if any(level not in expect for level in ("plugins", "pluginsOpened", *PLACEMENTS, "jobEvictions")):
        return False
    queue_of = {group["name"]: group.get("queue") for group in record["objects"].get("podgroups") or ()}
    changes: Counter[str | None] = Counter()
    for level, sign in (*((level, 1) for level in (*PLACEMENTS, "jobAllocatedUncommitted")), ("jobEvictions", -1)):
        for job, pods in (expect.get(level) or {}).items():
            changes[queue_of[job]] += sign * pods
    for plugin in ("capacity", "proportion"):
        before, after = ((expect[level] or {}).get(plugin) for level in ("pluginsOpened", "plugins"))
        for queue in set(queue_of.values()) & set((before or {}).get("queues") or ()):
            if _pods(after, queue) - _pods(before, queue) != changes[queue]:
                return True
    return False


def _pods(books: Any, queue: str) -> int:
    allocated = books["queues"].get(queue, {}).get("allocated") or {}
    return int(allocated.get("pods", 0))


def _elastic_pods_after_many_ties(record: Record, got: Outcome) -> bool:
    """Many ties in every run, and all that differs is one pod of a job that has its minimum either way."""
    expect = record["expect"].get("jobBinds")
    if expect is None or record["randomTies"][0] < MANY_TIES:
        return False
    minimum = {group["name"]: group.get("minMember", 0) for group in record["objects"].get("podgroups") or ()}
    pairs = {job: (expect.get(job, 0), got["jobBinds"].get(job, 0)) for job in {*expect, *got["jobBinds"]}}
    different = {job: pair for job, pair in pairs.items() if pair[0] != pair[1]}
    if len(different) != 1 or any(level in worlds.differences(record, got) for level in ("jobPipelined", "evicted")):
        return False
    ((job, (theirs, ours)),) = different.items()
    return abs(theirs - ours) == 1 and bool(min(theirs, ours) >= minimum[job])


RULES: dict[str, Callable[[Record, Outcome], bool]] = {
    "a node that refused one replica may take the next, once the domains have evened out": _like_pods_are_spread,
    "the affinity of pods placed in this cycle counts for those after them, though their nodes had none before": (
        _pods_with_terms_wait_beside_others
    ),
    "one misplaced job or queue does not stop the queues that are in order": _tree_with_a_fault,
    "a disruption budget is spent once in a cycle, not anew for every claimant": _budgets_and_evictions,
    "victims that are not needed are spared, so their room is not left over for others": _spares_victims,
    "the room that gang eviction makes is promised to its claimant, not lost": _promise_was_lost,
    "a failed gang eviction leaves the books of queues as they were": _books_do_not_add_up,
    "where an elastic pod may still go depends on how the ties before it fell": _elastic_pods_after_many_ties,
}


def reason(record: Record, got: Outcome) -> str:
    """Why the world's outcome is not ours; empty if it should be."""
    return next((text for text, applies in RULES.items() if applies(record, got)), "")
