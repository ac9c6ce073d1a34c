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

Native callers make a :func:`room` once, fill its arrays in every step, call :func:`.operator.prepare`, then a solver.
"""

from __future__ import annotations

import numpy as np

from ...native.record import Floats, Integers, Matrix, Record

CONTACT, UNILATERAL, BILATERAL, FRICTION = range(4)
LAWS = ("contact", "unilateral", "bilateral", "friction")
DENSE, BLOCK_SPARSE, BODIES = range(3)


class BlockSparse(Record):
    """W by blocks in compressed rows: those of row i are number ``first[i]`` to ``first[i + 1]``, row-major from ``place`` in ``values``."""

    first: Integers
    column: Integers
    place: Integers
    values: Floats


class BodyForm(Record):
    """W by bodies: row r has J[12 r :] over the velocities of its block's two bodies (−1: the ground), and ``inverse_mass`` has 36 numbers a body;
    without them the caller gives ``response``."""

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

    #: −W⁻¹, and the coefficient of friction where impulses that stick are found by it (else −1)
    a00: float
    a01: float
    a02: float
    a11: float
    a12: float
    a22: float
    sticks: float
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


class Cone(Record):
    """What :mod:`.interior` knows of a contact: r and z inside the cone, directions of both, the point w of Nesterov and Todd, what the velocities of the bodies miss of z (m), and
    K = S G with the slope g of De Saxcé's term; D = diag(1, d)."""

    d1: float
    d2: float
    r0: float
    r1: float
    r2: float
    z0: float
    z1: float
    z2: float
    dr0: float
    dr1: float
    dr2: float
    dz0: float
    dz1: float
    dz2: float
    w0: float
    w1: float
    w2: float
    root: float
    m0: float
    m1: float
    m2: float
    g1: float
    g2: float
    k00: float
    k01: float
    k02: float
    k10: float
    k11: float
    k12: float
    k20: float
    k21: float
    k22: float


class OverBodies(Record):
    """Room for :mod:`.over_bodies`: numbers of bodies in their order (negative: touches nothing), equations for the velocities of those that touch, and what
    :mod:`.interior` knows."""

    size: int
    band: int
    place: Integers
    order: Integers
    pivots: Integers
    y: Floats
    rows: Floats  # three of K J over a body
    K: Matrix  # nine numbers for each block
    cones: Matrix  # a Cone for each block


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


def linear_room(n: int, tableau: bool = True) -> LinearProblem:
    """Room for a linear problem of n unknowns, with that for Lemke's method or without."""
    q, z, w, right = np.zeros((4, n))
    equation, basis, taken, members, pivots = np.zeros((5, n), np.int64)
    return LinearProblem(
        size=n, A=np.empty(n * n), q=q, z=z, w=w, equation=equation, limit=50 * n + 50, factors=np.empty(n * n), right=right,
        tableau=np.zeros(n * (2 * n + 2) if tableau else 0), basis=basis, taken=taken, members=members, pivots=pivots,
    )  # fmt: skip


class Problem(Record):
    """The first ``blocks`` blocks of arrays that may be longer."""

    blocks: int
    form: int
    relaxed: int
    ready: int  # whether all of ``local`` is found
    law: Integers
    row: Integers  # first row of each block, and behind the last the number of rows
    coefficient: Matrix  # μ₁, μ₂ of a contact; a of dry friction
    w: Floats
    compliance: Floats
    dense: Matrix
    sparse: BlockSparse
    bodies: BodyForm
    local: Matrix  # a Local for each block
    near: int  # whether guesses are near solutions, as impulses of the step before are
    #: rows whose factors ``matrix`` holds (0: none), and what each block does in them (:mod:`.holding`)
    held: int
    stuck: Integers
    u: Floats  # velocities that belong to p when a solver ends
    work: Floats  # WORK numbers a row and BLOCK more
    whole: Integers  # 2 for each row, 4 for each block, 1 for each body, and 1
    matrix: Floats  # for Newton's method: the square of the rows that it takes together, or a band of them
    linear: LinearProblem  # room for pivots, where there is no friction
    over: OverBodies


#: Numbers of work space for each row and for a block.
WORK, BLOCK = 11, 24
#: Most rows that problems from Python let Newton's method and pivots take together.
TOGETHER = 600


def room(blocks: int, rows: int, form: int, bodies: int = 0, together: int = TOGETHER, pivots: int = 0) -> Problem:
    """A problem without blocks that has room for so many blocks and rows, and bodies of the form BODIES.

    Newton's method may take ``together`` rows at once (more in a narrow band), pivots (of problems without friction) as many as they say.  Blocks of the form BLOCK_SPARSE
    are the caller's, as ``problem.sparse``.
    """
    moving, dense, size = (bodies if form == BODIES else 0), (rows if form == DENSE else 0), (rows if form == BODIES else 0)
    touching = blocks if moving and rows == 3 * blocks else 0
    v, before, along = np.zeros((3, 6 * moving))
    free = BodyForm(
        count=moving, pair=np.full(2 * blocks, -1), J=np.zeros(12 * size), inverse_mass=np.zeros(36 * moving), response=np.zeros(12 * size),
        v=v, before=before, along=along,
    )  # fmt: skip
    place, order = np.zeros((2, moving), np.int64)
    over = OverBodies(
        place=place, order=order, pivots=np.zeros(6 * moving, np.int64), y=np.zeros(6 * moving), rows=np.zeros(18), K=np.zeros((touching, 9)),
        cones=np.zeros((touching, Cone.struct.words)),
    )  # fmt: skip
    w, compliance, u = np.zeros((3, rows))
    return Problem(
        form=form, law=np.zeros(blocks, np.int64), row=np.zeros(blocks + 1, np.int64), coefficient=np.zeros((blocks, 2)), w=w,
        compliance=compliance, stuck=np.zeros(blocks, np.int64), dense=np.zeros((dense, dense)), bodies=free, local=np.zeros((blocks, Local.struct.words)), u=u,
        work=np.zeros(WORK * rows + BLOCK), whole=np.zeros(2 * rows + 4 * blocks + moving + 1, np.int64), matrix=np.zeros(min(rows, together) ** 2),
        linear=linear_room(pivots), over=over,
    )  # fmt: skip
