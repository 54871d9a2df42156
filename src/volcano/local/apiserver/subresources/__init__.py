"""Endpoints below an object: scale, logs, exec, binding, eviction."""
