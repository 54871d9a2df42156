"""What Kubernetes itself would say about a pod template, said before any pod is created from it.

`errors` is the entry; the files beside it take containers, resources, volumes and placement.
"""

from __future__ import annotations

from volcano.webhooks.rules.template.spec import errors

__all__ = ["errors"]
