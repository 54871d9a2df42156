"""Directed graphs by name: is there an order in which everything comes after what it depends on?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def topological_order(dependencies: Mapping[str, Iterable[str]]) -> list[str] | None:
    """Names so that each comes after all it depends on; None for a cycle or an unknown name."""
    waiting = {name: set(needed) for name, needed in dependencies.items()}
    order: list[str] = []
    while ready := [name for name, needed in waiting.items() if not needed]:
        for name in ready:
            del waiting[name]
        order += ready
        for needed in waiting.values():
            needed.difference_update(ready)
    return None if waiting else order
