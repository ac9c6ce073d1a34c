"""Optimisers of NLopt: moving asymptotes with gradients, and a search over the whole space without (extra ``optimise``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import Found, Method, Task, library


def _solver(word: str, name: str, gradients: bool) -> Callable[[Task, float, int], Found]:
    def solve(task: Task, tolerance: float, limit: int) -> Found:
        nlopt = library("nlopt", name)
        n = len(task.start)
        opt = nlopt.opt(getattr(nlopt, word), n)
        opt.set_lower_bounds(task.lower)
        opt.set_upper_bounds(task.upper)

        def objective(x: np.ndarray, out: np.ndarray) -> float:
            if out.size:
                out[:] = task.slope(np.array(x))
            return float(task.objective(np.array(x)))

        opt.set_min_objective(objective)
        for sign, bound in ((1.0, task.row_upper), (-1.0, task.row_lower)):
            kept = np.isfinite(bound)
            if kept.any():
                opt.add_inequality_mconstraint(_rows(task, sign, bound, kept), np.full(int(kept.sum()), 1e-9))
        opt.set_xtol_rel(tolerance)
        opt.set_ftol_rel(tolerance if gradients else 1e-12)
        opt.set_maxeval(20 * limit)
        try:
            x = opt.optimize(np.clip(task.start, task.lower, task.upper))
            status = opt.last_optimize_result()
        except nlopt.RoundoffLimited:
            x, status = task.start, nlopt.ROUNDOFF_LIMITED
        return Found(np.clip(x, task.lower, task.upper), status in (1, 2, 3, 4), opt.get_numevals(), f"NLopt ended with status {status}")

    return solve


def _rows(task: Task, sign: float, bound: np.ndarray, kept: np.ndarray) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    def rows(result: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
        if out.size:
            out[:] = sign * task.row_slopes(np.array(x))[kept]
        result[:] = sign * (task.rows(np.array(x)) - bound)[kept]

    return rows


METHODS = {
    "mma": Method("mma", _solver("LD_MMA", "mma", True), gradients=True, constraints=True, equations=False),
    "direct": Method("direct", _solver("GN_DIRECT_L", "direct", False), gradients=False, constraints=False),
}

__all__ = ["METHODS"]
