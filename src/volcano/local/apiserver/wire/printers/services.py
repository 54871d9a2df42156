"""Services and network objects, and the configuration pods read: config maps, secrets, service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.wire.printers.columns import NONE, UNSET, age_of, name_of, printer, selector_text

if TYPE_CHECKING:
    from datetime import datetime

    from volcano.api.meta import JsonObject

_SHOWN_ENDPOINTS = 3


def _config_map(item: JsonObject, now: datetime) -> list[Any]:
    count = len(item.get("data") or ()) + len(item.get("binaryData") or ())
    return [name_of(item), count, age_of(item, now)]


def _secret(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), item.get("type", ""), len(item.get("data") or ()), age_of(item, now)]


def _service_account(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), len(item.get("secrets") or ()), age_of(item, now)]


def _service(item: JsonObject, now: datetime) -> list[Any]:
    spec = item.get("spec") or {}
    kind = spec.get("type") or "ClusterIP"
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP")]
    return [
        name_of(item),
        kind,
        (addresses[0] or NONE) if kind != "ExternalName" else spec.get("clusterIP") or NONE,
        _external_address(item, spec, kind),
        _service_ports(spec.get("ports") or []),
        age_of(item, now),
        selector_text(spec.get("selector")),
    ]


def _external_address(item: JsonObject, spec: JsonObject, kind: str) -> str:
    external = [str(address) for address in spec.get("externalIPs") or ()]
    if kind == "ExternalName":
        return str(spec.get("externalName") or NONE)
    if kind == "LoadBalancer":
        ingress = ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        balanced = [str(entry.get("ip") or entry.get("hostname") or "") for entry in ingress]
        return ",".join(balanced + external) or "<pending>"
    return ",".join(external) or NONE


def _service_ports(ports: list[JsonObject]) -> str:
    texts = []
    for port in ports:
        number, protocol = str(port.get("port", "")), port.get("protocol") or "TCP"
        texts.append(f"{number}:{port['nodePort']}/{protocol}" if port.get("nodePort") else f"{number}/{protocol}")
    return ",".join(texts) or NONE


def _endpoints(item: JsonObject, now: datetime) -> list[Any]:
    found: list[str] = []
    for subset in item.get("subsets") or ():
        ports = subset.get("ports") or []
        hosts = [str(address.get("ip")) for address in subset.get("addresses") or ()]
        found += [f"{host}:{port.get('port')}" for port in ports for host in hosts] if ports else hosts
    return [name_of(item), _first_few(found) or NONE, age_of(item, now)]


def _endpoint_slice(item: JsonObject, now: datetime) -> list[Any]:
    ports = [str(port.get("port", "*")) for port in item.get("ports") or ()]
    hosts = [str(host) for endpoint in item.get("endpoints") or () for host in endpoint.get("addresses") or ()]
    return [
        name_of(item),
        item.get("addressType", ""),
        _first_few(ports) or UNSET,
        _first_few(hosts) or UNSET,
        age_of(item, now),
    ]


def _first_few(items: list[str]) -> str:
    shown = ",".join(items[:_SHOWN_ENDPOINTS])
    hidden = len(items) - _SHOWN_ENDPOINTS
    return f"{shown} + {hidden} more..." if hidden > 0 else shown


def _ingress(item: JsonObject, now: datetime) -> list[Any]:
    spec = item.get("spec") or {}
    hosts = [str(rule["host"]) for rule in spec.get("rules") or () if rule.get("host")]
    entries = ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    addresses = [str(entry.get("ip") or entry.get("hostname") or "") for entry in entries]
    return [
        name_of(item),
        spec.get("ingressClassName") or NONE,
        _first_few(hosts) or "*",
        ",".join(addresses),
        "80, 443" if spec.get("tls") else "80",
        age_of(item, now),
    ]


def _network_policy(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), selector_text((item.get("spec") or {}).get("podSelector")), age_of(item, now)]


CONFIG_MAPS = printer(_config_map, "Data,Age")
SECRETS = printer(_secret, "Type,Data,Age")
SERVICE_ACCOUNTS = printer(_service_account, "Secrets,Age")
SERVICES = printer(_service, "Type,Cluster-IP,External-IP,Port(s),Age", "Selector")
ENDPOINTS = printer(_endpoints, "Endpoints,Age")
ENDPOINT_SLICES = printer(_endpoint_slice, "AddressType,Ports,Endpoints,Age")
INGRESSES = printer(_ingress, "Class,Hosts,Address,Ports,Age")
NETWORK_POLICIES = printer(_network_policy, "Pod-Selector,Age")
