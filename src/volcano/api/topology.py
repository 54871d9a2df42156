"""topology.volcano.sh/v1alpha1: HyperNode, a domain of nodes (or of smaller domains) that talk fast to each other."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from volcano.api.constraints import DNS_SUBDOMAIN, Schema
from volcano.api.meta import Condition, LabelSelector, Model, ObjectMeta

NODE: Final = "Node"
HYPER_NODE: Final = "HyperNode"
MEMBER_TYPES: Final = (NODE, HYPER_NODE)

SELECTOR_RULES: Final = (
    (
        "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
        "Either ExactMatch or RegexMatch or LabelMatch must be specified",
    ),
    (
        "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) + (has(self.labelMatch) ? 1 : 0) <= 1",
        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    ),
)


class ExactMatch(Model, kw_only=True):
    name: Annotated[
        str, Schema(required=True, min_length=1, max_length=253, pattern=DNS_SUBDOMAIN, doc="Name of the member.")
    ] = ""


class RegexMatch(Model, kw_only=True):
    pattern: Annotated[str, Schema(required=True, min_length=1, doc="Pattern of the members' names.")] = ""


class MemberSelector(Model, kw_only=True):
    exact_match: Annotated[ExactMatch | None, Schema(doc="One member by name.")] = None
    regex_match: Annotated[RegexMatch | None, Schema(doc="Members by a pattern of names.")] = None
    label_match: Annotated[
        LabelSelector | None, Schema(map_type="atomic", doc="Nodes by their labels; not for hypernodes.")
    ] = None


class MemberSpec(Model, kw_only=True):
    type: Annotated[str, Schema(required=True, enum=MEMBER_TYPES, doc="What the members are.")] = ""
    selector: Annotated[MemberSelector, Schema(rules=SELECTOR_RULES, doc="Which ones.")] = field(
        default_factory=MemberSelector
    )


class HyperNodeSpec(Model, kw_only=True):
    tier: Annotated[int, Schema(required=True, minimum=0, doc="Distance inside the domain: lower is closer.")] = 0
    tier_name: Annotated[str, Schema(max_length=253, doc="Name of the tier.")] = ""
    members: Annotated[list[MemberSpec], Schema(min_items=1, doc="What the domain consists of.")] = []


class HyperNodeStatus(Model, kw_only=True):
    conditions: Annotated[list[Condition], Schema(doc="State of the domain.")] = []
    node_count: Annotated[int, Schema(format="int64", minimum=0, doc="Nodes in the domain.")] = 0


class HyperNode(Model, kw_only=True):
    """A domain of nodes that talk fast to each other."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[HyperNodeSpec, Schema(doc="The domain.")] = field(default_factory=HyperNodeSpec)
    status: Annotated[HyperNodeStatus, Schema(doc="What was found.")] = field(default_factory=HyperNodeStatus)
