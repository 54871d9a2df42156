"""`python -m volcano.local.builtin`."""

from __future__ import annotations

import sys

from volcano.local.builtin.main import main

sys.exit(main())
