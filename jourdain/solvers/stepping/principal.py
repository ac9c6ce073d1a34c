"""Stress, tangent and energy of a point whose law is a function of principal stretches, from the compiled law of their squares.

With the eigenvalues c_a and directions N_a of C = 1 + 2E: S = Σ 2 ∂W/∂c_a N_a ⊗ N_a, and its derivative has the entries
4 ∂²W/∂c_a∂c_b between N_a ⊗ N_a and N_b ⊗ N_b and 8 (∂_a W − ∂_b W)/(c_a − c_b) on the symmetric products of N_a and N_b (Ogden 1984, ch. 6).
Between two states the stress is the mean along the line of strains by two points of Gauss, and Gonzalez' correction where they are so far
apart that it is not exact.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Record

#: Difference of strains below which two points of Gauss integrate the stress to rounding.
NEAR = 3e-3
#: Difference of eigenvalues, relative to them, below which the quotient of slopes is replaced by its limit.
EQUAL = 1e-5
GAUSS = 0.28867513459481287


class Principal(Record):
    """The compiled law, and whether the stress is a discrete gradient."""

    function: Address
    discrete: int


class Call(Record):
    """Arguments of a law: of a tangent the derivative is in third place."""

    x: Address
    S: Address
    third: Address
    fourth: Address
    fifth: Address
    medium: Address


# Work: arguments and results of the compiled law, eigenvalues, directions, a matrix, a strain, stresses and tangents, then that of the law.
RESULTS, VALUES, AXES, MATRIX, STRAIN, PART, PART_SLOPE, SUM_SLOPE, PRODUCTS, LAW = 8, 18, 21, 30, 39, 45, 51, 87, 123, 159


@jit
def _eigen(A: Any, values: Any, N: Any) -> None:
    """Eigenvalues of a symmetric matrix and its directions as columns, by Jacobi's rotations; A is lost."""
    for i in range(9):
        N[i] = 1.0 if i % 4 == 0 else 0.0
    for _ in range(12):
        off = abs(A[1]) + abs(A[2]) + abs(A[5])
        if off <= 1e-300:
            break
        for pair in range(3):
            p = 0 if pair < 2 else 1
            q = 1 if pair == 0 else 2
            if A[3 * p + q] != 0.0:
                tau = 0.5 * (A[4 * q] - A[4 * p]) / A[3 * p + q]
                t = (1.0 if tau >= 0.0 else -1.0) / (abs(tau) + (1.0 + tau * tau) ** 0.5)
                c = 1.0 / (1.0 + t * t) ** 0.5
                s = t * c
                for k in range(3):
                    a, b = A[3 * k + p], A[3 * k + q]
                    A[3 * k + p], A[3 * k + q] = c * a - s * b, s * a + c * b
                for k in range(3):
                    a, b = A[3 * p + k], A[3 * q + k]
                    A[3 * p + k], A[3 * q + k] = c * a - s * b, s * a + c * b
                    a, b = N[3 * k + p], N[3 * k + q]
                    N[3 * k + p], N[3 * k + q] = c * a - s * b, s * a + c * b
    for k in range(3):
        values[k] = A[4 * k]


@hot
def _at(function: int, E: Any, constants: Any, w: Any) -> None:
    """W and its derivatives by the eigenvalues of C."""
    A, args = w[MATRIX:], words(at(w), 8)
    for k in range(3):
        A[4 * k] = 2.0 * E[k]
    A[1] = A[3] = E[3]
    A[5] = A[7] = E[4]
    A[2] = A[6] = E[5]
    _eigen(A, w[VALUES:], w[AXES:])
    for k in range(3):
        w[VALUES + k] += 1.0
    args[0], args[1], args[2], args[3] = at(w[VALUES:]), at(w[RESULTS:]), at(constants), at(w[LAW:])
    call(function, args)


@hot
def _components(k: int) -> tuple[int, int]:
    """Row and column of a component."""
    return (k, k) if k < 3 else (0, 1) if k == 3 else (1, 2) if k == 4 else (0, 2)


@jit
def _stress(function: int, E: Any, constants: Any, w: Any, S: Any, D: Any, tangent: bool) -> None:
    """S, and ∂S/∂E if it is asked for."""
    _at(function, E, constants, w)
    c, N, slope, second, P = w[VALUES:], w[AXES:], w[RESULTS + 1 :], w[RESULTS + 4 :], w[PRODUCTS:]
    for k in range(6):
        S[k] = 0.0
        i, j = _components(k)
        for pair in range(6):
            a, b = _components(pair)
            P[6 * pair + k] = 0.5 * (N[3 * i + a] * N[3 * j + b] + N[3 * i + b] * N[3 * j + a])
        for a in range(3):
            S[k] += 2.0 * slope[a] * P[6 * a + k]
    if not tangent:
        return
    for k in range(36):
        D[k] = 0.0
    for pair in range(6):
        a, b = _components(pair)
        if pair < 3:
            factor = 4.0 * second[pair]
        else:
            apart = c[a] - c[b]
            factor = 8.0 * (0.5 * (second[a] + second[b]) - second[pair])
            if abs(apart) > EQUAL * (c[a] + c[b]):
                factor = 8.0 * (slope[a] - slope[b]) / apart
        for i in range(6):
            for j in range(6):
                D[6 * i + j] += factor * P[6 * pair + i] * P[6 * pair + j]
                if pair >= 3:
                    D[6 * i + j] += 4.0 * second[pair] * (P[6 * a + i] * P[6 * b + j] + P[6 * b + i] * P[6 * a + j])


@jit
def _discrete(function: int, E0: Any, E1: Any, constants: Any, w: Any, S: Any, D: Any, tangent: bool) -> None:
    """The discrete gradient between two strains and its derivative by the second."""
    E, part, slope, total = w[STRAIN:], w[PART:], w[PART_SLOPE:], w[SUM_SLOPE:]
    size = 0.0
    for k in range(6):
        S[k] = 0.0
        size += (E1[k] - E0[k]) * (E1[k] - E0[k])
    for k in range(36):
        total[k] = 0.0
    for point in range(2):
        s = 0.5 + GAUSS * (2 * point - 1)
        for k in range(6):
            E[k] = E0[k] + s * (E1[k] - E0[k])
        _stress(function, E, constants, w, part, slope, tangent)
        for k in range(6):
            S[k] += 0.5 * part[k]
        if tangent:
            for k in range(36):
                total[k] += 0.5 * s * slope[k]
    correction = 0.0
    if size > NEAR * NEAR:
        _at(function, E0, constants, w)
        defect = -w[RESULTS]
        _stress(function, E1, constants, w, part, slope, False)
        defect += w[RESULTS]
        for k in range(6):
            defect -= S[k] * (E1[k] - E0[k])
        correction = defect / size
    if tangent:
        for i in range(6):
            for j in range(6):
                D[6 * i + j] = total[6 * i + j]
        if size > NEAR * NEAR:
            for j in range(6):
                change = part[j] - S[j] - 2.0 * correction * (E1[j] - E0[j])
                for i in range(6):
                    change -= total[6 * i + j] * (E1[i] - E0[i])
                for i in range(6):
                    D[6 * i + j] += (E1[i] - E0[i]) * change / size
                D[7 * j] += correction
    for k in range(6):
        S[k] += correction * (E1[k] - E0[k])


@hot
def _law(medium: Principal, x: Any, constants: Any, w: Any, S: Any, D: Any, tangent: bool) -> None:
    if medium.discrete == 1:
        _discrete(medium.function, x, x[6:], constants, w, S, D, tangent)
    else:
        _stress(medium.function, x[6:], constants, w, S, D, tangent)


@kernel
def principal_stress(address: int) -> int:
    """Stress from the strains at both ends."""
    given = Call.at(address)
    S = doubles(given.S, 6)
    _law(Principal.at(given.medium), doubles(given.x, 12), doubles(given.third, 1), doubles(given.fourth, LAW + 1), S, S, False)
    return 0


@kernel
def principal_tangent(address: int) -> int:
    """Stress and its derivative by the strain at the end."""
    given = Call.at(address)
    S, D = doubles(given.S, 6), doubles(given.third, 36)
    _law(Principal.at(given.medium), doubles(given.x, 12), doubles(given.fourth, 1), doubles(given.fifth, LAW + 1), S, D, True)
    return 0


@kernel
def principal_energy(address: int) -> int:
    """Energy at the end."""
    given = Call.at(address)
    w, S = doubles(given.fourth, LAW + 1), doubles(given.S, 1)
    _at(Principal.at(given.medium).function, doubles(given.x, 12)[6:], doubles(given.third, 1), w)
    S[0] = w[RESULTS]
    return 0
