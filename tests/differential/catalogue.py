"""Every conversation by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.sequences import applying, kinds, objects, pods, reading

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.differential.session import Session

    Sequence = Callable[[Session], Awaitable[None]]


def sequences() -> dict[str, Sequence]:
    modules = (objects, applying, reading, pods, kinds)
    return {sequence.__name__: sequence for module in modules for sequence in module.SEQUENCES}
