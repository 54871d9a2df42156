"""Which events are a job's."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from volcano.sdk import AsyncJob


class Listing:
    """An API whose only objects are these events."""

    def __init__(self, *about: tuple[str, str]) -> None:
        self._items = [
            {"metadata": {"name": f"e{index}"}, "involvedObject": {"kind": kind, "name": name}, "lastTimestamp": time}
            for index, ((kind, name), time) in enumerate(zip(about, "987654321", strict=False))
        ]

    async def list(self, *_: Any) -> SimpleNamespace:
        return SimpleNamespace(items=self._items)


def test_those_of_its_podgroup_and_members_and_not_of_a_job_whose_name_goes_on() -> None:
    group = "train-0f0e0d0c-0000-0000-0000-000000000000"
    api: Any = Listing(("Pod", "train-member-0"), ("PodGroup", group), ("Job", "train"), ("Job", "train-2"))

    found = asyncio.run(AsyncJob(api, "train", "default").events())

    assert [one["involvedObject"]["name"] for one in found] == ["train", group, "train-member-0"]
