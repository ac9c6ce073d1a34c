"""From the descriptor form to accelerations: M a = f + Jᵀλ, J a = g, solved in every classical way.

* the augmented (KKT) system, dense or sparse;
* range space: (J M⁻¹ Jᵀ) λ = g − J M⁻¹ f (with M + Jᵀ J where M is singular);
* null space: a = Z ȧ + a₀ with J Z = 0, J a₀ = g, and ZᵀM Z ȧ = Zᵀ(f − M a₀), the basis Z by elimination with full pivoting (Wehage and
  Haug 1982), QR (Kim and Vanderploeg 1986), SVD (Singh and Likins 1985), Gram–Schmidt (Liang and Lance 1987) or by the coordinates nearest
  to the tangent space (projective criterion, Blajer and Schiehlen 1994);
* penalty and augmented Lagrangian of index 1 (Bayo, García de Jalón and Serna 1988).

Redundant rows are found by :func:`independent_rows` and must be left out first; all ways then give the same accelerations.  Runs take their
native forms (:mod:`~jourdain.solvers.constraints.native_reductions`), which all but the sparse and the projective one have.
Multipliers have the sign of M a = f + Jᵀλ.  M need only be positive definite on the null space of J.

>>> import numpy as np
>>> M, J = np.diag([2.0, 1.0]), np.array([[1.0, 1.0]])
>>> a, lam = kkt(M, J, np.array([1.0, 4.0]), np.array([0.0]))
>>> a.round(9).tolist(), lam.round(9).tolist()
([-1.0, 1.0], [-3.0])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError, SolverError

#: A row counts as redundant when what is new in it is below this fraction of the largest.
RANK_TOLERANCE = 1e-9

Array = np.ndarray


class Result(NamedTuple):
    """Accelerations and multipliers."""

    a: Array
    lam: Array


def independent_rows(J: Array, tolerance: float = RANK_TOLERANCE) -> tuple[list[int], list[int]]:
    """Rows of J that are kept (the best conditioned) and rows that follow from them, by QR of the normalised rows with pivoting."""
    from scipy.linalg import qr

    J = np.asarray(J, dtype=float)
    if J.size == 0:
        return [], list(range(len(J)))
    norm = np.linalg.norm(J, axis=1)
    scale = np.where(norm > 1e-12 * norm.max(), 1.0 / np.maximum(norm, 1e-300), 0.0)  # shorter rows are rounding error
    U, pivots = qr((J * scale[:, None]).T, mode="r", pivoting=True)
    size = np.abs(np.diag(U))
    rank = int(np.sum(size > tolerance * size[0]))
    return sorted(int(i) for i in pivots[:rank]), sorted(int(i) for i in pivots[rank:])


# --- augmented system --------------------------------------------------------------------------------------------


def kkt(M: Array, J: Array, f: Array, g: Array) -> Result:
    """The augmented system by dense elimination, equilibrated: rows of J are brought to the size of M."""
    n, m = len(f), len(g)
    scale = _row_scale(M, J)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M, -J.T * scale, J * scale[:, None]
    solution = _solve(K, np.concatenate([f, scale * g]))
    return Result(solution[:n], scale * solution[n:])


def kkt_sparse(M: Any, J: Any, f: Array, g: Array) -> Result:
    """The augmented system by sparse elimination (SuperLU); M and J dense or in any sparse form of SciPy."""
    from scipy.sparse import bmat, csc_array, csr_array
    from scipy.sparse.linalg import splu

    n = len(f)
    if len(g) == 0:
        return Result(splu(csc_array(M)).solve(f), np.zeros(0))
    J = csr_array(J)
    norms = np.sqrt(np.asarray(J.multiply(J).sum(axis=1)).ravel())
    scale = _mass_size(csr_array(M).diagonal()) / np.where(norms > 0, norms, 1.0)
    S = J.multiply(scale[:, None])
    try:
        factors = splu(csc_array(bmat([[csr_array(M), -S.T], [S, None]])))
    except RuntimeError as e:
        raise SolverError(f"the augmented system is singular ({e}); leave out redundant constraints or give bodies mass") from None
    right = np.concatenate([f, scale * g])
    solution = factors.solve(right)
    return Result(solution[:n], scale * solution[n:])


def _mass_size(diagonal: Array) -> float:
    positive = diagonal[diagonal > 0]
    return float(np.exp(np.log(positive).mean())) if len(positive) else 1.0


def _row_scale(M: Array, J: Array) -> Array:
    norms = np.linalg.norm(J, axis=1)
    return _mass_size(np.diag(M)) / np.where(norms > 0, norms, 1.0)


def _solve(A: Array, b: Array) -> Array:
    """A x = b by elimination with one step of refinement."""
    from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

    if A.size == 0:
        return np.zeros(len(b))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        factors = lu_factor(A)
    if not np.all(np.abs(np.diag(factors[0])) > 0):
        raise SolverError("the matrix of the equations of motion is singular; leave out redundant constraints or give bodies mass")
    x = lu_solve(factors, b)
    return np.asarray(x + lu_solve(factors, b - A @ x))


# --- range space -------------------------------------------------------------------------------------------------


def range_space(M: Array, J: Array, f: Array, g: Array) -> Result:
    """Multipliers first: (J M⁻¹ Jᵀ) λ = g − J M⁻¹ f; a singular M becomes M + Jᵀ J, which changes nothing in the solution."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scale = _row_scale(M, J)
    S, right = J * scale[:, None], scale * g
    added = np.zeros_like(M)
    try:
        factor = cho_factor(M)
        if np.min(np.diag(factor[0])) < 1e-7 * np.max(np.diag(factor[0])):
            raise LinAlgError
    except LinAlgError:
        added = S.T @ S / _mass_size(np.diag(M))
        f = f + S.T @ right / _mass_size(np.diag(M))
        try:
            factor = cho_factor(M + added)
        except LinAlgError:
            raise SolverError("the mass matrix is singular also together with the constraints: a body lacks mass or inertia") from None
    inner = cho_solve(factor, S.T)
    schur = S @ inner
    lam = _solve(schur, right - inner.T @ f)
    a = cho_solve(factor, f) + inner @ lam
    lam = lam - (S @ a - right) / _mass_size(np.diag(M)) if added.any() else lam
    return Result(a, scale * lam)


# --- null space --------------------------------------------------------------------------------------------------


class Basis(NamedTuple):
    """Columns Z with J Z = 0 and a particular solution a₀ of J a = g."""

    Z: Array
    a0: Array


def pivoted(J: Array, g: Array) -> Basis:
    """Elimination with full pivoting: columns with the pivots are dependent, Z = [−J_d⁻¹ J_i; 1] (Wehage and Haug)."""
    dependent = full_pivoting(J)
    return _partitioned(J, g, dependent)


def full_pivoting(J: Array, allowed: Array | None = None) -> list[int]:
    """Columns that hold the pivots of Gauss elimination with full pivoting, in the order they are taken."""
    A = np.array(J, dtype=float)
    A /= np.where((norm := np.linalg.norm(A, axis=1)) > 0, norm, 1.0)[:, None]
    columns = np.arange(A.shape[1]) if allowed is None else np.flatnonzero(allowed)
    A, m = A[:, columns], len(A)
    for k in range(m):
        block = np.abs(A[k:, k:])
        if block.size == 0 or block.max() < RANK_TOLERANCE:
            raise SolverError(f"the constraints have rank {k} of {m}; leave out redundant rows or another position is needed")
        i, j = divmod(int(np.argmax(block)), block.shape[1])
        A[[k, k + i]] = A[[k + i, k]]
        A[:, [k, k + j]] = A[:, [k + j, k]]
        columns[[k, k + j]] = columns[[k + j, k]]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k + 1 :])
    return [int(j) for j in columns[:m]]


def _partitioned(J: Array, g: Array, dependent: list[int]) -> Basis:
    m, n = J.shape
    independent = [j for j in range(n) if j not in set(dependent)]
    Z, a0 = np.zeros((n, len(independent))), np.zeros(n)
    Z[independent, range(len(independent))] = 1.0
    if m:
        solved = np.linalg.solve(J[:, dependent], np.column_stack([-J[:, independent], g]))
        Z[dependent], a0[dependent] = solved[:, :-1], solved[:, -1]
    return Basis(Z, a0)


def orthogonal(J: Array, g: Array) -> Basis:
    """QR of Jᵀ: Jᵀ = Q₁ U, Z = Q₂, a₀ = Q₁ U⁻ᵀ g (the shortest)."""
    from scipy.linalg import solve_triangular

    m = len(g)
    Q, U = np.linalg.qr(J.T, mode="complete")
    a0 = Q[:, :m] @ solve_triangular(U[:m], g, trans="T") if m else np.zeros(J.shape[1])
    return Basis(Q[:, m:], a0)


def singular_values(J: Array, g: Array) -> Basis:
    """SVD J = U Σ Vᵀ: Z is the right singular vectors of value zero, a₀ = V₁ Σ⁻¹ Uᵀ g."""
    m = len(g)
    if m == 0:
        return Basis(np.eye(J.shape[1]), np.zeros(J.shape[1]))
    U, s, Vt = np.linalg.svd(J)
    return Basis(Vt[m:].T, Vt[:m].T @ ((U.T @ g) / s))


def gram_schmidt(J: Array, g: Array, previous: Array | None = None) -> Basis:
    """Orthonormal rows of J continued by those of a former basis (unit vectors without one): Z changes as little as it can.

    Liang and Lance's differentiable null space: start from ``previous`` (n × free), take out what lies along J, orthonormalise.
    """
    m, n = J.shape
    rows: list[Array] = []
    for row in J:
        rows.append(_orthonormal(row, rows))
    start = list(previous.T) if previous is not None else list(np.eye(n)[_farthest(rows, n)])
    for row in start[: n - m]:
        rows.append(_orthonormal(row, rows))
    basis = np.array(rows)
    a0 = basis[:m].T @ np.linalg.solve(J @ basis[:m].T, g) if m else np.zeros(n)
    return Basis(basis[m:].T, a0)


def _orthonormal(v: Array, basis: list[Array]) -> Array:
    for _ in range(2):  # twice is enough (Kahan)
        for b in basis:
            v = v - (b @ v) * b
    return v / np.linalg.norm(v)


def _farthest(rows: list[Array], n: int) -> list[int]:
    """Unit vectors that complete the rows best, by pivoted projections."""
    rest = np.eye(n)
    for r in rows:
        rest = rest - np.outer(rest @ r, r)
    chosen: list[int] = []
    for _ in range(n - len(rows)):
        k = int(np.argmax(np.sum(rest**2, axis=1)))
        chosen.append(k)
        u = rest[k] / np.linalg.norm(rest[k])
        rest = rest - np.outer(rest @ u, u)
    return chosen


def projective(J: Array, g: Array, M: Array | None = None) -> Basis:
    """Independent are the coordinates whose axes lie nearest to the tangent space (in the metric of M where it is given)."""
    Z = singular_values(J, g).Z
    closeness = np.sum(Z**2, axis=1)
    if M is not None:
        tangent = np.einsum("ij,ji->i", Z, np.linalg.solve(Z.T @ M @ Z, Z.T))
        closeness = tangent * (np.diag(M) + 1e-12 * np.trace(M) / len(M))
    independent: list[int] = []
    rest = Z.copy()
    for j in np.argsort(-closeness):
        if len(independent) == Z.shape[1]:
            break
        new = rest[j]
        if np.linalg.norm(new) > 1e-3:
            independent.append(int(j))
            u = new / np.linalg.norm(new)
            rest = rest - np.outer(rest @ u, u)
    if len(independent) < Z.shape[1]:
        return pivoted(J, g)
    return _partitioned(J, g, [j for j in range(J.shape[1]) if j not in set(independent)])


BASES: dict[str, Callable[[Array, Array], Basis]] = {
    "partition": pivoted, "qr": orthogonal, "svd": singular_values, "gram-schmidt": gram_schmidt, "projective": projective,
}  # fmt: skip


def null_space(M: Array, J: Array, f: Array, g: Array, basis: str = "partition") -> Result:
    """Independent accelerations first: ZᵀM Z ȧ = Zᵀ(f − M a₀), then a and, from them, the multipliers."""
    Z, a0 = BASES[basis](J, g)
    reduced = Z.T @ M @ Z
    try:
        np.linalg.cholesky(reduced)
    except np.linalg.LinAlgError:
        raise SolverError("the mass matrix of the independent coordinates is singular: a body lacks mass or inertia") from None
    a = a0 + Z @ _solve(reduced, Z.T @ (f - M @ a0))
    return Result(a, multipliers(M, J, f, a))


def multipliers(M: Array, J: Array, f: Array, a: Array) -> Array:
    """λ from known accelerations: Jᵀλ = M a − f in the sense of least squares (of least norm where J has redundant rows)."""
    if len(J) == 0:
        return np.zeros(0)
    from scipy.linalg import solve_triangular

    scale = 1.0 / np.where((norm := np.linalg.norm(J, axis=1)) > 0, norm, 1.0)
    Q, U = np.linalg.qr((J * scale[:, None]).T)
    size = np.abs(np.diag(U))
    if len(J) > J.shape[1] or size.min() <= RANK_TOLERANCE * size.max():
        return np.asarray(np.linalg.lstsq(J.T, M @ a - f, rcond=RANK_TOLERANCE)[0])
    return np.asarray(scale * solve_triangular(U, Q.T @ (M @ a - f)))


# --- penalty -----------------------------------------------------------------------------------------------------


def penalty_scale(M: Array, J: Array) -> Array:
    """Roots of the masses that the rows feel, so that one α serves heavy and light bodies alike."""
    if len(J) == 0:
        return np.zeros(0)
    scale = _row_scale(M, J) / np.sqrt(_mass_size(np.diag(M)))
    S = J * scale[:, None]
    felt = np.einsum("ij,ji->i", S, np.linalg.solve(M + S.T @ S, S.T))
    return np.asarray(scale / np.sqrt(np.clip(felt, 1e-12, 1.0)))


def penalty(M: Array, J: Array, f: Array, g: Array, alpha: float = 1e8) -> Result:
    """(M + α JᵀJ) a = f + α Jᵀ g: constraints are met as 1/α; multipliers are α(g − J a)."""
    scale = penalty_scale(M, J)
    S, right = J * scale[:, None], scale * g
    a = _solve(M + alpha * S.T @ S, f + alpha * S.T @ right)
    return Result(a, scale * (alpha * (right - S @ a)))


def augmented_lagrangian(
    M: Array, J: Array, f: Array, g: Array, alpha: float = 1e3, tolerance: float = 1e-14, iterations: int = 100
) -> Result:
    """Penalty with multipliers corrected until the constraints are met: λ ← λ + α(g − J a); no large α is needed."""
    from scipy.linalg import lu_factor, lu_solve

    scale = penalty_scale(M, J)
    S, right = J * scale[:, None], scale * g
    factors = lu_factor(M + alpha * S.T @ S)
    lam, a, size = np.zeros(len(g)), np.zeros(len(f)), 1.0 + float(np.abs(right).max(initial=0.0))
    best, without_gain = np.inf, 0
    for _ in range(iterations):
        a = lu_solve(factors, f + S.T @ (lam + alpha * right))
        miss = right - S @ a
        lam = lam + alpha * miss
        worst = float(np.linalg.norm(miss))
        without_gain = 0 if worst < 0.9 * best else without_gain + 1
        best = min(best, worst)
        if worst <= tolerance * size or without_gain == 5:
            break
    return Result(a, scale * lam)


Reduction = Callable[[Array, Array, Array, Array], Result]

#: Ways from (M, J, f, g) to (a, λ) by name.
REDUCTIONS: dict[str, Reduction] = {
    "kkt": kkt,
    "kkt-sparse": kkt_sparse,
    "range-space": range_space,
    **{name: partial(null_space, basis=name) for name in BASES},
    "augmented-lagrangian": augmented_lagrangian,
    "penalty": penalty,
}


def reduction(name: str) -> Reduction:
    """A way by its name."""
    if name not in REDUCTIONS:
        raise InputError(f"reduction '{name}' is unknown; use one of {', '.join(REDUCTIONS)}")
    return REDUCTIONS[name]


# --- stabilisation and projections -------------------------------------------------------------------------------


def baumgarte(g: Array, velocity: Array, position: Array, alpha: float, beta: float) -> Array:
    """g − 2α ḣ − β² h (rows of velocity constraints alone: g − α w): errors decay like e^(−αt), critically for α = β.

    ``velocity`` holds all rows, ``position`` the holonomic ones, which come first.
    """
    m = len(position)
    right = np.array(g, dtype=float)
    right[:m] -= 2.0 * alpha * velocity[:m] + beta**2 * position
    right[m:] -= alpha * velocity[m:]
    return right


def project_velocities(M: Array, J: Array, velocity: Array, residual: Array) -> Array:
    """Mass-orthogonal projection: M δ = Jᵀμ, J δ = −(J ẋ + ∂h/∂t); returns ẋ + δ (an ideal impulse)."""
    return np.asarray(velocity + kkt(M, J, np.zeros(len(velocity)), -residual).a)


def project_positions(
    M: Array, constraints: Callable[[Array], tuple[Array, Array]], x: Array, tolerance: float = 1e-13, iterations: int = 20
) -> Array:
    """Mass-orthogonal projection of x onto h(x) = 0: the nearest point in the metric of M, by Newton with multipliers.

    ``constraints(x)`` gives h and J without redundant rows; stationary: M(x − x*) = Jᵀτ, h(x) = 0.
    """
    target, x = np.array(x, dtype=float), np.array(x, dtype=float)
    for _ in range(iterations):
        h, J = constraints(x)
        step = kkt(M, J, -M @ (x - target), -h).a
        x = x + step
        size = float(np.abs(step).max(initial=0.0))
        if size <= tolerance * (1.0 + float(np.abs(x).max(initial=0.0))):
            return x
    h, _ = constraints(x)
    if np.abs(h).max(initial=0.0) > 1e-9:
        raise SolverError(f"the projection onto the constraints does not converge: the worst is off by {np.abs(h).max():.3g}")
    return x


__all__ = [
    "BASES", "REDUCTIONS", "Basis", "Result", "augmented_lagrangian", "baumgarte", "full_pivoting", "gram_schmidt", "independent_rows",
    "kkt", "kkt_sparse", "multipliers", "null_space", "orthogonal", "penalty", "penalty_scale", "pivoted", "project_positions", "project_velocities",
    "projective", "range_space", "reduction", "singular_values",
]  # fmt: skip
