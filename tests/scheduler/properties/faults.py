"""Clusters that once did not come to rest, or broke something: found at random, made small, kept."""

from __future__ import annotations

from typing import Final

from tests.scheduler.properties.worlds import Draw, JobDraw, NodeDraw, QueueDraw

_TWO_NODES: Final = (NodeDraw(cpu=1, pods=1), NodeDraw(cpu=1, gpu=1, pods=1))
_SEVEN_JOBS: Final = (
    *[JobDraw(pods=1, minimum=0, cpu=0, queue="a1", rank="high")] * 4,
    JobDraw(pods=1, minimum=0, cpu=2, queue="a1", rank="high"),
    JobDraw(pods=1, minimum=1, cpu=0, gpu=1, queue="a1", rank="high"),
    JobDraw(pods=3, minimum=2, cpu=1, queue="a2", rank="high", placed=(1, 3)),
)
_GPU_DESERVED: Final = (QueueDraw(), QueueDraw(), QueueDraw(deserved_gpu=1), QueueDraw())

FAULTS: Final = {
    "the victims' queue was served first and took the room again": (
        "chart-evicting",
        Draw(
            nodes=(NodeDraw(cpu=1), NodeDraw(cpu=5, zone="y"), NodeDraw(cpu=6, pods=1, zone="y")),
            jobs=(JobDraw(pods=2, minimum=0, cpu=3, queue="a1"), JobDraw(pods=2, minimum=2, cpu=3)),
            queues=(QueueDraw(deserved=3, capability=4), QueueDraw(), QueueDraw(deserved=8), QueueDraw()),
            seed=2,
        ),
    ),
    "a gang that had lost members waited for them for ever": (
        "proportion",
        Draw(
            nodes=(NodeDraw(cpu=4), NodeDraw(cpu=4), NodeDraw(cpu=5, pods=2, zone="z")),
            jobs=(
                JobDraw(pods=3, minimum=3, cpu=2, placed=(2,)),
                JobDraw(pods=5, minimum=0, cpu=1, queue="a1"),
                JobDraw(pods=2, minimum=0, cpu=1, placed=(0, 1)),
            ),
            queues=(QueueDraw(deserved=5, capability=8), QueueDraw(), QueueDraw(deserved=6), QueueDraw(deserved=5)),
            seed=1,
        ),
    ),
    "room was made in a domain that is too small for what is more than the minimum": (
        "no-enqueue",
        Draw(
            nodes=(NodeDraw(cpu=4),),
            jobs=(JobDraw(pods=1, minimum=0, cpu=1), JobDraw(pods=2, minimum=1, cpu=4, queue="a1", shape="close")),
            queues=(QueueDraw(), QueueDraw(), QueueDraw(deserved=4), QueueDraw()),
        ),
    ),
    "room was made for whom the quota of an ancestor forbids": (
        "capacity-tree",
        Draw(
            nodes=(NodeDraw(cpu=6),),
            jobs=(
                JobDraw(pods=1, minimum=0, cpu=1),
                JobDraw(pods=1, minimum=1, cpu=3, queue="a1"),
                JobDraw(pods=3, minimum=1, cpu=3, queue="a2", placed=(0, 0)),
            ),
            queues=(QueueDraw(capability=4), QueueDraw(capability=8), QueueDraw(deserved=5), QueueDraw()),
        ),
    ),
    "the place of a pod that asks for nothing was given to another such pod": (
        "chart-evicting",
        Draw(
            nodes=(NodeDraw(cpu=0, gpu=1, zone="z"),),
            jobs=(
                JobDraw(pods=1, minimum=0, cpu=0),
                JobDraw(pods=2, minimum=0, cpu=0, queue="a2"),
                JobDraw(pods=5, minimum=3, cpu=0, queue="a1", rank="high", phase="Running"),
                JobDraw(pods=1, minimum=0, cpu=0, queue="a1", placed=(4,), shape="spread"),
                JobDraw(pods=3, minimum=1, cpu=0, rank="high", phase="Running", placed=(1, 2, 2)),
            ),
            queues=(
                QueueDraw(deserved=2, capability=8, weight=2, reclaimable=False),
                QueueDraw(deserved=2, deserved_gpu=1, capability=12, weight=2, priority=5),
                QueueDraw(deserved=5, deserved_gpu=2, reclaimable=False),
                QueueDraw(capability=8, weight=3, priority=5),
            ),
            seed=3,
        ),
    ),
    "promises of pods that count each other were void, each looked at alone": (
        "drf-tree",
        Draw(
            nodes=(NodeDraw(cpu=0), NodeDraw(cpu=6, zone="y"), NodeDraw(cpu=4)),
            jobs=(
                JobDraw(pods=2, minimum=1, cpu=1),
                JobDraw(pods=4, minimum=4, cpu=2, queue="a2", placed=(1,), shape="spread"),
            ),
            queues=(QueueDraw(), QueueDraw(), QueueDraw(), QueueDraw()),
        ),
    ),
    "jobs that are complete took from each other": (
        "elastic",
        Draw(
            nodes=(NodeDraw(cpu=6),),
            jobs=(JobDraw(pods=1, minimum=0, cpu=1), JobDraw(pods=3, minimum=0, cpu=2, queue="a1")),
            queues=(QueueDraw(), QueueDraw(deserved=1), QueueDraw(deserved=6), QueueDraw()),
        ),
    ),
    "a gang was evicted of which one more member had just been bound": (
        "actions/gangreclaim",
        Draw(
            nodes=(NodeDraw(cpu=0, pods=1), NodeDraw(cpu=1, pods=4), *_TWO_NODES),
            jobs=_SEVEN_JOBS,
            queues=_GPU_DESERVED,
        ),
    ),
    "a pod that asks for nothing was bound where somebody had yet to leave": (
        "actions/gangreclaim",
        Draw(
            nodes=(NodeDraw(cpu=0, pods=1), NodeDraw(cpu=1, pods=1), *_TWO_NODES),
            jobs=_SEVEN_JOBS,
            queues=_GPU_DESERVED,
        ),
    ),
    "the place of a pod that asks for nothing was given to one that asks for something": (
        "capacity-tree",
        Draw(
            nodes=(NodeDraw(cpu=1, pods=1),),
            jobs=(
                JobDraw(pods=1, minimum=0, cpu=1, queue="a1", rank="high"),
                JobDraw(pods=1, minimum=0, cpu=0, queue="a2", placed=(0,)),
                JobDraw(pods=1, minimum=1, cpu=0, queue="a2", rank="high"),
            ),
            queues=(QueueDraw(), QueueDraw(), QueueDraw(), QueueDraw()),
        ),
    ),
    "backfill gave up the place for which another pod had just been evicted": (
        "actions/preempt",
        Draw(
            nodes=(NodeDraw(cpu=0, pods=1),),
            jobs=(
                JobDraw(pods=1, minimum=0, cpu=0, queue="a1", placed=(0,)),
                JobDraw(pods=1, minimum=1, cpu=0, queue="a1", rank="high"),
            ),
            queues=(QueueDraw(), QueueDraw(), QueueDraw(), QueueDraw()),
        ),
    ),
}
"""Configuration and cluster, by what went wrong."""
