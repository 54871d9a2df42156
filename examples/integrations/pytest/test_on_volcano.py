"""Tests with a cluster of their own: `pytest test_on_volcano.py`."""

from __future__ import annotations

from volcano import Client


def test_a_gang_gives_a_result_for_each_member(volcano_client: Client) -> None:
    assert volcano_client.submit(pow, 2, 5, nodes=3).result(30) == [32, 32, 32]
