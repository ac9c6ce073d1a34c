"""IPOPT, by ipyopt: an interior-point method for many variables and constraints (extra ``optimise``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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


class Program(Protocol):
    """A program with many variables: rows with derivatives in fixed slots; ``goal`` is the row that is to be smallest, the others have bounds."""

    jac_rows: np.ndarray
    jac_columns: np.ndarray
    hess_rows: np.ndarray
    hess_columns: np.ndarray
    size: int
    rows: int

    def all_rows(self, v: np.ndarray) -> np.ndarray:
        """Values of all rows."""

    def all_slopes(self, v: np.ndarray) -> np.ndarray:
        """Their derivatives, in the slots."""

    def all_curvatures(self, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivatives of their weighted sum, in the slots."""


def solve_sparse(
    program: Program,
    goal: int,
    start: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    row_bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float,
    limit: int,
) -> Found:
    """The smallest row ``goal`` of a program within bounds of variables and of the other rows, with exact second derivatives."""
    ipyopt = library("ipyopt", "ipopt")
    kept = np.array([r for r in range(program.rows) if r != goal and (row_bounds[0][r] > -FREE or row_bounds[1][r] < FREE)], dtype=int)
    place = np.full(program.rows, -1)
    place[kept] = np.arange(len(kept))
    mine, own = place[program.jac_rows] >= 0, program.jac_rows == goal
    columns = program.jac_columns[own]
    iterations = 0
    known: dict[str, tuple[bytes, np.ndarray]] = {}

    def once(name: str, f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
        key = x.tobytes()
        if name not in known or known[name][0] != key:
            known[name] = key, f(np.array(x))
        return known[name][1]

    def gradient(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = 0.0
        out[columns] = once("slopes", program.all_slopes, x)[own]
        return out

    def constraints(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = once("rows", program.all_rows, x)[kept]
        return out

    def jacobian(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = once("slopes", program.all_slopes, x)[mine]
        return out

    def hessian(x: np.ndarray, multipliers: np.ndarray, factor: float, out: np.ndarray) -> np.ndarray:
        weights = np.zeros(program.rows)
        weights[kept], weights[goal] = multipliers, factor
        out[:] = program.all_curvatures(np.array(x), weights)
        return out

    def each(*_: object) -> bool:
        nonlocal iterations
        iterations += 1
        return True

    problem = ipyopt.Problem(
        program.size, *(np.clip(b, -FREE, FREE) for b in bounds), len(kept), *(np.clip(b[kept], -FREE, FREE) for b in row_bounds),
        (place[program.jac_rows[mine]], program.jac_columns[mine]), (program.hess_rows, program.hess_columns),
        lambda x: float(once("rows", program.all_rows, x)[goal]), gradient, constraints, jacobian, hessian, intermediate_callback=each,
        ipopt_options={"print_level": 0, "sb": "yes", "tol": tolerance, "max_iter": limit, "mu_strategy": "adaptive"},
    )  # fmt: skip
    x, _, status = problem.solve(np.clip(start, *bounds))
    return Found(np.clip(x, *bounds), status in (0, 1), iterations, f"IPOPT: {STATUS.get(status, f'ended with status {status}')}")


#: What IPOPT says, by its status.
STATUS = {
    0: "solved", 1: "solved to an acceptable level", 2: "no motion satisfies the constraints (converged to a point of least violation)", 3: "steps became too small",
    4: "iterates diverge", -1: "more iterations would be needed", -2: "the restoration of constraints failed", -13: "a number was not finite",
}  # fmt: skip

METHODS = {"ipopt": Method("ipopt", _solve, gradients=True, constraints=True)}

__all__ = ["METHODS", "Program", "solve_sparse"]
