"""Algebraic unknowns at given states: Newton's method on many rows at once, with the compiled function that native runs use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SolverError
from ..solvers.unknowns import HALVINGS, ROUNDING, SMALL, STEPS

if TYPE_CHECKING:
    from ..native.function import Function
    from .tree.system import TreeSystem


def not_found(name: str, t: float, residual: float) -> str:
    """Which unknown has no value."""
    return (
        f"the unknown '{name}' cannot be found at t = {t:.9g} s: its equation leaves a residual of {residual:.3g}; "
        "give it another guess=, or look whether the equation has a solution there"
    )


def find_unknowns(system: TreeSystem, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> None:
    """Writes the unknowns at times and states (in rows) into rows of inputs, in which they stand where the search begins."""
    model, sought = system.model, system.equations_of_motion.sought
    places = [i for i, name in enumerate(model.inputs) if name in model.unknowns]
    search = _Search(system.function("unknowns"), t, x, u, places)
    new, _ = search.evaluate()
    if not sought:
        u[:, places] = new
        return
    left = search.run()
    if left.any():
        k = int(np.argmax(left))
        worst = int(np.argmax(np.abs(search.residual[k])))
        raise SolverError(f"'{model.name}': {not_found(sought[worst], float(t[k]), float(abs(search.residual[k, worst])))}")


class _Search:
    """Damped steps of Newton's method, each row with its own; see :func:`jourdain.solvers.unknowns.find`."""

    def __init__(self, f: Function, t: np.ndarray, x: np.ndarray, u: np.ndarray, places: list[int]) -> None:
        self.f, self.t, self.x, self.u, self.places = f, t, x, u, places
        self.residual = np.zeros((len(t), 0))
        self.scale: np.ndarray | None = None

    def evaluate(self) -> tuple[np.ndarray, np.ndarray]:
        """The next values, and how large residuals are against their largest sizes so far."""
        with np.errstate(all="ignore"):
            out = self.f(self.t[:, None], self.x, self.u)
            n = len(self.places)
            m = (out.shape[1] - n) // 2
            new, self.residual, size = out[:, :n], out[:, n : n + m], out[:, n + m :]
            self.scale = size if self.scale is None else np.fmax(self.scale, size)
            merit = np.where(self.scale > 0.0, np.abs(self.residual) / self.scale, 0.0).max(axis=1, initial=0.0)
        return new, np.where(np.isfinite(self.residual).all(axis=1) & np.isfinite(size).all(axis=1), merit, np.inf)

    def run(self) -> np.ndarray:
        """Searches; which rows have found nothing."""
        u, places = self.u, self.places
        left, (new, merit) = np.ones(len(self.t), bool), self.evaluate()
        for _ in range(STEPS):
            last = u[:, places]
            way = np.where(left[:, None], new - last, 0.0)
            with np.errstate(all="ignore"):
                change = np.where(way == 0.0, 0.0, np.abs(way) / (np.abs(last) + np.abs(new))).max(axis=1)
            u[:, places] = last + way
            left &= ~(change <= SMALL)
            if not left.any():
                break
            before, part = merit, np.ones(len(self.t))
            new, merit = self.evaluate()
            for k in range(HALVINGS):
                worse = left & ~((merit <= (1.0 - 1e-4 * part) * before) | (merit == 0.0))
                rounding = worse & ((np.abs(way) / (1.0 + np.abs(last))).max(axis=1) < ROUNDING) if k > 2 else np.zeros_like(worse)
                u[np.ix_(rounding, places)] = (last + way)[rounding]
                left &= ~rounding
                worse &= ~rounding
                if not worse.any():
                    break
                part[worse] *= 0.5
                u[np.ix_(worse, places)] = (last + part[:, None] * way)[worse]
                new, merit = self.evaluate()
            else:
                break
        return left


__all__ = ["find_unknowns", "not_found"]
