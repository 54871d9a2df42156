"""The types users write and the API server stores: Volcano's kinds and the part of Kubernetes we read.

The innermost ring: standard library and msgspec only. Everything else depends on it; it depends on nothing.
"""
