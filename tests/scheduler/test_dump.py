"""Dump and replay: what is in a dump, what is not, and that it repeats the decision."""

from __future__ import annotations

import json
import random
from typing import Any

from volcano.api.core import EnvVar
from volcano.scheduler import dump, engine, offline
from volcano.scheduler.framework import conf as conf_file
from volcano.scheduler.framework.options import Options
from volcano.testing.builders import gang, node, priority_class, queue
from volcano.testing.world import World


def crowded() -> World:
    world = World(
        nodes=[node(f"n{i}", cpu=4) for i in range(5)],
        queues=[queue("a"), queue("b", weight=3)],
        priority_classes=[priority_class("high", 100), priority_class("usual", 5, is_default=True)],
        jobs=[
            gang("old", pods=3, cpu=1, queue="a", nodes=["n0", "n3", "n3"], phase="Running"),
            gang("first", pods=4, cpu=2, queue="a", created=1),
            gang("second", pods=3, cpu=1, queue="b", priority_class="high", created=2),
        ],
    )
    world.cycle()
    world.add_gang(gang("third", pods=3, cpu=1, queue="b", created=3, phase="Pending"))
    return world


def replayed(document: dict[str, Any]) -> dict[str, Any]:
    documents = json.loads(json.dumps(document, default=str))["items"]
    record = dump.recorded(documents)
    assert record is not None
    conf = conf_file.parse(record.conf, ("enqueue", "allocate", "backfill"))
    result = offline.schedule(documents, conf, Options(), now=record.now, seed=record.seed)
    cycle: dict[str, Any] = result["cycles"][0]
    return cycle


def test_a_dump_repeats_the_decision_that_comes_next() -> None:
    world = crowded()
    record = dump.Record(conf_file.DEFAULT_CONF, now=world.now, seed=77)
    written = dump.document(dump.of_cluster(world.cluster), record)

    decisions = engine.cycle(world.cluster, world.conf, world.options, world.now, random.Random(77))
    again = replayed(written)

    assert decisions.binds
    assert again["binds"] == decisions.binds
    assert again["bindOrder"] == [list(pair) for pair in decisions.bind_order]


def test_decisions_that_the_api_does_not_show_yet_are_in_it() -> None:
    items = dump.document(dump.of_cluster(crowded().cluster), dump.Record(""))["items"]
    pods = {item["metadata"]["name"]: item for item in items if item["kind"] == "Pod"}

    assert pods["first-worker-0"]["spec"]["nodeName"].startswith("n")


def test_what_is_private_is_left_out() -> None:
    job = gang("train", pods=1, cpu=1)
    job.pods[0].spec.containers[0].env = [EnvVar(name="PASSWORD", value="hunter2")]
    job.pods[0].spec.containers[0].command = ["run", "--token=hunter2"]
    world = World(jobs=[job])

    text = json.dumps(dump.document(dump.of_cluster(world.cluster), dump.Record("")), default=str)

    assert "hunter2" not in text
    assert '"cpu"' in text
