"""Records and texts about resources that are short: what is needed, and what there is.

Told by plugins that limit sums (plugins/reservations.py), and added to by fullness.py and sizes.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.resources import AnyVector, readable
from volcano.scheduler.framework.reasons import Reason, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.scheduler.framework.session import Session


def overdrawn(session: Session, short: Sequence[int], needed: AnyVector, there: AnyVector) -> str:
    """`3 cpu needed, 2400m available`, for each resource that is short."""
    names = session.cluster.dimensions.names
    return ", ".join(
        f"{readable(names[d], needed[d])} {names[d]} needed, {readable(names[d], max(there[d], 0))} available"
        for d in short
    )


def worst(session: Session, short: Sequence[int]) -> int:
    """The resource of `short` that a record is about: one that the cluster has none of, else the first."""
    return next((dimension for dimension in short if session.total[dimension] <= 0), short[0])


def lacking(session: Session, reason: Reason, dimension: int, needed: AnyVector, there: AnyVector) -> Reason:
    """`reason` with the numbers of one resource that is short."""
    name = session.cluster.dimensions.names[dimension]
    need, have = float(needed[dimension]), float(there[dimension])
    texts = readable(name, need), readable(name, max(have, 0))
    return replace(reason, need=need, have=have, resource=name, amounts=texts)


def full(
    session: Session,
    stage: Stage,
    short: Sequence[int],
    needed: AnyVector,
    there: AnyVector,
    nodes: tuple[tuple[str, int], ...] = (),
) -> Reason:
    """The record of a cluster that has too little of what is `short`, with the numbers of the worst."""
    text = f"the cluster is full: {overdrawn(session, short, needed, there)}"
    reason = Reason(stage, "ClusterFull", message=text, nodes=nodes)
    return lacking(session, reason, worst(session, short), needed, there)
