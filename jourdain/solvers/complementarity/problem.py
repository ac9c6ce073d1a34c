"""Contact problems u = W p + w with a law for every block of rows, and W = J M⁻¹ Jᵀ (Delassus) in three forms.

u are relative velocities after the impulses p, w those without them; restitution and stabilisation are part of w.  Laws of a block:

- ``CONTACT`` (3 rows: normal, two tangents): Signorini–Coulomb, K ∋ p ⟂ u + (μ‖u_T‖, 0, 0) ∈ K* with the exact cone K: ‖p_T‖ ≤ μ p_n
  (De Saxcé & Feng 1998); ``relaxed`` leaves μ‖u_T‖ out, which makes the problem convex and lets sliding contacts open by μ‖u_T‖;
- ``UNILATERAL`` (1 row): 0 ≤ u ⟂ p ≥ 0;
- ``BILATERAL`` (1 row): u = 0;
- ``FRICTION`` (1 row): |p| ≤ a, against the sliding: u = 0 inside, p = ±a where u ≶ 0.

Friction that differs by direction has the elliptic cone (p₁/μ₁)² + (p₂/μ₂)² ≤ p_n² and most dissipation: with tangents stretched by μᵢ/μ,
μ = max μᵢ, it is a round one.  Compliance C adds C p to u, a number for each row.

Forms of W: ``DENSE`` (a matrix), ``BLOCK_SPARSE`` (blocks in compressed rows), ``BODIES`` (rows of J over at most two free bodies each and
M⁻¹ of every body: nothing of W is formed, a sweep over all blocks costs O(blocks)).

Native callers fill the arrays of a :class:`Problem` that has room enough, call :func:`prepare`, then a solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Matrix, Record

CONTACT, UNILATERAL, BILATERAL, FRICTION = range(4)
LAWS = ("contact", "unilateral", "bilateral", "friction")
DENSE, BLOCK_SPARSE, BODIES = range(3)
#: Part of the mean diagonal of a block that is added to it while the block alone is solved, in proximal form: solutions are the same, and
#: directions in which the block is singular keep the impulse that they have.
PROXIMAL = 1e-12
#: The inverse of nothing, whose square is a number.
HUGE = 1e150


class BlockSparse(Record):
    """W by blocks in compressed rows: those of row i are number ``first[i]`` to ``first[i + 1]``, row-major from ``place`` in ``values``."""

    first: Integers
    column: Integers
    place: Integers
    values: Floats


class BodyForm(Record):
    """W by bodies: row r has J[12 r :] over the velocities of its block's two bodies (−1: the ground), and ``inverse_mass`` has 36 numbers a body."""

    count: int
    pair: Integers  # two bodies for each block
    J: Floats
    inverse_mass: Floats
    response: Floats  # M⁻¹Jᵀ, as J
    v: Floats  # changes of velocity, 6 for each body
    before: Floats  # the same before a sweep, and the direction in which they go on
    along: Floats


class Local(Record):
    """A block alone, for contacts in round coordinates and principal tangents of S = W_TT − W_Tn W_nT / W_nn."""

    mean: float  # of the diagonal: the scale between velocities and impulses
    normal: float  # W_nn, or the diagonal of one row
    g1: float  # W_nT
    g2: float
    l1: float  # eigenvalues of S
    l2: float
    over: float  # 1/W_nn, and those of the eigenvalues
    over1: float
    over2: float
    cosine: float  # from the caller's tangents to the principal ones
    sine: float
    mu: float
    s1: float  # μᵢ/μ
    s2: float


class LinearProblem(Record):
    """w = A z + q, 0 ≤ w ⟂ z ≥ 0 with ``size`` unknowns, its solution (``z`` in: the guess), and work space; arrays may be longer."""

    size: int
    A: Floats
    q: Floats
    z: Floats
    w: Floats
    equation: Integers  # 1: w = 0 and z of any sign
    symmetric: int
    limit: int
    iterations: int
    factors: Floats  # n²
    right: Floats
    tableau: Floats  # n (2 n + 2)
    basis: Integers
    taken: Integers  # in the set of positive z
    members: Integers
    pivots: Integers


def linear_room(n: int) -> LinearProblem:
    """Room for a linear problem of n unknowns."""
    q, z, w, right = np.zeros((4, n))
    equation, basis, taken, members, pivots = np.zeros((5, n), np.int64)
    return LinearProblem(
        size=n, A=np.zeros(n * n), q=q, z=z, w=w, equation=equation, limit=50 * n + 50, factors=np.zeros(n * n), right=right,
        tableau=np.zeros(n * (2 * n + 2)), basis=basis, taken=taken, members=members, pivots=pivots,
    )  # fmt: skip


class Problem(Record):
    """The first ``blocks`` blocks of arrays that may be longer."""

    blocks: int
    form: int
    relaxed: int
    law: Integers
    row: Integers  # first row of each block, and behind the last the number of rows
    coefficient: Matrix  # μ₁, μ₂ of a contact; a of dry friction
    w: Floats
    compliance: Floats
    dense: Matrix
    sparse: BlockSparse
    bodies: BodyForm
    local: Matrix  # a Local for each block
    u: Floats  # velocities that belong to p when a solver ends
    work: Floats  # WORK numbers a row and BLOCK more
    whole: Integers  # twice the number of rows
    matrix: Floats  # the square of the number of rows that Newton's method may take together
    linear: LinearProblem  # room for pivots, where there is no friction


#: Numbers of work space for each row and for a block.
WORK, BLOCK = 11, 24
#: Most rows that problems from Python let Newton's method and pivots take together.
TOGETHER = 600
_LOCAL = Local.struct.words


@hot
def local_of(problem: Any, i: int) -> Any:
    """What is known of block i alone."""
    return Local.at(problem.local[i])


@jit
def rows_of(problem: Any) -> int:
    """The number of rows."""
    return problem.row[problem.blocks]


# -- the operator ---------------------------------------------------------------------------------------------------------


@hot
def _dot6(a: Any, i: int, b: Any, j: int) -> float:
    return (a[i] * b[j] + a[i + 1] * b[j + 1] + a[i + 2] * b[j + 2]) + (a[i + 3] * b[j + 3] + a[i + 4] * b[j + 4] + a[i + 5] * b[j + 5])


@hot
def _row_response(problem: Any, i: int, r: int, p: Any) -> float:
    """Row r, of block i, of W p + C p; in form BODIES with the velocities that the bodies have now."""
    total = problem.compliance[r] * p[r]
    if problem.form == BODIES:
        b, at = problem.bodies, 12 * r
        if b.pair[2 * i] >= 0:
            total += _dot6(b.J, at, b.v, 6 * b.pair[2 * i])
        if b.pair[2 * i + 1] >= 0:
            total += _dot6(b.J, at + 6, b.v, 6 * b.pair[2 * i + 1])
    elif problem.form == DENSE:
        matrix_row = problem.dense[r]
        for j in range(rows_of(problem)):
            total += matrix_row[j] * p[j]
    else:
        s, k = problem.sparse, r - problem.row[i]
        for e in range(s.first[i], s.first[i + 1]):
            j = s.column[e]
            begin, end = problem.row[j], problem.row[j + 1]
            at = s.place[e] + k * (end - begin) - begin
            for c in range(begin, end):
                total += s.values[at + c] * p[c]
    return total


@hot
def row_velocity(problem: Any, i: int, r: int, p: Any) -> float:
    """The same with w."""
    return problem.w[r] + _row_response(problem, i, r, p)


@hot
def _push(b: Any, i: int, r: int, change: float) -> None:
    """Changes the velocities of the two bodies of block i by an impulse in row r."""
    v, response = b.v, b.response
    for body, at in ((b.pair[2 * i], 12 * r), (b.pair[2 * i + 1], 12 * r + 6)):
        if body >= 0:
            for k in (0, 1, 2, 3, 4, 5):
                v[6 * body + k] += response[at + k] * change


@hot
def set_impulse(problem: Any, i: int, r: int, value: float, p: Any) -> None:
    """Gives row r of block i another impulse."""
    change = value - p[r]
    p[r] = value
    if problem.form == BODIES and change != 0.0:
        _push(problem.bodies, i, r, change)


@hot
def _push_contact(b: Any, i: int, r: int, x: float, y: float, z: float) -> None:
    """The same by impulses in three rows."""
    v, response = b.v, b.response
    for body, at in ((b.pair[2 * i], 12 * r), (b.pair[2 * i + 1], 12 * r + 6)):
        if body >= 0:
            for k in (0, 1, 2, 3, 4, 5):
                v[6 * body + k] += (response[at + k] * x + response[at + 12 + k] * y) + response[at + 24 + k] * z


@hot
def set_contact(problem: Any, i: int, x: float, y: float, z: float, p: Any) -> None:
    """Gives contact i another impulse."""
    r = problem.row[i]
    if problem.form == BODIES:
        _push_contact(problem.bodies, i, r, x - p[r], y - p[r + 1], z - p[r + 2])
    p[r], p[r + 1], p[r + 2] = x, y, z


@jit
def renew_velocities(problem: Any, p: Any) -> None:
    """Velocities of the bodies that belong to p."""
    if problem.form == BODIES:
        b = problem.bodies
        for k in range(6 * b.count):
            b.v[k] = 0.0
        for i in range(problem.blocks):
            for r in range(problem.row[i], problem.row[i + 1]):
                if p[r] != 0.0:
                    _push(b, i, r, p[r])


@jit
def response(problem: Any, p: Any, u: Any) -> None:
    """u = (W + C) p."""
    renew_velocities(problem, p)
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1]):
            u[r] = _row_response(problem, i, r, p)


@jit
def velocities(problem: Any, p: Any, u: Any) -> None:
    """u = (W + C) p + w."""
    response(problem, p, u)
    for r in range(rows_of(problem)):
        u[r] += problem.w[r]


@hot
def diagonal_entry(problem: Any, i: int, r: int, c: int) -> float:
    """W + C at rows r and c of block i."""
    total = problem.compliance[r] if r == c else 0.0
    if problem.form == BODIES:
        b = problem.bodies
        for side in (0, 1):
            if b.pair[2 * i + side] >= 0:
                total += _dot6(b.J, 12 * r + 6 * side, b.response, 12 * c + 6 * side)
        if b.pair[2 * i] >= 0 and b.pair[2 * i] == b.pair[2 * i + 1]:
            total += _dot6(b.J, 12 * r, b.response, 12 * c + 6) + _dot6(b.J, 12 * r + 6, b.response, 12 * c)
    elif problem.form == DENSE:
        total += problem.dense[r, c]
    else:
        s, begin = problem.sparse, problem.row[i]
        size = problem.row[i + 1] - begin
        for e in range(s.first[i], s.first[i + 1]):
            if s.column[e] == i:
                total += s.values[s.place[e] + (r - begin) * size + c - begin]
    return total


# -- W of some rows ---------------------------------------------------------------------------------


@hot
def _coupled(problem: Any, i: int, j: int) -> bool:
    b = problem.bodies
    a1, a2, b1, b2 = b.pair[2 * i], b.pair[2 * i + 1], b.pair[2 * j], b.pair[2 * j + 1]
    return (a1 >= 0 and (a1 == b1 or a1 == b2)) or (a2 >= 0 and (a2 == b1 or a2 == b2))  # noqa: SIM109  # kernels have no `in`


@jit
def _body_block(problem: Any, i: int, j: int, place: Any, count: int, matrix: Any) -> None:
    """Block (i, j) of W by what both blocks have in common."""
    b = problem.bodies
    for side in (0, 1):
        for other in (0, 1):
            if b.pair[2 * i + side] >= 0 and b.pair[2 * i + side] == b.pair[2 * j + other]:
                for r in range(problem.row[i], problem.row[i + 1]):
                    for c in range(problem.row[j], problem.row[j + 1]):
                        total = 0.0
                        for k in range(6):
                            total += b.J[12 * r + 6 * side + k] * b.response[12 * c + 6 * other + k]
                        matrix[place[r] * count + place[c]] += total


@jit
def fill_matrix(problem: Any, place: Any, count: int, matrix: Any) -> None:
    """W + C of the rows that have a place ≥ 0 among ``count``; the rows of a block have one all together."""
    for k in range(count * count):
        matrix[k] = 0.0
    for i in range(problem.blocks):
        begin, end = problem.row[i], problem.row[i + 1]
        if place[begin] < 0:
            continue
        for r in range(begin, end):
            matrix[place[r] * count + place[r]] += problem.compliance[r]
        if problem.form == BODIES:
            for j in range(problem.blocks):
                if place[problem.row[j]] >= 0 and _coupled(problem, i, j):
                    _body_block(problem, i, j, place, count, matrix)
        elif problem.form == DENSE:
            for r in range(begin, end):
                for c in range(rows_of(problem)):
                    if place[c] >= 0:
                        matrix[place[r] * count + place[c]] += problem.dense[r, c]
        else:
            s = problem.sparse
            for e in range(s.first[i], s.first[i + 1]):
                first, last = problem.row[s.column[e]], problem.row[s.column[e] + 1]
                if place[first] >= 0:
                    for r in range(begin, end):
                        for c in range(first, last):
                            matrix[place[r] * count + place[c]] += s.values[s.place[e] + (r - begin) * (last - first) + c - first]


# -- blocks alone ---------------------------------------------------------------------------------------------------------


@jit
def _respond(problem: Any) -> None:
    """M⁻¹Jᵀ of all rows."""
    b = problem.bodies
    for i in range(problem.blocks):
        for side in (0, 1):
            body = b.pair[2 * i + side]
            for r in range(problem.row[i], problem.row[i + 1]):
                at = 12 * r + 6 * side
                for k in range(6):
                    b.response[at + k] = _dot6(b.inverse_mass, 36 * body + 6 * k, b.J, at) if body >= 0 else 0.0


@jit
def _principal(a: float, b: float, c: float) -> Any:
    """Eigenvalues of [a b; b c], the larger first, and cosine and sine of the larger one's direction."""
    half, mean = 0.5 * (a - c), 0.5 * (a + c)
    radius = math.sqrt(half * half + b * b)
    if radius == 0.0:
        return max(0.0, mean), max(0.0, mean), 1.0, 0.0
    x, y = (half + radius, b) if half >= 0.0 else (b, radius - half)
    length = math.sqrt(x * x + y * y)
    return max(0.0, mean + radius), max(0.0, mean - radius), x / length, y / length


@jit
def _prepare_contact(problem: Any, i: int) -> None:
    at, r, mu1, mu2 = local_of(problem, i), problem.row[i], problem.coefficient[i, 0], problem.coefficient[i, 1]
    mu = max(mu1, mu2)
    s1, s2 = (mu1 / mu, mu2 / mu) if mu > 0.0 else (1.0, 1.0)
    n, g1, g2 = diagonal_entry(problem, i, r, r), s1 * diagonal_entry(problem, i, r, r + 1), s2 * diagonal_entry(problem, i, r, r + 2)
    a, b = s1 * s1 * diagonal_entry(problem, i, r + 1, r + 1), s1 * s2 * diagonal_entry(problem, i, r + 1, r + 2)
    c = s2 * s2 * diagonal_entry(problem, i, r + 2, r + 2)
    at.mean = (n + a + c) / 3.0
    more = PROXIMAL * at.mean
    n, a, c = n + more, a + more, c + more
    over = 1.0 / n if n > 0.0 else 0.0
    at.l1, at.l2, at.cosine, at.sine = _principal(a - g1 * g1 * over, b - g1 * g2 * over, c - g2 * g2 * over)
    at.over, at.over1, at.over2 = over, 1.0 / at.l1 if at.l1 > 0.0 else HUGE, 1.0 / at.l2 if at.l2 > 0.0 else HUGE
    at.normal, at.mu, at.s1, at.s2 = n, mu, s1, s2
    at.g1, at.g2 = at.cosine * g1 + at.sine * g2, at.cosine * g2 - at.sine * g1


@jit
def prepare(problem: Any) -> None:
    """Finds what solvers need of W, after any change of it: responses of bodies and the blocks on the diagonal."""
    if problem.form == BODIES:
        _respond(problem)
    for i in range(problem.blocks):
        if problem.law[i] == CONTACT:
            _prepare_contact(problem, i)
        else:
            at, r = local_of(problem, i), problem.row[i]
            at.mean = diagonal_entry(problem, i, r, r)
            at.normal = (1.0 + PROXIMAL) * at.mean
            at.over = 1.0 / at.normal if at.normal > 0.0 else 0.0
    mean_of_rigid_blocks(problem)


@jit
def mean_of_rigid_blocks(problem: Any) -> None:
    """Blocks that no impulse moves take the largest mean of the others, so that their residual has a scale."""
    largest = 0.0
    for i in range(problem.blocks):
        largest = max(largest, local_of(problem, i).mean)
    for i in range(problem.blocks):
        at = local_of(problem, i)
        if not at.mean > 0.0:
            at.mean = largest if largest > 0.0 else 1.0


# -- problems from Python -------------------------------------------------------------------------------------------------


def rows_by_law(laws: Sequence[str]) -> np.ndarray:
    """The first row of each block, and the number of rows."""
    for k, law in enumerate(laws):
        if law not in LAWS:
            raise InputError(f"block {k}: law '{law}' is not one of {', '.join(LAWS)}")
    return np.cumsum([0] + [3 if law == "contact" else 1 for law in laws])


def _problem(laws: Sequence[str], w: Any, coefficients: Any, compliance: Any, relaxed: bool, **form: Any) -> Problem:
    row = rows_by_law(laws)
    n, m = len(laws), int(row[-1])
    right = _numbers("w", w, (m,))
    soft = np.zeros(m) if compliance is None else _numbers("compliance", compliance, (m,))
    given = np.zeros(n) if coefficients is None else np.asarray(coefficients, float)
    pairs = _numbers("coefficients", np.column_stack([given, given]) if given.ndim == 1 else given, (n, 2))
    for k in np.flatnonzero((pairs < 0.0).any(axis=1))[:1]:
        raise InputError(f"block {k} ({laws[k]}): coefficient {pairs[k].min():g} of friction is negative")
    for k in np.flatnonzero(soft < 0.0)[:1]:
        raise InputError(f"row {k}: compliance {soft[k]:g} is negative")
    law = np.array([LAWS.index(name) for name in laws], np.int64)
    form.setdefault("bodies", BodyForm())
    linear = linear_room(m if m <= TOGETHER and not {CONTACT, FRICTION} & set(law.tolist()) else 0)
    made = Problem(
        blocks=n, relaxed=int(relaxed), law=law, row=row, coefficient=pairs, w=right, compliance=soft, local=np.zeros((n, _LOCAL)),
        u=np.zeros(m), work=np.zeros(WORK * m + BLOCK), whole=np.zeros(2 * m, np.int64), matrix=np.zeros(min(m, TOGETHER) ** 2),
        linear=linear, **form,
    )  # fmt: skip
    prepare(made)
    return made


def _numbers(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = np.array(given, float)
    if found.shape != shape:
        raise InputError(f"{name}: shape {found.shape} where {shape} is needed")
    if not np.all(np.isfinite(found)):
        raise InputError(f"{name}: entry {tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])} is not a finite number")
    return found


def dense_problem(W: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None, relaxed: bool = False) -> Problem:
    """A problem with W as a matrix; ``coefficients`` are μ (or pairs μ₁, μ₂) of contacts and the bounds a of dry friction.

    >>> problem = dense_problem(np.eye(3), [-1.0, 0.1, 0.0], ["contact"], [0.5])
    """
    m = int(rows_by_law(laws)[-1])
    return _problem(laws, w, coefficients, compliance, relaxed, form=DENSE, dense=_numbers("W", W, (m, m)))


def block_sparse_problem(
    first: Any, column: Any, place: Any, values: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None,
    relaxed: bool = False,
) -> Problem:  # fmt: skip
    """A problem with W by blocks in compressed rows (see :class:`BlockSparse`); both triangles are given."""
    row, numbers = rows_by_law(laws), _numbers("values", values, np.shape(values))
    first, column, place = (np.ascontiguousarray(a, np.int64) for a in (first, column, place))
    n, size = len(laws), np.diff(row)
    if first.shape != (n + 1,) or column.shape != (first[-1],) or place.shape != column.shape or np.any(np.diff(first) < 0):
        raise InputError(f"blocks of W: {n} blocks need {n + 1} growing starts, and a column and a place for each of the blocks they count")
    if np.any((column < 0) | (column >= n)):
        raise InputError(f"blocks of W: column {column[(column < 0) | (column >= n)][0]} is not one of {n} blocks")
    last = place + np.repeat(size, np.diff(first)) * size[column]
    if np.any((place < 0) | (last > numbers.size)):
        raise InputError("blocks of W: a block leaves the array of values")
    blocks = BlockSparse(first=first, column=column, place=place, values=numbers)
    return _problem(laws, w, coefficients, compliance, relaxed, form=BLOCK_SPARSE, sparse=blocks)


def body_problem(
    J: Any, pairs: Any, inverse_masses: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None,
    relaxed: bool = False,
) -> Problem:  # fmt: skip
    """A problem with W by bodies: J (rows × 12), two bodies for each block (−1: the ground) and M⁻¹ (bodies × 6 × 6)."""
    m, inverse = int(rows_by_law(laws)[-1]), np.asarray(inverse_masses, float)
    count = len(inverse)
    inverse = _numbers("inverse masses", inverse, (count, 6, 6))
    numbers, both = _numbers("J", J, (m, 12)), np.array(pairs, np.int64)
    if both.shape != (len(laws), 2) or np.any((both < -1) | (both >= count)):
        raise InputError(f"pairs: {len(laws)} blocks need two bodies each, numbered −1 (the ground) to {count - 1}")
    v, before, along = np.zeros((3, 6 * count))
    bodies = BodyForm(
        count=count, pair=both.ravel(), J=numbers.ravel(), inverse_mass=inverse.ravel(), response=np.zeros(12 * m), v=v, before=before, along=along
    )  # fmt: skip
    return _problem(laws, w, coefficients, compliance, relaxed, form=BODIES, bodies=bodies)
