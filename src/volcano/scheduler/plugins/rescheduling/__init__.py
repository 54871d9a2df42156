"""rescheduling: from time to time, move work from crowded nodes to idle ones."""

from volcano.scheduler.plugins.rescheduling.plugin import Rescheduling as Rescheduling
