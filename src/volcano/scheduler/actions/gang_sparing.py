"""Leaves out of a plan of gang_eviction.py whom its claimants can do without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from volcano.scheduler.actions.bundles import Bundle
from volcano.scheduler.actions.eviction import candidate_nodes
from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import EPSILON, FloatVector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.session import Session

TRIALS = 64
"""How many smaller plans are simulated for one claimant, so that no cycle takes long. Those whom a sum shows to be
needed cost none."""

Places = Callable[[Sequence[Task]], bool]


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
        self.victims = [task for bundle in bundles for task in bundle.victims]
        self.trials = 0

    def run(self) -> None:
        fallen: set[str] = set()
        for bundle in reversed(self.bundles):
            if bundle.is_whole:
                if not self._spare(bundle.victims):
                    fallen.add(bundle.job.key)
            elif bundle.job.key not in fallen:
                self._spare_some(bundle.tasks)

    def _spare_some(self, tasks: Sequence[Task]) -> None:
        if self._spare(tasks) or len(tasks) == 1:
            return
        half = len(tasks) // 2
        self._spare_some(tasks[half:])
        self._spare_some(tasks[:half])

    def _spare(self, tasks: Sequence[Task]) -> bool:
        if self.trials >= TRIALS or not self.room.may_do_without(tasks):
            return False
        self.trials += 1
        spared = {task.uid for task in tasks}
        fewer = [task for task in self.victims if task.uid not in spared]
        if not self.places(fewer):
            return False
        self.victims = fewer
        self.room.give_back(tasks)
        return True


class Room:
    """What the nodes of a domain have for claimants once the victims have gone: never less than there is."""

    def __init__(self, session: Session, rows: Index, claimants: Sequence[Task], victims: Sequence[Task]) -> None:
        among = session.mask_of(rows)
        self.rows = session.rows[among]
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

    def may_do_without(self, victims: Sequence[Task]) -> bool:
        """No if the claimants lack room without what these give: in sum, or for those that are alike."""
        self._add(victims, -1)
        enough = self._is_enough()
        self._add(victims, 1)
        return enough

    def give_back(self, victims: Sequence[Task]) -> None:
        self._add(victims, -1)

    def _add(self, victims: Sequence[Task], sign: int) -> None:
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
