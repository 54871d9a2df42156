"""What a board keeps right row by row is what a new board would say; queues share one where nobody looks at them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from volcano.api import keys
from volcano.api.core import Affinity, TopologySpreadConstraint
from volcano.scheduler.framework.board import Board
from volcano.scheduler.framework.reasons import FITS
from volcano.testing.builders import gang, node, pod, queue
from volcano.testing.world import World

CONF = """
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: binpack
"""
BY_QUEUE = CONF + "  - name: nodegroup\n"

NODES = 6
KINDS = ("plain", "apart", "near", "spread", "port")


def world() -> World:
    """Pods of every kind that is hard to keep right, two of each, on nodes of three zones."""
    nodes = [node(f"n{i}", cpu=3 + i, labels={keys.ZONE: f"z{i % 3}"}) for i in range(NODES)]
    return World(nodes=nodes, jobs=[gang(kind, pods=[waiting(kind, i) for i in range(2)]) for kind in KINDS], conf=CONF)


def waiting(kind: str, number: int):  # type: ignore[no-untyped-def]
    term = {"topologyKey": keys.ZONE, "labelSelector": {"matchLabels": {"app": kind}}}
    sides = {"apart": "podAntiAffinity", "near": "podAffinity"}
    affinity = None
    if kind in sides:
        rules = {sides[kind]: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        affinity = msgspec.convert(rules, Affinity)
    made = pod(
        f"{kind}-w-{number}",
        group=kind,
        cpu=1,
        labels={"app": kind},
        affinity=affinity,
        host_port=80 if kind == "port" else 0,
    )
    if kind == "spread":
        when = ("DoNotSchedule", "ScheduleAnyway")
        made.spec.topology_spread_constraints = [
            msgspec.convert({**term, "maxSkew": 1, "whenUnsatisfiable": one}, TopologySpreadConstraint) for one in when
        ]
    return made


moves = st.lists(st.tuples(st.integers(0, 2 * len(KINDS) - 1), st.integers(0, NODES - 1), st.booleans()), max_size=8)


@settings(max_examples=100, deadline=None)
@given(moves)
def test_a_repaired_board_equals_a_new_one(moves: list[tuple[int, int, bool]]) -> None:
    session = world().session()
    tasks = list(session.cluster.tasks.values())
    boards = [session.board(task.profile) for task in tasks]
    for board in boards:
        assert board.is_plain in (True, False)  # scores are asked for
    statement = session.statement()

    for number, row, taken_back in moves:
        checkpoint = statement.checkpoint()
        if tasks[number].node < 0 and statement.allocate([tasks[number]], [row]) is None and taken_back:
            statement.rollback(checkpoint)
        for board in boards[::3]:
            board.refresh()

    for board in boards:
        board.refresh()
        assert_equal(board, Board(session, board.profile))
    session.restore()


def assert_equal(board: Board, fresh: Board) -> None:
    feasible = fresh.codes == FITS
    np.testing.assert_array_equal(board.codes, fresh.codes)
    np.testing.assert_array_equal(board.idle_room, fresh.idle_room)
    np.testing.assert_array_equal(board.future_room, fresh.future_room)
    np.testing.assert_array_equal(board.scores(feasible), fresh.scores(feasible))
    np.testing.assert_array_equal(board.open_scores, fresh.open_scores)


@pytest.mark.parametrize(("conf", "shared"), [(CONF, True), (BY_QUEUE, False)])
def test_queues_share_a_board_unless_a_plugin_looks_at_the_queue(conf: str, shared: bool) -> None:
    queues = [queue("a"), queue("b")]
    twins = World(nodes=[node("n1")], queues=queues, jobs=[gang(q, cpu=1, queue=q) for q in ("a", "b")], conf=conf)
    session = twins.session()

    one, other = (session.board(task.profile) for task in twins.cluster.tasks.values())

    assert (one is other) is shared
