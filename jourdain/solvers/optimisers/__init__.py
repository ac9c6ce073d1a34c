"""Optimisers behind one interface: a task asks for a smallest objective within bounds and constraints; each library has one file.

A task speaks of plain arrays.  Variables, objective and constraints come scaled to about one, so that tolerances mean the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ...errors import InputError, nearest


class Task(Protocol):
    """min f(x) for lower ≤ x ≤ upper and row_lower ≤ c(x) ≤ row_upper."""

    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    #: What random numbers begin with.
    seed: int

    def objective(self, x: np.ndarray) -> float:
        """f(x)."""

    def slope(self, x: np.ndarray) -> np.ndarray:
        """∂f/∂x."""

    def rows(self, x: np.ndarray) -> np.ndarray:
        """c(x)."""

    def row_slopes(self, x: np.ndarray) -> np.ndarray:
        """∂c/∂x, a row a constraint."""

    def objectives(self, many: np.ndarray) -> np.ndarray:
        """f of many x (a row each), which may be found side by side."""


@dataclass(frozen=True)
class Found:
    """Where an optimiser ended, whether it says that it has converged, in how many iterations, and its message."""

    x: np.ndarray
    converged: bool
    iterations: int
    message: str


@dataclass(frozen=True)
class Method:
    """An optimiser: what it solves a task with, whether it uses gradients, and whether it takes constraints."""

    name: str
    solve: Callable[[Task, float, int], Found]
    gradients: bool
    constraints: bool
    #: Whether constraints may be equations.
    equations: bool = True
    #: Whether it draws random numbers, which a seed decides.
    random: bool = False


#: Methods by the modules that have them.
_MODULES = {"scipy_methods": ("slsqp", "trust-constr", "l-bfgs-b", "tnc", "cobyqa", "nelder-mead"), "ipopt_method": ("ipopt",),
            "nlopt_methods": ("mma", "direct"), "cma_method": ("cma-es",)}  # fmt: skip


def method_named(name: str) -> Method:
    """The optimiser of that name."""
    known = {method: module for module, methods in _MODULES.items() for method in methods}
    if name in known:
        found: Method = import_module(f".{known[name]}", __name__).METHODS[name]
        return found
    near = nearest(str(name).lower(), known, 1)
    raise InputError(f"there is no optimiser '{name}'; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"))


def library(package: str, method: str) -> Any:
    """A package of the extra ``optimise``."""
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"optimiser '{method}' needs the package {package}; install it with: pip install 'jourdain[optimise]'") from None


__all__ = ["Found", "Method", "Task", "library", "method_named"]
