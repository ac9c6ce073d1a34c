"""Evolution with covariance matrix adaptation, by the package cma (extra ``optimise``): rough or noisy objectives, no gradients."""

from __future__ import annotations

import numpy as np

from . import Found, Method, Task, library


def _solve(task: Task, tolerance: float, limit: int) -> Found:
    cma = library("cma", "cma-es")
    low, high = ([x if np.isfinite(x) else None for x in b.tolist()] for b in (task.lower, task.upper))
    options = {"bounds": [low, high], "seed": 1, "verbose": -9, "tolx": tolerance, "tolfun": 1e-3 * tolerance, "maxiter": 10 * limit}
    if len(task.start) == 1:  # cma wants two variables: the second does nothing
        options["bounds"] = [[*low, 0.0], [*high, 1.0]]
        found = cma.fmin2(lambda x: task.objective(np.array(x[:1])), [*task.start, 0.5], 0.2, options)[1].result
    else:
        found = cma.fmin2(lambda x: task.objective(np.array(x)), task.start, 0.2, options)[1].result
    x = np.clip(found.xbest[: len(task.start)], task.lower, task.upper)
    return Found(x, True, int(found.iterations), "the spread of the generation is within the tolerance")


METHODS = {"cma-es": Method("cma-es", _solve, gradients=False, constraints=False)}

__all__ = ["METHODS"]
