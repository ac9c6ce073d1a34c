"""The optimisers of SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import Found, Method, Task

#: Name -> (SciPy's name, whether it uses gradients, whether it takes constraints, its options by tolerance and limit of iterations).
_KNOWN: dict[str, tuple[str, bool, bool, Callable[[float, int], dict[str, Any]]]] = {
    "slsqp": ("SLSQP", True, True, lambda e, n: {"ftol": e, "maxiter": n}),
    # its test of the gradient would end before the barrier is gone
    "trust-constr": ("trust-constr", True, True, lambda e, n: {"gtol": 1e-6 * e, "xtol": e, "barrier_tol": e, "maxiter": 5 * n}),
    "l-bfgs-b": ("L-BFGS-B", True, False, lambda e, n: {"ftol": 1e-3 * e, "gtol": e, "maxiter": n}),
    "tnc": ("TNC", True, False, lambda e, n: {"ftol": e, "maxfun": 10 * n}),
    "cobyqa": ("COBYQA", False, True, lambda e, n: {"final_tr_radius": max(e, 1e-9), "maxiter": n, "maxfev": 20 * n}),
    "nelder-mead": ("Nelder-Mead", False, False, lambda e, n: {"xatol": e, "fatol": e, "maxiter": 20 * n, "adaptive": True}),
}


def _solver(name: str, gradients: bool, options: Callable[[float, int], dict[str, Any]]) -> Callable[[Task, float, int], Found]:
    def solve(task: Task, tolerance: float, limit: int) -> Found:
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        with_slope: dict[str, Any] = {"jac": task.slope} if gradients else {}
        if len(task.row_lower):
            jac: dict[str, Any] = {"jac": task.row_slopes} if gradients else {}
            with_slope["constraints"] = NonlinearConstraint(task.rows, task.row_lower, task.row_upper, **jac)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"scipy\.optimize")  # told by the message of the result
            found = minimize(
                task.objective,
                task.start,
                method=name,
                bounds=Bounds(task.lower, task.upper),
                options=options(tolerance, limit),
                **with_slope,
            )
        x = np.clip(found.x, task.lower, task.upper)
        return Found(x, bool(found.success), int(found.get("nit", found.nfev)), str(found.message))

    return solve


METHODS = {
    name: Method(name, _solver(own, gradients, options), gradients, rows) for name, (own, gradients, rows, options) in _KNOWN.items()
}

__all__ = ["METHODS"]
