"""deviceshare: see plugin.py."""

from volcano.scheduler.plugins.deviceshare.plugin import DeviceShare as DeviceShare
