"""Leaves out of a plan of gang_eviction.py whom its claimants can do without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from volcano.scheduler.actions.bundles import Bundle
from volcano.scheduler.actions.eviction import candidate_nodes
from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import EPSILON, FloatVector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.session import Session

WORK = 8000
"""How many pods, victims and claimants, are simulated for the smaller plans of one claim, so that no cycle takes long.

Small plans become minimal, huge ones nearly so. Those whom a sum shows to be needed cost nothing.
"""

Places = Callable[[Sequence[Task]], bool]
Spare = Callable[[Sequence[Task]], bool]


class Sparing:
    """Of the bundles taken, the last, which break most, are spared first.

    A job that falls falls as a whole. Of what a job can spare, the more important tasks are spared: many at once, or in
    halves.
    """

    def __init__(self, bundles: Sequence[Bundle], room: Room, places: Places) -> None:
        self.bundles = bundles
        self.room = room
        self.places = places
        """Whether the claimants are still placed if only these are evicted."""
        self.needed = {task.uid: task for bundle in bundles for task in bundle.victims}
        self.simulated = 0

    def run(self, left: FloatVector) -> None:
        """`left`: what the plan leaves on the nodes of the room. Who fits in there again is probably not needed."""
        returning: list[Task] = []

        def fits_again(tasks: Sequence[Task]) -> bool:
            if self.room.takes(tasks, left):
                returning.extend(tasks)
                return True
            return False

        self._walk(fits_again, lambda tasks: [fits_again([task]) for task in reversed(tasks)])
        if returning:
            self._spare(returning)
        self._walk(self._spare, self._spare_some)

    def _walk(self, spare: Spare, spare_some: Callable[[Sequence[Task]], object]) -> None:
        fallen: set[str] = set()
        for bundle in reversed(self.bundles):
            if bundle.is_whole:
                if not spare(bundle.victims):
                    fallen.add(bundle.job.key)
            elif bundle.job.key not in fallen:
                spare_some(bundle.tasks)

    def _spare_some(self, tasks: Sequence[Task]) -> None:
        if self._spare(tasks) or len(tasks) == 1:
            return
        half = len(tasks) // 2
        self._spare_some(tasks[half:])
        self._spare_some(tasks[:half])

    def _spare(self, tasks: Sequence[Task]) -> bool:
        spared = {task.uid: task for task in tasks if task.uid in self.needed}
        if not spared:
            return True
        if self.simulated >= WORK or not self.room.may_do_without(spared.values()):
            return False
        fewer = [task for uid, task in self.needed.items() if uid not in spared]
        self.simulated += len(fewer) + self.room.claimants
        if not self.places(fewer):
            return False
        self.needed = {task.uid: task for task in fewer}
        self.room.give_back(spared.values())
        return True


class Room:
    """What the nodes of a domain have for claimants once the victims have gone: an upper bound, cheap to ask."""

    def __init__(self, session: Session, rows: Index, claimants: Sequence[Task], victims: Sequence[Task]) -> None:
        among = session.mask_of(rows)
        self.rows = session.rows[among]
        self.claimants = len(claimants)
        self.slots = {row: slot for slot, row in enumerate(self.rows.tolist())}
        self.amounts = session.nodes.future_idle(self.rows).astype(np.float64)
        by_profile: defaultdict[Profile, int] = defaultdict(int)
        for task in claimants:
            by_profile[task.profile] += 1
        self.claims = [
            (profile.request.astype(np.float64), count, candidate_nodes(session.board(profile))[among])
            for profile, count in by_profile.items()
        ]
        self.needed: FloatVector = np.sum([request * count for request, count, _ in self.claims], axis=0)
        self._add(victims, 1)

    def may_do_without(self, victims: Iterable[Task]) -> bool:
        """No if the claimants lack room without what these give: in sum, or for those that are alike."""
        self._add(victims, -1)
        enough = self._is_enough()
        self._add(victims, 1)
        return enough

    def give_back(self, victims: Iterable[Task]) -> None:
        self._add(victims, -1)

    def takes(self, tasks: Sequence[Task], left: FloatVector) -> bool:
        """Put all of them, or nobody, into what is left on their nodes."""
        here = [(self.slots[task.node], task.profile.request) for task in tasks if task.node in self.slots]
        for number, (slot, request) in enumerate(here):
            if (left[slot] < request)[request > 0].any():
                for taken, amount in here[:number]:
                    left[taken] += amount
                return False
            left[slot] -= request
        return True

    def _add(self, victims: Iterable[Task], sign: int) -> None:
        for task in victims:
            slot = self.slots.get(task.node)
            if slot is not None:
                self.amounts[slot] += sign * task.profile.request

    def _is_enough(self) -> bool:
        room = np.maximum(self.amounts + EPSILON, 0)
        if (room.sum(axis=0) < self.needed).any():
            return False
        return all(
            np.floor(room[np.ix_(nodes, asked)] / request[asked]).min(axis=1).sum() >= count
            for request, count, nodes in self.claims
            if (asked := request > 0).any()
        )
