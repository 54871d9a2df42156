"""predicates: which nodes may take a pod, by Kubernetes' own filters."""

from volcano.scheduler.plugins.predicates.plugin import Predicates as Predicates
