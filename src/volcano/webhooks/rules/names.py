"""What Kubernetes accepts as a name, label key or label value: each function lists what is wrong.

Texts are those of the Kubernetes API; an empty list means that the name is good.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253

_QUALIFIED: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = rf"({_QUALIFIED})?"
_DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")

_qualified = re.compile(_QUALIFIED)
_label_value = re.compile(_LABEL_VALUE)
_dns_label = re.compile(_DNS_LABEL)
_subdomain = re.compile(_SUBDOMAIN)
_port_characters = re.compile(r"[-a-z0-9]+")


def _shape(what: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{what} (e.g. {shown}regex used for validation is '{pattern}')"


_QUALIFIED_SHAPE: Final = _shape(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_SHAPE: Final = _shape(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_DNS_LABEL_SHAPE: Final = _shape(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _DNS_LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_SHAPE: Final = _shape(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_ENV_NAME_SHAPE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


def qualified_name(name: str) -> list[str]:
    """Label and annotation keys, resource names: an optional subdomain, a slash, a name."""
    prefix, slash, last = name.rpartition("/")
    if slash and "/" in prefix:
        return [
            "a qualified name "
            + _QUALIFIED_SHAPE
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in subdomain(prefix)]
    if not last:
        errors.append("name part must be non-empty")
    elif len(last) > LABEL_LIMIT:
        errors.append(f"name part {_at_most(LABEL_LIMIT)}")
    if not _qualified.fullmatch(last):
        errors.append(f"name part {_QUALIFIED_SHAPE}")
    return errors


def label_value(value: str) -> list[str]:
    errors = [_at_most(LABEL_LIMIT)] if len(value) > LABEL_LIMIT else []
    if not _label_value.fullmatch(value):
        errors.append(_LABEL_VALUE_SHAPE)
    return errors


def dns_label(name: str) -> list[str]:
    errors = [_at_most(LABEL_LIMIT)] if len(name) > LABEL_LIMIT else []
    if not _dns_label.fullmatch(name):
        errors.append(_DNS_LABEL_SHAPE)
    return errors


def subdomain(name: str) -> list[str]:
    errors = [_at_most(SUBDOMAIN_LIMIT)] if len(name) > SUBDOMAIN_LIMIT else []
    if not _subdomain.fullmatch(name):
        errors.append(_SUBDOMAIN_SHAPE)
    return errors


def env_name(name: str) -> list[str]:
    return [] if _ENV_NAME.fullmatch(name) else [_ENV_NAME_SHAPE]


def port_name(name: str) -> list[str]:
    errors = [_at_most(15)] if len(name) > 15 else []
    if not _port_characters.fullmatch(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def _at_most(limit: int) -> str:
    return f"must be no more than {limit} characters"
