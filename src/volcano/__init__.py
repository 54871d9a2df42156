"""Volcano, the batch scheduler for Kubernetes, in Python."""

__version__ = "0.1.0"
