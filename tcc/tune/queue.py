"""Closed queueing networks: how far customers that take turns hide each other's waiting."""

from __future__ import annotations

from collections.abc import Sequence


def cycle_time(customers: int, demands: Sequence[float], delay: float) -> float:
    """The time between two completions, all customers together.

    Each customer needs `demands[k]` of station k, which serves one at a time, and waits `delay`
    on its own, over and over. Exact mean value analysis (Reiser and Lavenberg, Mean-Value
    Analysis of Closed Multichain Queuing Networks, 1980): a customer that arrives finds the queue
    that there is with one customer less. With one customer this is the sum of everything, with
    many the largest demand.
    """
    queues = [0.0] * len(demands)
    between = 0.0
    for present in range(1, customers + 1):
        stays = [d * (1 + q) for d, q in zip(demands, queues, strict=True)]
        between = (delay + sum(stays)) / present
        queues = [s / between for s in stays] if between else queues
    return between
