"""The documentation is true: commands and code run, links lead somewhere, generated pages are current."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from tools import reference

from tests.docs.blocks import PAGES, ROOT, Block, anchors, blocks, links
from volcano.cli.main import vcctl
from volcano.local import cluster
from volcano.local.layout import Layout
from volcano.local.node.shutdown import stop_pods
from volcano.scheduler.framework import conf, registry

GENERATED = ("vcctl.md", "sdk-reference.md")
READ = [
    [ROOT / "README.md", ROOT / "docs" / "tutorial.md"],  # who has tried the one goes on with the other
    *([ROOT / "docs" / name] for name in ("cookbook.md", "custom-plugins.md", "local-mode.md", "moving/slurm.md")),
]
"""Pages whose commands and programs run, from top to bottom; each entry in a shell and a home of its own."""
RUN = [page for pages in READ for page in pages]
QUEUES = [
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}}
    for name in ("default", "cohort")
]
"""What examples of manifests may refer to."""
NOT_RUN = ("make ", ". .venv/")

ALL = [block for page in PAGES for block in blocks(page)]


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each vcctl command of a shell block, up to the first operator of the shell."""
    for line in block.text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.commenters = "#"
        words = list(lexer)
        if words[:1] == ["vcctl"]:
            end = next((index for index, word in enumerate(words) if set(word) <= set("|&;<>()")), len(words))
            yield words[1:end]


def of_language(*languages: str) -> list[Block]:
    return [block for block in ALL if block.language in languages and block.page.name not in GENERATED]


@pytest.mark.parametrize("block", of_language("", "sh", "console"), ids=str)
def test_commands_are_understood(block: Block) -> None:
    for words in commands(block):
        if any("…" in word or word.isupper() for word in words):
            continue  # a description of a command, not one
        command: click.Command | None = vcctl
        context, rest = click.Context(vcctl, info_name="vcctl"), words
        while isinstance(command, click.Group):
            name, *rest = rest
            command = command.get_command(context, name)
            assert command is not None, f"vcctl has no command {name!r}"
        command.make_context(command.name, rest, parent=context)


@pytest.mark.parametrize("block", of_language("yaml"), ids=str)
def test_yaml_is_understood(block: Block) -> None:
    documents = list(yaml.safe_load_all(block.text))
    if "tiers" in documents[0]:
        built_in = registry.built_in()
        parsed = conf.parse(block.text, built_in.actions)
        assert parsed.warnings == ()
        assert {option.name for option in parsed.plugins} <= built_in.plugins.keys()
    for document in documents:
        if ".volcano.sh/" in document.get("apiVersion", ""):
            done = CliRunner().invoke(vcctl, ["validate", "-f", "-"], input=yaml.safe_dump_all([*QUEUES, document]))
            assert done.exit_code == 0, done.output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"


def test_every_page_is_found_from_the_readme() -> None:
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
    assert set(PAGES) - found == set()


@pytest.mark.xdist_group("docs")
@pytest.mark.timeout(600)
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", *["-W", "--keep-going", "-n", "-q", "-b", "html", "docs"], str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plugins" / "gang.html").exists()


def test_what_the_program_knows_is_current() -> None:
    stale = [name for name, text in reference.pages().items() if (reference.DOCS / name).read_text() != text]

    assert stale == [], "run `make docs`"


def typed(block: Block) -> Iterator[str]:
    """The lines of a block as a person would type them into a shell; code in Python goes into a program."""
    if block.language == "python":
        yield from ("python - <<'END'", *block.text.splitlines(), "END")
    elif block.language == "":
        yield from (line for line in block.text.splitlines() if not line.startswith(NOT_RUN))


@pytest.mark.xdist_group("docs")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pages", READ, ids=lambda pages: pages[-1].name)
def test_commands_do_what_the_page_says(pages: list[Path], tmp_path: Path) -> None:
    lines = [line for page in pages for block in blocks(page) for line in typed(block)]
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    for name in ("KUBECONFIG", "VOLCANO_HOME"):
        environment.pop(name, None)
    script = "\n".join(["set -eu", "trap 'vcctl local down >/dev/null' EXIT", *lines])
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


@pytest.mark.xdist_group("docs")
@pytest.mark.parametrize("block", [block for block in of_language("python") if block.page not in RUN], ids=str)
def test_code_runs(block: Block, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "VOLCANO_HOME")}
    program = tmp_path / "program.py"
    program.write_text(block.text)
    try:
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**clean, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        layout = Layout(tmp_path / ".volcano" / "local")
        cluster.stop(layout)
        stop_pods(layout.node)
    assert done.returncode == 0, done.stderr
