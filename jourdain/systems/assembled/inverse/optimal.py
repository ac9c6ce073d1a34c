"""Bounded inputs by which outputs follow courses as well as they can: least squares along a motion.

    min ½ Σ h [ Σ ((b_j(q) − γ_j)/s_j)² + ρ Σ (u_j/u_j⁰)² ]   with the balances and constraints of every node, |u_j| ≤ u_j^max

The motion begins at rest.  Derivatives of outputs and balances are exact, curvature is that of least squares (Gauss–Newton), bounds are kept by a primal-dual
interior-point method; every step is one sparse factorisation for all nodes, multipliers and adjoint variables at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import bmat, csc_matrix, diags
from scipy.sparse.linalg import splu

from ....errors import SolverError
from .along import Along, Entries, Triplets
from .stable import Inverse, Rest, check_course, grid, rest_at, told

if TYPE_CHECKING:
    from ..system import AssembledSystem

#: Steps of the interior-point method, part of the way to a bound that a step may take, and the last barrier against the first.
MOST_STEPS, TO_THE_BOUND, LAST = 80, 0.995, 1e-10


def optimal_inverse(
    system: AssembledSystem, span: tuple[float, float], step: float, before: float, after: float, limits: np.ndarray, effort: float
) -> Inverse:
    """The motion from rest with inputs within ``limits`` (one for each; infinite: none) that misses the courses least; ``effort`` is ρ."""
    along = Along(system, f"optimal inversion of '{system.name}'")
    first = rest_at(along, span[0], system.q0)
    t = grid(span, step, before, after)
    check_course(along, t, first)
    problem = _LeastSquares(along, t, first, limits, effort)
    Q, inputs, steps, error = problem.solve()
    return told(along, t, Q, inputs, (first, rest_at(along, float(t[-1]), along.full(Q[-1:])[0], first.lam)), steps, error)


class _LeastSquares:
    """Unknowns: coordinates of nodes 2 … N (0 and 1 are at rest), multipliers and inputs of nodes 1 … N − 1."""

    def __init__(self, along: Along, t: np.ndarray, rest: Rest, limits: np.ndarray, effort: float) -> None:
        self.along, self.t, self.rest, self.h = along, t, rest, float(t[1] - t[0])
        self.n, self.k, self.N = along.size, along.inputs, len(t) - 1
        self.m = along.count - along.inputs
        self.start = rest.q
        hold = rest.lam[self.m :]
        rates = along.course_rates(along.full(self.start[None])[0], t, 0)[0]
        self.scale = np.maximum(np.ptp(rates, axis=0), 1e-9 * max(1.0, float(np.abs(self.start).max())))
        self.limits, self.held = limits, hold
        self.typical = np.where(np.isfinite(limits), limits, np.maximum(np.abs(hold), 1.0))
        self.effort = effort
        self.nq, self.nl, self.nu = (self.N - 1) * self.n, (self.N - 1) * self.m, (self.N - 1) * self.k

    def nodes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates of all nodes, multipliers and inputs of those inside."""
        Q = np.vstack([self.start, self.start, x[: self.nq].reshape(-1, self.n)])
        lam = x[self.nq : self.nq + self.nl].reshape(-1, self.m)
        return Q, lam, x[self.nq + self.nl :].reshape(-1, self.k)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, csc_matrix, np.ndarray, csc_matrix]:
        """Balances and constraints c with their derivative, errors of the outputs e (scaled) with theirs."""
        Q, lam, u = self.nodes(x)
        h, N, n, m = self.h, self.N, self.n, self.m
        v = np.vstack([np.zeros((1, n)), (Q[2:] - Q[:-2]) / (2.0 * h), np.zeros((1, n))])
        multipliers = np.vstack([np.zeros((1, m + self.k)), np.hstack([lam, u]), np.zeros((1, m + self.k))])
        here = self.along(Q, v, self.t, multipliers)
        a = (Q[2:] - 2.0 * Q[1:-1] + Q[:-2]) / h**2
        c = np.concatenate([(here.force[1:-1] + (self.along.mass @ a.T).T).ravel(), here.value[2:, :m].ravel()])
        at = (np.arange(N + 1) - 2) * n  # of the coordinates of a node; those of the first two are given
        into = Triplets((len(c), x.size))
        row = np.arange(N - 1)[:, None] * n
        mass = self.along.mass.tocoo()
        for shift, factor, rate in ((-1, 1.0, -0.5), (0, -2.0, 0.0), (1, 1.0, 0.5)):
            column = at[1 + shift : N + shift, None]
            into.put(factor / h**2 * mass.data, row + mass.row, column + mass.col)
            if rate:
                into.put(rate / h * here.damping.values[1:N], row + here.damping.rows, column + here.damping.columns)
        into.put(here.stiffness.values[1:N], row + here.stiffness.rows, at[1:N, None] + here.stiffness.columns)
        A = here.acting
        place = np.where(A.rows < m, self.nq + A.rows, self.nq + self.nl + A.rows - m)
        width = np.where(A.rows < m, m, self.k)
        into.put(A.values[1:N], row + A.columns, place + width * np.arange(N - 1)[:, None])
        G, own = here.rows, here.rows.rows < m
        inner = Entries(G.values[2:, own], G.rows[own], G.columns[own])
        into.put(inner.values, (N - 1) * n + np.arange(N - 1)[:, None] * m + inner.rows, at[2:, None] + inner.columns)
        outer = Triplets(((N - 1) * self.k, x.size))
        which = G.rows[~own] - m
        outer.put(G.values[2:, ~own] / self.scale[which], np.arange(N - 1)[:, None] * self.k + which, at[2:, None] + G.columns[~own])
        e = (here.value[2:, m:] / self.scale).ravel()
        return c, into.matrix(), e, outer.matrix()

    def solve(self) -> tuple[np.ndarray, np.ndarray, int, float]:
        """Coordinates and inputs at all nodes, steps, and the largest error of an output in its own unit."""
        limits, typical = np.tile(self.limits, self.N - 1), np.tile(self.typical, self.N - 1)
        x = np.concatenate(
            [np.tile(self.start, self.N - 1), np.zeros(self.nl), np.clip(np.tile(self.held, self.N - 1), -0.9 * limits, 0.9 * limits)]
        )
        bounded, u_at = np.isfinite(limits), slice(self.nq + self.nl, None)
        weight = np.zeros(x.size)
        weight[u_at] = self.h * self.effort / typical**2
        barrier = 1e-2 * self.h / typical
        low, high = (np.where(bounded, barrier / np.where(bounded, limits, 1.0), 0.0) * typical for _ in range(2))
        mu = barrier * typical * bounded
        first = float(mu.max(initial=0.0))
        for steps in range(1, MOST_STEPS + 1):
            c, J, e, E = self.evaluate(x)
            u = x[u_at]
            room = [np.where(bounded, u + limits, 1.0), np.where(bounded, limits - u, 1.0)]
            extra = np.zeros(x.size)
            extra[u_at] = low / room[0] + high / room[1]
            slope = self.h * (E.T @ e) + weight * x
            slope[u_at] -= np.where(bounded, mu / room[0] - mu / room[1], 0.0)
            H = self.h * (E.T @ E) + diags(weight + extra + 1e-14)
            K = csc_matrix(bmat([[H, J.T], [J, None]]))
            d = splu(K).solve(-np.concatenate([slope, c]))
            dx = d[: x.size]
            du = dx[u_at]
            dlow, dhigh = mu / room[0] - low - low / room[0] * du, mu / room[1] - high + high / room[1] * du
            part = min(1.0, _reach(room[0], du, bounded), _reach(room[1], -du, bounded))
            dual = min(1.0, _reach(low, dlow, bounded), _reach(high, dhigh, bounded))
            x = x + part * dx
            low, high = low + dual * dlow, high + dual * dhigh
            moved = float(np.abs(dx[: self.nq]).max(initial=0.0))
            if not np.isfinite(moved):
                break
            done = mu.max(initial=0.0) <= LAST * first
            if part == 1.0 and moved <= 1e-9 * max(1.0, float(np.abs(x[: self.nq]).max())) and (done or not bounded.any()):
                Q, _, u_found = self.nodes(x)
                found = np.vstack([u_found[:1], u_found, u_found[-1:]])
                return Q, found, steps, float(np.abs(self.evaluate(x)[2].reshape(-1, self.k) * self.scale).max(initial=0.0))
            if part > 0.5 and dual > 0.5:
                mu = np.maximum(0.2 * mu, 0.5 * LAST * first * bounded)
        raise SolverError(
            f"system '{self.along.system.name}': the least-squares inversion does not converge in {MOST_STEPS} steps; take smaller steps, a slower course or more effort"
        )


def _reach(room: np.ndarray, change: np.ndarray, bounded: np.ndarray) -> float:
    """The part of a change that leaves some room positive."""
    towards = bounded & (change < 0.0)
    return float((-TO_THE_BOUND * room[towards] / change[towards]).min(initial=np.inf))


__all__ = ["optimal_inverse"]
