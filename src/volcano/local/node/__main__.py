"""`python -m volcano.local.node`."""

from __future__ import annotations

import sys

from volcano.local.node.main import main

sys.exit(main())
