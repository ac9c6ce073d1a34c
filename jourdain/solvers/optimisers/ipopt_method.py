"""IPOPT, by ipyopt: an interior-point method for many variables and constraints (extra ``optimise``)."""

from __future__ import annotations

import numpy as np

from . import Found, Method, Task, library

#: What IPOPT takes for no bound.
FREE = 2e19


def _solve(task: Task, tolerance: float, limit: int) -> Found:
    ipyopt = library("ipyopt", "ipopt")
    n, m = len(task.start), len(task.row_lower)
    rows, columns = np.divmod(np.arange(n * m), n)
    iterations = 0

    def gradient(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = task.slope(np.array(x))
        return out

    def constraints(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = task.rows(np.array(x))
        return out

    def jacobian(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = np.ravel(task.row_slopes(np.array(x)))
        return out

    def each(*_: object) -> bool:
        nonlocal iterations
        iterations += 1
        return True

    problem = ipyopt.Problem(
        n, *(np.clip(b, -FREE, FREE) for b in (task.lower, task.upper)), m, *(np.clip(b, -FREE, FREE) for b in (task.row_lower, task.row_upper)),
        (rows, columns), (np.zeros(0, int), np.zeros(0, int)), lambda x: float(task.objective(np.array(x))), gradient, constraints, jacobian,
        intermediate_callback=each,
        ipopt_options={"hessian_approximation": "limited-memory", "print_level": 0, "sb": "yes", "tol": max(tolerance, 1e-9), "max_iter": limit},
    )  # fmt: skip
    x, _, status = problem.solve(np.clip(task.start, task.lower, task.upper))
    return Found(np.clip(x, task.lower, task.upper), status in (0, 1), iterations, f"IPOPT ended with status {status}")


METHODS = {"ipopt": Method("ipopt", _solve, gradients=True, constraints=True)}

__all__ = ["METHODS"]
