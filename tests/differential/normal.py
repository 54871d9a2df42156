"""What a server makes up (uids, versions, times, generated names), replaced by names in the order of appearance."""

from __future__ import annotations

import re
from typing import Any

Document = dict[str, Any]

SHORT_NAME = "https://kubernetes.default.svc"
LONG_NAME = SHORT_NAME + ".cluster.local"
"""Who issues tokens: clusters may be set up with either."""

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_CREDENTIAL = re.compile(r"JTI=[0-9a-f-]{36}")
_AGE = re.compile(r"(<unknown>|(\d+[smhd])+)")
_ADDRESS = re.compile(r"10(\.\d+){3}")
_RECORD = re.compile(r"in record \(\d+\)")
_LIST_FIELDS = {"continue", "resourceVersion", "remainingItemCount", "selfLink"}


def _by_manager(entry: Document) -> tuple[str, ...]:
    """Kubernetes sorts by time, to the second; conversations are faster than that."""
    return tuple(str(entry.get(name, "")) for name in ("manager", "operation", "subresource", "apiVersion"))


class Names:
    """The names of one conversation: "uid of a", "version 2 of a"; a later object of the same name is "a again"."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        self._versions: dict[tuple[str, str], str] = {}

    def normal(self, value: Any, key: str = "") -> Any:
        """`value` without what a server made up."""
        if isinstance(value, dict):
            return self._document(value, key)
        if isinstance(value, list):
            return [self.normal(item, key) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def event(self, event: Document) -> Document:
        normal = self.normal(event)
        if event["type"] == "BOOKMARK":
            normal["object"]["metadata"]["resourceVersion"] = "version"
        return normal

    def text(self, text: str) -> str:
        text = _TOKEN.sub("token", text.replace(self._namespace, "{ns}").replace(LONG_NAME, SHORT_NAME))
        text = _CREDENTIAL.sub("JTI=credential", text)
        text = _UID.sub(lambda found: self._uids.get(found[0], found[0]), text)
        text = _RECORD.sub("in record (version)", text)
        return _ADDRESS.sub("address", _TIME.sub("time", text))

    def _document(self, document: Document, key: str) -> Document:
        if key == "metadata" and set(document) <= _LIST_FIELDS:
            return {
                name: value if name == "remainingItemCount" else "some" if value else value
                for name, value in document.items()
            }
        if key == "metadata":
            self._meet(document)
        normal = {name: self.normal(value, name) for name, value in document.items()}
        if key == "metadata":
            if version := document.get("resourceVersion"):
                normal["resourceVersion"] = self._version(document, version)
            if base := document.get("generateName"):
                normal["name"] = f"{base}*"
            if "managedFields" in document:
                normal["managedFields"] = sorted(normal["managedFields"], key=_by_manager)
        if document.get("kind") == "Table":
            normal["rows"] = [self._row(row) for row in normal.get("rows") or ()]
        return normal

    def _row(self, row: Document) -> Document:
        cells = ["age" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell for cell in row["cells"]]
        return {**row, "cells": cells}

    def _meet(self, metadata: Document) -> None:
        uid, name = metadata.get("uid"), metadata.get("generateName") or metadata.get("name", "")
        if not isinstance(uid, str) or uid in self._uids:
            return
        title = f"uid of {self.text(str(name))}"
        while title in self._uids.values():
            title += " again"
        self._uids[uid] = title

    def _version(self, metadata: Document, version: str) -> str:
        """Which version of its object this is, counted from the first one seen."""
        owner = str(metadata.get("uid") or metadata.get("name"))
        if (owner, version) not in self._versions:
            number = 1 + sum(known == owner for known, _ in self._versions)
            self._versions[owner, version] = (
                f"version {number} of {self._uids.get(owner, owner).removeprefix('uid of ')}"
            )
        return self._versions[owner, version]
