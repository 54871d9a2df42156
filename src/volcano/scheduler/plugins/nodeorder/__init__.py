"""nodeorder: which of the nodes that may take a pod is best, by Kubernetes' own scores."""

from volcano.scheduler.plugins.nodeorder.plugin import NodeOrder as NodeOrder
