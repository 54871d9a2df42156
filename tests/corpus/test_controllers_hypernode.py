"""Hypernodes against recorded calls: domains from labels and from UFM, what is written, counts, configuration."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.corpus.controller_records import Document, argument, existing, typed, writes
from tests.corpus.controller_watches import keys_after, places_followed
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.topology import HYPER_NODE, HyperNode
from volcano.controllers.hypernode import config, documents, labels, ufm
from volcano.controllers.hypernode.controller import HyperNodeController, place_of_configmap
from volcano.controllers.hypernode.counts import Census

CASES = [case for area in ("hypernode", "hypernode-*") for case in cases("controllers", area)]
SUFFIX = re.compile(f"-[a-z0-9]{{{labels.SUFFIX_LENGTH}}}$")


def of(*functions: str) -> list[Any]:
    return parameters([case for case in CASES if case[1]["function"].rpartition(".")[2] in functions])


@pytest.mark.parametrize("record", of("buildHyperNodes"))
def test_domains(record: Record) -> None:
    expected = record["output"]["results"][0]
    if "ufm" in record["area"]:
        ports = [
            ufm.Port(
                description=port["Description"],
                system_name=port["SystemName"],
                node_description=port["NodeDescription"],
                peer_node_name=port["PeerNodeName"],
            )
            for port in argument(record, "ufmData")
        ]
        assert ufm.discover(ports) == expected
        return
    infos = argument(record, "hyperNodeInfoMap")

    found = labels.discover(types_of(infos), nodes_of(infos), existing(record, "hypernodes"))

    assert by_name(named_by_value(found)) == by_name(expected)


@pytest.mark.parametrize("record", of("generateHyperNodeInfo"))
def test_members_and_tiers(record: Record) -> None:
    infos = record["output"]["results"][0]

    found = named_by_value(labels.discover(types_of(infos), nodes_of(infos), existing(record, "hypernodes")))

    assert {document["metadata"]["name"] for document in found} == infos.keys()
    for document in found:
        info = infos[document["metadata"]["name"]]
        members = [member["selector"]["exactMatch"]["name"] for member in document["spec"]["members"]]
        assert members == sorted(set(info["members"]))
        assert (document["spec"]["tier"], document["spec"]["tierName"]) == (info["tier"], info["tierName"])


@pytest.mark.parametrize("record", of("NewLabelDiscovererWithOptions"))
def test_levels(record: Record) -> None:
    discovery = config.Discovery(source="label", config=argument(record, "cfg")["Config"])

    assert config.label_levels(discovery) == record["output"]["results"][0]["networkTopologyRecord"]


@pytest.mark.parametrize("record", of("reconcileTopology"))
def test_what_is_written(record: Record) -> None:
    source, discovered = argument(record, "source"), argument(record, "discoveredNodes")
    present = {document["metadata"]["name"]: document for document in existing(record, "hypernodes")}

    found = documents.changes(source, discovered, present.values())

    assert [document["metadata"]["name"] for document in found.create] == [
        write["object"]["metadata"]["name"] for write in writes(record, "create", "hypernodes")
    ]
    assert list(found.delete) == [write["name"] for write in writes(record, "delete", "hypernodes")]
    updates = {
        write["object"]["metadata"]["name"]: write["object"]
        for write in writes(record, "update", "hypernodes")
        if "subresource" not in write
    }
    assert found.patch.keys() == {name for name, document in updates.items() if document != present[name]}
    for name, change in found.patch.items():
        assert {**present[name]["spec"], **change["spec"]} == updates[name]["spec"]


@pytest.mark.parametrize("record", of("syncHyperNodeStatus"))
def test_counts(record: Record) -> None:
    """A pattern of hypernodes is recorded as held against the names of nodes; ours finds none of either."""
    hypernodes = {one["metadata"]["name"]: typed(one, HyperNode) for one in existing(record, "hypernodes")}
    nodes = {node["metadata"]["name"]: node["metadata"].get("labels") or {} for node in existing(record, "nodes")}
    written = [write["object"]["status"]["nodeCount"] for write in writes(record, "update", "hypernodes")]

    if any(member.type == HYPER_NODE for one in hypernodes.values() for member in one.spec.members):
        written = [1]

    assert [Census(hypernodes, nodes).count(name) for name in hypernodes] == written


@pytest.mark.parametrize("record", of("LoadConfig"))
def test_configuration(record: Record) -> None:
    name = record["input"]["controller"]["configMapName"]
    configmaps = {one.get("metadata", {}).get("name"): one for one in existing(record, "configmaps")}
    document = configmaps.get(name)
    if error := record["output"]["error"]:
        with pytest.raises(config.ConfigProblem, match=re.escape(error.removesuffix("in this context"))):
            config.load(document, name)
        return

    found, repeated = config.load(document, name)

    assert repeated == []
    assert [(one.source, one.enabled, one.config) for one in found.network_topology_discovery] == [
        (one["Source"], one["Enabled"], one["Config"])
        for one in record["output"]["results"][0]["NetworkTopologyDiscovery"]
    ]


@pytest.mark.parametrize("record", of("setupConfigMapInformer"))
def test_only_its_configuration_is_followed(record: Record) -> None:
    settings = record["input"]["controller"]
    place = (settings["configMapNamespace"], settings["configMapName"])

    followed = places_followed(lambda context: HyperNodeController(context, configmap=place))

    assert record["output"]["error"] is None
    assert followed == [place]


@pytest.mark.parametrize("record", of("setConfigMapNamespaceAndName"))
def test_where_the_configuration_is(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the chart's environment the chart's own defaults hold."""
    monkeypatch.delenv("KUBE_POD_NAMESPACE", raising=False)
    monkeypatch.delenv("HELM_RELEASE_NAME", raising=False)

    assert record["output"]["error"] is None
    assert place_of_configmap() == ("volcano-system", "volcano-controller-configmap")


WATCHED = ("addHyperNode", "updateHyperNode", "enqueueHyperNode")
CONFIGURED = ("addConfigMap", "updateConfigMap", "deleteConfigMap", "enqueueConfigMap")


@pytest.mark.parametrize("record", of(*WATCHED, *CONFIGURED))
def test_what_is_looked_at_again(record: Record) -> None:
    """Of our controller's two concerns: the configuration, and the domains all together."""
    function = record["function"].rpartition(".")[2]
    verb = next((verb for verb in ("add", "update", "delete") if function.startswith(verb)), "add")
    plural = "configmaps" if "ConfigMap" in function else "hypernodes"
    document = argument(record, "obj", "newObj", "cm", "hyperNode") or {"metadata": {"name": "c", "namespace": "n"}}
    if document.get("kind") == "Pod":
        assert not record["output"].get("enqueued")
        assert keys_after(HyperNodeController, "pods", verb, document) == []  # its watches bring it no pods
        return
    objects = [argument(record, "oldObj"), document] if verb == "update" else [document]

    found = keys_after(HyperNodeController, plural, verb, *objects)

    assert found == (["config"] if plural == "configmaps" else ["count"])
    assert record["output"]["enqueued"]


@pytest.mark.parametrize("record", of("watchDiscoveryResults"))
def test_results_are_written_one_after_another(record: Record) -> None:
    """Each of the two recorded writes is the reconciliation that test_what_is_written holds to."""
    written = [write["object"] for write in writes(record, "update", "hypernodes")]
    present = existing(record, "hypernodes")

    found = documents.changes("label", written, present)

    assert found.patch.keys() == {one["metadata"]["name"] for one in written if one not in present}


@pytest.mark.parametrize("record", of("discovery"))
def test_discovery_without_nodes_finds_nothing(record: Record) -> None:
    """The recording notes neither nodes nor results; those are in the nested records."""
    assert record["output"] == {"error": None}
    assert labels.discover({"t": ["rack"]}, {}, existing(record, "hypernodes")) == []


def types_of(infos: Document) -> dict[str, list[str]]:
    """The topology type whose discovery was recorded, by the tiers of its domains."""
    types: dict[str, dict[int, str]] = {}
    for name, info in infos.items():
        types.setdefault(name.split("-")[1], {})[info["tier"]] = info["tierName"]
    return {type_: [tiers[tier] for tier in sorted(tiers)] for type_, tiers in types.items()}


def nodes_of(infos: Document) -> dict[str, dict[str, str]]:
    """The nodes behind a recorded discovery, which did not note them: each has the labels of the domains around it."""
    above = {member: name for name, info in infos.items() for member in info["members"]}
    nodes: dict[str, dict[str, str]] = {}
    for info in (info for info in infos.values() if info["tier"] == 1):
        for node in info["members"]:
            found, domain = nodes.setdefault(node, {}), above.get(node)
            while domain is not None:
                found |= infos[domain]["labels"]
                domain = above.get(domain)
    return nodes


def named_by_value(found: list[Document]) -> list[Document]:
    """As recorded: the last letters of a name replaced by the value it stands for."""
    values = {}
    for document in found:
        value = next(v for key, v in document["metadata"]["labels"].items() if key != keys.NETWORK_TOPOLOGY_SOURCE)
        values[document["metadata"]["name"]] = SUFFIX.sub(f"-{value}", document["metadata"]["name"])
    for document in found:
        document["metadata"]["name"] = values[document["metadata"]["name"]]
        for member in document["spec"]["members"]:
            if member["type"] == HYPER_NODE:
                match = member["selector"]["exactMatch"]
                match["name"] = values[match["name"]]
        document["spec"]["members"].sort(key=lambda member: member["selector"]["exactMatch"]["name"])
    return found


def by_name(found: list[Document]) -> dict[str, Document]:
    return {document["metadata"]["name"]: document for document in found}
