"""Optimisers of NLopt: moving asymptotes with gradients, and a search over the whole space without (extra ``optimise``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import Found, Method, Task, library

#: Asymptotes that have closed in on a point end a search by steps that are small wherever the point lies: it begins anew there, so often at most,
#: until it moves by less than this of the (scaled) variables.
AGAIN, MOVED = 8, 1e-6
#: What NLopt calls success: by value, by steps, by a value that was wanted.
ENDED = (1, 2, 3, 4)


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
        x, status, spent = np.clip(task.start, task.lower, task.upper), nlopt.ROUNDOFF_LIMITED, 0
        for _ in range(AGAIN if gradients else 1):
            before = x
            try:
                x = np.clip(opt.optimize(x), task.lower, task.upper)
                now = opt.last_optimize_result()
            except nlopt.RoundoffLimited:
                now = nlopt.ROUNDOFF_LIMITED
            status = now if now in ENDED or not spent else status
            spent += opt.get_numevals()
            left = 20 * limit - spent
            if left < 1 or np.abs(x - before).max() <= max(MOVED, tolerance):
                break
            opt.set_maxeval(min(left, max(50, 2 * spent)))
        return Found(x, status in ENDED, spent, f"NLopt ended with status {status}")

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
