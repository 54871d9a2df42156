"""proportion: queues share the cluster by weight, as far as they have demand."""

from volcano.scheduler.plugins.proportion.plugin import Proportion as Proportion
