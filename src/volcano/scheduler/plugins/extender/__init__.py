"""extender: see plugin.py."""

from volcano.scheduler.plugins.extender.plugin import Extender as Extender
