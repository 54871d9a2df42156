"""Recorded calls about quotas of device classes, answered by the books of the capacity plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tests.corpus.loader import Record
from volcano.api import quantity
from volcano.api.core import Pod, ResourceClaim
from volcano.scheduler.plugins.capacity.devices import PREFIX, limits_of
from volcano.scheduler.plugins.capacity.plugin import Capacity
from volcano.testing.builders import gang, node, pod, queue
from volcano.testing.world import World

Answer = tuple[Any, Any]
CONF = """
actions: allocate
tiers:
- plugins: [{name: capacity, arguments: {capacity.DRAConsumableCapacityEnable: CAPACITIES}}]
"""


def _names(classes: dict[str, Any]) -> dict[str, Any]:
    """Recorded amounts by class, by the names they have in a queue's capability."""
    found: dict[str, Any] = {}
    for name, amount in classes.items():
        found[f"{PREFIX}{name}"] = amount["Count"]
        found |= {f"{dimension}.{PREFIX}{name}": each for dimension, each in (amount["Capacity"] or {}).items()}
    return found


def _limits(call: Record) -> Answer:
    world = World(queues=[queue("q", capability=call["args"]["capability"])])
    want = {name: quantity.units(amount) for name, amount in _names(call["want"]["capability"]).items()}
    return limits_of(world.cluster.queues["q"]), want


def _allocatable(call: Record) -> Answer:
    """A queue that has let a job in, and whether another one may follow."""
    args = call["args"]
    books = args["dra"]
    assert not books["allocated"], "the record's queue holds devices already"
    world = World(
        nodes=[node("n")],
        queues=[queue("q", capability=_names(books["capability"]))],
        conf=CONF.replace("CAPACITIES", str(args["consumableCapacityEnabled"]).lower()),
    )
    for name, classes in (("admitted", books["inqueue"]), ("new", args["taskDRA"])):
        world.add("resourceclaims", _claim(name, classes))
        phase = "Inqueue" if name == "admitted" else "Pending"
        world.add_gang(gang(name, pods=[_claiming(name)], queue="q", phase=phase))
    session = world.session()
    capacity = session.plugins["capacity"]
    assert isinstance(capacity, Capacity)
    job = world.cluster.jobs["default/new"]
    chain = capacity.accounts["q"].chain
    (task,) = job.tasks.values()
    books_say = capacity.devices
    short = books_say.job_shortage(chain, job) if args["includeInqueue"] else books_say.shortage(chain, task)
    session.restore()
    return short is None, call["want"]


def _claim(name: str, classes: dict[str, Any]) -> ResourceClaim:
    """What is recorded is the sum over devices; here each device has its part."""
    requests = [
        {
            "name": f"r{number}",
            "exactly": {
                "deviceClassName": device_class,
                "count": amount["Count"],
                "capacity": {
                    "requests": {
                        dimension: quantity.units(each) // amount["Count"]
                        for dimension, each in (amount["Capacity"] or {}).items()
                    }
                },
            },
        }
        for number, (device_class, amount) in enumerate(classes.items())
    ]
    head = {"name": name, "namespace": "default"}
    return msgspec.convert({"metadata": head, "spec": {"devices": {"requests": requests}}}, ResourceClaim)


def _claiming(name: str) -> Pod:
    document = msgspec.to_builtins(pod(f"{name}-0", group=name))
    document["spec"]["resourceClaims"] = [{"name": "device", "resourceClaimName": name}]
    return msgspec.convert(document, Pod)


ADAPTERS: dict[str, Callable[[Record], Answer]] = {
    "newDRAQuotaAttr": _limits,
    "checkDRAAllocatable": _allocatable,
}
