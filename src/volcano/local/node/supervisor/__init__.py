"""The pod supervisor: standard library only, one small process per pod that outlives the node.

Neighbours: `volcano.local.node.runtime` starts and adopts supervisors; they share `documents` on disk.
"""
