"""The configuration in force: hot reload, and what a bad file does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from volcano.scheduler.daemon.reload import Configuration
from volcano.scheduler.framework.conf import ConfError

PLUGIN = """
from volcano.scheduler.framework.plugin import Plugin

class Shy(Plugin):
    name = "shy"

    def job_order(self, job):
        return {rank}
"""


def touch(path: Path, text: str, when: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(when, when))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "conf.yaml"
    touch(file, "actions: enqueue, allocate", 1)
    configuration = Configuration(str(file))
    assert configuration.conf.actions == ("enqueue", "allocate")
    assert configuration.refresh() is False

    touch(file, "actions: allocate", 2)

    assert configuration.refresh() is True
    assert configuration.conf.actions == ("allocate",)


def test_a_bad_file_keeps_the_last_good_one_and_says_so(tmp_path: Path) -> None:
    outcomes: list[str] = []
    file = tmp_path / "conf.yaml"
    touch(file, "actions: allocate", 1)
    configuration = Configuration(str(file), on_reload=lambda outcome, _: outcomes.append(outcome))

    touch(file, "actions: alocate", 2)

    assert configuration.refresh() is False
    assert configuration.conf.actions == ("allocate",)
    assert "'alocate': did you mean 'allocate'" in configuration.problem
    assert outcomes == ["loaded", "rejected"]


def test_a_config_map_that_swaps_its_link_is_noticed(tmp_path: Path) -> None:
    for number, actions in enumerate(("allocate", "enqueue")):
        (tmp_path / f"v{number}").mkdir()
        touch(tmp_path / f"v{number}" / "conf.yaml", f"actions: {actions}", number + 1)
    link = tmp_path / "..data"
    link.symlink_to(tmp_path / "v0")
    (tmp_path / "conf.yaml").symlink_to(link / "conf.yaml")
    configuration = Configuration(str(tmp_path / "conf.yaml"))

    link.unlink()
    link.symlink_to(tmp_path / "v1")

    assert configuration.refresh() is True
    assert configuration.conf.actions == ("enqueue",)


def test_without_a_file_the_default_is_in_force() -> None:
    assert Configuration("").conf.actions == ("enqueue", "allocate", "backfill")


def test_a_file_that_must_be_there_and_is_not_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfError, match="nowhere"):
        Configuration(str(tmp_path / "nowhere"), required=True)


def test_plugins_of_a_directory_are_loaded_and_reloaded(tmp_path: Path) -> None:
    touch(tmp_path / "shy.py", PLUGIN.format(rank=1), 1)
    configuration = Configuration("", plugins_dir=str(tmp_path))
    assert configuration.registry.plugins["shy"]().job_order(None) == 1  # type: ignore[arg-type]

    touch(tmp_path / "shy.py", PLUGIN.format(rank=2), 2)

    assert configuration.refresh()
    assert configuration.registry.plugins["shy"]().job_order(None) == 2  # type: ignore[arg-type]


def test_a_plugin_that_cannot_be_read_leaves_the_others_until_it_is_mended(tmp_path: Path) -> None:
    touch(tmp_path / "shy.py", PLUGIN.format(rank=1), 1)
    outcomes: list[str] = []
    configuration = Configuration(
        "", plugins_dir=str(tmp_path), on_reload=lambda outcome, _message: outcomes.append(outcome)
    )

    touch(tmp_path / "shy.py", "class Shy(", 2)
    assert not configuration.refresh()
    assert "shy.py: cannot be loaded: SyntaxError" in configuration.problem
    assert "shy" in configuration.registry.plugins
    touch(tmp_path / "shy.py", PLUGIN.format(rank=1), 3)
    assert configuration.refresh()

    assert (outcomes, configuration.problem) == (["rejected", "loaded"], "")
