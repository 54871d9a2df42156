"""What jobs run on where nothing is said: upstream's choice. Apart from `build`, so that help texts load no more."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "busybox"
RESOURCES: Final = "cpu=1000m,memory=100Mi"
"""Of a pod, as `amounts.parse_resources` reads them."""
