"""capacity: explicit quotas of queues (deserved, guarantee, capability), flat or in a tree."""

from volcano.scheduler.plugins.capacity.plugin import Capacity as Capacity
