"""tdm: time-division multiplexing of nodes between work that can be interrupted and their owners."""

from volcano.scheduler.plugins.tdm.plugin import TimeDivision as TimeDivision
