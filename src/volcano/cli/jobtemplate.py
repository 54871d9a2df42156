"""vcctl jobtemplate: the jobs that flows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from volcano.api.resources import JOB_TEMPLATES
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.manifest_verbs import add_verbs
from volcano.cli.text import columns, fitted

Document = dict[str, Any]

HEADER = ("Name", "Namespace")


@click.group(cls=SuggestingGroup)
def jobtemplate() -> None:
    """Create, list, get, describe and delete templates of jobs."""


def table(templates: Sequence[Document]) -> str:
    """Padded as upstream pads it."""
    return fitted(HEADER, [_row(template) for template in templates], beyond_title=4, beyond_value=4)


def wide_table(templates: Sequence[Document]) -> str:
    """With the tasks, and the jobs that were made from each."""
    rows = []
    for template in templates:
        spec, status = template.get("spec") or {}, template.get("status") or {}
        tasks = ",".join(f"{task.get('name', '')}×{task.get('replicas', 0)}" for task in spec.get("tasks") or ())
        rows.append(
            [*_row(template), spec.get("queue", ""), tasks, ",".join(status.get("jobDependsOnList") or ()) or "-"]
        )
    return columns((*HEADER, "Queue", "Tasks", "Jobs"), rows)


def _row(template: Document) -> list[object]:
    return [template["metadata"]["name"], template["metadata"].get("namespace", "")]


add_verbs(jobtemplate, JOB_TEMPLATES, "job template", table, wide_table)
