"""Kubernetes' own filters and scores by their 1.36 semantics, on columns: what predicates and nodeorder are made of."""
