"""What a fit gives: estimates with their errors, what the data cannot tell apart, and whether the residuals are noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...shown import Shown
from .records import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...systems.system import System

#: A direction of the unknowns is not told by the data where its singular value is below this part of the largest.
UNTOLD = 1e-7
#: Residuals are called noise above this probability.
WHITE = 0.01


@dataclass(frozen=True, eq=False)
class Fit(Shown):
    """Estimates: ``values``, standard ``errors`` and ``correlations`` by name; ``rank`` and ``untold`` say what the data cannot tell."""

    system: System = field(repr=False)
    method: str
    values: Mapping[str, float]
    units: Mapping[str, str]
    #: Covariance of the estimates; infinite for what is not told.
    covariance: np.ndarray
    #: How many combinations of the unknowns the data tell.
    rank: int
    #: Combinations that they do not tell: weights of relative changes of the unknowns, by name.
    untold: Sequence[Mapping[str, float]]
    #: Standard deviation of the noise by column, and the residuals (data − model) by record and column.
    noise: Mapping[str, float]
    residuals: Sequence[Mapping[str, np.ndarray]]
    #: Probability that white noise shows as much correlation (Ljung and Box), by column: the least over the records; NaN where
    #: residuals are as small as the errors of the runs themselves.
    whiteness: Mapping[str, float]
    samples: int
    runs: int
    converged: bool
    records: Sequence[Record] = field(default=(), repr=False)
    notes: Sequence[str] = ()
    #: Whether the noise of all columns was given.
    known: bool = False

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors."""
        return dict(zip(self.values, map(float, np.sqrt(np.diag(self.covariance))), strict=True))

    @property
    def correlations(self) -> np.ndarray:
        """Correlations of the estimates; NaN with what is not told."""
        s = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore"):
            return np.asarray(self.covariance / np.outer(s, s))

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals that hold the true values with a probability (Student's t; the normal distribution where the noise of all columns was given)."""
        from scipy.stats import norm, t

        if not 0.0 < level < 1.0:
            raise InputError(f"fit: level = {level!r} must lie between 0 and 1")
        width = float(norm.ppf(0.5 + 0.5 * level) if self.known else t.ppf(0.5 + 0.5 * level, max(1, self.samples - self.rank)))
        return {n: (x - width * e, x + width * e) for (n, x), e in zip(self.values.items(), self.errors.values(), strict=True)}

    def apply(self) -> None:
        """Gives the parameters to the system; starts, gains and offsets stay here."""
        known = self.system.model.parameter_set.names
        self.system.set_parameters(**{n: x for n, x in self.values.items() if n in known})

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """Data, model and residuals of every column."""
        from .pictures import comparison

        return comparison(self, file, show)

    def plot_ellipse(self, first: str, second: str, level: float = 0.95, file: Any = None, show: bool = False) -> Figure:
        """The region that holds two unknowns with a probability."""
        from .pictures import ellipse

        for name in (first, second):
            if name not in self.values:
                raise InputError(f"fit: there is no unknown '{name}'; it has {', '.join(self.values)}")
            if not np.isfinite(self.errors[name]):
                raise InputError(f"fit: '{name}' is not told by the data, and its region has no end; see fit.untold")
        if first == second:
            raise InputError(f"fit: the region of '{first}' alone is fit.intervals({level!r})['{first}']; name two unknowns")
        return ellipse(self, first, second, level, file, show)

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT CONVERGED"
        lines = [
            f"{self.system.model.name}: fit of {len(self.values)} unknowns to {self.samples} samples ({self.method}, {self.runs} runs, {state})"
        ]
        width = max(len(n) for n in self.values)
        for (name, x), e in zip(self.values.items(), self.errors.values(), strict=True):
            lines.append(
                f"  {name:<{width}} = {x:.7g} ± {e:.2g} {self.units[name]}".rstrip()
                if np.isfinite(e)
                else f"  {name:<{width}} = {x:.7g}, not told by the data"
            )
        c, names = self.correlations, list(self.values)
        strong = [(abs(c[i, j]), i, j) for i in range(len(names)) for j in range(i) if abs(c[i, j]) > 0.9]
        lines += [f"  correlation {names[j]}, {names[i]}: {c[i, j]:.4f}" for _, i, j in sorted(strong, reverse=True)[:5]]
        lines.append(f"  rank {self.rank} of {len(names)}")
        lines += [f"  not told apart: {_combination(v)}" for v in self.untold]
        for column, sigma in self.noise.items():
            p = self.whiteness[column]
            told = "noise" if p > WHITE else "NOT noise: the model lacks something"
            state = "as small as the tolerance of the runs" if p != p else f"{told} (p = {p:.3g})"
            lines.append(f"  {column}: residual {sigma:.3g}, {state}")
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])


def _combination(weights: Mapping[str, float]) -> str:
    """A direction in words: by which relative changes together nothing changes."""
    largest = max(abs(w) for w in weights.values())
    parts = [f"{w / largest:+.3g} {n}" for n, w in weights.items() if abs(w) > 1e-3 * largest]
    return " ".join(parts) + " (relative changes)"


def told(J: np.ndarray, sizes: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, int, list[dict[str, float]]]:
    """(JᵀJ)⁻¹, its rank and the combinations of relative changes of the unknowns that change nothing."""
    _, s, Vt = np.linalg.svd(J * sizes, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(names) - len(s))])
    good = s > UNTOLD * max(float(s.max(initial=0.0)), 1e-300)
    V = Vt.T
    C = (V[:, good] / s[good]) @ (V[:, good] / s[good]).T * np.outer(sizes, sizes)
    lost = V[:, ~good]
    for i in np.flatnonzero((np.abs(lost) > 1e-4).any(axis=1)):
        C[i, :] = C[:, i] = np.nan
        C[i, i] = np.inf
    return C, int(good.sum()), [dict(zip(names, map(float, v), strict=True)) for v in lost.T]


def whiteness(residual: np.ndarray, lags: int | None = None) -> float:
    """The probability that white noise has autocorrelations as large: Q = n(n + 2) Σ ρₖ²/(n − k) is χ² (Ljung and Box, 1978)."""
    from scipy.stats import chi2

    r = residual - residual.mean()
    n = len(r)
    m = min(10, n // 5) if lags is None else lags
    total = float(r @ r)
    if m < 1 or total == 0.0:
        return 1.0
    rho = np.array([float(r[k:] @ r[:-k]) / total for k in range(1, m + 1)])
    return float(chi2.sf(n * (n + 2) * np.sum(rho**2 / (n - np.arange(1, m + 1))), m))


__all__ = ["Fit", "told", "whiteness"]
