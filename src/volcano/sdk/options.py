"""What can be said about work beside what it is: size, place, patience. One vocabulary for all verbs of the clients."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from volcano.sdk.functions import Ship

__all__ = ["Options"]


class Options(TypedDict, total=False):
    """Keyword arguments of `submit`, `map`, `schedule`, `Flow.add` and `executor`; all may be left out."""

    name: str
    """Of the job. By default the function's or the program's, and a few random letters."""
    namespace: str
    """By default the client's."""
    queue: str
    priority: str
    """Name of a PriorityClass."""
    nodes: int
    """Members of a gang: they start together, each runs the whole work, and one that fails ends them all."""
    min_nodes: int
    """How many of `nodes` are enough to start."""
    after: str | Sequence[Any]
    """Jobs to wait for: handles or names, all of which must have completed; or "afterany:a:b" as vsub has it."""
    array: int
    """Independent members: they start as there is room, and fail alone."""
    at_once: int
    """How many of `array` may run at a time."""
    cpu: float | str
    memory: str
    gpus: int
    resources: Mapping[str, str | int | float]
    """What each member asks for beyond these, by Kubernetes' names."""
    time_limit: float | str | datetime.timedelta
    """For which each member may run: seconds, "1h30m", or as Slurm writes it."""
    retries: int
    """How often it starts again after a failure."""
    on_eviction: str
    """"restart" (by default) or "fail": what to do when members are taken away."""
    env: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    image: str
    """Where it runs on a cluster; local mode needs none."""
    python: str
    """The interpreter in the image; in local mode it is the one that submits."""
    working_dir: str
    template: Any
    """A pod template to build upon: a document, or an object of another client library."""
    plugins: Mapping[str, Sequence[str]]
    """Job plugins and their arguments, beside those that the kind of work needs."""
    ttl: float | str | datetime.timedelta
    """How long the job is kept once it has finished; for ever if not said."""
    ship: Ship
    """How a function travels: "reference", "pickle", "source"; what fits if not said."""
    keywords: Mapping[str, Any]
    """Keyword arguments of the function."""
    result_limit: int
    """Bytes that the result of a function may have."""
