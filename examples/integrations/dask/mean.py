"""A mean over blocks, on workers that are jobs: `python mean.py`."""

from __future__ import annotations

from distributed import Client

from volcano.integrations.dask import VolcanoCluster


def block_sum(start: int) -> int:
    return sum(range(start, start + 1000))


if __name__ == "__main__":
    with VolcanoCluster(n_workers=2, cpu=0.5) as cluster, Client(cluster) as client:
        total = client.submit(sum, client.map(block_sum, range(0, 10_000, 1000))).result()
        print(total / 10_000)
