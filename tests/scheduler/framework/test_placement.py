"""Placing many replicas at once has the outcome of placing them one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings, strategies as st

from volcano.scheduler.cluster.nodes import Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm
from volcano.scheduler.framework.reasons import Codes, Refusal
from volcano.testing.builders import gang, node
from volcano.testing.world import World


class Ranking(Plugin):
    """Packs CPU, spreads memory, prefers some nodes (normalised), and lets three replicas onto a node."""

    name = "ranking"
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    most_per_node = 3

    def open(self, session: object) -> None:
        self.full = self.session.refusals.code(Refusal(self.name, "node(s) were full"))

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        return np.where(rows.pod_count() >= self.most_per_node, self.full, 0).astype(np.int32)

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        pack, spread, prefer = self.weights
        return (
            ScoreTerm(lambda profile, rows: rows.used(CPU) / np.maximum(rows.allocatable(CPU), 1), weight=pack),
            ScoreTerm(lambda profile, rows: rows.idle(MEMORY) // 1000, weight=spread),
            ScoreTerm(lambda profile, rows: rows.index % 4, _relative, weight=prefer),
        )


def _relative(raw: Scores, feasible: Mask) -> Scores:
    return 100.0 * raw / max(raw[feasible].max(), 1)


class OneByOne(Plugin):
    name = "one-by-one"

    def couples_nodes(self, profile: Profile) -> bool:
        return True


CONF = """
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: ranking
  - name: one-by-one
"""


def place(nodes: list[tuple[int, int]], gangs: list[tuple[int, int, int]], weights: tuple[float, ...], *plugins: type):  # type: ignore[no-untyped-def]
    ranking = type("Ranking", (Ranking,), {"weights": weights})
    world = World(
        nodes=[node(f"n{i}", cpu=cpu, memory=memory) for i, (cpu, memory) in enumerate(nodes)],
        jobs=[
            gang(f"g{i}", pods=pods, min_available=min(minimum, pods), cpu=cpu, memory=1000, created=i)
            for i, (pods, minimum, cpu) in enumerate(gangs)
        ],
        conf=CONF,
        registry=registries.built_in().extended([ranking, *plugins]),
    )
    return world.cycle().bind_order


node_sizes = st.tuples(st.integers(0, 6), st.integers(0, 6000))
gang_sizes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 3))
factors = st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, -1.0, 3.0])] * 3)


@settings(max_examples=150, deadline=None)
@given(st.lists(node_sizes, min_size=1, max_size=8), st.lists(gang_sizes, min_size=1, max_size=4), factors)
def test_bulk_placement_equals_one_by_one(
    nodes: list[tuple[int, int]], gangs: list[tuple[int, int, int]], weights: tuple[float, ...]
) -> None:
    assert place(nodes, gangs, weights) == place(nodes, gangs, weights, OneByOne)


def test_replicas_fill_the_best_node_first_where_the_score_says_so() -> None:
    order = place([(6, 6000)] * 3, [(6, 6, 1)], (1.0, 0.0, 0.0))

    assert [len({node for _, node in order[start : start + 3]}) for start in (0, 3)] == [1, 1]


def test_replicas_spread_where_the_score_says_so() -> None:
    order = place([(6, 6000)] * 3, [(6, 6, 1)], (0.0, 1.0, 0.0))

    assert [len({node for _, node in order[start : start + 3]}) for start in (0, 3)] == [3, 3]
