"""What holds of admissions on credit: nobody is let in whom the scheduler has not let in, before or after."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from typing import Any

from volcano.api.keys import ADMISSION_CREDIT, JOB_VERSION
from volcano.api.meta import JsonObject

ON_THE_WAY = datetime.timedelta(seconds=30)
"""So long after it was decided on may a podgroup be made: what it needs beside it is made first."""
WAITING = {"", "Pending"}


class Credits:
    """Told of each change of a document; `now` is the time of the world."""

    def __init__(self) -> None:
        self.spent = 0
        self._granted: list[JsonObject] = []
        self._leader, self._found = 0, 0
        self._taken: defaultdict[tuple[int, str], list[JsonObject]] = defaultdict(list)
        """Podgroups, by leader and id of a credit: one way to share them out."""
        self._let_in: set[str] = set()
        """Podgroups, by name, which no other job's ever has."""

    def are_found(self) -> None:
        """By a process that begins: they are not for its controllers."""
        self._found = len(self._granted)

    def leader_begins(self) -> None:
        """Its controllers know nothing of what others have spent."""
        self._leader += 1

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None, now: datetime.datetime) -> None:
        if after is None:
            return
        if plural == "queues":
            said = after["metadata"].get("annotations", {}).get(ADMISSION_CREDIT)
            if said is not None and all(said != text["said"] for text in self._granted):
                self._granted.append({**json.loads(said), "said": said})
        elif plural == "podgroups" and after.get("status", {}).get("phase", "") not in WAITING:
            self._let_in.add(after["metadata"]["name"])
            if before is None:
                self.spent += 1
                made = {"pods": int(after["spec"]["minResources"].get("pods", 0)), "at": now}
                assert JOB_VERSION not in after["metadata"].get("annotations", {}), "a job that starts again waits"
                assert self._finds_credit(made, set()), f"{after} is let in on nobody's credit"
        elif plural == "pods" and before is None:
            [owner] = after["metadata"]["ownerReferences"]
            assert f"{owner['name']}-{owner['uid']}" in self._let_in, "a pod is made before its podgroup is let in"

    def _finds_credit(self, made: dict[str, Any], tried: set[str]) -> bool:
        """Whether there is a credit left for a podgroup, perhaps as another one can be let in on another credit."""
        for credit in self._granted[self._found :]:
            until = datetime.datetime.fromisoformat(credit["until"])
            if credit["id"] in tried or made["pods"] > int(credit["each"]["pods"]) or made["at"] > until + ON_THE_WAY:
                continue
            tried.add(credit["id"])
            taken = self._taken[self._leader, credit["id"]]
            if len(taken) == credit["groups"]:
                other = next((other for other in taken if self._finds_credit(other, tried)), None)
                if other is None:
                    continue
                taken.remove(other)
            taken.append(made)
            return True
        return False
