"""Evolution with covariance matrix adaptation, by the package cma (extra ``optimise``): rough or noisy objectives, no gradients.

A generation is judged at once, by all workers.
"""

from __future__ import annotations

import numpy as np

from . import Found, Method, Task, library


def _solve(task: Task, tolerance: float, limit: int) -> Found:
    cma = library("cma", "cma-es")
    n = len(task.start)
    low, high = ([x if np.isfinite(x) else None for x in b.tolist()] for b in (task.lower, task.upper))
    start, more = task.start.tolist(), ([0.0], [1.0]) if n == 1 else ([], [])
    if n == 1:  # cma wants two variables: the second does nothing
        start = [*start, 0.5]
    options = {"bounds": [[*low, *more[0]], [*high, *more[1]]], "seed": task.seed, "verbose": -9, "tolx": tolerance, "tolfun": 1e-3 * tolerance, "maxiter": 10 * limit}  # fmt: skip
    strategy = cma.CMAEvolutionStrategy(start, 0.2, options)
    while not strategy.stop():
        crowd = strategy.ask()
        strategy.tell(crowd, task.objectives(np.array(crowd)[:, :n]).tolist())
    found = strategy.result
    x = np.clip(found.xbest[:n], task.lower, task.upper)
    return Found(x, True, int(found.iterations), "the spread of the generation is within the tolerance")


METHODS = {"cma-es": Method("cma-es", _solve, gradients=False, constraints=False, random=True)}

__all__ = ["METHODS"]
