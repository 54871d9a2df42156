"""Benchmarks: one module per claim, run as `python -m benchmarks.<name>`, each printing JSON."""
