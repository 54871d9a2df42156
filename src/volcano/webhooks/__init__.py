"""Admission: what a submitted object becomes (mutate) and whether it may exist (validate)."""
