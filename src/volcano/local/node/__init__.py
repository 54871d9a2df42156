"""The node: runs pods as process groups (or simulates them) and reports what became of them.

Neighbours: `supervisor` (one process per pod, outlives the node), `volcano.kube` (the API server).
"""
