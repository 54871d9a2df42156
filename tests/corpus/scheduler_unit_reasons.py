"""Recorded functions that have no counterpart here, each with the reason: rules about functions, never about cases."""

from __future__ import annotations

_LIVE = "the cluster is live and changed in place: there are no copies to make or to compare"
_NUMPY = "amounts are NumPy vectors: the comparison or sum is an operator, no function of ours"
_PARTLY = "nothing here asks whether a vector is smaller or greater in just any dimension"
_STATUSES = "the record does not hold the statuses of the members that the verdict is about"
_TOPOLOGY = "the record does not hold the topology of the sub-job that the verdict is about"
_CALLBACK = "the function that the record calls back cannot be recorded"
_SESSION = "the session that decides it is not in the record"
_CLAIMS = "the record does not hold the claims of the pods that it is about"
_REFUSALS = "refusals are counted by text as they are found: there is no error object that is filled by setters"
_ANNOTATIONS = "annotations travel with the binding, the pod of the cluster is not edited; the record holds no result"
_AGENT = "belongs to the agent scheduler"

NO_COUNTERPART: dict[str, str] = {
    "Action.parseArguments": _SESSION,
    "Action.selectDomainBundles": _SESSION,
    "CalculatePluginScore": _CALLBACK,
    "DRAResource.Add": "integers do not overflow",
    "FitError.Reasons": "one refusal has one text",
    "FitErrors.SetError": _REFUSALS,
    "FitErrors.SetHyperNode": _REFUSALS,
    "FlattenBundles": "bundles are evicted one after another, never as one list",
    "GenerateNodeMapAndSlice": "Kubernetes' filters read the node table itself, there is no second form of a node",
    "GetCandidateDomains": _SESSION,
    "GetMinInt": "the language has it",
    "HyperNodesInfo.GetRegexOrLabelMatchLeafHyperNodes": "the tree is made anew when any node changes",
    "InfiniteResource": "no limit is an infinite float",
    "JobInfo.GetMinDRAResources": _CLAIMS,
    "Max": "the language has it",
    "NewShadowLoadCache": "making an empty object decides nothing",
    "NodeInfo.Clone": _LIVE,
    "NodeInfo.RefreshNumaSchedulerInfoByCrd": "the record does not hold the pods that its result is about",
    "NodeInfosForCandidateNodes": "scorers read the node table itself, there is no second form of a node",
    "NumatopoInfo.DeepCopy": _LIVE,
    "PodMeta.MarshalText": "objects are maps' values, never their keys",
    "PodMeta.UnmarshalText": "objects are maps' values, never their keys",
    "RemoveVolcanoSchGate": "a client's call without a result",
    "Resource.Diff": _NUMPY,
    "Resource.Equal": _NUMPY,
    "Resource.GreaterPartly": _PARTLY,
    "Resource.Less": _NUMPY,
    "Resource.LessEqualPartly": _PARTLY,
    "Resource.LessEqualPartlyWithDimension": "its variant that leaves zeros out is the rule here",
    "Resource.LessPartly": _PARTLY,
    "SaturatingMul": "integers do not overflow",
    "SelectBestNodes": _AGENT,
    "ShadowLoadCache.GetSnapshot": "the estimate of one pod is taken back, never asked for",
    "ShadowLoadCache.Reset": "each session has its own shadow",
    "SubJobInfo.IsHardTopologyMode": _TOPOLOGY,
    "SubJobInfo.IsPipelined": _STATUSES,
    "SubJobInfo.IsReady": _STATUSES,
    "SubJobInfo.IsSoftTopologyMode": _TOPOLOGY,
    "SubJobInfo.WithNetworkTopology": _TOPOLOGY,
    "SubJobInfo.getTaskHighestPriority": "the record does not hold the members",
    "SumInitResreq": _NUMPY,
    "TaskInfo.Clone": _LIVE,
    "TaskInfo.DeletePodAnnotations": _ANNOTATIONS,
    "TaskInfo.MergePodAnnotations": _ANNOTATIONS,
    "addTaskDRAAllocated": _CLAIMS,
    "capacityPlugin.jobEnqueueable": _CLAIMS,
    "capacityPlugin.queueAllocatable": _CLAIMS,
    "predicateHelper.PredicateNodes": _CALLBACK,
    "removeTaskDRAAllocated": _CLAIMS,
    "setUpDynamicResourcesArgs": "time limits of Kubernetes' filters: ours do not wait for anything",
    "setUpVolumeBindingArgs": "time limits of Kubernetes' filters: ours do not wait for anything",
    "updateDRAInqueue": "what admitted jobs will claim is kept by claim, and summed when a limit is asked about",
}
