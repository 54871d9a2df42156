"""Every plugin that can be configured is described, with every argument."""

from __future__ import annotations

import re

import msgspec
import pytest

from tests.docs.blocks import ROOT
from volcano.scheduler.framework import registry
from volcano.scheduler.framework.arguments import REST

PAGE = (ROOT / "docs" / "plugins.md").read_text()
PLUGINS = registry.built_in().plugins


def section(name: str) -> str:
    found = re.search(rf"^### {re.escape(name)}\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_a_plugin_says_what_it_is_for(name: str) -> None:
    summary = section(name).strip().partition("\n")[0]

    assert len(summary.split()) > 4, f"docs/plugins.md does not say what plugin {name!r} is for: run `make docs`"


@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_every_argument_is_listed(name: str) -> None:
    fields = [field for field in msgspec.structs.fields(PLUGINS[name].Arguments) if field.name != REST]

    missing = [field.encode_name for field in fields if f"`{field.encode_name}" not in section(name)]

    assert missing == [], f"docs/plugins.md lists no such argument of {name!r}: run `make docs`"
