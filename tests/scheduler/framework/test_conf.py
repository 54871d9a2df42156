"""The configuration file: grammar, defaults, what is refused, what is warned about."""

from __future__ import annotations

import pytest

from volcano.scheduler.framework import conf

ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "gangpreempt")


def test_switches_are_on_unless_said_otherwise() -> None:
    parsed = conf.parse(
        'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n    enablePreemptable: no\n    enabledVictim: true\n',
        ACTIONS,
    )

    (option,) = parsed.plugins
    assert "enablePreemptable" not in option.switches
    assert {"enableJobOrder", "enabledVictim", "enableReclaimable"} <= option.switches
    assert not {"enableHierarchy", "enabledClusterOrder"} & option.switches


def test_an_unknown_action_is_refused_with_a_suggestion() -> None:
    with pytest.raises(conf.ConfError, match="no action 'gangPreempt': did you mean 'gangpreempt'"):
        conf.parse("actions: gangPreempt", ACTIONS)


@pytest.mark.parametrize("text", ["", "actions: ''", "actions: [allocate]", "- a\n- b", "actions: 'a\n b: ["])
def test_what_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(conf.ConfError):
        conf.parse(text, ACTIONS)


def test_hierarchical_drf_beside_proportion_is_refused_in_one_tier_only() -> None:
    together = "  - name: drf\n    enableHierarchy: true\n  - name: proportion\n"
    with pytest.raises(conf.ConfError, match="exclude each other"):
        conf.parse(f"actions: allocate\ntiers:\n- plugins:\n{together}", ACTIONS)

    apart = together.replace("  - name: proportion", "- plugins:\n  - name: proportion")
    assert len(conf.parse(f"actions: allocate\ntiers:\n- plugins:\n{apart}", ACTIONS).tiers) == 2


def test_a_misspelt_switch_is_a_warning_with_a_suggestion() -> None:
    parsed = conf.parse("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enabledJobOrder: true\n", ACTIONS)

    assert any("'enabledJobOrder'" in w and "'enableJobOrder'" in w for w in parsed.warnings)


def test_the_first_of_several_configurations_of_an_action_counts() -> None:
    text = "actions: allocate\nconfigurations:\n- name: a\n  arguments: {x: 1}\n- name: a\n  arguments: {x: 2}\n"

    assert conf.parse(text, ACTIONS).configurations == {"a": {"x": 1}}


def test_the_default_is_what_upstream_compiles_in() -> None:
    parsed = conf.parse(conf.DEFAULT_CONF, ACTIONS)

    assert parsed.actions == ("enqueue", "allocate", "backfill")
    assert [[option.name for option in tier] for tier in parsed.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]


def test_a_key_that_comes_twice_is_a_warning_and_the_last_counts() -> None:
    text = "actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n    name: drf\nactions: allocate\n"

    parsed = conf.parse(text, ACTIONS)

    assert parsed.actions == ("allocate",)
    assert [option.name for option in parsed.plugins] == ["drf"]
    assert parsed.warnings[:2] == (
        "line 5: the key 'name' is on line 4 already; the last one counts",
        "line 6: the key 'actions' is on line 1 already; the last one counts",
    )
