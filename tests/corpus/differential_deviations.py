"""Where a random world is decided otherwise on purpose: rules over worlds and what we decide, each with its reason.

A correction also names the invariants that our outcome keeps; a deviation is one of several right answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.corpus import differential_invariants as invariants, differential_worlds as worlds
from tests.corpus.differential_turns import decided_in_stale_turns
from tests.corpus.loader import Record

Outcome = dict[str, Any]
PLACEMENTS = ("jobBinds", "jobPipelined")


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


def _newcomers_mean_each_other(record: Record, got: Outcome) -> bool:
    """Pods with affinity terms are placed in the cycle, and others, which a term of theirs selects."""
    waiting = _waiting(record)
    return any(
        _selects(term, one, other) for one in waiting for other in waiting if other is not one for term in _terms(one)
    )


def _selects(term: dict[str, Any], owner: dict[str, Any], run: dict[str, Any]) -> bool:
    wanted = (term.get("labelSelector") or {}).get("matchLabels") or {}
    labels = run.get("labels") or {}
    home, other = (one["podgroup"].partition("/")[0] for one in (owner, run))
    named = term.get("namespaces") or ([] if "namespaceSelector" in term else [home])
    return all(labels.get(key) == value for key, value in wanted.items()) and (
        other in named or "namespaceSelector" in term
    )


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


def _leftovers_of_needless_victims(record: Record, got: Outcome) -> bool:
    """There: victims more than here, and as many pods more, of jobs less important than whoever evicted, in their room.

    Here: the same otherwise, with the same or fewer victims of each job.
    """
    expect = record["expect"]
    if any(level not in expect for level in (*PLACEMENTS, "jobEvictions")) or expect["jobBinds"] != got["jobBinds"]:
        return False
    fewer = Counter(expect["jobEvictions"]) - Counter(got["jobEvictions"])
    more: Counter[str] = Counter(got["jobEvictions"]) - Counter(expect["jobEvictions"])
    only_there = Counter(expect["jobPipelined"]) - Counter(got["jobPipelined"])
    only_here: Counter[str] = Counter(got["jobPipelined"]) - Counter(expect["jobPipelined"])
    if more or only_here or not fewer or only_there.total() > fewer.total():
        return False
    priorities = _priorities(record)
    most = max((priorities.get(job, 0) for job in got["jobPipelined"]), default=0)
    return all(priorities.get(job, 0) < most for job in only_there)


def _more_were_placed_for_fewer_victims(record: Record, got: Outcome) -> bool:
    """Here: the same bound, no victim more of any job, some fewer, and room promised to more pods."""
    expect = record["expect"]
    if any(level not in expect for level in (*PLACEMENTS, "jobEvictions")) or expect["jobBinds"] != got["jobBinds"]:
        return False
    there: Counter[str] = Counter(expect["jobEvictions"])
    return Counter(got["jobEvictions"]) < there and sum(got["jobPipelined"].values()) > sum(
        expect["jobPipelined"].values()
    )


def _priorities(record: Record) -> dict[str, int]:
    classes = {one["metadata"]["name"]: one["value"] for one in record["objects"].get("priorityclasses") or ()}
    return {
        group["name"]: classes.get(group.get("priorityClassName"), 0)
        for group in record["objects"].get("podgroups") or ()
    }


def _equals_were_preempted(record: Record, got: Outcome) -> bool:
    """There: pods were placed in a queue whose victims are all as important as they, or more."""
    expect = record["expect"]
    evicted = expect.get("jobEvictions") or (record.get("stable") or {}).get("jobEvictions") or {}
    possible = {*evicted, *((record.get("observed") or {}).get("jobEvictions") or {})}
    priorities = _priorities(record)
    queue_of = {group["name"]: group.get("queue") for group in record["objects"].get("podgroups") or ()}
    only_there = Counter(expect.get("jobPipelined")) - Counter(got["jobPipelined"])
    for job in only_there:
        victims = [victim for victim in possible if queue_of.get(victim) == queue_of.get(job)]
        if victims and all(priorities.get(victim, 0) >= priorities.get(job, 0) for victim in victims):
            return True
        if job in possible:  # its own pod made room for its own pods
            return True
    return False


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
            changes[queue_of.get(job)] += sign * pods
    for plugin in ("capacity", "proportion"):
        before, after = ((expect[level] or {}).get(plugin) for level in ("pluginsOpened", "plugins"))
        for queue in {name for name in queue_of.values() if name} & set((before or {}).get("queues") or ()):
            if _pods(after, queue) - _pods(before, queue) != changes[queue]:
                return True
    return False


def _pods(books: Any, queue: str) -> int:
    allocated = books["queues"].get(queue, {}).get("allocated") or {}
    return int(allocated.get("pods", 0))


def _turns_are_taken_otherwise(record: Record, got: Outcome) -> bool:
    """Ours decides as the reference did if queues wait in a heap that nobody puts in order."""
    return not worlds.differences(record, decided_in_stale_turns(record))


@dataclass(frozen=True)
class Correction:
    """The reference does wrong: why, in which worlds, and what holds in ours."""

    why: str
    applies: Callable[[Record, Outcome], bool]
    invariants: tuple[Callable[[invariants.Outcome], Iterator[str]], ...]


CORRECTIONS = (
    Correction(
        "a node that refused one replica may take the next, once the domains have evened out",
        _like_pods_are_spread,
        (invariants.spread_broken,),
    ),
    Correction(
        "the affinity of pods placed in this cycle counts for those after them, though their nodes had none before",
        _newcomers_mean_each_other,
        (invariants.anti_affinity_broken,),
    ),
    Correction(
        "one misplaced job or queue does not stop the queues that are in order",
        _tree_with_a_fault,
        (invariants.misplaced_jobs_placed,),
    ),
    Correction(
        "a disruption budget is spent once in a cycle, not anew for every claimant",
        _budgets_and_evictions,
        (invariants.budgets_overdrawn,),
    ),
    Correction(
        "room that only a needless eviction makes is not there for others",
        _leftovers_of_needless_victims,
        (invariants.gangs_promised_in_part, invariants.important_victims),
    ),
    Correction(
        "who is evicted needlessly cannot be asked for the next gang, which then takes nothing, or what another needs",
        _more_were_placed_for_fewer_victims,
        (invariants.gangs_promised_in_part, invariants.important_victims),
    ),
    Correction(
        "where priority is asked, no tier gives up a pod for one that is not more important",
        _equals_were_preempted,
        (invariants.important_victims, invariants.gangs_broken),
    ),
    Correction(
        "the room that gang eviction makes is promised to its claimant, not lost",
        _promise_was_lost,
        (invariants.evictions_for_nobody, invariants.gangs_promised_in_part),
    ),
    Correction(
        "a failed gang eviction leaves the books of queues as they were",
        _books_do_not_add_up,
        (invariants.gangs_promised_in_part,),
    ),
)

DEVIATIONS: dict[str, Callable[[Record, Outcome], bool]] = {
    "whose turn it is, is decided at every turn by what queues hold then, not by a heap's order of before": (
        _turns_are_taken_otherwise
    ),
}


def correction(record: Record, got: Outcome) -> Correction | None:
    """Where the reference is wrong and we are not."""
    return next((found for found in CORRECTIONS if found.applies(record, got)), None)


def reason(record: Record, got: Outcome) -> str:
    """Why the world's outcome is not ours though both are right; empty if it should be."""
    return next((text for text, applies in DEVIATIONS.items() if applies(record, got)), "")
