"""Every conversation by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.random_walk import walk
from tests.differential.sequences import access, applying, bodies, kinds, objects, pods, reading

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.differential.session import Session

    Sequence = Callable[[Session], Awaitable[None]]

RANDOM_WALKS = 8
RANDOM_STEPS = 60


def sequences() -> dict[str, Sequence]:
    modules = (objects, applying, reading, pods, kinds, bodies, access)
    written = {sequence.__name__: sequence for module in modules for sequence in module.SEQUENCES}
    return written | {f"random_walk_{seed}": walk(seed, RANDOM_STEPS) for seed in range(RANDOM_WALKS)}
