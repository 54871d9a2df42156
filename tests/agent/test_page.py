"""What docs/agent.md shows is understood, and its commands run."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from tests.agent import namespaces
from tests.agent.test_shaper import command
from tests.docs.blocks import ROOT, Block, blocks
from volcano.agent.configuration import read
from volcano.agent.options import FEATURES, parse
from volcano.agent.qos import BatchNames, offline, requested
from volcano.api.core.pods import Pod

PAGE = ROOT / "docs" / "agent.md"
BLOCKS = blocks(PAGE)


def of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def lines(program: str) -> list[list[str]]:
    """The arguments of each call of a program."""
    every = [line.replace("'", "").split() for block in of("console") for line in block.text.splitlines()]
    return [words[1:] for words in every if words[0] == program]


def test_the_configuration_means_what_it_says() -> None:
    [block] = of("json")
    everywhere, mixed = read(block.text, {}), read(block.text, {"pool": "mixed"})
    assert everywhere.network_qos_config.enable
    assert not everywhere.cpu_burst_config.enable
    assert mixed.cpu_burst_config.enable
    assert mixed.memory_qos_v2_config.enable
    assert read(block.text, {}) == everywhere


def test_the_pod_is_a_batch_pod() -> None:
    [block] = of("yaml")
    pod = msgspec.convert(yaml.safe_load(block.text), Pod)
    assert offline(pod)
    assert (requested(pod, BatchNames()).cpu, requested(pod, BatchNames()).memory) == (500, 256 << 20)


def test_the_agent_understands_its_flags() -> None:
    [arguments] = lines("vc-agent")
    assert parse(arguments, {}).features == set(FEATURES)


def test_every_feature_is_in_the_table() -> None:
    assert [name for name in FEATURES if f"| `{name}` |" not in PAGE.read_text()] == []


def test_the_commands_of_the_network_run() -> None:
    calls = lines("network-qos")
    assert calls
    with namespaces.node("10.99.0.2") as node:
        for arguments in calls:
            status, _, errors = command(node, *arguments)
            if status:
                pytest.fail(errors)
