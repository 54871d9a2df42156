"""drf: dominant-resource fairness between jobs and, where it is asked for, between a hierarchy of queues."""

from volcano.scheduler.plugins.drf.plugin import Drf as Drf
