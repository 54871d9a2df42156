"""`python -m tools.reference`."""

from __future__ import annotations

import argparse
import sys

from tools import reference


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description="Write the reference pages anew.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is not current")
    check = parser.parse_args().check
    stale = []
    for name, text in reference.pages().items():
        path = reference.DOCS / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    if check and stale:
        sys.stderr.write(f"not current: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
