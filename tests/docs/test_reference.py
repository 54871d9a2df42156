"""Nothing that can be configured, watched or stored is without a page that says what it means."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tools.reference import blocks, crds, flags, messages, metrics

from tests.docs.blocks import ROOT, anchors, blocks as code_of
from volcano.api import crds as schemas
from volcano.scheduler.framework import conf, registry
from volcano.scheduler.framework.arguments import decode

DOCS = ROOT / "docs"
KNOWN = registry.built_in()
PAGES: dict[str, type[Any]] = {f"plugins/{name}.md": kind for name, kind in sorted(KNOWN.plugins.items())}
PAGES |= {f"actions/{name}.md": kind for name, kind in KNOWN.actions.items()}


@pytest.mark.parametrize("path", PAGES)
def test_a_plugin_or_action_says_what_it_does_and_shows_it(path: str) -> None:
    page = DOCS / path
    about, _, rest = page.read_text().partition("\n## Arguments\n")
    assert len(about.split()) > 30, f"{path} says too little"
    assert "## Pitfalls" in rest

    [example, *_] = [block.text for block in code_of(page) if block.language == "yaml"]
    parsed = conf.parse(example, KNOWN.actions)
    assert PAGES[path].name in {*parsed.actions, *(option.name for option in parsed.plugins)}
    said = [(KNOWN.plugins[option.name].Arguments, option.arguments, option.name) for option in parsed.plugins]
    said += [(KNOWN.actions[name].Arguments, given, name) for name, given in parsed.configurations.items()]
    assert [warning for struct, given, name in said for warning in decode(struct, given, name)[1]] == []


@pytest.mark.parametrize("path", PAGES)
def test_every_argument_has_a_meaning(path: str) -> None:
    found = re.search(r"<!-- made: arguments -->\n(.*?)<!-- end -->", (DOCS / path).read_text(), re.DOTALL)
    assert found is not None

    silent = [name for name, meaning in blocks.meanings(found[1]).items() if not meaning]

    assert silent == [], f"docs/{path} does not say what these mean"


@pytest.mark.parametrize("daemon", flags.DAEMONS)
def test_every_flag_has_a_section(daemon: str) -> None:
    page = DOCS / "flags" / f"{daemon}.md"

    missing = [name for name in flags.names(flags.DAEMONS[daemon][0]) if name not in anchors(page)]

    assert missing == []


def test_every_metric_that_the_source_counts_has_a_section() -> None:
    """The page is made from the registries of the daemons; this looks for one that it has forgotten."""
    described = anchors(DOCS / "metrics.md")
    makers = {"counter", "gauge", "histogram", "counters", "gauges", "histograms"}
    counted = [
        node.args[0].value
        for path in (ROOT / "src" / "volcano").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in makers
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    ]

    assert len(counted) > 20
    missing = [name for name in counted if not any(anchor.endswith(name) for anchor in described)]
    assert missing == []


def test_every_metric_says_what_it_counts() -> None:
    silent = [
        about.name for known in metrics.by_daemon().values() for about in known if len(about.help_text.split()) < 2
    ]

    assert silent == []


@pytest.mark.parametrize("kind", crds.kinds(), ids=lambda kind: kind.kind)
def test_every_field_of_a_custom_resource_is_listed(kind: Any) -> None:
    page = (DOCS / "crds" / f"{kind.kind.lower()}.md").read_text()
    fields = set(_fields(schemas.referring_schema(kind))) - {"apiVersion", "kind", "metadata", "spec", "status"}

    missing = [name for name in fields if f".{name}`" not in page and f"`{name}`" not in page]

    assert fields
    assert missing == []


def _fields(schema: Any) -> Iterator[str]:
    for name, node in schema.get("properties", {}).items():
        yield name
        yield from _fields(node)
    for below in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(below, dict):
            yield from _fields(below)


def test_the_chart_sets_only_flags_that_are_described() -> None:
    known = {name for kind, _ in flags.DAEMONS.values() for name in flags.names(kind)} | {"--v", "--logtostderr"}
    documents = yaml.safe_load_all((ROOT / "installer" / "volcano.yaml").read_text())

    given = {
        argument.partition("=")[0]
        for document in documents
        if document and document["kind"] in ("Deployment", "DaemonSet")
        for container in document["spec"]["template"]["spec"]["containers"]
        for argument in container.get("args", [])
        if argument.startswith("--")
    }

    assert given
    assert given - known == set()


@pytest.mark.parametrize("block", messages.makers())
def test_what_to_do_about_every_message(block: str) -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    found = re.search(rf"<!-- made: {block} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert found is not None

    meant = blocks.meanings(found[1])

    assert len(meant) > 20
    assert [message for message, remedy in meant.items() if not remedy] == []
