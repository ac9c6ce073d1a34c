"""Index-3 augmented Lagrangian with the trapezoidal rule and mass-orthogonal projections as a native time loop.

Cuadrado, Cardenal and Bayo, "Modeling and solution methods for efficient real-time simulation of multibody dynamics" (1997).  Unknown is
x at the end of the step; ẋ and ẍ follow from the trapezoidal rule.  Newton's method on

    g(x) = (h²/4) (M ẍ + Jᵀ(α Φ + λ) − Q),   tangent  M + (h/2) C + (h²/4)(Jᵀα J + K),   λ ← λ + α Φ

leaves positions on the constraints; velocities and accelerations are then projected in the metric W = M + (h/2) C + (h²/4) K.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call
from ...native.kernel import jit
from ...native.record import Address, Floats, Integers, Record
from ..linear.dense import lu_factor, lu_solve
from .rotation_chart import LONGEST, complement

#: Newton stops when the correction is this small relative to the coordinates (in units of their own, or one of the largest); it fails after so many iterations.
TOLERANCE, ITERATIONS = 1e-11, 50
#: Projections of velocities and accelerations; each shrinks the error by about the penalty.
PASSES = 3


class Compiled(Record):
    """Address and arguments of a compiled function."""

    function: Address
    args: Integers


class Terms(Record):
    """The compiled functions, what they read (time, state) and what they write; Φ and λ by row, matrices row by row."""

    descriptor: Compiled
    constraints: Compiled
    velocities: Compiled
    tangent: Compiled
    clock: Floats
    state: Floats
    M: Floats
    f: Floats
    J: Floats
    g: Floats
    h: Floats
    w: Floats
    K: Floats
    C: Floats


class Work(Record):
    """Memory of a run: A and W (n × n), a right-hand side, constants of the step (2n), three numbers, pivots, penalty of each row, units of coordinates."""

    A: Floats
    W: Floats
    b: Floats
    start: Floats
    again: Floats
    pivots: Integers
    alpha: Floats
    unit: Floats


@jit
def run(f: Any) -> int:
    """Calls a compiled function."""
    return call(f.function, f.args)


@jit
def factor(terms: Any, work: Any, n: int, m: int, h: float) -> int:
    """W = M + (h/2) C + (h²/4) K and the factors of A = W + (h²/4) Jᵀα J."""
    quarter, J, A, W = 0.25 * h * h, terms.J, work.A, work.W
    M, C, K = terms.M, terms.C, terms.K
    for k in range(n * n):
        W[k] = M[k] + 0.5 * h * C[k] + quarter * K[k]
        A[k] = W[k]
    for r in range(m):
        for i in range(n):
            left = J[r * n + i]
            if left != 0.0:
                left *= quarter * work.alpha[r]
                for j in range(n):
                    A[i * n + j] += left * J[r * n + j]
    return lu_factor(A, n, work.pivots)


@jit
def project(terms: Any, work: Any, v: Any, c: Any, n: int, m: int, quarter: float) -> None:
    """A v = W v* + (h²/4) Jᵀα c, in place; a finite penalty leaves a part of the error, hence several times."""
    W, b, alpha, J = work.W, work.b, work.alpha, terms.J
    for _ in range(PASSES):
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += W[i * n + j] * v[j]
            b[i] = total
        for r in range(m):
            for i in range(n):
                b[i] += quarter * alpha[r] * J[r * n + i] * c[r]
        lu_solve(work.A, n, work.pivots, b)
        for i in range(n):
            v[i] = b[i]


@jit
def newton(terms: Any, work: Any, xdd: Any, lam: Any, h: float) -> int:
    """Positions at the end of the step; the number of iterations, or −1."""
    n, m, quarter = len(xdd), len(lam), 0.25 * h * h
    x, xd, start, b, M, J = terms.state[:n], terms.state[n : 2 * n], work.start, work.b, terms.M, terms.J
    for iteration in range(ITERATIONS):
        for i in range(n):
            xd[i] = 2.0 / h * x[i] + start[n + i]
            xdd[i] = 4.0 / (h * h) * x[i] + start[i]
        if run(terms.descriptor) != 0 or run(terms.constraints) != 0 or run(terms.tangent) != 0 or factor(terms, work, n, m, h) != 0:
            return -1
        for i in range(n):
            total = -terms.f[i]
            for j in range(n):
                total += M[i * n + j] * xdd[j]
            b[i] = total
        for r in range(m):
            violation = work.alpha[r] * terms.h[r]
            if iteration > 0:
                lam[r] += violation
            for i in range(n):
                b[i] += J[r * n + i] * (lam[r] + violation)
        for i in range(n):
            b[i] *= -quarter
        lu_solve(work.A, n, work.pivots, b)
        largest, size, change = 0.0, 0.0, 0.0
        for i in range(n):
            x[i] += b[i]
            unit = work.unit[i]
            largest, size, change = max(largest, unit), max(size, abs(x[i]) / unit), max(change, abs(b[i]) / unit)
        if not np.isfinite(change):
            return -1
        if change <= TOLERANCE * max(size, 1.0 / largest):
            return iteration + 1
    return -1


@jit
def march(terms: Any, work: Any, xdd: Any, lam: Any, charts: Any, h: float, t0: float, done: int, steps: int, out: Any) -> int:
    """Fixed steps from (x, ẋ) in ``terms.state`` after some are done; rows (x, ẋ) into ``out``.  Returns the number of steps done.

    ``charts`` lists where rotation vectors begin; they are exchanged for their complements when they grow.
    """
    n, m, quarter = len(xdd), len(lam), 0.25 * h * h
    x, xd, start, w = terms.state[:n], terms.state[n : 2 * n], work.start, terms.w
    for step in range(done, steps):
        terms.clock[0] = t0 + (step + 1) * h
        for i in range(n):
            start[i] = -(4.0 / (h * h) * x[i] + 4.0 / h * xd[i] + xdd[i])
            start[n + i] = -(2.0 / h * x[i] + xd[i])
            x[i] += h * xd[i] + 0.5 * h * h * xdd[i]
        if newton(terms, work, xdd, lam, h) < 0:
            return step
        for i in range(n):
            xd[i] = 2.0 / h * x[i] + start[n + i]
            xdd[i] = 4.0 / (h * h) * x[i] + start[i]
        if run(terms.descriptor) != 0 or run(terms.tangent) != 0 or run(terms.velocities) != 0 or factor(terms, work, n, m, h) != 0:
            return step
        for r in range(m):  # −∂Φ/∂t = J ẋ − w
            w[r] = -w[r]
            for i in range(n):
                w[r] += terms.J[r * n + i] * xd[i]
        project(terms, work, xd, w, n, m, quarter)
        if run(terms.descriptor) != 0:
            return step
        project(terms, work, xdd, terms.g, n, m, quarter)
        for k in range(len(charts)):
            i = charts[k]
            if x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] > LONGEST * LONGEST:
                complement(x[i : i + 3], xd[i : i + 3], work.again, xdd[i : i + 3])
        for i in range(2 * n):
            out[step + 1, i] = terms.state[i]
    return steps
