"""Accelerations by articulated bodies as native loops over links, in order n.

The force a link needs is F = A a + B ω̇ + f, N = Bᵀa + C ω̇ + n; eliminating its joint leaves an inertia of the same form for
the parent (Featherstone, Rigid Body Dynamics Algorithms, chapter 7). Layout and signs as in `link_recursions`.
"""

from __future__ import annotations

from typing import Any

from jourdain.formalisms.link_arrays import FREE_ROTATION, TRANSLATION
from jourdain.solvers.dense import cholesky, cholesky_solve
from jourdain.solvers.frame import hot, jit
from jourdain.solvers.link_recursions import (
    AXIS,
    FOLLOWERS,
    GRAVITY,
    HEAD,
    INERTIA,
    KIND,
    LEADER,
    MASS,
    MOMENT,
    MOTION,
    MOTIONS,
    OMEGA,
    PARENT,
    RATIO,
    ROTOR,
    SIZE,
    E,
    R,
    V,
    block,
    external_wrench,
    place,
    relative_rate,
)
from jourdain.solvers.spatial_algebra import (
    along,
    applied,
    by_transpose,
    cross,
    dot,
    full,
    inwards,
    minus,
    nine,
    outwards,
    pick,
    plus,
    plus_nine,
    plus_six,
    product,
    put,
    put_nine,
    put_six,
    six,
    times,
    turned,
    vector,
)

# Entries of a row of the workspace beyond those of `link_recursions`: bias accelerations, the articulated body, for each
# freedom (GAIN numbers: U, 1/D, u) what its elimination leaves, and the accelerations found.
BIAS, BIAS2, A, B, C, F, N, STEP, GAIN, MOVE, MOVE2, ARTICULATED_ROW = 15, 18, 21, 27, 36, 42, 45, 48, 8, 72, 75, 80

#: A pivot of a free rotation below this part of the inertia about its axes counts as none.
NEGLIGIBLE = 1e-13


@jit
def _rigid(k: Any, x: Any, n: int, q: Any, v: Any, prescribed: Any, wrenches: Any, w: Any) -> None:
    """Places, angular velocities, bias accelerations, and the inertia and bias force of every link alone."""
    for i in range(ARTICULATED_ROW):
        w[i] = 0.0
    put(w, MOVE, times(-1.0, vector(x, GRAVITY)))
    for i in range(n):
        at, row = HEAD + SIZE * i, ARTICULATED_ROW * (i + 1)
        place(k, x, at, q, prescribed, w, row)
        turn, r = nine(w, row + E), vector(w, row + R)
        w_p = vector(w, ARTICULATED_ROW * (k[at + PARENT] + 1) + OMEGA)
        omega, bias = outwards(turn, w_p), outwards(turn, cross(w_p, cross(w_p, r)))
        bias2 = (0.0, 0.0, 0.0)
        rate = relative_rate(k, x, at, v, prescribed, 1)
        rate2 = relative_rate(k, x, at, v, prescribed, 2) if k[at + V] < 0 else (0.0, 0.0, 0.0)
        if k[at + KIND] == TRANSLATION:
            bias = plus(bias, plus(rate2, times(2.0, cross(omega, rate))))
        else:
            bias2 = plus(rate2, cross(omega, rate))
            omega = plus(omega, rate)
        put(w, row + OMEGA, omega)
        put(w, row + BIAS, bias)
        put(w, row + BIAS2, bias2)
        m, s, I = x[at + MASS], vector(x, at + MOMENT), six(x, at + INERTIA)
        put_six(w, row + A, (m, m, m, 0.0, 0.0, 0.0))
        put_nine(w, row + B, (0.0, s[2], -s[1], -s[2], 0.0, s[0], s[1], -s[0], 0.0))
        put_six(w, row + C, I)
        force, moment = external_wrench(wrenches, i, cross(omega, cross(omega, s)), cross(omega, applied(I, omega)))
        put(w, row + F, force)
        put(w, row + N, moment)


@hot
def _column(w: Any, row: int, kind: int, axis: int) -> Any:
    """Force and moment that a unit acceleration of the joint asks of the articulated body."""
    if kind == TRANSLATION:
        b = nine(w, row + B)
        a = full(six(w, row + A))
        if axis == 0:
            return (a[0], a[1], a[2]), (b[0], b[1], b[2])
        if axis == 1:
            return (a[3], a[4], a[5]), (b[3], b[4], b[5])
        return (a[6], a[7], a[8]), (b[6], b[7], b[8])
    b = nine(w, row + B)
    c = full(six(w, row + C))
    if axis == 0:
        return (b[0], b[3], b[6]), (c[0], c[1], c[2])
    if axis == 1:
        return (b[1], b[4], b[7]), (c[3], c[4], c[5])
    return (b[2], b[5], b[8]), (c[6], c[7], c[8])


@hot
def _eliminate(w: Any, row: int, step: int, kind: int, axis: int, ratio: float, rotor: float, tau: float) -> float:
    """Remove one freedom of a joint from its articulated body; the pivot is returned."""
    U, U2 = _column(w, row, kind, axis)
    U, U2 = times(ratio, U), times(ratio, U2)
    f, n = vector(w, row + F), vector(w, row + N)
    D = ratio * pick(U if kind == TRANSLATION else U2, axis) + rotor
    u = tau - ratio * pick(f if kind == TRANSLATION else n, axis)
    inverse = 1.0 / D
    g, g2 = times(-inverse, U), times(-inverse, U2)
    a, b, c = six(w, row + A), nine(w, row + B), six(w, row + C)
    put_six(w, row + A, plus_six(a, _square(U, g)))
    put_six(w, row + C, plus_six(c, _square(U2, g2)))
    put_nine(w, row + B, plus_nine(b, (
        U[0] * g2[0], U[0] * g2[1], U[0] * g2[2], U[1] * g2[0], U[1] * g2[1], U[1] * g2[2], U[2] * g2[0], U[2] * g2[1], U[2] * g2[2],
    )))  # fmt: skip
    put(w, row + F, minus(f, times(u, g)))
    put(w, row + N, minus(n, times(u, g2)))
    put(w, step, U)
    put(w, step + 3, U2)
    w[step + 6], w[step + 7] = inverse, u
    return D


@hot
def _square(U: Any, g: Any) -> Any:
    """U gᵀ where it is symmetric."""
    return U[0] * g[0], U[1] * g[1], U[2] * g[2], U[0] * g[1], U[0] * g[2], U[1] * g[2]


@hot
def _carry(w: Any, row: int, up: int) -> None:
    """Add the reduced body to its parent: bias put in, turned into the parent's axes and shifted to its origin."""
    turn, d = nine(w, row + E), vector(w, row + R)
    a, b, c = six(w, row + A), nine(w, row + B), six(w, row + C)
    bias, bias2 = vector(w, row + BIAS), vector(w, row + BIAS2)
    f = plus(vector(w, row + F), plus(applied(a, bias), inwards(b, bias2)))
    n = plus(vector(w, row + N), plus(outwards(b, bias), applied(c, bias2)))
    f, n = inwards(turn, f), inwards(turn, n)
    a, b, c = turned(turn, a), by_transpose(product(turn, b), turn), turned(turn, c)
    # The child's origin accelerates by a − d̃ω̇: B' = B − A d̃ (row i of A d̃ is Aᵢ × d), C' = C + d̃B' + (d̃B)ᵀ.
    x, y, z = cross((a[0], a[3], a[4]), d), cross((a[3], a[1], a[5]), d), cross((a[4], a[5], a[2]), d)
    b_new = (b[0] - x[0], b[1] - x[1], b[2] - x[2], b[3] - y[0], b[4] - y[1], b[5] - y[2], b[6] - z[0], b[7] - z[1], b[8] - z[2])
    tilde = (0.0, -d[2], d[1], d[2], 0.0, -d[0], -d[1], d[0], 0.0)
    h, l = product(tilde, b_new), product(tilde, b)
    c = (c[0] + h[0] + l[0], c[1] + h[4] + l[4], c[2] + h[8] + l[8], c[3] + h[1] + l[3], c[4] + h[2] + l[6], c[5] + h[5] + l[7])
    put_six(w, up + A, plus_six(six(w, up + A), a))
    put_nine(w, up + B, plus_nine(nine(w, up + B), b_new))
    put_six(w, up + C, plus_six(six(w, up + C), c))
    put(w, up + F, plus(vector(w, up + F), f))
    put(w, up + N, plus(vector(w, up + N), plus(n, cross(d, f))))


@jit
def articulated_body(address: int, q: Any, v: Any, tau: Any, prescribed: Any, wrenches: Any, w: Any, out: Any) -> int:
    """Accelerations a(q, v, τ) in order n."""
    n, k, x = block(address)
    _rigid(k, x, n, q, v, prescribed, wrenches, w)
    for i in range(n - 1, -1, -1):
        at, row = HEAD + SIZE * i, ARTICULATED_ROW * (i + 1)
        kind, first = k[at + KIND], k[at + V]
        leads = k[at + LEADER] == k[at + MOTION]
        if kind == FREE_ROTATION:
            least = NEGLIGIBLE * max(w[row + C], w[row + C + 1], w[row + C + 2])
            for j in range(3):
                if not _eliminate(w, row, row + STEP + GAIN * j, kind, j, 1.0, 0.0, tau[first + j]) > least:
                    return -(i + 1)
        elif first >= 0:
            force = tau[first] if leads else 0.0
            if not _eliminate(w, row, row + STEP, kind, k[at + AXIS], x[at + RATIO], x[at + ROTOR], force) > 0.0:
                return -(i + 1)
        _carry(w, row, ARTICULATED_ROW * (k[at + PARENT] + 1))
    z = w[ARTICULATED_ROW * (n + 1) :]
    _accelerate(k, n, x, w, z, 1.0)
    if k[FOLLOWERS] > 0:
        status = _couple(k, n, x, w, z)
        if status != 0:
            return status
    for i in range(n):
        at = HEAD + SIZE * i
        if k[at + V] >= 0 and k[at + LEADER] == k[at + MOTION]:
            for j in range(3 if k[at + KIND] == FREE_ROTATION else 1):
                out[k[at + V] + j] = z[k[at + MOTION] + j]
    return 0


@jit
def _accelerate(k: Any, n: int, x: Any, w: Any, z: Any, bias: float) -> None:
    """Accelerations of all freedoms, from the ground outwards; `bias` 0 leaves out what velocities cause."""
    for i in range(n):
        at, row = HEAD + SIZE * i, ARTICULATED_ROW * (i + 1)
        up, kind = ARTICULATED_ROW * (k[at + PARENT] + 1), k[at + KIND]
        turn, r, alpha_p = nine(w, row + E), vector(w, row + R), vector(w, up + MOVE2)
        a = plus(outwards(turn, plus(vector(w, up + MOVE), cross(alpha_p, r))), times(bias, vector(w, row + BIAS)))
        alpha = plus(outwards(turn, alpha_p), times(bias, vector(w, row + BIAS2)))
        freedoms = 0 if k[at + V] < 0 else (3 if kind == FREE_ROTATION else 1)
        for j in range(freedoms - 1, -1, -1):
            step = row + STEP + GAIN * j
            rate2 = (w[step + 7] - dot(vector(w, step), a) - dot(vector(w, step + 3), alpha)) * w[step + 6]
            z[k[at + MOTION] + j] = rate2
            move = along(j, rate2) if kind == FREE_ROTATION else along(k[at + AXIS], x[at + RATIO] * rate2)
            if kind == TRANSLATION:
                a = plus(a, move)
            else:
                alpha = plus(alpha, move)
        put(w, row + MOVE, a)
        put(w, row + MOVE2, alpha)


@jit
def _respond(k: Any, n: int, x: Any, w: Any, plus_at: int, minus_at: int, z: Any) -> None:
    """Accelerations caused by a force 1 on one freedom and −1 on another alone, with the articulated bodies at hand."""
    for i in range(n + 1):
        put_six(w, ARTICULATED_ROW * i + F, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(n - 1, -1, -1):
        at, row = HEAD + SIZE * i, ARTICULATED_ROW * (i + 1)
        up, kind, motion = ARTICULATED_ROW * (k[at + PARENT] + 1), k[at + KIND], k[at + MOTION]
        f, m = vector(w, row + F), vector(w, row + N)
        freedoms = 0 if k[at + V] < 0 else (3 if kind == FREE_ROTATION else 1)
        for j in range(freedoms):
            step, axis = row + STEP + GAIN * j, j if kind == FREE_ROTATION else k[at + AXIS]
            u = -x[at + RATIO] * pick(f if kind == TRANSLATION else m, axis)
            if motion == plus_at:
                u += 1.0
            elif motion == minus_at:
                u -= 1.0
            w[step + 7] = u
            f = plus(f, times(u * w[step + 6], vector(w, step)))
            m = plus(m, times(u * w[step + 6], vector(w, step + 3)))
        turn = nine(w, row + E)
        f = inwards(turn, f)
        put(w, up + F, plus(vector(w, up + F), f))
        put(w, up + N, plus(vector(w, up + N), plus(inwards(turn, m), cross(vector(w, row + R), f))))
    put_six(w, MOVE, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    _accelerate(k, n, x, w, z, 0.0)


@jit
def _couple(k: Any, n: int, x: Any, w: Any, z: Any) -> int:
    """Make links that share a coordinate move together.

    All links were taken as free. The forces λ of the transmissions follow from z_follower − z_leader = 0, with one
    response of the tree for each follower.
    """
    size, m = k[MOTIONS], k[FOLLOWERS]
    responses = z[size:]
    matrix, gaps = responses[m * size :], responses[m * size + m * m :]
    column = 0
    for i in range(n):
        at = HEAD + SIZE * i
        if k[at + MOTION] != k[at + LEADER]:
            _respond(k, n, x, w, k[at + MOTION], k[at + LEADER], responses[column * size :])
            gaps[column] = z[k[at + MOTION]] - z[k[at + LEADER]]
            column += 1
    row = 0
    for i in range(n):
        at = HEAD + SIZE * i
        if k[at + MOTION] != k[at + LEADER]:
            for j in range(m):
                matrix[row * m + j] = responses[j * size + k[at + MOTION]] - responses[j * size + k[at + LEADER]]
            row += 1
    if cholesky(matrix, m) != 0:
        return -n
    cholesky_solve(matrix, m, gaps)
    for j in range(m):
        for i in range(size):
            z[i] -= gaps[j] * responses[j * size + i]
    return 0
