"""The queue that a job or PodGroup names: is it there, and does it take work?"""

from __future__ import annotations

from typing import Final

ROOT_QUEUE: Final = "root"
DEFAULT_QUEUE: Final = "default"


def queue_not_found(name: str) -> str:
    return f'queue.scheduling.volcano.sh "{name}" not found'


def missing_queue_hint(name: str) -> str:
    return f"create the queue (vcctl queue create -n {name}) or name another one (vcctl queue list)"
