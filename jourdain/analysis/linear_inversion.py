"""Inputs of linear equations that move outputs on given courses, bounded forwards and backwards in time.

With y⁽ʳ⁾ the first derivatives that inputs reach, E = C Aʳ⁻¹ B and ξ = (y, ẏ, … , y⁽ʳ⁻¹⁾) the course itself,

    u = E⁻¹ (y⁽ʳ⁾ − C Aʳ x),   x = O⁺ ξ + N η,   η̇ = A_η η + w(t),   w = Nᵀ (A_z O⁺ ξ + B E⁻¹ y⁽ʳ⁾),

where O maps x to ξ and N spans what it leaves.  Of the internal motion η the parts that decay are integrated from the start, those that grow from the
end: η_k(t) = −∫_t^∞ exp(s_k (t − τ)) w_k(τ) dτ (Devasia, Chen & Paden 1996).  The integrals are exact for courses that are polynomials between nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space

from ..errors import InputError
from ..symbolic.derivatives import jvp
from ..symbolic.expr import ONE, as_expr, symbol
from ..symbolic.graph import evaluate

if TYPE_CHECKING:
    from .linearise import LinearSystem

#: Points of Gauss's quadrature in a step.
POINTS = 8


@dataclass(frozen=True)
class LinearInverse:
    """Times, deviations of states and inputs from the equilibrium (rows: times), and the eigenvalues of the internal motion (1/s)."""

    t: np.ndarray
    x: np.ndarray
    u: np.ndarray
    internal: np.ndarray


def invert(
    linear: LinearSystem, courses: Mapping[str, Callable[[Any], Any]], t: float, before: float, after: float, step: float
) -> LinearInverse:
    """The bounded motion in which every output follows its course, a function of time that rests before 0 and after ``t`` (s)."""
    A, B, C = linear.A, linear.B, linear.C
    if set(courses) != set(linear.outputs) or len(linear.outputs) != len(linear.inputs):
        raise InputError(
            f"invert: courses for {', '.join(courses) or 'nothing'} are given; as many inputs ({', '.join(linear.inputs)}) as outputs "
            f"({', '.join(linear.outputs)}) and a course for each of these are needed"
        )
    if np.any(linear.D):
        raise InputError("invert: an output depends on an input directly; prescribe positions")
    rows, r = [C], 1
    while np.abs(rows[-1] @ B).max() <= 1e-12 * np.abs(rows[-1]).max() * np.abs(B).max() and r <= len(A):
        rows.append(rows[-1] @ A)
        r += 1
    E = rows[-1] @ B
    if r > len(A) or np.linalg.cond(E) > 1e10:
        raise InputError(f"invert: the inputs {', '.join(linear.inputs)} do not reach all outputs by the same derivative; prescribe others")
    O, B_z = np.vstack(rows), B @ np.linalg.inv(E)
    A_z = A - B_z @ (rows[-1] @ A)
    N, back = null_space(O), np.linalg.pinv(O)
    values, vectors = np.linalg.eig(N.T @ A_z @ N)
    into = np.linalg.inv(vectors) @ N.T
    first, count, last = (round(x / step) for x in (before, t, after))
    nodes = step * np.arange(-first, count + last + 1)
    course = _derivatives([courses[n] for n in linear.outputs], r)

    def forcing(times: np.ndarray) -> np.ndarray:
        xi = course(times)
        return np.asarray((into @ (A_z @ (back @ xi[: -len(C)]) + B_z @ xi[-len(C) :])).T)

    eta = _bounded(values, forcing, nodes, step)
    xi = course(nodes)
    x = (back @ xi[: -len(C)]).T + np.real(eta @ vectors.T) @ N.T
    u = (xi[-len(C) :].T - x @ (rows[-1] @ A).T) @ np.linalg.inv(E).T
    return LinearInverse(nodes, x, u, values)


def _derivatives(courses: list[Callable[[Any], Any]], order: int) -> Callable[[np.ndarray], np.ndarray]:
    """Courses and their derivatives up to an order, one below the other."""
    time = symbol("t", "time")
    levels = [[as_expr(c(time)) for c in courses]]
    for _ in range(order):
        levels.append(jvp(levels[-1], {time: ONE}))
    flat = [e for level in levels for e in level]
    return lambda t: np.array([np.broadcast_to(x, np.shape(t)) for x in evaluate(flat, {time: t})], float)


def _bounded(values: np.ndarray, forcing: Callable[[np.ndarray], np.ndarray], t: np.ndarray, h: float) -> np.ndarray:
    """η̇ = s η + w for each eigenvalue: from zero at the start where Re s ≤ 0, from rest at the end where Re s > 0."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    inner = 0.5 * h * (points + 1.0)
    w = forcing((t[:-1, None] + inner).ravel()).reshape(len(t) - 1, POINTS, len(values))
    eta = np.zeros((len(t), len(values)), complex)
    grows = values.real > 1e-9 * np.abs(values).max(initial=1.0)
    towards = np.where(grows, np.exp(-values * inner[:, None]), np.exp(values * (h - inner[:, None])))
    parts = 0.5 * h * np.einsum("p,pk,npk->nk", weights, towards, w)
    eta[-1] = np.where(grows, -forcing(t[-1:])[0] / np.where(grows, values, 1.0), 0.0)
    for n in range(len(t) - 1, 0, -1):
        eta[n - 1, grows] = (eta[n] * np.exp(-values * h) - parts[n - 1])[grows]
    for n in range(len(t) - 1):
        eta[n + 1, ~grows] = (eta[n] * np.exp(values * h) + parts[n])[~grows]
    return eta


__all__ = ["LinearInverse", "invert"]
