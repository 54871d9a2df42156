"""Resource claims: pods go where their devices are, and no device is given away twice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano.api.core import DeviceClass, DeviceTaintRule, Pod, ResourceClaim, ResourceSlice
from volcano.scheduler.cluster.ingest import DELETED
from volcano.scheduler.framework.decisions import DeviceAllocation
from volcano.scheduler.framework.remedies import remedy
from volcano.scheduler.plugins.kubernetes.claims import selectors
from volcano.testing.builders import gang, node, pod, queue
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}]
"""
DRIVER = "gpu.example.com"
HAS_CEL = not isinstance(selectors.installed(), selectors.NoSelectors)
needs_cel = pytest.mark.skipif(not HAS_CEL, reason="the extra volcano[cel] is not installed")


def devices(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"name": name, "attributes": {"model": {"string": "A100"}, "index": {"int": number}}, **more}
        for number, name in enumerate(names)
    ]


def offer(node_name: str, found: list[dict[str, Any]], **more: Any) -> ResourceSlice:
    place = {"nodeName": node_name} if node_name else {"allNodes": True}
    pool = {"name": node_name or "fabric", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": found, **place, **more}
    return msgspec.convert({"metadata": {"name": f"slice-{node_name}"}, "spec": spec}, ResourceSlice)


def claim(name: str, *requests: dict[str, Any], constraints: list[dict[str, Any]] | None = None) -> ResourceClaim:
    wanted = [
        {"name": f"r{i}", **({"exactly": {"deviceClassName": "gpu", **r}} if "firstAvailable" not in r else r)}
        for i, r in enumerate(requests or ({},))
    ]
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": wanted, "constraints": constraints or []}},
    }
    return msgspec.convert(document, ResourceClaim)


def device_class(expression: str = "") -> DeviceClass:
    chosen = [{"cel": {"expression": expression}}] if expression else []
    return msgspec.convert({"metadata": {"name": "gpu"}, "spec": {"selectors": chosen}}, DeviceClass)


def user(name: str, claim_name: str, group: str = "g") -> Pod:
    found = pod(name, group=group, cpu=1)
    document = msgspec.to_builtins(found)
    document["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim_name}]
    return msgspec.convert(document, Pod)


def world_of(slices: list[ResourceSlice], claims: list[ResourceClaim], pods: list[Pod], expression: str = "") -> World:
    world = World(nodes=[node("n1"), node("n2")], conf=CONF)
    world.add("deviceclasses", device_class(expression))
    world.add("resourceslices", *slices)
    world.add("resourceclaims", *claims)
    world.add_gang(gang("g", pods=pods, min_available=1))
    return world


def allocated(world: World) -> dict[str, list[str]]:
    """The devices of each claim that is decided in one cycle."""
    found = {}
    for bind in world.cycle().committed:
        for decided in bind.claims:
            if isinstance(decided, DeviceAllocation) and decided.allocation is not None:
                results = decided.allocation.devices.results
                found[decided.claim.removeprefix("default/")] = [f"{r.pool}/{r.device}" for r in results]
    return found


def test_a_pod_goes_where_its_device_is() -> None:
    world = world_of([offer("n2", devices("d0"))], [claim("c")], [user("p", "c")])

    assert allocated(world) == {"c": ["n2/d0"]}


def test_no_device_is_given_away_twice() -> None:
    claims = [claim(f"c{i}") for i in range(3)]
    world = world_of([offer("n1", devices("d0", "d1"))], claims, [user(f"p{i}", f"c{i}") for i in range(3)])

    found = allocated(world)

    assert sorted(found.values()) == [["n1/d0"], ["n1/d1"]]
    assert allocated(world) == {}  # what was decided counts before the API server shows it


def test_pods_that_share_a_claim_go_to_one_node() -> None:
    slices = [offer("n1", devices("d0")), offer("n2", devices("d0"))]
    world = world_of(slices, [claim("c")], [user("p0", "c"), user("p1", "c")])

    binds = world.cycle().binds

    assert len(binds) == 2
    assert len(set(binds.values())) == 1


def test_an_allocated_claim_binds_its_pod_to_its_nodes() -> None:
    done = claim("c")
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    result = {"request": "r0", "driver": DRIVER, "pool": "n2", "device": "d0"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": terms}}
    done = msgspec.convert({**msgspec.to_builtins(done), "status": {"allocation": allocation}}, ResourceClaim)
    other = claim("other")
    world = world_of([offer("n2", devices("d0"))], [done, other], [user("p", "c"), user("q", "other")])

    assert world.cycle().binds == {"default/p": "n2"}


def test_all_mode_takes_every_device_or_none() -> None:
    everything = claim("c", {"allocationMode": "All"})
    world = world_of([offer("n1", devices("d0", "d1"))], [everything], [user("p", "c")])

    assert allocated(world) == {"c": ["n1/d0", "n1/d1"]}


def test_alternatives_are_tried_in_order() -> None:
    choice = {
        "firstAvailable": [
            {"name": "many", "deviceClassName": "gpu", "count": 3},
            {"name": "one", "deviceClassName": "gpu", "count": 1},
        ]
    }
    world = world_of([offer("n1", devices("d0", "d1"))], [claim("c", choice)], [user("p", "c")])

    bind = world.cycle().committed[0].claims[0]

    assert isinstance(bind, DeviceAllocation)
    assert bind.allocation is not None
    assert [result.request for result in bind.allocation.devices.results] == ["r0/one"]


def test_the_node_with_the_better_alternative_is_preferred() -> None:
    choice = {
        "firstAvailable": [
            {"name": "many", "deviceClassName": "gpu", "count": 2},
            {"name": "one", "deviceClassName": "gpu", "count": 1},
        ]
    }
    slices = [offer("n1", devices("d0")), offer("n2", devices("d0", "d1"))]
    for order in (slices, slices[::-1]):
        world = world_of(order, [claim("c", choice)], [user("p", "c")])
        assert allocated(world) == {"c": ["n2/d0", "n2/d1"]}


SHARED = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "40Gi"}}}


def shares(world: World) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What each decided claim takes of which device."""
    return {
        decided.claim.removeprefix("default/"): [
            (r.device, r.consumed_capacity) for r in decided.allocation.devices.results
        ]
        for bind in world.cycle().committed
        for decided in bind.claims
        if isinstance(decided, DeviceAllocation) and decided.allocation is not None
    }


def asking(amount: str, **more: Any) -> dict[str, Any]:
    return {"capacity": {"requests": {"memory": amount}}, **more}


def test_a_device_is_shared_until_its_capacity_is_used_up() -> None:
    claims = [claim(f"c{i}", asking("15Gi")) for i in range(3)]
    world = world_of([offer("n1", devices("d0", **SHARED))], claims, [user(f"p{i}", f"c{i}") for i in range(3)])

    found = shares(world)

    assert len(found) == 2
    assert list(found.values()) == [[("d0", {"memory": "15Gi"})]] * 2
    assert shares(world) == {}  # what was decided counts before the API server shows it


def test_shares_that_the_api_server_shows_count() -> None:
    used = {"request": "r0", "driver": DRIVER, "pool": "n1", "device": "d0", "shareID": "some"}
    consumed = {"consumedCapacity": {"memory": "30Gi"}}
    status = {"allocation": {"devices": {"results": [{**used, **consumed}]}}}
    done = msgspec.convert({**msgspec.to_builtins(claim("done", asking("30Gi"))), "status": status}, ResourceClaim)
    claims = [done, claim("large", asking("11Gi")), claim("small", asking("10Gi"))]
    world = world_of([offer("n1", devices("d0", **SHARED))], claims, [user("p", "large"), user("q", "small")])

    assert list(shares(world)) == ["small"]


def test_several_of_one_request_may_share_a_device() -> None:
    twice = claim("c", asking("20Gi", count=2))
    world = world_of([offer("n1", devices("d0", **SHARED))], [twice], [user("p", "c")])

    bind = world.cycle().committed[0].claims[0]

    assert isinstance(bind, DeviceAllocation)
    assert bind.allocation is not None
    assert [result.device for result in bind.allocation.devices.results] == ["d0", "d0"]
    assert len({result.share_id for result in bind.allocation.devices.results}) == 2


@pytest.mark.parametrize(
    ("policy", "asked", "taken"),
    [
        (None, "3Gi", "3Gi"),
        (None, None, "40Gi"),
        (None, "41Gi", None),
        ({"default": "5Gi"}, None, "5Gi"),
        ({"validValues": ["4Gi", "8Gi"]}, "5Gi", "8Gi"),
        ({"validValues": ["4Gi", "8Gi"]}, "9Gi", None),
        ({"validRange": {"min": "2Gi"}}, "1Gi", "2Gi"),
        ({"validRange": {"min": "2Gi", "step": "4Gi"}}, "7Gi", "10Gi"),
        ({"validRange": {"min": "2Gi", "step": "4Gi", "max": "9Gi"}}, "7Gi", None),
    ],
)
def test_what_is_asked_for_is_rounded_as_the_device_wants_it(
    policy: dict[str, Any] | None, asked: str | None, taken: str | None
) -> None:
    memory = {"value": "40Gi", **({"requestPolicy": policy} if policy else {})}
    found = devices("d0", allowMultipleAllocations=True, capacity={"memory": memory})
    world = world_of([offer("n1", found)], [claim("c", asking(asked) if asked else {})], [user("p", "c")])

    assert shares(world) == ({"c": [("d0", {"memory": taken})]} if taken else {})


def test_a_device_of_one_user_has_the_capacity_that_is_asked_for() -> None:
    small = devices("d0", capacity={"memory": {"value": "10Gi"}})
    large = devices("d0", capacity={"memory": {"value": "40Gi"}})
    claims = [claim("a", asking("20Gi")), claim("b", asking("20Gi")), claim("c", {"capacity": {"requests": {"x": 1}}})]
    world = world_of([offer("n1", small), offer("n2", large)], claims, [user(f"p{c}", c) for c in "abc"])

    assert list(shares(world).values()) == [[("d0", {})]]


def test_users_of_one_device_use_its_counters_once() -> None:
    use = [{"counterSet": "card", "counters": {"memory": {"value": "40Gi"}}}]
    counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
    parts = offer("n1", devices("d0", "d1", consumesCounters=use, **SHARED), sharedCounters=counters)
    claims = [claim(f"c{i}", asking("20Gi")) for i in range(3)]
    world = world_of([parts], claims, [user(f"p{i}", f"c{i}") for i in range(3)])

    assert len(shares(world)) == 2


CONDITIONS = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["AttachFailed"]}


def test_devices_that_must_be_made_ready_come_last_and_say_so() -> None:
    fabric = offer("", devices("a0", bindsToNode=True, **CONDITIONS))
    claims = [claim("c0"), claim("c1")]
    world = world_of([fabric, offer("n1", devices("d0"))], claims, [user("p0", "c0"), user("p1", "c1")])

    decided = [one for bind in world.cycle().committed for one in bind.claims]

    results = {}
    for one in decided:
        assert isinstance(one, DeviceAllocation)
        assert one.allocation is not None
        (result,) = one.allocation.devices.results
        assert one.allocation.node_selector is not None  # also of the fabric's: it binds to the node
        results[result.device] = (result.binding_conditions, result.binding_failure_conditions)
    assert results == {"d0": ([], []), "a0": (["Attached"], ["AttachFailed"])}


def test_a_claim_whose_device_cannot_be_made_ready_gets_another_one() -> None:
    result = {"request": "r0", "driver": DRIVER, "pool": "n1", "device": "d0", **CONDITIONS}
    told = {"driver": DRIVER, "pool": "n1", "device": "d0", "conditions": [{"type": "AttachFailed", "status": "True"}]}
    status = {"allocation": {"devices": {"results": [result]}}, "devices": [told]}
    failed = msgspec.convert({**msgspec.to_builtins(claim("c")), "status": status}, ResourceClaim)
    world = world_of([offer("n1", devices("d0", "d1", **CONDITIONS))], [failed], [user("p", "c")])

    assert allocated(world) == {"c": ["n1/d1"]}

    users = [{"resource": "pods", "name": f"other{i}", "uid": str(i)} for i in range(2)]
    used = msgspec.convert({**msgspec.to_builtins(failed), "status": {**status, "reservedFor": users}}, ResourceClaim)
    world = world_of([offer("n1", devices("d0", "d1", **CONDITIONS))], [used], [user("p", "c")])
    decisions = world.cycle()
    assert decisions.binds == {}
    assert "resourceclaim not available on the node" in str(decisions.reasons["default/g"])


def test_constraints_are_met_by_backtracking() -> None:
    found = devices("d0", "d1", "d2")
    for device, cell in zip(found, (0, 1, 1), strict=True):
        device["attributes"]["numa"] = {"int": cell}
    same = [{"requests": ["r0", "r1"], "matchAttribute": f"{DRIVER}/numa"}]
    world = world_of([offer("n1", found)], [claim("c", {}, {}, constraints=same)], [user("p", "c")])

    assert allocated(world) == {"c": ["n1/d1", "n1/d2"]}


def test_distinct_attributes_are_kept_apart() -> None:
    found = devices("d0", "d1", "d2")
    for device, cell in zip(found, (0, 0, 1), strict=True):
        device["attributes"]["numa"] = {"int": cell}
    apart = [{"distinctAttribute": f"{DRIVER}/numa"}]
    world = world_of([offer("n1", found)], [claim("c", {"count": 2}, constraints=apart)], [user("p", "c")])

    assert allocated(world) == {"c": ["n1/d0", "n1/d2"]}


def test_partitions_share_the_counters_of_their_card() -> None:
    use = [{"counterSet": "card", "counters": {"memory": {"value": "20Gi"}}}]
    counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
    parts = offer("n1", devices("d0", "d1", "d2", consumesCounters=use), sharedCounters=counters)
    claims = [claim(f"c{i}") for i in range(3)]

    assert len(allocated(world_of([parts], claims, [user(f"p{i}", f"c{i}") for i in range(3)]))) == 2


def test_taints_of_devices_have_to_be_tolerated() -> None:
    broken = devices("d0", taints=[{"key": "health", "value": "bad", "effect": "NoSchedule"}])
    claims = [claim("c"), claim("d", {"tolerations": [{"key": "health", "operator": "Exists"}]})]

    world = world_of([offer("n1", broken)], claims, [user("p", "c"), user("q", "d")])

    assert allocated(world) == {"d": ["n1/d0"]}


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_what_keeps_pods_from_devices_is_named(effect: str) -> None:
    broken = devices("d0", taints=[{"key": "health", "value": "bad", "effect": effect}])

    world = world_of([offer("n1", broken), offer("n2", devices("d1"))], [claim("c"), claim("d")], [user("p", "c")])
    world.add_gang(gang("h", pods=[user("q", "d", "h")], min_available=1))
    decisions = world.cycle()

    reason = decisions.reason("h")
    text = f"cannot allocate all claims: devices have untolerated taint health=bad:{effect}"
    assert reason is not None
    assert (text, 1) in reason.nodes
    assert "let the claims tolerate it" in remedy(reason)


def test_a_taint_that_only_informs_keeps_nobody_away() -> None:
    marked = devices("d0", taints=[{"key": "health", "value": "old", "effect": "None"}])

    assert allocated(world_of([offer("n1", marked)], [claim("c")], [user("p", "c")])) == {"c": ["n1/d0"]}


def test_all_devices_are_not_all_without_the_tainted_one() -> None:
    found = [*devices("d0"), *devices("d1", taints=[{"key": "health", "effect": "NoSchedule"}])]
    wanted = {"allocationMode": "All"}
    tolerant = {**wanted, "tolerations": [{"key": "health", "operator": "Exists", "effect": "NoSchedule"}]}

    assert allocated(world_of([offer("n1", found)], [claim("c", wanted)], [user("p", "c")])) == {}
    assert allocated(world_of([offer("n1", found)], [claim("c", tolerant)], [user("p", "c")])) == {
        "c": ["n1/d0", "n1/d1"]
    }


def taint_rule(selector: dict[str, str] | None, effect: str = "NoSchedule") -> DeviceTaintRule:
    chosen = {} if selector is None else {"deviceSelector": selector}
    taint = {"key": "maintenance", "effect": effect}
    return msgspec.convert({"metadata": {"name": "rule"}, "spec": {**chosen, "taint": taint}}, DeviceTaintRule)


@pytest.mark.parametrize(
    ("selector", "device"),
    [
        ({"driver": DRIVER, "pool": "n1", "device": "d0"}, "d1"),
        ({"device": "d0"}, "d1"),
        ({"pool": "n1"}, None),
        ({"driver": DRIVER}, None),
        ({"driver": "another.example.com"}, "d0"),
        ({"driver": DRIVER, "device": "d7"}, "d0"),
        ({}, None),  # every device
        (None, "d0"),  # none
    ],
)
def test_taints_of_rules_count_like_those_of_drivers(selector: dict[str, str] | None, device: str | None) -> None:
    world = world_of([offer("n1", devices("d0", "d1"))], [claim("c")], [user("p", "c")])
    world.add("devicetaintrules", taint_rule(selector))

    assert allocated(world) == ({"c": [f"n1/{device}"]} if device else {})


def test_a_rule_that_goes_lets_pods_use_the_device_again() -> None:
    tolerant = claim("d", {"tolerations": [{"key": "maintenance", "operator": "Exists"}]})
    world = world_of([offer("n1", devices("d0"))], [claim("c"), tolerant], [user("p", "c")])
    world.add("devicetaintrules", taint_rule({}, "NoExecute"))
    assert allocated(world) == {}

    world.ingest.apply(DELETED, "devicetaintrules", taint_rule({}))

    assert allocated(world) == {"c": ["n1/d0"]}


def test_incomplete_pools_are_left_alone() -> None:
    half = offer("n1", devices("d0"))
    half.spec.pool.resource_slice_count = 2

    assert world_of([half], [claim("c")], [user("p", "c")]).cycle().binds == {}


@needs_cel
@pytest.mark.parametrize(
    ("expression", "device"),
    [
        (f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].index > 0', "d1"),
        (f'device.capacity["{DRIVER}"].memory.compareTo(quantity("1Gi")) > 0', "d0"),
        (f'device.attributes["{DRIVER}"].version.isLessThan(semver("1.10.0"))', "d0"),
        ('!("x" in device.attributes["other.example.com"])', "d0"),
    ],
)
def test_expressions_select_devices(expression: str, device: str) -> None:
    found = devices("d0", "d1", capacity={"memory": {"value": "2Gi"}})
    for entry in found:
        entry["attributes"]["version"] = {"version": "1.9.0"}

    assert allocated(world_of([offer("n1", found)], [claim("c")], [user("p", "c")], expression)) == {
        "c": [f"n1/{device}"]
    }


@pytest.mark.parametrize("expression", ["device.nope &&", 'device.attributes["zz"].foo == 1'])
def test_a_broken_expression_is_named(expression: str) -> None:
    world = world_of([offer("n1", devices("d0"))], [claim("c")], [user("p", "c")], expression)

    decisions = world.cycle()

    assert decisions.binds == {}
    assert "CEL selector" in str(decisions.reasons["default/g"])


def test_a_missing_claim_is_named() -> None:
    decisions = world_of([], [], [user("p", "c")]).cycle()

    assert 'resourceclaim "c" not found' in str(decisions.reasons["default/g"])


def test_a_gang_that_does_not_fit_gives_its_devices_back() -> None:
    world = world_of([offer("n1", devices("d0"))], [claim("c0"), claim("c1")], [])
    world.add_gang(gang("h", pods=[user(f"p{i}", f"c{i}", group="h") for i in range(2)]))
    world.add_gang(gang("late", pods=[user("late", "c1", group="late")]))

    assert allocated(world) == {"c1": ["n1/d0"]}


@pytest.mark.parametrize(("claims", "bound"), [(("c0", "c1", "c2"), 2), (("c0", "c0", "c1"), 3)])
def test_a_queue_claims_no_more_devices_than_it_may(claims: tuple[str, ...], bound: int) -> None:
    conf = CONF.replace("{name: predicates}", "{name: predicates}, {name: capacity}")
    limited = queue("default", capability={"deviceclass/gpu": 2})
    world = World(nodes=[node("n1")], queues=[limited], conf=conf)
    world.add("deviceclasses", device_class())
    world.add("resourceslices", offer("n1", devices("d0", "d1", "d2")))
    world.add("resourceclaims", *[claim(name) for name in sorted(set(claims))])
    world.add_gang(gang("g", pods=[user(f"p{i}", name) for i, name in enumerate(claims)], min_available=1))

    assert len(world.cycle().binds) == bound
    later = user("late", "c2", group="late")
    world.add_gang(gang("late", pods=[later]))
    decisions = world.cycle()

    assert decisions.binds == {}
    if "c2" in claims:
        assert "3 needed, 2 allowed" in str(decisions.reasons["default/late"])


def test_a_queue_claims_no_more_of_a_capacity_than_it_may() -> None:
    conf = CONF.replace("{name: predicates}", "{name: capacity}")
    limited = queue("default", capability={"deviceclass/gpu": 8, "memory.deviceclass/gpu": "40Gi"})
    world = World(nodes=[node("n1")], queues=[limited], conf=conf)
    share = {"count": 2, "capacity": {"requests": {"memory": "10Gi"}}}
    world.add("resourceclaims", claim("a", share), claim("b", share), claim("c", share))
    world.add_gang(gang("g", pods=[user(f"p{name}", name) for name in "abc"], min_available=1))

    decisions = world.cycle()

    assert len(decisions.binds) == 2


def test_a_job_whose_minimum_breaks_a_limit_is_not_let_in_beside_one_that_was() -> None:
    conf = CONF.replace("{name: predicates}", "{name: capacity}").replace("allocate", "enqueue")
    limited = queue("default", capability={"deviceclass/gpu": 3})
    world = World(nodes=[node("n1")], queues=[limited], conf=conf)
    world.add("resourceclaims", claim("a", {"count": 2}), claim("b", {"count": 2}))
    for number, name in enumerate("ab"):
        waiting = [user(f"p{name}", name, group=name)]
        world.add_gang(gang(name, pods=waiting, phase="Pending", min_resources={"cpu": 1}, created=number))

    decisions = world.cycle()

    assert {key: decided.phase for key, decided in decisions.podgroups.items()} == {
        "default/a": "Inqueue",
        "default/b": "Pending",
    }
    assert "4 needed, 3 allowed" in str(decisions.reason("b"))


GPU = "example.com/gpu"


def extended_world(slices: list[ResourceSlice], pods: list[Pod], *, plugin_gpus: int = 0, conf: str = CONF) -> World:
    """A class whose devices count as the resource GPU; n3 has `plugin_gpus` of it from a device plugin."""
    third = node("n3")
    if plugin_gpus:
        third.status.allocatable[GPU] = third.status.capacity[GPU] = plugin_gpus
    world = World(nodes=[node("n1"), node("n2"), third], conf=conf)
    named = device_class()
    named.spec.extended_resource_name = GPU
    world.add("deviceclasses", named)
    world.add("resourceslices", *slices)
    world.add_gang(gang("g", pods=pods, min_available=1))
    return world


def taker(name: str, number: int = 1, resource: str = GPU) -> Pod:
    return pod(name, group="g", cpu=1, resources={resource: number})


def made(world: World) -> dict[str, tuple[str, list[str]]]:
    """By pod, its node and the devices of the claim that is made for it."""
    found = {}
    for bind in world.cycle().committed:
        devices = [
            result.device
            for one in bind.claims
            if isinstance(one, DeviceAllocation) and one.made is not None and one.allocation is not None
            for result in one.allocation.devices.results
        ]
        found[bind.name] = (bind.node, devices)
    return found


@pytest.mark.parametrize("resource", [GPU, "deviceclass.resource.kubernetes.io/gpu"])
def test_drivers_serve_extended_resources(resource: str) -> None:
    takers = [taker(f"p{i}", 2, resource) for i in range(2)]
    world = extended_world([offer("n1", devices("d0", "d1", "d2"))], takers)

    assert made(world) == {"p0": ("n1", ["d0", "d1"])}
    assert made(world) == {}  # what was decided counts before the API server shows it


def test_the_claim_belongs_to_the_pod_and_says_which_container_has_which_request() -> None:
    world = extended_world([offer("n1", devices("d0"))], [taker("p")])

    (decided,) = world.cycle().committed[0].claims

    assert isinstance(decided, DeviceAllocation)
    assert decided.made is not None
    meta = decided.made.claim.metadata
    assert meta.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert [owner.name for owner in meta.owner_references] == ["p"]
    (request,) = decided.made.claim.spec.devices.requests
    mapping = {"containerName": "main", "resourceName": GPU, "requestName": request.name}
    assert decided.made.mappings == (mapping,)


def test_where_a_device_plugin_offers_the_resource_there_is_no_claim() -> None:
    world = extended_world([offer("n3", devices("d0"))], [taker("p"), taker("q")], plugin_gpus=1)

    assert made(world) == {"p": ("n3", [])}


def test_devices_count_as_what_their_nodes_offer() -> None:
    world = extended_world(
        [], [taker("p")], conf=CONF.replace("{name: predicates}", "{name: predicates}, {name: proportion}")
    )

    assert made(world) == {}

    world.add("resourceslices", offer("n2", devices("d0")))
    assert made(world) == {"p": ("n2", ["d0"])}
    row = world.cluster.nodes.row_of["n2"]
    dimension = world.cluster.dimensions.find(GPU)
    assert world.cluster.nodes.allocatable[row][dimension] == 1000

    world.update("nodes", node("n2"))  # an event of the node does not make them vanish
    world.cycle()
    assert world.cluster.nodes.allocatable[row][dimension] == 1000

    world.remove("deviceclasses", device_class())
    world.cycle()
    assert world.cluster.nodes.allocatable[row][dimension] == 0


def test_a_claim_of_an_earlier_attempt_is_written_anew() -> None:
    world = extended_world([offer("n1", devices("d0"))], [taker("p")])
    (decided,) = world.cycle().committed[0].claims
    assert isinstance(decided, DeviceAllocation)
    assert decided.made is not None
    written = msgspec.to_builtins(decided.made.claim)
    written["status"] = {"allocation": msgspec.to_builtins(decided.allocation)}
    again = extended_world([offer("n1", devices("d0"))], [taker("p"), taker("q")])
    again.add("resourceclaims", msgspec.convert(written, ResourceClaim))

    assert made(again) == {"p": ("n1", ["d0"])}
