"""Equilibrium and vibration of assembled systems.

Equilibrium by implicit relaxation: steps of backward Euler from rest, each longer than the one before, follow the potential down to a stable
equilibrium; for long steps they are Newton's method on ∇V + F − Q + Gᵀλ = 0, Φ = 0.  Modes from the linearised equations
M ẍ + C ẋ + K x + Gᵀλ = 0, G x = 0; see :mod:`jourdain.solvers.linear.sparse_modes`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, diags

from ...elements.discrete.schemes import scheme
from ...errors import InputError, SolverError
from ...solvers.linear.sparse_modes import ConstrainedVibration
from .instant import Equations

if TYPE_CHECKING:
    from .system import AssembledSystem

#: Coordinates up to which modes are found by dense matrices in any case, and when most of them are wanted.
DENSE_SIZE, LARGEST_DENSE_SIZE = 300, 3000


@dataclass(frozen=True)
class Equilibrium:
    """Coordinates and multipliers at rest; ``imbalance`` is the largest acceleration left (m/s² or rad/s²)."""

    q: np.ndarray
    multipliers: dict[str, float]
    imbalance: float
    steps: int


@dataclass(frozen=True)
class AssembledModes:
    """Eigenvalues (1/s), natural frequencies (Hz), damping ratios and shapes (columns, in all coordinates), slowest first."""

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray


def equilibrium(
    system: AssembledSystem, reduction: str = "none", first: float = 0.1, tolerance: float = 1e-12, max_steps: int = 200
) -> Equilibrium:
    """A stable equilibrium reached from the initial state; ``first`` is the first relaxation step (s).

    A step against the forces at its start would lead to an unstable equilibrium: it is taken back and made shorter.  One that is reached all
    the same is left along its fastest growing motion (looked for in systems of up to 600 coordinates).
    """

    path = _Relaxation(system, reduction, first)
    h, moved = first, np.inf
    for steps in range(1, max_steps + 1):
        before, force = path.q.copy(), path.force()
        path.step(h)
        moved = float(np.abs(path.q - before).max())
        if force @ (path.q - before) > 1e-9 * np.abs(force).max(initial=0.0) * moved and moved > 1e-9 * path.size and h > 1e-6 * first:
            path.back(before)
            h *= 0.2
            continue
        if moved <= tolerance * path.size and h > 10.0 * first:
            away = _growing(system.equations, path.q)
            if away is not None:
                h = first
                path.step(h, away * (0.02 * path.size / h))
                continue
            a, _ = system.equations.accelerations(path.q, np.zeros_like(before), 0.0)
            multipliers = dict(zip(path.program.multiplier_names, path.run.lam.last.tolist(), strict=True))
            return Equilibrium(path.q.copy(), multipliers, float(np.abs(a).max(initial=0.0)), steps)
        h = min(4.0 * h, 1e4 * first) if path.run.count.halvings == 0 else h
        path.run.count.halvings = 0
    raise SolverError(f"equilibrium of '{system.name}': still moving by {moved:.3g} after {max_steps} steps; is there a stable one?")


class _Relaxation:
    """Steps of backward Euler from rest; where other constraints become redundant on the way they are chosen anew."""

    def __init__(self, system: AssembledSystem, reduction: str, first: float) -> None:
        self.system, self.reduction, self.first = copy(system), reduction, first
        self._begin()

    def _begin(self) -> None:

        self.run, self.program = self.system.new_run(scheme("backward-euler"), self.reduction, 0.0, self.first, self.first, 1, 1e-12, 40)
        self.size = self.run.clock.size

    @property
    def q(self) -> np.ndarray:
        """Present coordinates."""

        return np.asarray(self.run.vec.q0)

    def force(self) -> np.ndarray:
        """∇V + F − Q at rest at the present place."""
        return self.system.equations.at(self.q, np.zeros_like(self.q), 0.0).force

    def back(self, q: np.ndarray) -> None:
        """To another place, at rest."""

        self.run.vec.q0 = self.run.vec.q1 = q

    def step(self, h: float, rate: np.ndarray | float = 0.0) -> None:
        """One step of ``h`` seconds from rest (or from a rate)."""
        from ...solvers.linear.sparse_lu import SingularMatrix
        from ...solvers.stepping import frame as ap

        run = self.run
        run.vec.v0[:] = rate
        run.set_time(0.0, h, h)
        run.count.grid = 0
        if run.joints is None:
            run.matrix()
            try:
                run.analyse()
            except SingularMatrix:
                self.system.set_state(self.q, np.zeros_like(self.q))
                self._begin()
                self.step(h, rate)
                return
        if run.march()[1] != ap.FINISHED:
            raise SolverError(
                f"equilibrium of '{self.system.name}': the relaxation does not converge; try a smaller first step than {self.first:g} s"
            )


def _growing(equations: Equations, q: np.ndarray) -> np.ndarray | None:
    """The fastest growing small motion about an equilibrium, its largest entry 1, or None."""
    free = np.flatnonzero(equations.free)
    if free.size > 600 or equations.first.any():
        return None
    values, vectors = _linearised(equations, q).all_modes()
    k = int(np.argmax(values.real)) if values.size else 0
    if not values.size or values[k].real <= 1e-6 * np.abs(values).max():
        return None
    away = np.zeros_like(q)
    away[free] = vectors[:, k].real
    return away / np.abs(away).max()


def modal(system: AssembledSystem, q: np.ndarray | None = None, count: int | None = None) -> AssembledModes:
    """Modes about an equilibrium ``q`` (default: the initial state); the ``count`` slowest ones of large systems by sparse iteration.

    Small systems (up to 300 coordinates), and all modes of systems up to 3000, are treated by dense matrices.
    """
    equations = system.equations
    q = system.q0 if q is None else np.asarray(q, float)
    if q.shape != system.q0.shape:
        raise InputError(f"modes of '{system.name}': {q.size} coordinates are given; it has {system.q0.size}")
    if count is not None and count < 1:
        raise InputError(f"modes of '{system.name}': count = {count} must be positive")
    linear, free = _linearised(equations, q), np.flatnonzero(equations.free)
    if free.size <= DENSE_SIZE or (free.size <= LARGEST_DENSE_SIZE and (count is None or 4 * count > free.size)):
        values, vectors = linear.all_modes()
    elif count is None or 4 * count > free.size:
        raise InputError(f"modes of '{system.name}': {free.size} coordinates are too many to find all modes; give a small count")
    else:
        values, vectors = linear.slowest(count, system.name)
    order = np.argsort(np.abs(values), kind="stable")[:count]
    values, vectors = values[order], vectors[:, order]
    shapes = np.zeros((q.size, values.size), vectors.dtype)
    shapes[free] = vectors
    size = np.abs(values)
    ratio = np.divide(-values.real, size, out=np.zeros_like(size), where=size > 0.0)
    return AssembledModes(values, size / (2.0 * np.pi), ratio, shapes)


def _linearised(equations: Equations, q: np.ndarray) -> ConstrainedVibration:
    """The free coordinates about rest at q; those of first order (ż = f) have a rate but no inertia."""
    still = np.zeros_like(q)
    now = equations.at(q, still, 0.0)
    _, lam = equations.accelerations(q, still, 0.0)
    K, C = equations.tangent(q, still, 0.0, lam)
    first = diags(equations.first.astype(float))
    inertia, rates = now.mass - first @ now.mass, C + first @ now.mass
    free = np.flatnonzero(equations.free)
    mass, damp, stiff = (csr_matrix(csr_matrix(A)[free][:, free]) for A in (inertia, rates, K))
    return ConstrainedVibration(mass, damp, stiff, csr_matrix(now.rows[:, free]))
