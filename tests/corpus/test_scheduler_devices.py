"""Device families against recorded calls; what has no counterpart here is skipped, by function."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.core import Node, Pod
from volcano.scheduler.framework.arguments import decode as decode_arguments
from volcano.scheduler.plugins.deviceshare import exclusive, mig
from volcano.scheduler.plugins.deviceshare.cards import Card, Demand, Held, Wishes, pod_group_key, uuids
from volcano.scheduler.plugins.deviceshare.config import Arguments
from volcano.scheduler.plugins.deviceshare.device import Grant, Objection
from volcano.scheduler.plugins.deviceshare.gpushare import Cards as GpuCards, needed
from volcano.scheduler.plugins.deviceshare.hami import Demand as NpuDemand, Hami, Registered, Unit, Units
from volcano.scheduler.plugins.deviceshare.hami_config import Chip, Template
from volcano.scheduler.plugins.deviceshare.holdings import Holding, decode, decode_container
from volcano.scheduler.plugins.deviceshare.mig import Geometry, Instance
from volcano.scheduler.plugins.deviceshare.vgpu import Cards, Vgpu, card_score

AREAS = ("api-devices-nvidia-gpushare", "api-devices-nvidia-vgpu", "api-devices-ascend-hami", "plugins-deviceshare")
NO_COUNTERPART = {
    "GPUDevices.Release": "annotations are written with the binding, so an undone grant leaves none to remove",
    "AscendDevices.Release": "annotations are written with the binding, so an undone grant leaves none to remove",
    "exclusiveGPUDevices.capGPUs": "cards of rivals are left out of the scan, nothing is changed for it",
    "exclusiveGPUDevices.restoreGPUs": "cards of rivals are left out of the scan, nothing is changed for it",
    "podKey": "holders of cards are known by uid",
}


def _records() -> list[tuple[str, Record]]:
    found = []
    for area in AREAS:
        for name, record in cases("scheduler-units", area):
            found += [(f"{area}-{name}-{number}", call) for number, call in enumerate(record["cases"])]
    return found


def _pod(recorded: Any) -> Pod:
    return msgspec.convert(recorded or {}, Pod)


# gpushare


def _gpu_cards(recorded: Record) -> GpuCards:
    cards = GpuCards({int(i): card["Memory"] for i, card in recorded["Device"].items()}, by_memory=True)
    for number, card in recorded["Device"].items():
        for uid, pod in card["PodMap"].items():
            cards.charge(uid, _pod(pod), {keys.GPU_INDEX: number})
    return cards


def _offered_ids(args: Record) -> Any:
    offer = _gpu_cards(args["gs"]).offer(_pod(args["pod"]))
    return None if isinstance(offer, Objection) else [int(i) for i in offer.annotations[keys.GPU_INDEX].split(",")]


# vgpu


def _geometries(recorded: Any) -> tuple[Geometry, ...]:
    return tuple(
        Geometry(group["Group"], tuple(Instance(i["Name"], i["Memory"], i["Count"]) for i in group["Instances"] or ()))
        for group in recorded or ()
    )


def _card(recorded: Record) -> Card:
    geometries = _geometries(recorded.get("MigTemplate"))
    usage = recorded["MigUsage"]
    group = geometries[usage["Index"]].group if geometries and usage["UsageList"] else ""
    card = Card(
        recorded["ID"],
        recorded["UUID"],
        recorded["Type"],
        recorded["Number"],
        recorded["Memory"],
        geometries,
        sharers=recorded["UsedNum"],
        memory_used=recorded["UsedMem"],
        cores_used=recorded["UsedCore"],
        geometry=group,
        taken={p for entry in usage["UsageList"] or () for p in entry["UsedIndex"] or ()},
    )
    for uid, held in (recorded["PodMap"] or {}).items():
        positions = tuple(card.taken)
        card.holders[uid] = Held(held.get("PodGroupKey", ""), 1, held["UsedMem"], held["UsedCore"], positions)
    return card


def _shown(card: Card) -> Record:
    holders = {
        uid: {"PodGroupKey": held.group, "UsedCore": held.cores, "UsedMem": held.memory}
        for uid, held in card.holders.items()
    }
    return {
        "UsedNum": card.sharers,
        "UsedMem": card.memory_used,
        "UsedCore": card.cores_used,
        "PodMap": holders,
        "taken": card.taken,
    }


def _wanted_card(call: Record, name: str = "gd") -> Record:
    recorded = (call.get("argsAfter") or {}).get(name) or call["args"][name]
    return _wanted(recorded)


def _wanted(recorded: Record) -> Record:
    fields = {name: recorded[name] for name in ("UsedNum", "UsedMem", "UsedCore")}
    taken = {p for entry in recorded["MigUsage"]["UsageList"] or () for p in entry["UsedIndex"] or ()}
    return {**fields, "PodMap": recorded["PodMap"] or {}, "taken": taken}


def _node_cards(recorded: Record, policy: str = "", rules: Any = ()) -> Cards:
    cards = [_card(card) for _, card in sorted(recorded["Device"].items())]
    for card in cards:
        card.max_sharers = card.max_sharers or 10
    return Cards(Vgpu(policy, rules=rules), cards, recorded.get("Mode") or "hami-core")


def _scan(call: Record) -> None:
    args = call["args"]
    cards = _node_cards(args["gssnap"], args["schedulePolicy"])
    fits, devices, score, error = call["want"]

    offer = cards.offer(_pod(args["pod"]))

    if not fits:
        assert isinstance(offer, Objection)
        assert error["error"].removesuffix(f" on node {args['gssnap']['Name']}") == offer.text
        return
    assert isinstance(offer, Grant)
    assert offer.score == pytest.approx(score)
    held = [
        [{"UUID": h.uuid, "Type": h.kind, "Usedmem": h.memory, "Usedcores": h.cores} for h in group]
        for group in decode(offer.annotations[keys.VGPU_IDS])
    ]
    assert held == devices
    if not args["replicate"]:  # recorded as a booking, whose pod is entered a step later
        cards.charge("uid", _pod(args["pod"]), offer.annotations)
        for number, after in call["argsAfter"]["gssnap"]["Device"].items():
            got = _shown(cards.cards[int(number)])
            assert {**got, "PodMap": {}} == {**_wanted(after), "PodMap": {}}


def _filtered(call: Record) -> None:
    offer = _node_cards(call["args"]["receiver"], call["args"]["schedulePolicy"]).offer(_pod(call["args"]["pod"]))

    assert isinstance(offer, Grant) == (call["want"][0] == 0)
    if isinstance(offer, Grant) and call["args"]["schedulePolicy"] != "spread":
        assert offer.score == pytest.approx(call["argsAfter"]["receiver"]["Score"])


def _scored(call: Record) -> None:
    offer = _node_cards(call["args"]["receiver"], call["args"]["schedulePolicy"]).offer(_pod(call["args"]["pod"]))

    assert isinstance(offer, Grant)
    if call["args"]["schedulePolicy"] == "spread":  # recorded after the pod was added to it: no card is ever free
        assert offer.score == 100.0 * all(card["UsedNum"] == 0 for card in call["args"]["receiver"]["Device"].values())
    else:
        assert offer.score == pytest.approx(call["want"])


def _added(call: Record) -> None:
    args = call["args"]
    cards = _node_cards(args["receiver"])

    cards.charge(args["pod"]["metadata"]["uid"], _pod(args["pod"]), args["annotations"] or {})

    after = (call.get("argsAfter") or args)["receiver"]
    for card, (_, recorded) in zip(cards.cards, sorted(after["Device"].items()), strict=True):
        assert _shown(card) == _wanted(recorded)


def _factor(call: Record) -> int:
    """Recorded in the name of the case only."""
    found = re.search(r"MemoryFactor=(\d+)", call.get("case") or "")
    return int(found[1]) if found else 1


def _hami_add(call: Record) -> None:
    args = call["args"]
    card = _card(args["gd"])
    if args["podUID"] not in card.holders:  # what a pod holds is charged once, by the ledger
        card.charge(args["podUID"], Holding(args["devID"], card.kind, args["mem"], args["core"]), "", _factor(call))

    wanted = _wanted_card(call)
    if card.holders.keys() == wanted["PodMap"].keys():
        assert _shown(card) == wanted


def _released(call: Record) -> None:
    card = _card(call["args"]["gd"])

    card.release(call["args"]["podUID"] if "podUID" in call["args"] else next(iter(card.holders)))

    assert _shown(card) == _wanted_card(call)


def _tried(call: Record) -> None:
    args = call["args"]
    card = _card({**args["gd"], "Type": "NVIDIA", "Number": 10, "Memory": args["gd"]["Memory"] or 1 << 20})

    holding = card.take(Demand(1, args["mem"], None, args["core"]), Wishes(), _factor(call))

    fits, device = call["want"]
    assert (holding is not None) == fits
    if holding is not None:
        wanted = _wanted_card(call)
        assert holding.uuid == device
        got = _shown(card)
        assert [got[name] for name in ("UsedNum", "UsedMem")] == [wanted[name] for name in ("UsedNum", "UsedMem")]


def _found_match(call: Record) -> None:
    args = call["args"]
    geometries = list(_geometries(args["allowedGeometries"]))
    usage = args["usage"]["UsageList"]
    group = ""
    taken: set[int] = set()
    if usage:  # the usage lists the instances of the geometry in use; how many there are says the geometry
        index = args["usage"]["Index"]
        counts = {instance.name: instance.count for instance in geometries[index].instances}
        instances = tuple(Instance(entry["Name"], entry["Memory"], counts.get(entry["Name"], 0)) for entry in usage)
        group = geometries[index].group
        geometries[index] = Geometry(group, instances)
        taken = {p for entry in usage for p in entry["UsedIndex"] or ()}

    slot = mig.find(geometries, group, taken, args["requestMem"])

    got = [False, "", 0] if slot is None else [True, mig.instance_id(args["uuid"], slot), slot.memory]
    assert got == call["want"]


def _mig_used(call: Record) -> None:
    """The memory of the instance at a position."""
    args = call["args"]
    slot = mig.slot_at(_geometries(args["gd"]["MigTemplate"]), args["groupName"], args["position"])

    if slot is not None:
        assert slot.memory == call["want"]
    else:
        assert call["want"] == 0


def _decoded_id(call: Record) -> None:
    found = mig.parse_id(call["args"]["id"])
    assert found is not None
    assert [found[1], found[2], None] == call["want"]


def _same_group(args: Record) -> bool:
    return _card(args["gd"]).has_pod_of(args["currentKey"])


def _uuid_filter(args: Record) -> Any:
    annotations = args["annos"] or {}
    lists = {"allowlist": keys.VGPU_USE_UUID, "denylist": keys.VGPU_NO_USE_UUID}
    found = {name: uuids(annotations.get(key, "")) for name, key in lists.items()}
    return {name: None if entry is None else sorted(entry) for name, entry in found.items()}


def _uuid_matches(args: Record) -> bool:
    allow, deny = (args["receiver"][name] for name in ("allowlist", "denylist"))
    return Wishes(use_uuids=frozenset(allow) if allow else None, no_uuids=frozenset(deny) if deny else None).allow_uuid(
        args["id"]
    )


def _reserved(call: Record) -> None:
    receiver = call["args"]["receiver"]
    rules = [rule["labels"] for rule in receiver["cfg"]["rules"]]
    cards = _node_cards(receiver["inner"], rules=rules)
    for key, matched in receiver["podRules"].items():
        labels = {name: value for number in matched for name, value in rules[int(number)].items()}
        held = [i for number in matched for i in receiver["ruleGPUs"].get(str(number), ())]
        pod = _pod({"metadata": {"name": key, "labels": labels}})
        ids = "".join(f"{cards.cards[int(i)].uuid},NVIDIA,1,1:" for i in held)
        cards.charge(key, pod, {keys.VGPU_IDS: ids})

    got = cards._hidden(_pod(call["args"]["pod"]))

    assert got == {int(number) for number in call["want"] or ()}


# hami


def _chip(recorded: Record, word: str = "") -> Chip:
    templates = tuple(Template(t["Name"], t["Memory"]) for t in recorded["Templates"] or ())
    return Chip(
        word or recorded["CommonWord"],
        recorded["ResourceName"],
        recorded["ResourceMemoryName"],
        recorded["MemoryAllocatable"],
        recorded["MemoryCapacity"],
        templates,
    )


def _unit(recorded: Record) -> Unit:
    info, usage = recorded["DeviceInfo"] or {}, recorded["DeviceUsage"] or {}
    registered = Registered(
        info.get("ID", ""), info.get("Index", 0), info.get("Count", 0), info.get("Devmem", 0), info.get("Devcore", 0)
    )
    used = (usage.get("Used", 0), usage.get("Usedmem", 0), usage.get("Usedcores", 0))
    return Unit(_chip(recorded["config"]), registered, recorded["hamiVnpuCore"], *used)


def _units(recorded: Record) -> Units:
    units = {name: _unit(device) for name, device in recorded["Devices"].items()}
    chip = next((unit.chip for unit in units.values()), Chip(recorded["Type"], f"huawei.com/{recorded['Type']}"))
    found = Units(Hami(chip, policy=recorded["Policy"]), units)
    for name, device in recorded["Devices"].items():
        for uid, held in device["PodMap"].items():
            found._held.setdefault(uid, []).append(
                Holding(name, chip.word, held.get("Usedmem", 0), held.get("Usedcores", 0))
            )
    return found


def _npu_demand(request: Record, *, hami_core: bool = False) -> NpuDemand:
    return NpuDemand(request["Nums"], request["Memreq"], request["Coresreq"], hami_core)


def _npu_fits(args: Record) -> bool:
    unit = _unit(args["dev"])
    demand = _npu_demand(args["req"], hami_core=args["isHAMiCore"])
    return args["req"]["Type"] == unit.chip.word and unit.fits(demand, demand.memory)


def _npu_verified(args: Record) -> Any:
    unit = _unit(args["dev"])
    demand = _npu_demand(args["req"])
    if demand.count > 1 and Units(Hami(unit.chip), {"": unit}).is_partial(demand):
        return {"error": "vNPU does not support partial memory allocation when requesting multiple devices"}
    return None


def _npu_filter(call: Record) -> None:
    offer = _units(call["args"]["receiver"]).offer(_pod(call["args"]["pod"]))

    code, _, error = call["want"]
    assert isinstance(offer, Grant) == (code == 0)
    if isinstance(offer, Objection):
        assert offer.resolvable == (code == 2)
        assert offer.text == error["error"].replace("no enough ascend", "no ascend")


def _npu_added(call: Record) -> None:
    args = call["args"]
    if args["receiver"] is None:
        pytest.skip("a node without devices has no books")
    units = _units(args["receiver"])
    annotations = args["pod"]["metadata"].get("annotations") or {}

    units.charge(
        args["pod"]["metadata"]["uid"], _pod(args["pod"]), {units.family.assigned_key: annotations.get("", "")}
    )

    after = (call.get("argsAfter") or args)["receiver"]["Devices"]
    for name, recorded in after.items():
        unit, usage = units.units[name], recorded["DeviceUsage"]
        assert [unit.used, unit.memory_used, unit.cores_used] == [
            usage["Used"],
            usage["Usedmem"],
            usage["Usedcores"],
        ]


def _npu_registered(call: Record) -> None:
    node = msgspec.convert(call["args"]["n"], Node)
    word = call["args"]["receiver"]["nodeRegisterAnno"].removeprefix("hami.io/node-register-")

    units = Hami(Chip(word, f"huawei.com/{word}"), call["args"]["conf"]["HamiVnpuCore"]).on_node(node)

    devices, support, _ = call["want"]
    assert units is not None
    got = [
        {"ID": u.info.id, "Count": u.info.count, "Devmem": u.info.devmem, "Devcore": u.info.devcore}
        for u in units.units.values()
    ]
    assert got == [{name: device[name] for name in ("ID", "Count", "Devmem", "Devcore")} for device in devices]
    assert all(unit.core_support == support for unit in units.units.values())


# the plugin


def _arguments(call: Record) -> None:
    arguments, warnings = decode_arguments(Arguments, call["args"]["arguments"], "test")
    assert [arguments.policy, arguments.weight] == [call["want"]["schedulePolicy"], call["want"]["scheduleWeight"]]
    assert not warnings


def _rules(raw: Any) -> Any:
    plain = [{key.strip('"'): value for key, value in rule.items()} for rule in raw] if isinstance(raw, list) else raw
    return [{"labels": rule} for rule in exclusive.parse(plain)] or None


CHECKS: dict[str, Callable[[Record], None]] = {
    "checkNodeGPUSharingPredicateAndScore": _scan,
    "GPUDevices.FilterNode": _filtered,
    "GPUDevices.ScoreNode": _scored,
    "GPUDevices.addResource": _added,
    "HAMICoreFactory.AddPod": _hami_add,
    "HAMICoreFactory.SubPod": _released,
    "HAMICoreFactory.TryAddPod": _tried,
    "MIGFactory.AddPod": _hami_add,
    "MIGFactory.SubPod": _released,
    "MIGFactory.TryAddPod": _tried,
    "findMatch": _found_match,
    "addMigUsed": _mig_used,
    "subMigUsed": _mig_used,
    "decodeMIGID": _decoded_id,
    "exclusiveGPUDevices.reservedGPUsForPod": _reserved,
    "AscendDevices.FilterNode": _npu_filter,
    "AscendDevices.AddResource": _npu_added,
    "AscendDevice.getNodeDevices": _npu_registered,
    "New": _arguments,
}
ANSWERS: dict[str, Callable[[Record], Any]] = {
    "getDevicesIdleGPUMemory": lambda args: {str(i): free for i, free in _gpu_cards(args["gs"]).idle().items()},
    "getGPUNumberOfPod": lambda args: needed(_pod(args["pod"]), keys.GPU_NUMBER),
    "predicateGPUbyMemory": _offered_ids,
    "getPodGroupKey": lambda args: pod_group_key(_pod(args["pod"])),
    "GPUScore": lambda args: card_score(_card(args["device"]), args["schedulePolicy"]),
    "newGPUUUIDFilter": _uuid_filter,
    "gpuUUIDFilter.matches": _uuid_matches,
    "deviceHasPodFromSameGroup": _same_group,
    "decodeContainerDevices": lambda args: [
        {"UUID": h.uuid, "Type": h.kind, "Usedmem": h.memory, "Usedcores": h.cores}
        for h in decode_container(args["str"])
    ],
    "matchingRules": lambda args: (
        sorted(exclusive.matching(_pod(args["pod"]), [rule["labels"] for rule in args["rules"]])) or None
    ),
    "parseExclusiveRules": lambda args: _rules(args["raw"]),
    "loadGPUExclusiveConfig": lambda args: {"rules": _rules(args["args"].get("deviceshare.GPUExclusiveRules"))},
    "CalScore": lambda args: _unit({**_CHIP, "DeviceInfo": args["dev_info"], "DeviceUsage": args["dev_usage"]}).score(
        args["schedulePolicy"]
    ),
    "AscendDevice.trimMemory": lambda args: list(_chip(args["receiver"]["config"]).template_for(args["m"])),
    "fit": _npu_fits,
    "verifyReq": _npu_verified,
}
_CHIP: Record = {
    "hamiVnpuCore": False,
    "config": {
        "CommonWord": "",
        "ResourceName": "",
        "ResourceMemoryName": "",
        "MemoryAllocatable": 0,
        "MemoryCapacity": 0,
        "Templates": [],
    },
}


@pytest.mark.parametrize("call", parameters(_records()))
def test_call(call: Record) -> None:
    name = call["op"]
    if name in NO_COUNTERPART:
        pytest.skip(f"{name}: {NO_COUNTERPART[name]}")
    if name in CHECKS:
        CHECKS[name](call)
        return
    got = ANSWERS[name](call["args"])
    want = call["want"]
    assert got == (pytest.approx(want) if isinstance(want, float) else want)
