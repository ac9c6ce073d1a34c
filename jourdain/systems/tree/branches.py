"""Branches of the motion in a singular position: velocities that the constraints allow to second order.

Where J loses rank, J v = −h_t allows more velocities than there are motions.  A motion has an acceleration too, J v̇ = g(q, v, t), which
asks Yᵀg = 0 for every Y with YᵀJ = 0: quadratic equations in v, whose solutions are the tangents of the branches that meet there
(Müller, *Local kinematic analysis of closed-loop linkages*, 2016: the second-order approximation of the tangent cone).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...solvers.constraints.start import SINGULAR
from ...solvers.linear.sparse_rows import loses_rank
from ..constraints import constraint_function
from ..state import State
from ..units import units_of

if TYPE_CHECKING:
    from ..compiled import Compiled

#: What is left of a quadratic equation, as part of its size, in an admissible velocity.
ADMISSIBLE = 1e-3
#: Starts of Newton's method, its iterations, and how many branches are told at most.
STARTS, ITERATIONS, TOLD = 80, 30, 6


class SingularStart(UserWarning):
    """A run begins in a singular position whose branches the equations of second order do not tell apart."""


class BranchError(InputError):
    """Velocities that no motion has in a singular position; ``branches`` holds states with velocities that some have."""

    def __init__(self, message: str, branches: Sequence[State]) -> None:
        super().__init__(message)
        self.branches = list(branches)


@dataclass(frozen=True)
class SingularPosition:
    """The equations of second order in one position: c(α) = Yᵀg(v₀ + N α) with J N = 0."""

    system: Compiled
    q: np.ndarray
    z: np.ndarray
    t: float
    #: a velocity that meets the constraints, a basis of those that may be added, and the rows that J has lost
    v0: np.ndarray
    N: np.ndarray
    Y: np.ndarray

    def _lost(self, v: np.ndarray) -> np.ndarray:
        """Yᵀg for velocities in rows."""
        s = self.system
        rows = np.hstack([np.broadcast_to(self.q, (len(v), s.nq)), v, np.broadcast_to(self.z, (len(v), s.nz))])
        f = s.function("constraint_drift")
        inputs = [np.broadcast_to(s.input_values(), (len(v), s.nu))] if "u" in f.inputs else []
        return np.asarray(f(np.full((len(v), 1), self.t), rows, *inputs)) @ self.Y

    @cached_property
    def forms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c(α) = c₀ + L α + αᵀQ α, exact from its values, for g is quadratic in v."""
        n, one = self.N.shape[1], np.eye(self.N.shape[1])
        pairs = [(i, j) for i in range(n) for j in range(i)]
        places = np.array([0.0 * one[0], *one, *(-one), *(one[i] + one[j] for i, j in pairs)])
        c = self._lost(self.v0 + places @ self.N.T)
        c0, plus, minus = c[0], c[1 : 1 + n], c[1 + n : 1 + 2 * n]
        L = 0.5 * (plus - minus).T
        Q = np.zeros((c.shape[1], n, n))
        for i in range(n):
            Q[:, i, i] = 0.5 * (plus[i] + minus[i]) - c0
        for k, (i, j) in enumerate(pairs):
            Q[:, i, j] = Q[:, j, i] = 0.5 * (c[1 + 2 * n + k] - plus[i] - plus[j] + c0)
        return c0, L, Q

    @property
    def lost(self) -> int:
        """How many equations the constraints have lost."""
        return self.Y.shape[1]

    @property
    def is_trivial(self) -> bool:
        """Whether the lost rows ask for nothing to second order, so that they tell no branches."""
        return max(float(np.abs(a).max(initial=0.0)) for a in self.forms) < 1e-9

    def left(self, v: np.ndarray) -> float:
        """What a velocity leaves of the equations, as part of their size."""
        c0, L, Q = self.forms
        a = self.N.T @ (v - self.v0)
        size = np.abs(c0).max() + np.abs(L).max() * np.linalg.norm(a) + np.abs(Q).max() * float(a @ a)
        return float(np.abs(self._lost(v[None, :])).max() / size) if size > 0.0 else 0.0

    def velocities(self, held: Sequence[int], values: Sequence[float], length: float | None = None) -> list[np.ndarray]:
        """Admissible velocities with some held, or of a given length; one for each branch, the smallest first."""
        rest = np.asarray(values, dtype=float) - self.v0[list(held)]
        at, *_ = np.linalg.lstsq(self.N[list(held)], rest, rcond=1e-9)
        if np.abs(self.N[list(held)] @ at - rest).max(initial=0.0) > 1e-6 * (1.0 + np.abs(rest).max(initial=0.0)):
            return []
        _, sigma, vt = np.linalg.svd(np.vstack([self.N[list(held)], np.zeros((1, self.N.shape[1]))]))
        B = vt[int((sigma > 1e-9).sum()) :].T
        size = length or float(np.linalg.norm(at)) or 1.0
        rng = np.random.default_rng(0)
        found: list[np.ndarray] = []
        for b in (np.zeros(B.shape[1]), *(size * rng.normal(size=(STARTS, B.shape[1])))):
            a = self._newton(at, B, b, length)
            if a is None:
                continue
            v = self.v0 + self.N @ a
            if all(np.linalg.norm(v - other) > 1e-4 * (np.linalg.norm(v) + np.linalg.norm(other)) + 1e-12 for other in found):
                found.append(v)
        return sorted(found, key=lambda v: (round(float(np.linalg.norm(v)), 6), *np.round(-v, 6).tolist()))[:TOLD]

    def _newton(self, at: np.ndarray, B: np.ndarray, b: np.ndarray, length: float | None) -> np.ndarray | None:
        """α = at + B b with c(α) = 0 (and |v| = length), by Gauss–Newton."""
        c0, L, Q = self.forms
        scale = max(np.abs(c0).max(), np.abs(L).max(), np.abs(Q).max())
        for _ in range(ITERATIONS):
            a = at + B @ b
            c, slope = (c0 + L @ a + Q @ a @ a) / scale, (L + 2.0 * Q @ a) @ B / scale
            if length is not None:
                v = self.v0 + self.N @ a
                c, slope = np.append(c, (v @ v / length**2 - 1.0) * length), np.vstack([slope, 2.0 / length * v @ self.N @ B])
            size = 1.0 + float(a @ a)
            if np.abs(c).max() < 1e-11 * size:
                return a
            b = b - np.linalg.lstsq(slope, c, rcond=1e-7)[0]
        return a if np.abs(c).max() < 1e-7 * size else None


def singular_position(system: Compiled, state: State) -> SingularPosition | None:
    """The equations of second order where constraints have lost rank that have it nearby, else None; they may ask for nothing."""
    from .redundancy import redundant_rows

    if not system.equations_of_motion.rows:
        return None
    f = constraint_function(system, "constraint_velocities")
    extra = {"z": state.z, "u": system.input_values()}
    w, J = f(np.array([state.t]), state.q, np.zeros(system.nv), *(extra[n] for n in list(f.inputs)[3:]))
    if not loses_rank(J, SINGULAR):
        return None
    J, units = J.toarray() if system.packed else J, units_of(system.reference)
    row, velocity = units.row[:, None], units.velocity[:, None]
    J, w = row * J * velocity.T, units.row * w
    u, sigma, vt = np.linalg.svd(J)
    rank = int((sigma > SINGULAR * sigma[0]).sum()) if sigma[0] > 0.0 else 0
    if len(J) - rank <= len(redundant_rows(system.reference, state)):
        return None
    v0 = -velocity * (vt[:rank].T @ ((u[:, :rank].T @ w) / sigma[:rank]))[:, None]
    N = np.linalg.qr(velocity * vt[rank:].T)[0] if units.differ else vt[rank:].T
    return SingularPosition(system, state.q, state.z, state.t, v0[:, 0], N, row * u[:, rank:])


def branch_states(place: SingularPosition, velocities: Sequence[np.ndarray]) -> list[State]:
    """States of the position with given velocities."""
    return [State(place.system, place.q.copy(), v, place.z.copy(), place.t) for v in velocities]


def branch_names(system: Compiled, branches: Sequence[State]) -> str:
    """Branches with their velocities in words."""
    listed = []
    for k, state in enumerate(branches):
        pairs = [f"{n} = {x:.6g}" for n, x in zip(system.velocity_names, state.v, strict=True)]
        listed.append(f"branch {k}: {', '.join(pairs[:6])}{', …' if len(pairs) > 6 else ''}")
    return "; ".join(listed)


def check_branch(system: Compiled, state: State) -> None:
    """Refuses a state in a singular position whose velocities (or, at rest, accelerations) no motion has; warns where that cannot be told."""
    place = singular_position(system, state)
    if place is None:
        return
    if place.is_trivial:
        warnings.warn(
            f"'{system.model.name}': the start is a singular position: {place.lost} of the constraints say nothing here that others do not say, "
            "but do nearby. Branches of the motion may meet, and equations of second order do not tell them apart: the run takes one that all "
            "constraints allow; start beside the position to choose (system.mobility(state) tells the freedoms)",
            SingularStart,
            stacklevel=7,
        )
        return
    speed = float(np.linalg.norm(state.v))
    if speed > 1e-9:
        if place.left(state.v) < ADMISSIBLE:
            return
        found = branch_states(place, place.velocities([], [], speed))
        where = f"'{system.model.name}': the start is a singular position, where branches of the motion meet, and no motion has these velocities"
        raise BranchError(f"{where}; those of the same size are: {branch_names(system, found)}", found)
    M, f, *_ = system.function("descriptor")(np.array([state.t]), state.x, system.input_values())
    force = place.N.T @ f
    if np.abs(force).max() < 1e-9 * (1.0 + np.abs(f).max()):
        return
    a = place.N @ np.linalg.solve(place.N.T @ M @ place.N, force)
    if np.linalg.norm(place.v0) < 1e-9 and place.left(a) < ADMISSIBLE:
        return
    found = branch_states(place, place.velocities([], [], 1.0))
    raise BranchError(
        f"'{system.model.name}': at rest in a singular position, where branches of the motion meet, forces do not tell on which one it goes; "
        f"give it velocities, such as those of {branch_names(system, found)}, or start beside it",
        found,
    )


__all__ = ["BranchError", "SingularPosition", "SingularStart", "branch_names", "branch_states", "check_branch", "singular_position"]
