"""Which template a job was made from.

Pure. Used by controller.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys

if TYPE_CHECKING:
    from volcano.api.meta import ObjectMeta


def template_of(job: ObjectMeta) -> str:
    """The key (`namespace/name`) of the template; empty for a job that was made otherwise.

    Labels of long names are shortened, annotations are not; a namespace has no dots, a name may have.
    """
    label = job.labels.get(keys.CREATED_BY_JOB_TEMPLATE, "")
    annotation = job.annotations.get(keys.CREATED_BY_JOB_TEMPLATE, "")
    if not label:
        return ""
    namespace, _, name = (annotation if len(annotation) > len(label) else label).partition(".")
    return f"{namespace}/{name}" if name else ""
