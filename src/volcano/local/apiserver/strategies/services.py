"""Services: an address that stays theirs, ports with names. Nothing routes to them."""

from __future__ import annotations

import ipaddress
import zlib
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause, required, unsupported
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

_NETWORK = ipaddress.ip_network("10.96.0.0/12")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PORT_RULE = "must be between 1 and 65535, inclusive"


class ServiceStrategy(Strategy):
    """core/v1 Services."""

    def default(self, document: JsonObject) -> None:
        spec = document.setdefault("spec", {})
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        if spec["type"] != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port.get("port"))

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        spec, meta = document["spec"], document["metadata"]
        document["status"] = {"loadBalancer": {}}
        if spec["type"] == "ExternalName":
            return
        if not spec.get("clusterIP"):
            number = zlib.crc32(f"{meta.get('namespace')}/{meta['name']}".encode()) % (_NETWORK.num_addresses - 2)
            spec["clusterIP"] = str(_NETWORK[number + 1])
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if field in old["spec"]:
                new["spec"].setdefault(field, old["spec"][field])

    def validate(self, document: JsonObject) -> list[Cause]:
        spec = document["spec"]
        causes = super().validate(document)
        if spec["type"] not in _TYPES:
            causes.append(unsupported("spec.type", spec["type"], _TYPES))
        if spec["type"] == "ExternalName":
            return causes if spec.get("externalName") else [*causes, required("spec.externalName")]
        ports = spec.get("ports") or []
        if not ports and spec.get("clusterIP") != "None":
            causes.append(required("spec.ports"))
        names: set[str] = set()
        for index, port in enumerate(ports):
            causes += _port_causes(port, f"spec.ports[{index}]", names, alone=len(ports) == 1)
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        before, now = old["spec"].get("clusterIP"), new["spec"].get("clusterIP")
        if before and now != before and "ExternalName" not in (new["spec"]["type"], old["spec"]["type"]):
            shown = msgspec.json.encode([now]).decode()
            return [cause("spec.clusterIPs[0]", f"Invalid value: {shown}: may not change once set")]
        return self.validate(new)


def _port_causes(port: JsonObject, field: str, names: set[str], *, alone: bool) -> list[Cause]:
    causes = []
    name = port.get("name")
    if not name and not alone:
        causes.append(required(f"{field}.name"))
    elif name and name in names:
        causes.append(cause(f"{field}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
    names.add(name or "")
    for key in ("port", "targetPort"):
        number = port.get(key)
        if isinstance(number, int) and not 0 < number < 65536:
            causes.append(cause(f"{field}.{key}", f"Invalid value: {number}: {_PORT_RULE}"))
    return causes
