"""Room for which others had to go is kept, from cycle to cycle, for the jobs in whose name they went.

Were the queues to take their turns as if nothing had happened, those who were evicted might be made anew, take the room
again and be evicted again. allocate.py serves these jobs first.
"""

from __future__ import annotations

from collections.abc import Sequence

from volcano.scheduler.actions.eviction import candidate_nodes
from volcano.scheduler.actions.worksheet import Worksheet
from volcano.scheduler.cluster.resources import fits
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.session import Session


def kept(session: Session, sheets: Sequence[Worksheet]) -> list[Worksheet]:
    """The jobs whose promises stand, the first to be served first, and of each the promised members first.

    A promise that its node cannot keep any more is void: the victim was not let go, or the node has changed.
    """
    found = []
    for sheet in sheets:
        tasks = in_sheet(sheet)
        if not tasks:
            continue
        if all(_stands(session, task) for task in tasks):
            for sub_sheet in sheet.sheets:
                sub_sheet.tasks.sort(key=lambda task: bool(task.promised))  # the next one is last
            session.topology.recall(sheet.job)
            found.append(sheet)
        else:
            for task in tasks:
                task.promised = ""
    return sorted(found, key=lambda sheet: session.job_order(sheet.job))


def in_sheet(sheet: Worksheet) -> list[Task]:
    return [task for sub_sheet in sheet.sheets for task in sub_sheet.tasks if task.promised]


def _stands(session: Session, task: Task) -> bool:
    """Whether there is room. What refuses for now, such as pods that count each other, is left to the placement."""
    node = candidate_nodes(session.board(task.profile)) & session.mask_of_node(task.promised)
    if not node.any():
        return False
    return fits(task.profile.request, session.nodes.future_idle(session.rows[node])[0])
