"""Linear complementarity problems w = A z + q, 0 ≤ w ⟂ z ≥ 0, by pivots (Cottle, Pang & Stone 1992, chapter 4).

Principal pivoting guesses which z are positive, solves for them, and exchanges those that are wrong: all at once while that makes them fewer,
otherwise the last one alone (Júdice & Pires 1994; Murty 1974), which for P-matrices comes to an end.  It starts from any guess: from the set of a
similar problem it takes one factorisation.  Where it does not serve, Lemke's method follows with the lexicographic rule against cycles: it
finds a solution or shows by a ray that there is none for copositive-plus A, positive semi-definite ones among them.

Equations may stand among the rows: w = 0 and z of any sign (bilateral constraints).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError, SolverError
from ...native.kernel import hot, jit
from ..linear.dense import lu_factor, lu_solve
from .laws import residual
from .matrix import fill_matrix, list_incidents
from .operator import rows_of
from .problem import BILATERAL, UNILATERAL, linear_room

SOLVED, RAY, LIMIT, WRONG, NO_ROOM = range(5)
#: Block exchanges that may fail to make the wrong signs fewer before single ones begin, and sets that are tried beyond one for each unknown.
CHANCES, SETS = 8, 50
#: Pivots below this part of the largest entry of their column are zero; numbers that agree so far tie.
SMALLEST, TIE = 1e-11, 1e-12
#: Signs that are wrong by less than this part of the numbers they come from are rounding.
ROUNDING = 1e-13
#: Defects above the first call for other pivots, those above the second are refused.
GOOD, BAD = 1e-10, 1e-7


@jit
def _factor_symmetric(a: Any, n: int) -> bool:
    """A = Uᵀ D⁻¹ U by rows of the upper triangle, in place; False where it is not safely positive definite."""
    largest = 0.0
    for k in range(n):
        largest = max(largest, a[k * n + k])
    for k in range(n):
        pivot = a[k * n + k]
        if not pivot > SMALLEST * largest:
            return False
        first = a[k * n : k * n + n]
        over = 1.0 / pivot
        for i in range(k + 1, n):
            factor = first[i] * over
            if factor != 0.0:
                row = a[i * n : i * n + n]
                for j in range(i, n):
                    row[j] -= factor * first[j]
    return True


@jit
def _solve_symmetric(a: Any, n: int, b: Any) -> None:
    for k in range(n):
        b[k] /= a[k * n + k]
        row, x = a[k * n : k * n + n], b[k]
        for j in range(k + 1, n):
            b[j] -= row[j] * x
    for k in range(n - 1, -1, -1):
        row, total = a[k * n : k * n + n], 0.0
        for j in range(k + 1, n):
            total += row[j] * b[j]
        b[k] -= total / a[k * n + k]


@jit
def _solve_set(s: Any) -> bool:
    """z and w of the set: z = 0 outside, w = 0 inside; False where its matrix is singular."""
    n, A, a, b, members = s.size, s.A, s.factors, s.right, s.members
    count = 0
    for i in range(n):
        s.z[i] = 0.0
        if s.taken[i]:
            members[count] = i
            count += 1
    for i in range(count):
        row = A[members[i] * n : (members[i] + 1) * n]
        b[i] = -s.q[members[i]]
        for j in range(i if s.symmetric else 0, count):
            a[i * count + j] = row[members[j]]
    if s.symmetric:
        if not _factor_symmetric(a, count):
            return False
        _solve_symmetric(a, count, b)
    else:
        if lu_factor(a, count, s.pivots) != 0:
            return False
        largest, least = 0.0, math.inf
        for i in range(count):
            largest, least = max(largest, abs(a[i * count + i])), min(least, abs(a[i * count + i]))
        if least < SMALLEST * largest:
            return False
        lu_solve(a, count, s.pivots, b)
    for i in range(count):
        s.z[members[i]] = b[i]
    for i in range(n):
        total, row = 0.0, A[i * n : (i + 1) * n]
        for j in range(count):
            total += row[members[j]] * b[j]
        s.w[i] = 0.0 if s.taken[i] else total + s.q[i]
    return True


@jit
def _scale(s: Any) -> Any:
    """Sizes of z and of w, against which signs are judged."""
    size, entry = 0.0, 0.0
    for i in range(s.size):
        size = max(size, abs(s.q[i]))
        entry = max(entry, abs(s.A[i * s.size + i]))
    return (size / entry if entry > 0.0 else size), size


@jit
def principal_pivoting(s: Any) -> int:
    """From the set of positive z in ``z``: SOLVED, LIMIT or WRONG (a singular or indefinite set)."""
    n = s.size
    small_z, small_w = _scale(s)
    small_z, small_w = ROUNDING * small_z, ROUNDING * small_w
    for i in range(n):
        s.taken[i] = 1 if s.equation[i] or s.z[i] > 0.0 else 0
    fewest, chances = n + 1, CHANCES
    s.iterations = 0
    while s.iterations < min(s.limit, n + SETS):
        s.iterations += 1
        if not _solve_set(s):
            return WRONG
        wrong, last = 0, -1
        for i in range(n):
            if not s.equation[i] and (s.z[i] < -small_z if s.taken[i] else s.w[i] < -small_w):
                wrong += 1
                last = i
            if not math.isfinite(s.z[i]):
                return WRONG
        if wrong == 0:
            for i in range(n):
                if not s.equation[i]:
                    s.z[i], s.w[i] = max(s.z[i], 0.0), max(s.w[i], 0.0)
            return SOLVED
        if wrong < fewest:
            fewest, chances = wrong, CHANCES
        else:
            chances -= 1
        if chances > 0:
            for i in range(n):
                if not s.equation[i] and (s.z[i] < -small_z if s.taken[i] else s.w[i] < -small_w):
                    s.taken[i] = 1 - s.taken[i]
        else:
            s.taken[last] = 1 - s.taken[last]
    return LIMIT


@jit
def solve_similar(s: Any, known: bool) -> int:
    """A problem that differs in q alone from the one solved before, whose factors are `known`: no factorisation while the set stays.

    For symmetric A.  Returns what `principal_pivoting` does; the set of the problem before is in ``taken``.
    """
    n, count = s.size, 0
    if known:
        for i in range(n):
            s.z[i] = 0.0
            if s.taken[i]:
                s.members[count] = i
                s.right[count] = -s.q[i]
                count += 1
        _solve_symmetric(s.factors, count, s.right)
        small_z, small_w = _scale(s)
        small_z, small_w = ROUNDING * small_z, ROUNDING * small_w
        right = True
        for i in range(count):
            s.z[s.members[i]] = s.right[i]
            right = right and s.right[i] >= -small_z
        for i in range(n):
            if right and s.taken[i] == 0:
                total, row = s.q[i], s.A[i * n : (i + 1) * n]
                for j in range(count):
                    total += row[s.members[j]] * s.right[j]
                s.w[i] = total
                right = total >= -small_w
            elif s.taken[i]:
                s.w[i] = 0.0
        if right:
            s.iterations = 0
            return SOLVED
    return principal_pivoting(s)


# -- Lemke's method -------------------------------------------------------------------------------------------------------


@jit
def _pivot(t: Any, n: int, r: int, c: int) -> None:
    """Gauss–Jordan elimination of column c by row r."""
    width = 2 * n + 2
    row = t[r * width : (r + 1) * width]
    over = 1.0 / row[c]
    for j in range(width):
        row[j] *= over
    row[c] = 1.0
    for i in range(n):
        other = t[i * width : (i + 1) * width]
        factor = other[c]
        if i != r and factor != 0.0:
            for j in range(width):
                other[j] -= factor * row[j]
            other[c] = 0.0


@jit
def _comes_first(t: Any, n: int, c: int, i: int, k: int) -> bool:
    """Whether row i leaves before row k when column c enters: by the ratio of the right sides, ties by those of the rows of B⁻¹."""
    width = 2 * n + 2
    a, b = t[i * width + c], t[k * width + c]
    for e in range(n + 1):
        j = width - 1 if e == 0 else e - 1
        x, y = t[i * width + j] / a, t[k * width + j] / b
        if abs(x - y) > TIE * (abs(x) + abs(y)) + 1e-300:
            return x < y
    return i < k


@jit
def _leaving(s: Any, c: int) -> int:
    """The row that leaves the basis when column c enters; −1: none, a ray.  z₀ leaves when it is among those that could."""
    t, n, width = s.tableau, s.size, 2 * s.size + 2
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(t[i * width + c]))
    best = -1
    for i in range(n):
        if not s.equation[i] and t[i * width + c] > SMALLEST * largest:
            if best < 0 or _comes_first(t, n, c, i, best):
                best = i
    for i in range(n):
        if s.basis[i] == 2 * n and best >= 0 and t[i * width + c] > SMALLEST * largest:
            x, y = t[(i + 1) * width - 1] / t[i * width + c], t[(best + 1) * width - 1] / t[best * width + c]
            if x <= y + TIE * (abs(x) + abs(y)):
                return i
    return best


@jit
def _start_tableau(s: Any) -> None:
    """w − A z − 1 z₀ = q with w as basis; z of the equations enter at once and never leave."""
    n, t, width = s.size, s.tableau, 2 * s.size + 2
    for i in range(n):
        row = t[i * width : (i + 1) * width]
        for j in range(n):
            row[j], row[n + j] = 0.0, -s.A[i * n + j]
        row[i], row[2 * n], row[2 * n + 1] = 1.0, 0.0, s.q[i]
        s.basis[i] = i
    for _ in range(n):
        best, at, size = 0.0, -1, 0.0
        for i in range(n):
            if s.equation[i] and s.basis[i] < n:
                size = max(size, abs(s.A[i * n + i]))
                if abs(t[i * width + n + i]) > best:
                    best, at = abs(t[i * width + n + i]), i
        if at < 0 or best <= SMALLEST * size:
            break
        _pivot(t, n, at, n + at)
        s.basis[at] = n + at
    for i in range(n):
        t[(i + 1) * width - 2] = 0.0 if s.equation[i] else -1.0


@hot
def _deeper(t: Any, width: int, i: int, k: int) -> bool:
    """Whether z₀ must be larger for row i than for row k."""
    return t[(i + 1) * width - 1] * t[(k + 1) * width - 2] > t[(k + 1) * width - 1] * t[(i + 1) * width - 2]


@jit
def lemke(s: Any) -> int:
    """SOLVED, RAY or LIMIT; the set of positive z is left in ``taken``, z and w are computed from it or from the tableau."""
    n, t, width = s.size, s.tableau, 2 * s.size + 2
    _start_tableau(s)
    s.iterations = 0
    column, row = 2 * n, -1
    for i in range(n):
        if not s.equation[i] and t[(i + 1) * width - 1] < 0.0:
            if row < 0 or not _deeper(t, width, row, i):  # the last of equals
                row = i
    told = SOLVED if row < 0 else LIMIT
    while told == LIMIT and s.iterations < s.limit:
        s.iterations += 1
        left = s.basis[row]
        _pivot(t, n, row, column)
        s.basis[row] = column
        if left == 2 * n:
            told = SOLVED
        else:
            column = left + n if left < n else left - n  # the complement enters
            row = _leaving(s, column)
            if row < 0:
                told = RAY
    for i in range(n):
        s.z[i], s.taken[i] = 0.0, 0
    for i in range(n):
        if n <= s.basis[i] < 2 * n:
            k = s.basis[i] - n
            s.taken[k] = 1
            s.z[k] = t[(i + 1) * width - 1]
            if not s.equation[k]:
                s.z[k] = max(s.z[k], 0.0)
    _finish(s)
    return told


@jit
def _finish(s: Any) -> None:
    """w of z."""
    n = s.size
    for i in range(n):
        s.w[i] = s.q[i] + _product(s.A[i * n : (i + 1) * n], s.z, n)[0]


@jit
def _product(a: Any, b: Any, n: int) -> Any:
    """a·b and |a|·|b|, by four sums each that do not wait for one another."""
    x0, x1, x2, x3, y0, y1, y2, y3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = 4 * (n // 4)
    for k in range(0, whole, 4):
        p0, p1, p2, p3 = a[k] * b[k], a[k + 1] * b[k + 1], a[k + 2] * b[k + 2], a[k + 3] * b[k + 3]
        x0, x1, x2, x3 = x0 + p0, x1 + p1, x2 + p2, x3 + p3
        y0, y1, y2, y3 = y0 + abs(p0), y1 + abs(p1), y2 + abs(p2), y3 + abs(p3)
    for k in range(whole, n):
        x0, y0 = x0 + a[k] * b[k], y0 + abs(a[k] * b[k])
    return x0 + x1 + (x2 + x3), y0 + y1 + (y2 + y3)


@jit
def _defect(s: Any) -> float:
    """The largest of |min(z, w)|, in units of w, over the size of the numbers that w is the sum of."""
    size, wrong, n = 0.0, 0.0, s.size
    for i in range(n):
        size = max(size, abs(s.q[i]) + _product(s.A[i * n : (i + 1) * n], s.z, n)[1])
    for i in range(n):
        d = abs(s.A[i * n + i])
        d = d if d > 0.0 else 1.0
        wrong = max(wrong, abs(s.w[i]) if s.equation[i] else abs(min(d * s.z[i], s.w[i])))
    return wrong / size if size > 0.0 else wrong


@jit
def solve_linear(s: Any) -> int:
    """Principal pivoting from the guess, and Lemke's method where that does not end well; w of z is computed anew and checked.

    NO_ROOM: Lemke's method would be next, and there is no tableau for it.
    """
    told = principal_pivoting(s)
    used = s.iterations
    if told == SOLVED:
        _finish(s)
    if told != SOLVED or _defect(s) > GOOD:
        if s.size * (2 * s.size + 2) > s.tableau.size:
            return NO_ROOM
        told = lemke(s)
        s.iterations += used
        if told == SOLVED and _defect(s) > GOOD:
            kept = s.tableau
            for i in range(s.size):  # pivots have gathered rounding: the set anew
                kept[i] = s.z[i]
            if principal_pivoting(s) != SOLVED:
                for i in range(s.size):
                    s.z[i] = kept[i]
            _finish(s)
    return WRONG if told == SOLVED and not _defect(s) <= BAD else told


@jit
def pivots_fit(problem: Any) -> bool:
    """Whether there are unilateral and bilateral rows alone, and room for them."""
    m = rows_of(problem)
    fits = m > 0 and m * (2 * m + 2) <= problem.linear.tableau.size
    for i in range(problem.blocks if fits else 0):
        fits = fits and (problem.law[i] == UNILATERAL or problem.law[i] == BILATERAL)
    return fits  # type: ignore[no-any-return]


@jit
def pivoting(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """A problem of unilateral and bilateral rows by at most ``limit`` pivots, from the set of positive p; pivots, residual, its block.

    Other laws, and problems for which there is no room, are left as they are.
    """
    m, s = rows_of(problem), problem.linear
    found, worst, rounding = residual(problem, p)
    if not (pivots_fit(problem) and found > tolerance + rounding and math.isfinite(found)):
        return 0, found, worst
    s.size, s.limit = m, limit
    for r in range(m):
        problem.whole[r] = r
    list_incidents(problem)
    fill_matrix(problem, problem.whole, m * m, m, 0, s.A)
    s.symmetric = 1
    for r in range(m):
        s.equation[r] = 1 if problem.law[r] == BILATERAL else 0
        s.q[r], s.z[r] = problem.w[r], p[r]
        for c in range(r):
            if s.A[r * m + c] != s.A[c * m + r]:
                s.symmetric = 0
    told = solve_linear(s)
    if told == SOLVED:
        for r in range(m):
            p[r] = s.z[r]
        found, worst, rounding = residual(problem, p)
    return s.iterations, found, worst


class Complementary(NamedTuple):
    """A solution of w = A z + q, 0 ≤ w ⟂ z ≥ 0."""

    z: np.ndarray
    w: np.ndarray
    iterations: int


def _real(name: str, given: Any) -> np.ndarray:
    try:
        return np.ascontiguousarray(given, float)
    except (TypeError, ValueError):
        raise InputError(f"complementarity: {name} is not an array of real numbers") from None


def complementarity(A: Any, q: Any, start: Any = None) -> Complementary:
    """Solves the linear complementarity problem w = A z + q, 0 ≤ w ⟂ z ≥ 0 (Cottle, Pang & Stone 1992) by principal pivots or Lemke's method.

    ``start`` is the solution of a similar problem; only which of its entries are positive counts.

    >>> complementarity([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).z.round(12)
    array([1.33333333, 2.33333333])
    """
    matrix, right = _real("A", A), _real("q", q)
    n = right.size
    if right.ndim != 1 or matrix.shape != (n, n):
        raise InputError(f"complementarity: A of shape {matrix.shape} and q of shape {right.shape} do not make w = A z + q")
    for name, given in (("A", matrix), ("q", right)):
        if not np.isfinite(given).all():
            raise InputError(f"complementarity: {name}{[int(k) for k in np.argwhere(~np.isfinite(given))[0]]} is not a finite number")
    problem = linear_room(n, tableau=False)  # memory that most problems do without costs more than they do
    problem.A, problem.q, problem.symmetric = matrix.ravel(), right, int(np.array_equal(matrix, matrix.T))
    if start is None:
        problem.z[:] = right < 0.0
    else:
        guess = _real("start", start)
        if guess.shape != (n,):
            raise InputError(f"complementarity: start of shape {guess.shape} for {n} unknowns")
        problem.z[:] = guess
    told = solve_linear(problem) if n else SOLVED
    if told == NO_ROOM:
        problem.tableau = np.zeros(n * (2 * n + 2))
        told = solve_linear(problem)
    if told != SOLVED:
        raise SolverError(f"complementarity: {_REASONS[told].format(problem.iterations)}")
    return Complementary(problem.z, problem.w, int(problem.iterations))


_REASONS = {
    RAY: "no solution was found: after {} pivots z can grow without end while w = A z + q stays the same (ray termination). For positive "
    "semi-definite A this proves that no z ≥ 0 makes A z + q ≥ 0; for other A a solution may exist",
    LIMIT: "no solution after {} pivots; is A badly scaled?",
    WRONG: "the solution found after {} pivots does not satisfy the problem to 1e-7; is A badly scaled?",
}
