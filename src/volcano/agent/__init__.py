"""The node agent: latency-critical and batch pods share a node, and the batch ones give way.

`qos`, `configuration`, `oversubscription`, `eviction`, `throttling` and `values` decide; the rest measures and acts.
"""
