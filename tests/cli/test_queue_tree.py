"""vcctl queue tree: queues as a tree, with what each may use and uses."""

from __future__ import annotations

from volcano.cli.queue_tree import branch, drawn


def test_amounts_are_drawn_as_people_write_them() -> None:
    queue = {
        "metadata": {"name": "default"},
        "spec": {"weight": 1, "capability": {"cpu": "1500m", "memory": "8Gi"}},
        "status": {"state": "Open", "allocated": {"cpu": "1", "memory": "419430400"}},
    }

    text = drawn(branch([queue], {}))

    assert "cpu=1,memory=400Mi" in text
    assert "cpu=1500m,memory=8Gi" in text
