"""One objective of many criteria: forms that are linear in the criteria y and in one further unknown τ, as a task for an optimiser.

    min a·y + α τ   with   row_lower ≤ B y + b τ ≤ row_upper

is the weighted sum (α = 0), the ε-constraint (a row a criterion), the normal-boundary intersection (y − τ n = a point of the hull) and the
least violation of constraints (α = 1, a = 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .space import Evaluated, Space

if TYPE_CHECKING:
    from ..workers import Crew

#: What a design that cannot run is worse by, measured by the objective.
WORSE = 10.0
#: Constraints are kept when they are missed by less than this of their size.
FEASIBLE = 1e-6


@dataclass(frozen=True)
class Forms:
    """Linear forms of the criteria and of τ: an objective and rows between bounds, the rows scaled to about one."""

    a: np.ndarray
    B: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    #: Weight of τ in the objective, and in the rows; None where there is no τ.
    tau: tuple[float, np.ndarray] | None = None
    tau_start: float = 0.0
    tau_lower: float = -np.inf
    #: What one of τ is in the objective that is told.
    tau_size: float = 1.0

    def with_rows(self, B: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Forms:
        """With further rows that τ is not in."""
        tau = None if self.tau is None else (self.tau[0], np.concatenate([self.tau[1], np.zeros(len(B))]))
        rows = np.vstack([self.B, B]), np.concatenate([self.row_lower, lower]), np.concatenate([self.row_upper, upper])
        return Forms(self.a, *rows, tau, self.tau_start, self.tau_lower, self.tau_size)


class Scalarised:
    """Forms on a space of designs, as a task.

    At a design that cannot run, the task goes on with the last one that did: its rows, and an objective that grows with the distance from it.
    """

    def __init__(self, space: Space, forms: Forms, start: np.ndarray, slopes: bool, seed: int = 1, crew: Crew | None = None) -> None:
        self.space, self.forms, self.with_slopes, self.seed, self.crew = space, forms, slopes, seed, crew
        tau = forms.tau is not None
        self.start = np.append(start, forms.tau_start) if tau else np.array(start)
        self.lower = np.append(space.lower, forms.tau_lower) if tau else space.lower
        self.upper = np.append(space.upper, np.inf) if tau else space.upper
        self.row_lower, self.row_upper = forms.row_lower, forms.row_upper
        self.last = space.at(start, slopes)
        assert self.last.values is not None
        self.scale = space.size_of(forms.a, self.last.values) or 1.0 if forms.a.any() else 1.0

    def _design(self, x: np.ndarray) -> np.ndarray:
        return x[: len(self.space.variables)]

    def _known(self, x: np.ndarray, slopes: bool = False) -> tuple[Evaluated, bool]:
        """The design, with derivatives where they are asked for or come with the run at little cost; whether it runs."""
        slopes = slopes or (self.with_slopes and self.space.method == "auto" and self.space.analysis.verb == "simulate")
        if slopes and self.last.slopes is None:
            self.last = self.space.at(self.last.x, slopes)
        found = self.space.at(np.clip(self._design(x), self.space.lower, self.space.upper), slopes)
        if found.values is None:
            return self.last, False
        self.last = found
        return found, True

    def objective(self, x: np.ndarray) -> float:
        """a·y + α τ."""
        found, runs = self._known(x)
        f = float(self.forms.a @ found.values) / self.scale  # type: ignore[operator]
        f += 0.0 if self.forms.tau is None else self.forms.tau[0] * x[-1]
        return f if runs else f + WORSE * (1.0 + float(np.sum((self._design(x) - found.x) ** 2)))

    def objectives(self, many: np.ndarray) -> np.ndarray:
        """The objective at many designs, run by all workers; in their order, as if one by one."""
        self.space.at_all([np.clip(self._design(x), self.space.lower, self.space.upper) for x in many], self.crew)
        return np.array([self.objective(x) for x in many])

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Its derivative."""
        found, runs = self._known(x, slopes=True)
        g = self.forms.a @ found.slopes / self.scale if runs else 2.0 * WORSE * (self._design(x) - found.x)
        return g if self.forms.tau is None else np.append(g, self.forms.tau[0])

    def rows(self, x: np.ndarray) -> np.ndarray:
        """B y + b τ."""
        c = self.forms.B @ self._known(x)[0].values
        return c if self.forms.tau is None else c + self.forms.tau[1] * x[-1]

    def row_slopes(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives."""
        c = self.forms.B @ self._known(x, slopes=True)[0].slopes
        return c if self.forms.tau is None else np.column_stack([c, self.forms.tau[1]])


def violation(forms: Forms, values: np.ndarray) -> float:
    """By how much the worst row misses its bounds, measured by its size."""
    c = forms.B @ values
    return float(np.max(np.maximum(forms.row_lower - c, c - forms.row_upper), initial=0.0))


def least_violated(forms: Forms, values: np.ndarray) -> Forms:
    """min τ ≥ 0 with every row missed by at most τ, from a design with these values."""
    below, above = np.isfinite(forms.row_lower), np.isfinite(forms.row_upper)
    B = np.vstack([forms.B[below], forms.B[above]])
    n, m = int(below.sum()), int(above.sum())
    lower = np.concatenate([forms.row_lower[below], np.full(m, -np.inf)])
    upper = np.concatenate([np.full(n, np.inf), forms.row_upper[above]])
    tau = (1.0, np.concatenate([np.ones(n), -np.ones(m)]))
    return Forms(np.zeros_like(forms.a), B, lower, upper, tau, violation(forms, values), 0.0)


__all__ = ["FEASIBLE", "Forms", "Scalarised", "least_violated", "violation"]
