"""Entry of `python -m volcano.local.apiserver`."""

import sys

from volcano.local.apiserver.main import main

sys.exit(main())
