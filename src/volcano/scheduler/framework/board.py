"""The board of one profile: every node's verdict and score for it, kept right row by row as placements change nodes.

`placement.py` reads it to choose nodes. It lives for one session; plugins fill it through `filter` and score terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.nodes import Column, Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY, Vector
from volcano.scheduler.framework.forecast import Forecast
from volcano.scheduler.framework.guard import guarded_term
from volcano.scheduler.framework.options import SHARD_HARD
from volcano.scheduler.framework.reasons import FITS, Codes, FitError, Reason, Refusal, Stage

if TYPE_CHECKING:
    from volcano.scheduler.framework.plugin import ScoreTerm
    from volcano.scheduler.framework.session import Session

Scores = NDArray[np.float64]

PLENTY = 1 << 40
"""More replicas than anybody asks for: the room where nothing limits."""


@dataclass(slots=True)
class _Normalized:
    term: ScoreTerm
    raw: NDArray[Any]


_FOREIGN = Refusal("sharding", "node isn't in scheduler node shard", resolvable=False)


class Board:
    """Columns are in the session's order of nodes (`session.rows`), a position each."""

    def __init__(self, session: Session, profile: Profile) -> None:
        self.session = session
        self.profile = profile
        self.rows: Index = session.rows
        size = len(self.rows)
        self.codes: Codes = np.zeros(size, dtype=np.int32)
        self.idle_room: Column = np.zeros(size, dtype=np.int64)
        """How many replicas fit into what is idle now."""
        self.future_room: Column = np.zeros(size, dtype=np.int64)
        """The same once what is leaving has left."""
        self.local: Scores = np.zeros(size, dtype=np.float64)
        """The sum of the score terms that need no normalisation."""
        self._settled: Scores = np.zeros(size, dtype=np.float64)
        """The part of `local` that nothing within a session changes."""
        self.open_scores: Scores = np.full(size, -np.inf)
        """`local` where a replica has idle room that is promised to nobody, else -inf."""
        self._dimensions = sorted({CPU, MEMORY, *profile.wanted})
        self._normalized: list[_Normalized] | None = None
        self._terms: Sequence[ScoreTerm] | None = None
        self.coupled = session.hooks.any("couples_nodes", profile)
        self._cursor = session.nodes.changes.cursor
        self._forecast = Forecast(self)
        self._is_foreseeable = False
        """Whether a replica changes its own node only, and in nothing but verdict, room and local score."""
        self._fill(None)

    def refresh(self) -> None:
        """Repair the rows that changed since the last look."""
        changes = self.session.nodes.changes
        cursor = changes.cursor
        if cursor == self._cursor:
            return
        changed = changes.since(self._cursor)
        is_one_more = cursor == self._cursor + 1 and self._is_own(changes.taker)
        self._cursor = cursor
        if changed is None:
            self._forecast.forget()
            self._fill(None)
            return
        positions = self.session.positions_of(changed)
        if is_one_more:
            self._add_replica(positions)
        elif len(positions):
            self._forecast.forget()
            self._fill(positions)
        self._repair_coupled(changed)

    def _is_own(self, taker: Profile | None) -> bool:
        """Whether what changed last is that a pod of this profile was placed, and what that changes can be foreseen."""
        return self._is_foreseeable and taker is not None and self.session.is_alike(taker, self.profile)

    def _add_replica(self, positions: Index) -> None:
        """A node has taken one more replica: the same as to fill its row."""
        (position,) = positions.tolist()
        known = self._forecast.after_replica(position)
        if known is None:
            self._fill(positions)
            self._forecast.look_ahead()
            return
        code, score = known
        self.codes[position] = code
        self.local[position] = score
        self.idle_room[position] -= 1
        self.future_room[position] -= 1
        room = min(self.idle_room[position], self.future_room[position])
        self.open_scores[position] = score if code == FITS and room > 0 else -np.inf

    def _repair_coupled(self, changed: Index) -> None:
        """Rows whose verdict or score the plugins say has changed because others did."""
        for affected in self.session.hooks.callbacks("affected"):
            more = affected(self.profile, changed)
            if more is None:
                self._forecast.forget()
                self._fill(None, coupled_only=True)
                return
            if len(more):
                self._forecast.forget()
                self._fill(self.session.positions_of(more), coupled_only=True)

    def normalized(self, feasible: Mask) -> Scores | None:
        """The sum of the normalised terms, given which nodes compete; None if there are none."""
        self._ensure_scored()
        total: Scores | None = None
        for column in self._normalized or ():
            normalize = column.term.normalize
            assert normalize is not None
            part = normalize(column.raw, feasible) * column.term.weight
            total = part if total is None else total + part
        return total

    def first_open(self) -> int | None:
        """The best position with idle room; None if there is none. Only where nothing is normalised."""
        if not len(self.open_scores):
            return None
        position = int(self.open_scores.argmax())
        return position if self.open_scores[position] > -np.inf else None

    @property
    def is_plain(self) -> bool:
        """A row's score depends on nothing but the row."""
        self._ensure_scored()
        return not self._normalized

    def scores(self, feasible: Mask) -> Scores:
        """Total score per position."""
        normalized = self.normalized(feasible)
        return self.local if normalized is None else self.local + normalized

    def extremes(self, feasible: Mask) -> tuple[tuple[float, float], ...]:
        """What normalisation depends on: the smallest and largest raw value of each normalised term."""
        self._ensure_scored()
        return tuple(
            (float(column.raw[feasible].min()), float(column.raw[feasible].max())) if feasible.any() else (0.0, 0.0)
            for column in self._normalized or ()
        )

    def next_scores(self, positions: Index, extra: Column, *, pipelined: bool) -> tuple[Codes, Scores]:
        """Verdict and local score of the next replica where `extra` of them have been added to each position."""
        rows = Rows(self.session.nodes, self.rows[positions], extra=extra, profile=self.profile, pipelined=pipelined)
        return self._filter(rows), self._local_score(rows, positions)

    def fit_error(self, hypernode: str = "", among: Mask | None = None) -> FitError:
        """Why no node takes the profile: insufficient resources come first, as the actions check them first."""
        refusals = self.session.refusals
        codes = self.codes.copy()
        short = self.future_room <= 0
        if short.any():
            codes[short] = self._shortages(self.rows[short])
        if among is not None:
            codes, rows = codes[among], self.rows[among]
        else:
            rows = self.rows
        unresolvable = rows[refusals.unresolvable(codes)]
        return FitError(tuple(refusals.histogram(codes).items()), frozenset(unresolvable.tolist()), hypernode=hypernode)

    # Filling

    def _fill(self, positions: Index | None, *, coupled_only: bool = False) -> None:
        """Compute the given positions (None: all) anew; with `coupled_only` what only its own row decides stays."""
        index = self.rows if positions is None else self.rows[positions]
        rows = Rows(self.session.nodes, index)
        where: Any = slice(None) if positions is None else positions
        codes = self.codes[where] = self._filter(rows)
        if coupled_only:
            idle_room, future_room = self.idle_room[where], self.future_room[where]
        else:
            idle_room, future_room = self._room(index)
            self.idle_room[where], self.future_room[where] = idle_room, future_room
        if self._terms is None:
            return
        if coupled_only and all(term.own_rows for term in self._terms):
            scores = self.local[where]
        else:
            scores = self.local[where] = self._local_score(rows, where)
        self.open_scores[where] = _open(codes, idle_room, future_room, scores)
        for column in self._normalized or ():
            if not (column.term.settled or (coupled_only and column.term.own_rows)):
                column.raw[where] = column.term.raw(self.profile, rows)

    def _filter(self, rows: Rows) -> Codes:
        codes = np.zeros(len(rows), dtype=np.int32)
        is_fresh = self.session.options.sharding_mode != SHARD_HARD
        if not is_fresh:
            codes[~self.session.in_shard[rows.index]] = self.session.refusals.code(_FOREIGN)
        for callback in self.session.hooks.callbacks("filter"):
            answer = callback(self.profile, rows)
            if isinstance(answer, Reason):
                answer = self.session.refusals.code(_failed(answer))
            if is_fresh:
                codes[:] = answer
                is_fresh = False
            else:
                np.copyto(codes, answer, where=codes == FITS)
        return codes

    def _ensure_scored(self) -> None:
        """Scores are computed when first asked for: a profile that fits nowhere never needs them."""
        if self._terms is not None:
            return
        terms = [
            guarded_term(callback.plugin, term, self.session.warn)
            for callback in self.session.hooks.callbacks("score_terms")
            for term in callback(self.profile)
        ]
        rows = Rows(self.session.nodes, self.rows)
        for term in terms:
            if term.settled and term.normalize is None:
                self._settled += term.raw(self.profile, rows) * term.weight
        self._terms = [term for term in terms if term.normalize is None and not term.settled]
        self.local[:] = self._local_score(rows, slice(None))
        self.open_scores[:] = _open(self.codes, self.idle_room, self.future_room, self.local)
        self._normalized = [
            _Normalized(term, np.asarray(term.raw(self.profile, rows)).copy()) for term in terms if term.normalize
        ]
        self._is_foreseeable = not self.coupled and all(column.term.settled for column in self._normalized)

    def _local_score(self, rows: Rows, where: Any) -> Scores:
        total: Scores = self._settled[where]
        for term in self._terms or ():
            score = term.raw(self.profile, rows)
            total = total + (score if term.weight == 1 else score * term.weight)
        return total

    def _room(self, rows: Index) -> tuple[Column, Column]:
        """How many replicas fit, now and later. An over-committed node refuses even who asks for no CPU or memory."""
        return self._fitting(self.session.nodes.idle, rows), self._fitting(self.session.nodes.future, rows)

    def _fitting(self, amounts: Vector, rows: Index) -> Column:
        fitting: Column | None = None
        for dimension in self._dimensions:
            available: Column = amounts[:, dimension][rows]
            each = int(self.profile.request[dimension])
            if each > 1:
                available //= each
            elif each == 0:
                available = np.where(available < 0, 0, PLENTY)
            fitting = available if fitting is None else np.minimum(fitting, available, out=fitting)
        assert fitting is not None, "CPU and memory are among the dimensions"
        return fitting

    def _shortages(self, rows: Index) -> Codes:
        """Per row, the code of the first resource that is missing."""
        session = self.session
        future = session.nodes.future_idle(rows)
        codes = np.zeros(len(rows), dtype=np.int32)
        for dimension in self._dimensions:
            short = (codes == FITS) & (future[:, dimension] < self.profile.request[dimension])
            if short.any():
                text = f"Insufficient {session.cluster.dimensions.names[dimension]}"
                codes[short] = session.refusals.code(Refusal("resources", text))
        return codes


def _open(codes: Codes, idle_room: Column, future_room: Column, scores: Scores) -> Scores:
    """The scores where a replica has idle room that is promised to nobody, else -inf."""
    is_open = (codes == FITS) & (np.minimum(idle_room, future_room) > 0)
    return np.where(is_open, scores, -np.inf)


def _failed(failure: Reason) -> Refusal:
    """Of every node, with the exception that the filter raised."""
    name = failure.blocker
    said = str(failure).removeprefix(f"plugin {name!r}: ")
    return Refusal(name, f"plugin {name} failed ({said})", resolvable=False, stage=Stage.PLUGIN)
