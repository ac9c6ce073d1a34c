"""Equilibrium and vibration of assembled systems.

Equilibrium by implicit relaxation: steps of backward Euler from rest, each longer than the one before, follow the potential down to a stable
equilibrium; for long steps they are Newton's method on ∇V + F − Q + Gᵀλ = 0, Φ = 0.  Modes from the linearised equations
M ẍ + C ẋ + K x + Gᵀλ = 0, G x = 0 in the null space of G.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eig, eigh, null_space
from scipy.sparse import csr_matrix

from ..errors import SolverError
from ..formalisms.elements.schemes import scheme
from ..formalisms.elements.stepping import ElementStep
from ..symbolic.graph import evaluate
from .assembled_state import Equations

if TYPE_CHECKING:
    from .assembled_system import AssembledSystem


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
    """A stable equilibrium reached from the initial state; ``first`` is the first relaxation step (s)."""
    from ..solvers import assembled_plan as ap

    run, program = system._run(scheme("backward-euler"), reduction, 0.0, first, first, 1, 1e-12, 40)
    h, size = first, float(run.clock[ap.SIZE])
    moved = np.inf
    for steps in range(1, max_steps + 1):
        before = run.vec[ap.Q0].copy()
        run.vec[ap.V0] = 0.0
        run.set_time(0.0, h, h)
        run.count[ap.GRID] = 0
        run.matrix()
        run.analyse()
        if run.march()[1] != ap.FINISHED:
            raise SolverError(
                f"equilibrium of '{system.name}': the relaxation does not converge; try a smaller first step than {first:g} s"
            )
        moved = float(np.abs(run.vec[ap.Q0] - before).max())
        if moved <= tolerance * size and h > 10.0 * first:
            q = run.vec[ap.Q0].copy()
            a, _ = system.equations.accelerations(q, np.zeros_like(q), 0.0)
            multipliers = dict(zip(program.multiplier_names, run.lam[ap.LAST].tolist(), strict=True))
            return Equilibrium(q, multipliers, float(np.abs(a).max(initial=0.0)), steps)
        h = min(4.0 * h, 1e4 * first) if run.count[ap.HALVINGS] == 0 else h
        run.count[ap.HALVINGS] = 0
    raise SolverError(f"equilibrium of '{system.name}': still moving by {moved:.3g} after {max_steps} steps; is there a stable one?")


def stiffness(equations: Equations, q: np.ndarray, lam: np.ndarray, t: float = 0.0) -> tuple[csr_matrix, csr_matrix]:
    """K = ∂(∇V + F − Q + Gᵀλ)/∂q and C = ∂(F − Q)/∂q̇ at rest, with λ in the order of ``equations.row_names``."""
    from scipy.sparse import coo_matrix

    parts: list[list[np.ndarray]] = [[], [], [], []]
    first, still = 0, np.zeros_like(q)
    for step, members in equations._groups:
        index = equations.local_coordinates(step, members)
        known = equations._values(step, members, index, q, still, t)
        n, m = step.element.size, len(step.row_names)
        local = lam[first : first + m * len(members)].reshape(len(members), m)
        first += m * len(members)
        known |= {s: local[:, j] for j, s in enumerate(step.packing.multipliers)}
        long, short = (_tangent(step, known, h, t, len(members)) for h in (1e30, 1.0))
        for at, value in long.items():
            i, j = at
            if i < n and j < n:
                for part, new in zip(parts, (index[:, i], index[:, j], value, short[at] - value), strict=True):
                    part.append(new)
    at_row, at_column, with_mass, damping = (np.concatenate(p) for p in parts)
    shape = (q.size, q.size)
    mass = equations.at(q, still, t).mass
    return csr_matrix(coo_matrix((with_mass, (at_row, at_column)), shape=shape)) - mass, csr_matrix(
        coo_matrix((damping, (at_row, at_column)), shape=shape)
    )


def _tangent(step: ElementStep, known: dict, h: float, t: float, count: int) -> dict[tuple[int, int], np.ndarray]:  # type: ignore[type-arg]
    """Entries of the tangent at rest for a step h: M + K + C/h."""
    values = known | dict(zip(step.packing.scalars, (h, t, 1.0, 1.0, 1.0 / h), strict=True))
    values |= dict(zip(step.packing.q0, (known[e] for e in step.packing.q1), strict=True)) | {o: 0.0 for o in step.packing.offset}
    found = evaluate(list(step.tangent_entries.values()), values)
    return {at: np.broadcast_to(x, (count,)) for at, x in zip(step.tangent_entries, found, strict=True)}


def modal(system: AssembledSystem, q: np.ndarray | None = None, count: int | None = None) -> AssembledModes:
    """Modes about an equilibrium ``q`` (default: the initial state): dense, for systems of up to some thousand coordinates."""
    equations = system.equations
    q = system.q0 if q is None else np.asarray(q, float)
    now = equations.at(q, np.zeros_like(q), 0.0)
    _, lam = equations.accelerations(q, np.zeros_like(q), 0.0)
    K, C = stiffness(equations, q, lam)
    free = np.flatnonzero(equations.free)
    rows = now.rows[:, free].toarray()
    Z = null_space(rows, rcond=1e-10) if rows.size else np.eye(free.size)
    mass, stiff, damp = (Z.T @ A[free][:, free].toarray() @ Z for A in (now.mass, K, C))
    if np.abs(damp).max(initial=0.0) <= 1e-14 * max(1e-300, np.abs(mass).max(initial=0.0)) and np.allclose(
        stiff, stiff.T, atol=1e-9 * np.abs(stiff).max(initial=1.0)
    ):
        squares, vectors = eigh(0.5 * (stiff + stiff.T), mass)
        values = np.sqrt(-squares.astype(complex))
    else:
        values, vectors = _damped(mass, damp, stiff)
    order = np.argsort(np.abs(values))[:count]
    values, vectors = values[order], vectors[:, order]
    shapes = np.zeros((q.size, values.size), vectors.dtype)
    shapes[free] = Z @ vectors
    size = np.abs(values)
    ratio = np.divide(-values.real, size, out=np.zeros_like(size), where=size > 0.0)
    return AssembledModes(values, size / (2.0 * np.pi), ratio, shapes)


def _damped(mass: np.ndarray, damp: np.ndarray, stiff: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues with Im ≥ 0 and shapes of M λ² + C λ + K."""
    n = len(mass)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-stiff, -damp]])
    B = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), mass]])
    values, vectors = eig(A, B)
    kept = values.imag >= 0.0
    return values[kept], vectors[:n, kept]
