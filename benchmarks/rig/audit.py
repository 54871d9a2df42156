"""Who asked kube-apiserver what: its audit log, counted by program."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
"""


class Target(msgspec.Struct, rename="camel"):
    resource: str = ""
    subresource: str = ""


class Entry(msgspec.Struct, rename="camel"):
    verb: str = ""
    user_agent: str = ""
    object_ref: Target | None = None


class Audit:
    """The log of one server. `mark` forgets what was so far."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._policy, self._log = root / "audit-policy.yaml", root / "audit.log"
        self._policy.write_text(POLICY)
        self._start = 0

    def flags(self) -> tuple[str, ...]:
        return f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}"

    def mark(self) -> None:
        self._start = self._log.stat().st_size

    def by_program(self) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {}
        with self._log.open("rb") as log:
            log.seek(self._start)
            for line in log:
                entry = msgspec.json.decode(line, type=Entry)
                if entry.object_ref is None or entry.verb == "watch":
                    continue
                target = entry.object_ref
                what = f"{entry.verb} {target.resource}{'/' if target.subresource else ''}{target.subresource}"
                program = entry.user_agent.partition("/")[0].partition(" ")[0]
                found.setdefault(program, Counter())[what] += 1
        return {program: dict(counts.most_common()) for program, counts in sorted(found.items())}
