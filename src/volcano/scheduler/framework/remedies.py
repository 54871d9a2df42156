"""What a person could change so that a job gets on: one sentence for each code of a reason.

reasons.py has the records; `vcctl explain` and `vcctl schedule` print the sentence beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from volcano.scheduler.framework.reasons import OF_QUEUES, Reason

_BY_CODE: Final = {
    "ActionFailed": "look into the scheduler's log, and report the failure to the author of {blocker}",
    "ClusterFull": "wait for room, ask for less, or add nodes",
    "ClusterOverused": "wait for room, ask for less (spec.minResources), or raise overcommit-factor",
    "ExtenderRefused": "ask whoever runs the scheduler extender",
    "HyperNodesNotReady": "correct the HyperNodes, or drop spec.networkTopology",
    "LargerThanAnyNode": "ask for less per pod, or add a larger node: waiting does not help",
    "LargerThanCluster": "ask for less, or add nodes: waiting does not help",
    "NoCpus": "ask for fewer exclusive CPUs, or relax the NUMA policy of the pods",
    "NoDomainFits": "wait for room in one domain, allow a higher tier (spec.networkTopology), or ask for less",
    "NoDevices": "ask for fewer devices, or add nodes that have them",
    "NotAdmittedToPreempt": "wait for room, or set enableJobEnqueued: false for {blocker}: then preempt makes room",
    "NotEnqueued": "wait for its turn in the queue",
    "NotEnoughPodsOfTask": "create the missing pods, or lower the minimum of the role (minTaskMember)",
    "NotEnoughTasks": "create the missing pods, or lower minMember to the number of pods that exist",
    "NotTried": "wait, or add the action backfill: it places pods that ask for nothing",
    "PluginFailed": "correct plugin {blocker}, or remove it from the configuration: the scheduler's log has more",
    "PodGroupNotFound": "create podgroup {blocker}, or correct the pods' annotation scheduling.k8s.io/group-name",
    "PriorityTooLow": "wait for {blocker} to finish, or give the job a higher priorityClassName",
    "QueueMisplaced": "use a queue without children whose parents all exist",
    "QueueNotFound": "create queue {blocker}, or name another one (spec.queue)",
    "QueueNotOpen": "open queue {blocker}, or submit to another one",
    "QueueOverused": "wait for jobs of queue {blocker} to finish, or raise its weight or what it deserves",
    "QueueQuotaExceeded": "wait for jobs of queue {blocker} to finish, raise what it may use, or ask for less",
    "ResourceClaim": "check the pod's ResourceClaims, their DeviceClass, and what the nodes' drivers offer",
    "ResourceQuotaExceeded": "raise ResourceQuota {blocker}, or ask for less",
    "SchedulingGated": "remove the scheduling gates of the pods (spec.schedulingGates), or wait for whoever does",
    "TierUnknown": "name a tier that a HyperNode has (spec.networkTopology.highestTierName)",
    "VolumeBindingFailed": "create a volume that the claim can be bound to, or another storage class",
    "VolumeNotReady": "create the missing claim, or wait until it is bound",
    "WaitingForRoom": "wait until pods that are being removed have gone from {blocker}: nothing else is missing",
}

_NOT_STARTED: Final = (
    "wait for room, correct or delete what cannot start ({blocker}), ask for less (spec.minResources), "
    "or raise overcommit-factor"
)
"""Where admitted jobs hold the room."""
_NOWHERE: Final = "ask for no {resource}, or add nodes that have it: waiting does not help"
"""Where no node has any of what is asked for."""

_BY_NODE_TEXT: Final = (
    ("plugin ", "correct the plugin, or remove it from the configuration: the scheduler's log has more"),
    ("Too many pods", "wait for room, or raise the nodes' limit of pods"),
    ("node affinity/selector", "label nodes as the pods ask, or change their nodeSelector and node affinity"),
    (
        "devices have untolerated taint",
        "let the claims tolerate it, or remove it (DeviceTaintRule, ResourceSlice)",
    ),
    ("taint", "let the pods tolerate the taint, or remove it from the nodes"),
    ("unschedulable", "uncordon nodes"),
    ("free ports", "use other host ports, or add nodes"),
    ("affinity rules", "relax the pods' affinity to other pods, or add nodes"),
    ("topology spread", "relax the pods' topologySpreadConstraints, or add nodes in the domains that lack them"),
    ("volume", "check the pods' volume claims and where their volumes can be used"),
    ("persistentvolumeclaim", "create the claim, or correct its name in the pods"),
    ("node group", "give the queue an affinity to node groups (spec.affinity), and nodes the label of their group"),
    ("node shard", "wait until the shard gets nodes, or use another scheduler"),
    ("GPU", "ask for less of the devices, or add nodes that have them"),
    ("device", "ask for less of the devices, or add nodes that have them"),
)
_TOO_LARGE: Final = ("LargerThanAnyNode", "LargerThanCluster")
_OF_NODES: Final = ("ClusterFull", "NoNodeFits")
_INSUFFICIENT: Final = "Insufficient "
_OTHERWISE: Final = "wait for room, or ask for less"


def remedy(reason: Reason) -> str:
    """About the innermost cause that something can be done about."""
    cause = reason.cause
    if cause is not None and cause.code in OF_QUEUES and reason.code in _OF_NODES:
        own = remedy(replace(reason, cause=None))
        return f"{own}; if queue {cause.blocker} is then still at its limit, raise what it may use"
    inner = remedy(reason.cause) if reason.cause is not None else ""
    if inner and inner != _OTHERWISE:
        return inner
    if reason.code == "ClusterOverused" and reason.blocker:
        return _NOT_STARTED.format(blocker=reason.blocker)
    if reason.code in _TOO_LARGE and reason.resource and not reason.have:
        return _NOWHERE.format(resource=reason.resource)
    if reason.code in _BY_CODE:
        return _BY_CODE[reason.code].format(blocker=reason.blocker or "it")
    most_first = sorted(reason.nodes, key=lambda pair: -pair[1])
    for text, _ in most_first:
        if text.startswith(_INSUFFICIENT):
            return f"ask for less {text.removeprefix(_INSUFFICIENT)} per pod, wait for room, or add nodes"
        for part, advice in _BY_NODE_TEXT:
            if part in text:
                return advice
    return _OTHERWISE
