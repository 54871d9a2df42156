"""What the benchmarks run on: worlds for the engine, floors to compare with, documents as an API server sends them."""
