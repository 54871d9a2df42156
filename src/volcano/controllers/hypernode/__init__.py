"""The hypernode controller: finds out which nodes are close to each other, and counts the nodes of every domain."""
