"""IPOPT, by ipyopt: an interior-point method for many variables and constraints (extra ``optimise``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import Found, Method, Task, library

#: What IPOPT takes for no bound.
FREE = 2e19


def _solve(task: Task, tolerance: float, limit: int) -> Found:
    n, m = len(task.start), len(task.row_lower)
    rows, columns = np.divmod(np.arange(n * m), n)

    def gradient(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = task.slope(np.array(x))
        return out

    def constraints(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = task.rows(np.array(x))
        return out

    def jacobian(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = np.ravel(task.row_slopes(np.array(x)))
        return out

    slots = [(rows, columns), (np.zeros(0, int), np.zeros(0, int))]
    calls: list[Callable[..., Any]] = [lambda x: float(task.objective(np.array(x))), gradient, constraints, jacobian]
    options = {"hessian_approximation": "limited-memory", "tol": max(tolerance, 1e-9), "max_iter": limit}
    x, status, iterations = _run(task.start, (task.lower, task.upper), (task.row_lower, task.row_upper), slots, calls, options)
    return Found(x, status in (0, 1), iterations, f"IPOPT ended with status {status}")


def _run(
    start: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    row_bounds: tuple[np.ndarray, np.ndarray],
    slots: Sequence[tuple[np.ndarray, np.ndarray]],
    calls: Sequence[Callable[..., Any]],
    options: Mapping[str, Any],
) -> tuple[np.ndarray, int, int]:
    """Where IPOPT ends, its status and its iterations."""
    iterations = 0

    def each(*_: object) -> bool:
        nonlocal iterations
        iterations += 1
        return True

    sides = [[np.clip(b, -FREE, FREE) for b in pair] for pair in (bounds, row_bounds)]
    problem = library("ipyopt", "ipopt").Problem(
        len(start), *sides[0], len(row_bounds[0]), *sides[1], *slots, *calls,
        intermediate_callback=each, ipopt_options={"print_level": 0, "sb": "yes", **options},
    )  # fmt: skip
    x, _, status = problem.solve(np.clip(start, *bounds))
    return np.clip(x, *bounds), status, iterations


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
    kept = np.array([r for r in range(program.rows) if r != goal and (row_bounds[0][r] > -FREE or row_bounds[1][r] < FREE)], dtype=int)
    place = np.full(program.rows, -1)
    place[kept] = np.arange(len(kept))
    mine, own = place[program.jac_rows] >= 0, program.jac_rows == goal
    columns = program.jac_columns[own]
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

    slots = [(place[program.jac_rows[mine]], program.jac_columns[mine]), (program.hess_rows, program.hess_columns)]
    calls: list[Callable[..., Any]] = [lambda x: float(once("rows", program.all_rows, x)[goal]), gradient, constraints, jacobian, hessian]
    options = {"tol": tolerance, "max_iter": limit, "mu_strategy": "adaptive"}
    x, status, iterations = _run(start, bounds, (row_bounds[0][kept], row_bounds[1][kept]), slots, calls, options)
    return Found(x, status in (0, 1), iterations, f"IPOPT: {STATUS.get(status, f'ended with status {status}')}")


#: What IPOPT says, by its status.
STATUS = {
    0: "solved", 1: "solved to an acceptable level", 2: "no motion satisfies the constraints (converged to a point of least violation)", 3: "steps became too small",
    4: "iterates diverge", -1: "more iterations would be needed", -2: "the restoration of constraints failed", -13: "a number was not finite",
}  # fmt: skip

METHODS = {"ipopt": Method("ipopt", _solve, gradients=True, constraints=True)}

__all__ = ["METHODS", "Program", "solve_sparse"]
