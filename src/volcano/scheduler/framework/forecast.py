"""What nodes will be like for the next replicas of a profile, asked of the hooks for many of them at once.

Where jobs of one pod each come one after the other, and are alike, every placement changes one node and the board asks
about that one anew. By the contract on which placement.py's merge rests the answer can be known before: board.py looks
here first. Nothing here outlives a change by anybody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.nodes import Index

if TYPE_CHECKING:
    from volcano.scheduler.framework.board import Board

_NODES: Final = 16
_REPLICAS: Final = 4
"""For so many nodes so many more replicas are looked into,"""
_ON_FIRST: Final = 16
"""and so many for the first of the nodes, should all be packed onto it."""
_STREAK: Final = 3
"""So many placements in a row by nobody else, and there may be more to come."""


class Forecast:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._known: dict[int, list[tuple[int, float]]] = {}
        """By position, verdict and score after one, two … replicas more."""
        self._streak = 0

    def forget(self) -> None:
        """Somebody else has changed a node."""
        self._known.clear()
        self._streak = 0

    def after_replica(self, position: int) -> tuple[int, float] | None:
        """Verdict and score there, now that it has taken a replica more; None if they have to be asked for."""
        self._streak += 1
        levels = self._known.get(position)
        return levels.pop(0) if levels else None

    def look_ahead(self) -> None:
        """Ask about the nodes that come next."""
        self._known.clear()
        if self._streak < _STREAK:
            return
        board, best = self._board, self._next_best()
        first = board.first_open()
        if first is None:
            return
        further = np.arange(_REPLICAS + 1, _ON_FIRST + 1)
        positions = np.concatenate([np.repeat(best, _REPLICAS), np.full(len(further), first)])
        extra = np.concatenate([np.tile(np.arange(1, _REPLICAS + 1), len(best)), further])
        codes, scores = board.next_scores(positions, extra, pipelined=False)
        for position, code, score in zip(positions.tolist(), codes.tolist(), scores.tolist(), strict=True):
            self._known.setdefault(position, []).append((code, score))

    def _next_best(self) -> Index:
        """The best positions, of equal ones those that stand first: in this order they are chosen."""
        scores = self._board.open_scores
        if len(scores) <= _NODES:
            return np.arange(len(scores))
        least = np.partition(scores, -_NODES)[-_NODES]
        better = np.flatnonzero(scores > least)
        equal = np.flatnonzero(scores == least)[: _NODES - len(better)]
        return np.concatenate([better, equal])
