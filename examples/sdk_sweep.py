"""A sweep: a job for each setting, results as they come in; a good one ends it: `python sdk_sweep.py`."""

from __future__ import annotations

import time

import volcano

TARGET = 0.01


def train(rate: float) -> float:
    """Stands in for training: the loss after some steps of gradient descent on x²."""
    x = 1.0
    for _ in range(50):
        time.sleep(0.01)
        x -= rate * 2 * x
    return abs(x)


if __name__ == "__main__":
    with volcano.Client() as client:
        labels = {"sweep": "rates"}
        rates = {client.submit(train, rate, labels=labels).name: rate for rate in (0.001, 0.01, 0.1, 0.4)}
        for job in client.as_completed(client.jobs(labels)):
            loss = job.result()
            print(f"rate {rates[job.name]}: loss {loss:.4f}")
            if loss < TARGET:
                break
        client.cancel(labels)
