"""Choosing nodes for identical replicas, many at a time, with the outcome of choosing them one by one.

The rule. Each replica goes to the feasible node with the highest score; between equal scores to the node that comes
first in the session's seeded shuffle. Nodes with idle room come before nodes that only will have room (the task is then
pipelined there). After each placement only the chosen node's verdict, room and score change, by the contract of
`ScoreTerm`; profiles that change other nodes' scores (`couples_nodes`) are placed one at a time.

So the sequence of choices is a merge: every node has a list of scores, for its first, second, third … replica, and the
next replica takes the best head of all lists. The lists are computed in blocks, by asking the hooks about `extra`
replicas.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from volcano.scheduler.cluster.nodes import Column, Index, Mask
from volcano.scheduler.framework.board import Board, Scores
from volcano.scheduler.framework.reasons import FITS

if TYPE_CHECKING:
    from volcano.scheduler.cluster.tasks import Task

_BLOCK = 16
_LARGEST_TABLE = 4096


class Choice(msgspec.Struct, frozen=True):
    """Rows for the first `len(rows)` of the replicas, in order of placement."""

    rows: list[int]
    pipelined: bool


class Demand(msgspec.Struct, frozen=True):
    """What is to be placed: up to `wanted` replicas of `sample`. Not all can wait until others have left."""

    sample: Task
    wanted: int = 1
    can_wait: bool = True


def choose(board: Board, demand: Demand, among: Mask | None = None) -> Choice | None:
    """Nodes for the demand, or None if not even one replica finds a place.

    May return fewer than fit, when the competition changes (idle nodes run out, normalisation shifts): ask again.
    `among` restricts the positions (a topology domain, a shard).
    """
    board.refresh()
    if (demand.wanted == 1 or board.coupled) and among is None and _is_simple(board):
        position = board.first_open()
        if position is not None:
            return Choice([int(board.rows[position])], pipelined=False)
    fits = board.codes == FITS
    if among is not None:
        fits &= among
    free = np.minimum(board.idle_room, board.future_room)  # idle, and not promised to somebody else
    for room, pipelined in ((free, False), (board.future_room, True))[: 1 + demand.can_wait]:
        choice = _first_choice(board, fits & (room > 0), room, demand, pipelined=pipelined)
        if choice is not None:
            return choice
    return None


def _is_simple(board: Board) -> bool:
    """The best score of all decides, and nobody else has a say: one look at one column finds it."""
    session = board.session
    return session.takes_best_of_all and board.is_plain


def _first_choice(board: Board, feasible: Mask, room: Column, demand: Demand, *, pipelined: bool) -> Choice | None:
    for candidates in board.session.by_preference(feasible):
        if candidates.any():
            positions = _pick(board, candidates, room, demand, pipelined)
            return Choice(board.rows[positions].tolist(), pipelined)
    return None


def _pick(board: Board, feasible: Mask, room: Column, demand: Demand, pipelined: bool) -> list[int]:
    session = board.session
    if session.samples_nodes:
        feasible = session.first_feasible(feasible)
    if demand.wanted == 1 and feasible.sum() == 1:
        return [int(np.flatnonzero(feasible)[0])]
    scores = board.scores(feasible)
    one_by_one = demand.wanted == 1 or board.coupled or session.samples_nodes
    bonus = session.domain_scores(demand.sample, board.rows[feasible])
    if bonus is not None:
        scores = scores.copy()
        scores[feasible] += bonus
        one_by_one = one_by_one or bool(np.ptp(bonus) > 0)  # the same for all candidates, it changes nothing
    chosen = _plugin_choice(board, feasible, scores, demand.sample)
    if chosen is not None:
        return [chosen]
    if one_by_one:
        return [int(np.argmax(np.where(feasible, scores, -np.inf)))]
    return _Merge(board, feasible, room, board.scores(feasible), demand.wanted, pipelined).run()


def _plugin_choice(board: Board, feasible: Mask, scores: Scores, sample: Task) -> int | None:
    if not board.session.hooks.callbacks("best_node"):
        return None
    candidates = np.flatnonzero(feasible)
    row = board.session.hooks.first_result("best_node", sample, board.rows[candidates], scores[candidates])
    return None if row is None else int(board.session.positions_of(np.array([row]))[0])


class _Merge:
    """The merge described above, for one run of replicas on one set of feasible nodes."""

    def __init__(
        self, board: Board, feasible: Mask, room: Column, scores: Scores, wanted: int, pipelined: bool
    ) -> None:
        self.board = board
        self.feasible = feasible.copy()
        self.wanted = wanted
        self.pipelined = pipelined
        self.normalized = board.normalized(feasible)
        self.extremes = board.extremes(feasible)
        candidates = np.flatnonzero(feasible)
        best = candidates[np.argsort(-scores[candidates], kind="stable")[:wanted]]
        """No more nodes than replicas can be chosen, and only the best: their first replica decides when they enter."""
        self.heads = [(-float(scores[position]), int(position), 0) for position in best]
        self.room = {int(position): int(room[position]) for position in best}
        self.ladder: dict[int, list[float | None]] = {}
        """Per position, the score of its 2nd, 3rd … replica; None where the filters refuse it."""
        self._extend(best, 1, max(1, min(_LARGEST_TABLE, 2 * wanted) // max(len(best), 1)))

    def run(self) -> list[int]:
        heapq.heapify(self.heads)
        chosen: list[int] = []
        while self.heads and len(chosen) < self.wanted:
            _, position, level = heapq.heappop(self.heads)
            chosen.append(position)
            following = self._score(position, level + 1)
            if following is not None:
                heapq.heappush(self.heads, (-following, position, level + 1))
            elif self._competition_changes(position):
                break
        return chosen

    def _score(self, position: int, level: int) -> float | None:
        if level >= self.room[position]:
            return None
        scores = self.ladder[position]
        if level > len(scores):
            self._extend(np.array([position], dtype=np.intp), level, _BLOCK)
        return scores[level - 1]

    def _extend(self, positions: Index, first: int, levels: int) -> None:
        """Compute levels `first` … of the given positions in one question to the hooks."""
        longest = min(levels, max(self.room[int(position)] for position in positions) - first)
        if longest < 1:
            self.ladder.update({int(position): self.ladder.get(int(position), []) for position in positions})
            return
        extra = np.tile(np.arange(first, first + longest, dtype=np.int64), len(positions))
        repeated = np.repeat(positions, longest)
        codes, scores = self.board.next_scores(repeated, extra, pipelined=self.pipelined)
        if self.normalized is not None:
            scores = scores + self.normalized[repeated]
        table = scores.reshape(len(positions), longest).tolist()
        fits = (codes == FITS).reshape(len(positions), longest).tolist()
        for position, row, allowed in zip(positions.tolist(), table, fits, strict=True):
            self.ladder.setdefault(position, []).extend(
                score if fit else None for score, fit in zip(row, allowed, strict=True)
            )

    def _competition_changes(self, position: int) -> bool:
        """A node has dropped out: does that shift what the others' scores are normalised by?"""
        if not self.extremes:
            return False
        self.feasible[position] = False
        return self.board.extremes(self.feasible) != self.extremes
