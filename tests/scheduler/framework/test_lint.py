"""What a configuration says and probably does not mean."""

from __future__ import annotations

import pytest

from volcano.local.cluster import DEFAULT_SCHEDULER_CONF as LOCAL_CONF
from volcano.scheduler.framework import conf as conf_file, lint, registry as registries
from volcano.scheduler.framework.conf import ConfError

REGISTRY = registries.built_in()
SOUND = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion, enableJobEnqueued: false}, {name: nodeorder}]
"""


def remarks(old: str = "", new: str = "") -> list[str]:
    assert old in SOUND
    return lint.warnings(SOUND.replace(old, new) if old else SOUND, REGISTRY)


def test_a_sound_configuration_needs_no_remark() -> None:
    assert remarks() == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: drf", "name: dfr", "plugin 'dfr' is not known and is left out: did you mean 'drf'"),
        ("{name: gang}", "{name: gang, enableJobOrders: true}", "did you mean 'enableJobOrder'"),
        ("{name: nodeorder}", "{name: nodeorder, arguments: {leastrequested.wight: 2}}", "leastrequested.weight"),
        ("{name: nodeorder}", "{name: nodeorder, arguments: {leastrequested.weight: many}}", "many"),
        (", preempt", "", "for evictions add the action preempt"),
        ("{name: proportion, enableJobEnqueued: false}, ", "", "add proportion or capacity"),
        ("reclaim", "shuffle", "add one of them"),
        ("reclaim", "reclaim, gangreclaim", "do not combine them"),
        (
            "{name: nodeorder}",
            "{name: nodeorder}, {name: binpack, arguments: {binpack.cpu: 5}}",
            "set leastrequested.weight to 0",
        ),
        ("{name: proportion,", "{name: capacity}, {name: proportion,", "both limit queues"),
        ("{name: proportion,", "{name: proportion, enableHierarchy: true,", "it is for capacity, drf and nodegroup"),
        ("{name: priority}", "{name: priority}, {name: drf, enableHierarchy: true}", "listed more than once"),
        ("{name: gang}", "{name: gang, enableJobReady: false}", "before their gang is complete"),
        ("tiers:", "configurations: [{name: gangpreempt, arguments: {}}]\ntiers:", "it is not among the actions"),
        ("tiers:", "configurations: [{name: premept, arguments: {}}]\ntiers:", "did you mean 'preempt'"),
        (
            "tiers:",
            "configurations: [{name: allocate, arguments: {predicateErrorCacheEnable: maybe}}]\ntiers:",
            "'predicateErrorCacheEnable' is 'maybe'",
        ),
        ("tiers:", "teirs: []\ntiers:", "did you mean 'tiers'"),
        (", enableJobEnqueued: false", "", "and proportion may keep them out while the cluster is full"),
        (
            "{name: drf}",
            "{name: drf}, {name: overcommit}",
            "overcommit may keep them out while the cluster is full",
        ),
        ("{name: predicates}, ", "", "selectors and taints forbid"),
    ],
)
def test_what_is_remarked(old: str, new: str, said: str) -> None:
    assert any(said in remark for remark in remarks(old, new)), remarks(old, new)


@pytest.mark.parametrize("text", ["actions: [allocate]", "actions: alocate", "actions: allocate\ntiers: {", "[]"])
def test_what_the_scheduler_would_refuse_is_an_error(text: str) -> None:
    with pytest.raises(ConfError):
        lint.warnings(text, REGISTRY)


def test_arguments_that_the_go_scheduler_takes_are_taken() -> None:
    arguments = "arguments: {predicateErrorCacheEnable: false}"
    entries = ", ".join(f"{{name: {name}, {arguments}}}" for name in ("allocate", "backfill", "preempt", "reclaim"))

    assert remarks("tiers:", f"configurations: [{entries}]\ntiers:") == []


def test_the_scheduler_itself_warns_of_arguments_for_no_action() -> None:
    text = f"configurations: [{{name: premept}}]\n{SOUND}"

    assert conf_file.parse(text, REGISTRY.actions).warnings == (
        "configurations: action 'premept' is not known: did you mean 'preempt'?",
    )


@pytest.mark.parametrize("text", [conf_file.DEFAULT_CONF, LOCAL_CONF], ids=["scheduler", "local"])
def test_what_volcano_writes_itself_needs_no_remark(text: str) -> None:
    assert lint.warnings(text, REGISTRY) == []


def test_binpack_that_outweighs_spreading_is_meant() -> None:
    assert remarks("{name: nodeorder}", "{name: nodeorder}, {name: binpack, arguments: {binpack.weight: 10}}") == []


def test_queues_inherit_their_groups_of_nodes_in_a_hierarchy() -> None:
    found = remarks("{name: nodeorder}", "{name: nodeorder}, {name: nodegroup, enableHierarchy: true}")

    assert not any("nodegroup" in remark for remark in found)


def test_what_only_enqueue_asks_has_no_effect_without_it() -> None:
    found = lint.warnings(conf_file.DEFAULT_CONF.replace("enqueue, ", ""), REGISTRY)

    assert any("plugin 'overcommit': only enqueue asks it" in remark for remark in found), found
