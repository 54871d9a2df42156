"""The resource-group file: a key that comes twice is remarked by the daemon and refused by vcctl."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from volcano.cli.errors import CommandError
from volcano.cli.validate import settings_of
from volcano.webhooks.groups import followed

TWICE = "resourceGroups:\n- resourceGroup: ml\n  labels: {pool: a}\n  labels: {pool: b}\n"
REMARK = "line 4: the key 'labels' is on line 3 already; the last one counts"


def test_a_daemon_goes_on_with_the_last_of_two_keys_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "admission.conf"
    path.write_text(TWICE)

    with caplog.at_level(logging.WARNING):
        groups = followed(path).value

    assert groups is not None
    assert groups[0].labels == {"pool": "b"}
    assert caplog.messages == [f"{path}: {REMARK}"]


def test_vcctl_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "admission.conf"
    path.write_text(TWICE)

    with pytest.raises(CommandError) as raised:
        settings_of((), admission_conf=path)

    assert str(raised.value) == f"{path}: {REMARK}"
