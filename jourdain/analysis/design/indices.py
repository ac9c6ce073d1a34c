"""How much each variable matters over the whole space of designs: Sobol's indices and Morris's elementary effects.

Sobol's indices split the variance of a criterion (I. M. Sobol, 2001; estimators of Saltelli et al., 2010, by SciPy): the first is the share of a variable alone, the total that with all
it does together with others.  Elementary effects (M. D. Morris, 1991) are differences along trajectories over a grid, scaled to the span of each variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results.style import COLOURS, finish, house_style, new_figure
from ...shown import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workers import Crew
    from .problem import Problem

#: Levels of the grid of elementary effects.
LEVELS = 4
#: Resamplings for the intervals of Sobol's indices.
RESAMPLINGS = 200


@dataclass(frozen=True, eq=False)
class Indices(Shown):
    """Indices of all criteria (rows) by all variables (columns).

    Sobol: ``first`` and ``total`` with the half widths of their 95 % intervals.  Morris: ``first`` is μ*, the mean size of effects, ``total`` σ, their standard deviation (curvature and
    coupling), each over the whole span of the variable.
    """

    method: str
    criteria: Sequence[str]
    variables: Sequence[str]
    first: np.ndarray
    total: np.ndarray
    first_error: np.ndarray
    total_error: np.ndarray
    runs: int

    def __str__(self) -> str:
        words = ("first", "total") if self.method == "sobol" else ("μ*", "σ")
        width = max(len(n) for n in (*self.variables, "variable"))
        ends = f" {'±':>8}" if self.method == "sobol" else ""  # a standard deviation of effects has none
        lines = [f"{self.method} indices of {', '.join(self.criteria)} ({self.runs} runs)"]
        for i, c in enumerate(self.criteria):
            lines.append(f"{c}\n  {'variable':<{width}} {words[0]:>10} {'±':>8} {words[1]:>10}{ends}")
            lines += [
                f"  {v:<{width}} {self.first[i, j]:>10.4g} {self.first_error[i, j]:>8.2g} {self.total[i, j]:>10.4g}"
                + (f" {self.total_error[i, j]:>8.2g}" if ends else "")
                for j, v in enumerate(self.variables)
            ]
        return "\n".join(lines)

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """Bars of both indices."""
        words = ("first", "total") if self.method == "sobol" else ("μ*", "σ")
        with house_style():
            figure = new_figure(1.5 + 1.1 * len(self.variables) * len(self.criteria) ** 0.5, 3.2 * len(self.criteria), show)
            for i, c in enumerate(self.criteria):
                axes = figure.add_subplot(len(self.criteria), 1, i + 1)
                at = np.arange(len(self.variables))
                for k, (word, y, e) in enumerate(zip(words, (self.first, self.total), (self.first_error, self.total_error), strict=True)):
                    axes.bar(at + 0.38 * (k - 0.5), y[i], 0.36, yerr=e[i] if e[i].any() else None, color=COLOURS[k], label=word)
                axes.set_xticks(at, self.variables)
                axes.set_title(c)
                axes.legend()
            return finish(figure, file, show)


def indices(problem: Problem, method: str, samples: int, seed: int, crew: Crew | None) -> Indices:
    """Indices of the criteria of a problem, constraints among them."""
    if method not in ("sobol", "morris"):
        raise InputError(f"sensitivity: method = {method!r} is unknown; use 'sobol' or 'morris'")
    if not isinstance(samples, int) or samples < 4 or (method == "sobol" and samples & (samples - 1)):
        raise InputError(
            f"sensitivity: samples = {samples!r} must be a whole number from 4 on" + (", and a power of two" if method == "sobol" else "")
        )
    space = problem.space
    open_ = [v.name for v in problem.variables if not v.closed]
    if open_:
        raise InputError(f"sensitivity: '{open_[0]}' lacks a bound; give it as variables={{'{open_[0]}': (low, high)}}")

    def judged(X: np.ndarray) -> np.ndarray:
        seen = space.at_all(list(X), crew)
        bad = next((e for e in seen if e.values is None), None)
        if bad is not None:
            raise InputError(
                f"sensitivity: a design cannot run, and shares of a variance need all of them; narrow the bounds ({bad.message})"
            )
        return np.array([e.values for e in seen])

    names, variables = list(space.criteria), [v.name for v in problem.variables]
    of = _sobol if method == "sobol" else _morris
    return Indices(method, names, variables, *of(judged, len(variables), samples, seed), runs=space.runs)


def _sobol(judged: Any, d: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from scipy.stats import sobol_indices, uniform

    found = sobol_indices(func=lambda x: judged(x.T).T, n=samples, dists=[uniform()] * d, rng=np.random.default_rng(seed))
    spread = found.bootstrap(n_resamples=RESAMPLINGS)
    first, total = (
        np.atleast_2d(0.5 * (r.confidence_interval.high - r.confidence_interval.low)) for r in (spread.first_order, spread.total_order)
    )
    return np.atleast_2d(found.first_order), np.atleast_2d(found.total_order), first, total


def _morris(judged: Any, d: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng, step = np.random.default_rng(seed), LEVELS / (2.0 * (LEVELS - 1))
    paths, orders, signs = [], [], []
    for _ in range(samples):
        x = rng.integers(0, LEVELS // 2, d) / (LEVELS - 1.0)
        sign = rng.choice([-1.0, 1.0], d)
        x = np.where(sign < 0, x + step, x)
        order = rng.permutation(d)
        path = [x.copy()]
        for j in order:
            x = x.copy()
            x[j] += sign[j] * step
            path.append(x)
        paths.append(path)
        orders.append(order)
        signs.append(sign)
    y = judged(np.clip(np.concatenate(paths), 0.0, 1.0)).reshape(samples, d + 1, -1)
    effects = np.zeros((samples, d, y.shape[2]))
    for r in range(samples):
        for k, j in enumerate(orders[r]):
            effects[r, j] = (y[r, k + 1] - y[r, k]) / (signs[r][j] * step)
    size, spread = np.abs(effects).mean(axis=0).T, effects.std(axis=0, ddof=1).T
    return size, spread, np.abs(effects).std(axis=0, ddof=1).T * 1.96 / np.sqrt(samples), np.zeros_like(spread)


__all__ = ["Indices", "indices"]
