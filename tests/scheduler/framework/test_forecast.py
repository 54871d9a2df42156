"""What was foreseen of a node is what the hooks say of it then, and it is asked for seldom."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from volcano.api import keys
from volcano.scheduler.framework.board import Board
from volcano.scheduler.framework.placement import Demand, choose
from volcano.scheduler.framework.session import Session
from volcano.testing.builders import gang, node
from volcano.testing.world import World

SPREADING = """
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
"""
PACKING = SPREADING + "  - name: binpack\n    arguments:\n      binpack.weight: 20\n"
PODS = 60


def session_with(conf: str, seed: int) -> Session:
    """Nodes of several sizes, of which the small ones fill up, and single pods: most are alike, some are not."""
    rng = random.Random(seed)
    sizes = [(rng.randint(1, 6), rng.randint(2, 12), rng.choice((2, 4, 110))) for _ in range(20)]
    nodes = [
        node(f"n{i}", cpu=cpu, memory=f"{memory}Gi", pods=pods, labels={keys.ZONE: f"z{i % 3}"})
        for i, (cpu, memory, pods) in enumerate(sizes)
    ]
    jobs = [gang(f"g{i}", cpu="700m" if rng.random() < 0.05 else "300m", memory="1Gi") for i in range(PODS)]
    return World(nodes=nodes, jobs=jobs, conf=conf).session()


def columns(board: Board) -> dict[str, NDArray[Any]]:
    names = ("codes", "local", "idle_room", "future_room", "open_scores")
    return {name: getattr(board, name) for name in names}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("conf", [SPREADING, PACKING])
def test_a_board_with_foresight_equals_a_new_one_after_every_placement(conf: str, seed: int) -> None:
    session = session_with(conf, seed)
    statement = session.statement()
    placed = 0
    for number, task in enumerate(session.cluster.tasks.values()):
        board = session.board(task.profile)
        choice = choose(board, Demand(task))
        if number % 17 == 16:  # somebody gives up a place
            statement.rollback(statement.checkpoint() - 1)
        if choice is None or choice.pipelined:
            continue
        statement.allocate([task], choice.rows)
        placed += 1
        board.refresh()
        fresh = Board(session, task.profile)
        assert fresh.is_plain
        for name, column in columns(board).items():
            assert np.array_equal(column, columns(fresh)[name]), (number, name)
    assert placed > PODS // 2


@pytest.mark.parametrize("conf", [SPREADING, PACKING])
def test_pods_that_are_alike_need_few_questions(conf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(
        nodes=[node(f"n{i}", cpu=32, memory="64Gi") for i in range(40)],
        jobs=[gang(f"g{i}", cpu="500m", memory="1Gi") for i in range(200)],
        conf=conf,
    )
    asked = 0
    fill = Board._fill

    def counted(board: Board, *args: Any, **more: Any) -> None:
        nonlocal asked
        asked += 1
        fill(board, *args, **more)

    monkeypatch.setattr(Board, "_fill", counted)

    assert len(world.cycle().binds) == 200
    assert asked < 40
