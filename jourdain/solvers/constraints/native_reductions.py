"""Accelerations of constrained systems by a reduction chosen by name, in native code: M a = f + Jᵀλ, J a = g.

The formulas are those of :mod:`~jourdain.solvers.constraints.reductions`; "partition" is :mod:`~jourdain.solvers.constraints.elimination`.
Where rows are redundant, what their combinations say is taken out smoothly, and as many rows as are independent are chosen at each
evaluation, so that singular positions are passed.  All ways give the same accelerations up to rounding, the penalty up to 1/α.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..linear.dense import cholesky, cholesky_solve, inner, lu_factor, lu_solve
from ..linear.redundant import drop_redundant
from ..linear.units import Units
from .accelerations import store_rates
from .elimination import RANK_TOLERANCE
from .null_space import orthonormal_solution
from .plan import Compiled

KKT, RANGE_SPACE, QR, SVD, GRAM_SCHMIDT, AUGMENTED_LAGRANGIAN, PENALTY = range(7)
#: Ways by the names of :data:`~jourdain.solvers.constraints.reductions.REDUCTIONS`.
WAYS = {
    "kkt": KKT, "range-space": RANGE_SPACE, "qr": QR, "svd": SVD, "gram-schmidt": GRAM_SCHMIDT,
    "augmented-lagrangian": AUGMENTED_LAGRANGIAN, "penalty": PENALTY,
}  # fmt: skip

#: α of the penalty and of the augmented Lagrangian, and the most iterations of the latter.
PENALTY_FACTOR, AUGMENTATION, ITERATIONS = 1e8, 1e3, 100
#: Where factors of M span more than this, it counts as singular: with Euler parameters it is, and elimination by a small pivot that comes
#: first hides it under rounding.
DEPENDENT = 1e-3
#: Sweeps of Jacobi rotations over the rows of J, which end when no pair is less orthogonal than this.
SWEEPS, ORTHOGONAL = 30, 1e-15


class ByReduction(Record):
    """Arguments of :func:`reduced_state_derivative`: sizes, all rows and how many of them are independent, M, f, J and g, work space, the way."""

    t: Address
    x: Address
    out: Address
    nq: int
    nv: int
    nz: int
    rows: Integers
    rank: int
    way: int
    descriptor: Compiled
    work: Floats
    pivots: Integers
    units: Units
    same: Units  # where nothing is to be multiplied


def work_size(n: int, rows: int) -> int:
    """Doubles that any of the reductions works with."""
    return 2 * (n + rows) * (n + rows) + 3 * (n + rows) + 2 * n * n


@jit
def mass_size(M: Any, n: int) -> float:
    """Geometric mean of the positive entries on the diagonal."""
    total, count = 0.0, 0
    for i in range(n):
        if M[i * n + i] > 0.0:
            total += log(M[i * n + i])
            count += 1
    return exp(total / count) if count > 0 else 1.0


@jit
def _scale_rows(J: Any, g: Any, m: int, n: int, size: float) -> None:
    """Rows of J, with g, brought to a length."""
    for i in range(m):
        norm = 0.0
        for j in range(n):
            norm += J[i * n + j] * J[i * n + j]
        scale = size / sqrt(norm) if norm > 0.0 else size
        g[i] *= scale
        for j in range(n):
            J[i * n + j] *= scale


@jit
def _add_square(A: Any, J: Any, m: int, n: int, factor: float) -> None:
    """A + factor JᵀJ."""
    for i in range(m):
        for j in range(n):
            part = factor * J[i * n + j]
            if part != 0.0:
                for k in range(n):
                    A[j * n + k] += part * J[i * n + k]


@jit
def kkt_solution(M: Any, f: Any, J: Any, g: Any, m: int, n: int, work: Any, pivots: Any, a: Any) -> int:
    """The augmented system by elimination with row exchanges, refined once."""
    size = n + m
    K, factors, rest = work[: size * size], work[size * size : 2 * size * size], work[2 * size * size :]
    solution, defect = rest[:size], rest[size : 2 * size]
    _scale_rows(J, g, m, n, mass_size(M, n))
    for i in range(n):
        solution[i] = f[i]
        for j in range(n):
            K[i * size + j] = M[i * n + j]
        for k in range(m):
            K[i * size + n + k], K[(n + k) * size + i] = -J[k * n + i], J[k * n + i]
    for k in range(m):
        solution[n + k] = g[k]
        for i in range(m):
            K[(n + k) * size + n + i] = 0.0
    for i in range(size * size):
        factors[i] = K[i]
    if lu_factor(factors, size, pivots) != 0:
        return 2
    lu_solve(factors, size, pivots, solution)
    for i in range(size):
        total = f[i] if i < n else g[i - n]
        for j in range(size):
            total -= K[i * size + j] * solution[j]
        defect[i] = total
    lu_solve(factors, size, pivots, defect)
    for i in range(n):
        a[i] = solution[i] + defect[i]
    return 0


@jit
def range_space_solution(M: Any, f: Any, J: Any, g: Any, m: int, n: int, work: Any, pivots: Any, a: Any) -> int:
    """(J M⁻¹Jᵀ) λ = g − J M⁻¹f; a singular M becomes M + JᵀJ (scaled), which changes nothing in the solution."""
    factor, inner, schur = work[: n * n], work[n * n : n * n + m * n], work[n * n + m * n :]
    lam = schur[m * m :]
    size = mass_size(M, n)
    _scale_rows(J, g, m, n, size)
    for i in range(n * n):
        factor[i] = M[i]
    singular = cholesky(factor, n) != 0
    if not singular:
        least, most = factor[0], factor[0]
        for i in range(n):
            least, most = min(least, factor[i * n + i]), max(most, factor[i * n + i])
        singular = least < DEPENDENT * most
    if singular:
        for i in range(n * n):
            factor[i] = M[i]
        _add_square(factor, J, m, n, 1.0 / size)
        for i in range(m):
            for j in range(n):
                f[j] += J[i * n + j] * g[i] / size
        if cholesky(factor, n) != 0:
            return 2
    for j in range(n):
        a[j] = f[j]
    cholesky_solve(factor, n, a)
    for i in range(m):
        lam[i] = g[i]
        for j in range(n):
            inner[i * n + j] = J[i * n + j]
            lam[i] -= J[i * n + j] * a[j]
        cholesky_solve(factor, n, inner[i * n : (i + 1) * n])
        for k in range(i + 1):
            total = 0.0
            for j in range(n):
                total += J[k * n + j] * inner[i * n + j]
            schur[i * m + k] = total
    if cholesky(schur, m) != 0:
        return 2
    for _ in range(2):  # the second time for what rounding left of the constraints
        cholesky_solve(schur, m, lam)
        for i in range(m):
            for j in range(n):
                a[j] += inner[i * n + j] * lam[i]
        for i in range(m):
            lam[i] = g[i]
            for j in range(n):
                lam[i] -= J[i * n + j] * a[j]
    return 0


@jit
def diagonalise_rows(J: Any, g: Any, m: int, n: int) -> None:
    """Rows of J made orthogonal by Jacobi rotations, applied to g too: J = U Σ Vᵀ becomes Σ Vᵀ (Hestenes 1958)."""
    for _ in range(SWEEPS):
        worst = 0.0
        for p in range(m):
            for q in range(p + 1, m):
                pp, qq, pq = 0.0, 0.0, 0.0
                for j in range(n):
                    pp += J[p * n + j] * J[p * n + j]
                    qq += J[q * n + j] * J[q * n + j]
                    pq += J[p * n + j] * J[q * n + j]
                size = sqrt(pp * qq)
                if abs(pq) > ORTHOGONAL * size:
                    worst = max(worst, abs(pq) / size)
                    zeta = 0.5 * (qq - pp) / pq
                    t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta))
                    c = 1.0 / sqrt(1.0 + t * t)
                    s = c * t
                    g[p], g[q] = c * g[p] - s * g[q], s * g[p] + c * g[q]
                    for j in range(n):
                        J[p * n + j], J[q * n + j] = c * J[p * n + j] - s * J[q * n + j], s * J[p * n + j] + c * J[q * n + j]
        if not worst > 0.0:
            return


@jit
def _orthonormalise(B: Any, g: Any, k: int, m: int, n: int) -> float:
    """Row k of B made orthogonal to the rows before (twice is enough) and of length one, with its right-hand side; its length before."""
    for _ in range(2):
        for i in range(k):
            dot = 0.0
            for j in range(n):
                dot += B[i * n + j] * B[k * n + j]
            for j in range(n):
                B[k * n + j] -= dot * B[i * n + j]
            if k < m:
                g[k] -= dot * g[i]
    norm = 0.0
    for j in range(n):
        norm += B[k * n + j] * B[k * n + j]
    norm = sqrt(norm)
    if norm > 0.0:
        for j in range(n):
            B[k * n + j] /= norm
        if k < m:
            g[k] /= norm
    return norm


@jit
def gram_schmidt_solution(M: Any, f: Any, J: Any, g: Any, m: int, n: int, work: Any, a: Any) -> int:
    """Orthonormal rows of J continued by the unit vectors farthest from them: a = Bᵀg + Z ȧ with ZᵀM Z ȧ = Zᵀ(f − M Bᵀg)."""
    B, rest, free = work[: n * n], work[n * n :], n - m
    MZ, reduced = rest[: n * n], rest[n * n :]
    right = reduced[free * free :]
    for i in range(m * n):
        B[i] = J[i]
    for j in range(n):
        a[j] = 0.0
    for k in range(n):
        if k >= m:
            best, unit = -1.0, 0
            for j in range(n):
                left = 1.0
                for i in range(k):
                    left -= B[i * n + j] * B[i * n + j]
                if left > best:
                    best, unit = left, j
            for j in range(n):
                B[k * n + j] = 1.0 if j == unit else 0.0
        if not _orthonormalise(B, g, k, m, n) > 0.0:
            return 2
        if k < m:
            for j in range(n):
                a[j] += B[k * n + j] * g[k]
    for k in range(free):
        z = B[(m + k) * n : (m + k + 1) * n]
        right[k] = 0.0
        for i in range(n):
            total, rest_i = 0.0, f[i]
            for j in range(n):
                total += M[i * n + j] * z[j]
                rest_i -= M[i * n + j] * a[j]
            MZ[k * n + i] = total
            right[k] += z[i] * rest_i
        for l in range(k + 1):
            total = 0.0
            for i in range(n):
                total += B[(m + l) * n + i] * MZ[k * n + i]
            reduced[k * free + l] = total
    if cholesky(reduced, free) != 0:
        return 2
    cholesky_solve(reduced, free, right)
    for k in range(free):
        for j in range(n):
            a[j] += B[(m + k) * n + j] * right[k]
    return 0


@jit
def _weigh_rows(M: Any, J: Any, g: Any, m: int, n: int, A: Any, line: Any) -> int:
    """Rows scaled by the roots of the masses that they feel, so that one α serves heavy and light bodies alike."""
    _scale_rows(J, g, m, n, sqrt(mass_size(M, n)))
    for i in range(n * n):
        A[i] = M[i]
    _add_square(A, J, m, n, 1.0)
    if cholesky(A, n) != 0:
        return 2
    for i in range(m):
        felt = 0.0
        for j in range(n):
            line[j] = J[i * n + j]
        cholesky_solve(A, n, line)
        for j in range(n):
            felt += J[i * n + j] * line[j]
        scale = 1.0 / sqrt(min(max(felt, 1e-12), 1.0))
        g[i] *= scale
        for j in range(n):
            J[i * n + j] *= scale
    return 0


@jit
def penalty_solution(M: Any, f: Any, J: Any, g: Any, m: int, n: int, alpha: float, rounds: int, work: Any, a: Any) -> int:
    """(M + αJᵀJ) a = f + Jᵀ(λ + αg), λ ← λ + α(g − J a) for at most so many rounds: one is the penalty, more the augmented Lagrangian."""
    A, factor, rest = work[: n * n], work[n * n : 2 * n * n], work[2 * n * n :]
    lam, line = rest[:m], rest[m : m + n]
    if _weigh_rows(M, J, g, m, n, factor, line) != 0:
        return 2
    for i in range(n * n):
        A[i] = M[i]
    _add_square(A, J, m, n, alpha)
    for i in range(n * n):
        factor[i] = A[i]
    if cholesky(factor, n) != 0:
        return 2
    for i in range(m):
        lam[i] = 0.0
    size = 1.0
    for i in range(m):
        size = max(size, 1.0 + abs(g[i]))
    best, without_gain = 1e300, 0
    for _ in range(rounds):
        for j in range(n):
            a[j] = 0.0
        for _ in range(2):  # the second time for what rounding left
            for j in range(n):
                line[j] = f[j]
                for k in range(n):
                    line[j] -= A[j * n + k] * a[k]
            for i in range(m):
                for j in range(n):
                    line[j] += J[i * n + j] * (lam[i] + alpha * g[i])
            cholesky_solve(factor, n, line)
            for j in range(n):
                a[j] += line[j]
        worst = 0.0
        for i in range(m):
            miss = g[i]
            for j in range(n):
                miss -= J[i * n + j] * a[j]
            lam[i] += alpha * miss
            worst += miss * miss
        worst = sqrt(worst)
        without_gain = 0 if worst < 0.9 * best else without_gain + 1
        best = min(best, worst)
        if worst <= 1e-14 * size or without_gain == 5:
            return 0
    return 0


@jit
def solution(way: int, M: Any, f: Any, J: Any, g: Any, m: int, n: int, work: Any, pivots: Any, a: Any) -> int:
    """a by one of the ways; M, f, J and g may be overwritten.  0 when the solution exists."""
    if way == KKT:
        return kkt_solution(M, f, J, g, m, n, work, pivots, a)
    if way == RANGE_SPACE:
        return range_space_solution(M, f, J, g, m, n, work, pivots, a)
    if way == GRAM_SCHMIDT:
        return gram_schmidt_solution(M, f, J, g, m, n, work, a)
    if way == PENALTY:
        return penalty_solution(M, f, J, g, m, n, PENALTY_FACTOR, 1, work, a)
    if way == AUGMENTED_LAGRANGIAN:
        return penalty_solution(M, f, J, g, m, n, AUGMENTATION, ITERATIONS, work, a)
    if way == SVD:
        diagonalise_rows(J, g, m, n)
    return orthonormal_solution(M, f, J, g, m, n, work[: m * n], work[m * n :], a)


@jit
def independent_rows(J: Any, g: Any, listed: Any, m: int, n: int, units: Any, work: Any) -> int:
    """The best independent rows brought to the front, at most m, after what the others repeat is taken out (Gram–Schmidt with pivoting).

    Returns how many there are: directions that the constraints hardly hold are left to the dynamics for the moment of passing a singular
    position.  −1: none can be found.
    """
    rows = listed.size
    if m < rows and drop_redundant(J, g, n, listed, rows - m, units, work) != 0:
        return -1
    for i in range(rows * n):
        work[i] = J[i]
    first = 0.0
    for k in range(m):
        best, p = -1.0, k
        for i in range(k, rows):
            row = work[i * n :]
            norm = inner(row, row, n)
            if norm > best:
                best, p = norm, i
        if k == 0:
            first = best
        if not best > RANK_TOLERANCE * RANK_TOLERANCE * first:
            return k
        g[k], g[p] = g[p], g[k]
        for j in range(n):
            J[k * n + j], J[p * n + j] = J[p * n + j], J[k * n + j]
            work[k * n + j], work[p * n + j] = work[p * n + j], work[k * n + j]
        for i in range(k + 1, rows):
            dot = inner(work[i * n :], work[k * n :], n) / best
            if dot != 0.0:
                for j in range(n):
                    work[i * n + j] -= dot * work[k * n + j]
    return m


@jit
def _bring_to_units(M: Any, f: Any, J: Any, g: Any, rows: int, n: int, units: Any) -> None:
    """The same equations with rows of constraints, and velocities, in units of their own."""
    row, velocity = units.row, units.velocity
    for i in range(n):
        f[i] *= velocity[i]
        for j in range(n):
            M[i * n + j] *= velocity[i] * velocity[j]
    for i in range(rows):
        g[i] *= row[i]
        for j in range(n):
            J[i * n + j] *= row[i] * velocity[j]


@kernel
def reduced_state_derivative(args: int) -> int:
    """ẋ of a constrained system by one of the ways."""
    s = ByReduction.at(args)
    nq, n, nz, terms = s.nq, s.nv, s.nz, s.descriptor
    terms.args[0], terms.args[1] = s.t, s.x
    if call(terms.function, terms.args) != 0:
        return -1
    J, g, xdot = terms.J, terms.g, doubles(s.out, nq + n + nz)
    if s.units.differ == 1:
        _bring_to_units(terms.M, terms.f, J, g, s.rows.size, n, s.units)
    m = independent_rows(J, g, s.rows, s.rank, n, s.same, s.work)
    if m < 0 or solution(s.way, terms.M, terms.f, J, g, m, n, s.work, s.pivots, xdot[nq : nq + n]) != 0:
        return 2
    for i in range(n if s.units.differ == 1 else 0):
        xdot[nq + i] *= s.units.velocity[i]
    store_rates(terms.rates, nq, n, nz, xdot)
    return 0


__all__ = ["WAYS", "ByReduction", "reduced_state_derivative", "solution", "work_size"]
