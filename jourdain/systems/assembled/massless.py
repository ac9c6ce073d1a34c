"""Coordinates without mass that no constraint determines: at every instant they lie in the balance of their forces.

A scheme that starts beside that balance alternates about it for ever, x₀ + x₁ being what a step determines; the start is therefore balanced:
positions where forces depend on positions only, rates where there is damping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space
from scipy.sparse import csc_matrix

from ...errors import InputError

if TYPE_CHECKING:
    from .instant import Equations, Instant

#: Part of the largest stiffness or damping below which one counts as zero, and of the forces below which only rounding is left.
NOTHING, CLOSE = 1e-12, 1e-8
ITERATIONS = 50
#: Time (s) over which accelerations are formed.
INSTANT = 1e-4


def undetermined(equations: Equations, now: Instant) -> np.ndarray:
    """Directions, as columns over all coordinates, in which there is neither mass nor a constraint."""
    massless = equations.free & ~equations.first & (np.asarray(abs(now.mass).sum(axis=1)).ravel() == 0.0)
    rows = csc_matrix(now.rows)
    left = np.flatnonzero(massless)
    while left.size:  # a coordinate that stands alone in a row is determined by it
        counts = np.asarray((rows[:, left] != 0).sum(axis=1)).ravel()
        alone = np.asarray((rows[np.flatnonzero(counts == 1)][:, left] != 0).sum(axis=0)).ravel() > 0
        if not alone.any():
            break
        left = left[~alone]
    basis = np.zeros((equations.nq, 0))
    if left.size:
        within = rows[:, left].toarray()
        kernel = null_space(within[np.any(within != 0.0, axis=1)]) if np.any(within) else np.identity(left.size)
        basis = np.zeros((equations.nq, kernel.shape[1]))
        basis[left] = kernel
    return basis


def balanced(
    equations: Equations, q: np.ndarray, v: np.ndarray, t: float, name: str, history: Mapping[str, np.ndarray] | None = None,
    now: Instant | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Positions and rates with undetermined massless coordinates in their balance: forces vanish and go on vanishing.

    ``now`` gives the equations at the positions, if they are known.
    """
    now = equations.at(q, v, t, history) if now is None else now
    N = undetermined(equations, now)
    if N.shape[1] == 0:
        return q, v
    lam, given, last = np.zeros(len(equations.row_names)), (q, v), np.inf
    scale = max(1.0, float(np.abs(now.force).max()))
    for _ in range(ITERATIONS):
        K, C = equations.tangent(q, v, t, lam)
        damping, force = N.T @ (C @ N), equations.at(q, v, t, history).force
        B = N @ null_space(damping, rcond=NOTHING) if np.any(damping) else N  # directions without damping
        left = float(np.abs(N.T @ force).max())
        if left <= 1e-15 * scale or (left <= CLOSE * scale and left > 0.5 * last):
            drift = K @ v + _drift(equations, q, v, t, history)
            return q, v - B @ np.linalg.lstsq(B.T @ (K @ B), B.T @ drift, rcond=NOTHING)[0]
        last = left
        v = v - N @ np.linalg.lstsq(damping, N.T @ force, rcond=NOTHING)[0]
        q = q - B @ np.linalg.lstsq(B.T @ (K @ B), B.T @ force, rcond=NOTHING)[0]
    if np.abs(B.T @ force).max(initial=0.0) > CLOSE * scale:
        k = int(np.argmax(np.abs(N @ (N.T @ force))))
        raise InputError(
            f"system '{name}': coordinate '{equations.coordinate_names[k]}' has no mass and is out of balance, with a force of {-force[k]:.3g} "
            "left, and no balance is found near; start where its forces vanish, or give it mass, damping or a constraint"
        )
    return given  # a law of rates without a balance at this instant: the scheme finds its own


def accelerations(
    equations: Equations, N: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float, history: Mapping[str, np.ndarray] | None
) -> np.ndarray:
    """Accelerations along the directions N by the change of balanced rates, given those of the coordinates with mass."""
    e = INSTANT
    ends = [balanced(equations, q + s * v + 0.5 * s * s * a, v + s * a, t + s, "system", history)[1] for s in (-e, e)]
    return a + N @ (N.T @ ((ends[1] - ends[0]) / (2.0 * e) - a))  # type: ignore[no-any-return]


def _drift(equations: Equations, q: np.ndarray, v: np.ndarray, t: float, history: Mapping[str, np.ndarray] | None) -> np.ndarray:
    """∂(∇V + F − Q)/∂t at a state."""
    step = 1e-6 * max(1.0, abs(t))
    return (equations.at(q, v, t + step, history).force - equations.at(q, v, t - step, history).force) / (2.0 * step)


__all__ = ["accelerations", "balanced", "undetermined"]
