"""Recursions over elementary links as native loops: the equations of `formalisms`, with arrays in place of expressions.

Each kernel has the signature `int32_t f(void** args)`; its pointers are inputs, output, constants (the block of
`formalisms.link_arrays`) and workspace. Forces and accelerations of a link are in its own axes, about its own origin.
Row 0 of the workspace is the ground, row i + 1 is link i. The textbook of all three recursions is Featherstone, Rigid
Body Dynamics Algorithms, chapters 5 to 7.

A kernel returns 0, or −(i + 1) where the joint of link i feels no inertia.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jourdain.formalisms.link_arrays import FREE_ROTATION, HEADER, LINK, ROTATION, TRANSLATION, word
from jourdain.native.call import call, doubles, integers, words
from jourdain.solvers.dense import lu_factor, lu_solve
from jourdain.solvers.frame import hot, jit, kernel
from jourdain.solvers.spatial_algebra import along, applied, by_transpose, cross, dot, full, inwards, minus, nine, outwards, pick
from jourdain.solvers.spatial_algebra import plus, plus_nine, plus_six, product, put, put_nine, put_six, quaternion_rotation, shifted
from jourdain.solvers.spatial_algebra import six, times, turned, vector

# Words of the block of constants.
HEAD, SIZE = HEADER.itemsize // 8, LINK.itemsize // 8
NQ, NV, MOTIONS, FOLLOWERS, GRAVITY = (word(HEADER, name) for name in ("nq", "nv", "motions", "followers", "gravity"))
PARENT, KIND, AXIS, Q, V, MOTION, LEADER = (word(LINK, n) for n in ("parent", "kind", "axis", "q", "v", "motion", "leader"))
TURN, POSITION, MASS, MOMENT, INERTIA = (word(LINK, n) for n in ("rotation", "position", "mass", "moment", "inertia"))
RATIO, OFFSET, ROTOR = (word(LINK, n) for n in ("ratio", "offset", "rotor"))

# Entries of a row of the workspace: rotation and position in the parent's frame, then what each recursion needs.
E, R = 0, 9
OMEGA, OMEGA2, ACC, FORCE, TORQUE, NEWTON_ROW = 12, 15, 18, 21, 24, 28
COMPOSITE_MASS, COMPOSITE_MOMENT, COMPOSITE_INERTIA, COMPOSITE_ROW = 12, 13, 16, 24
BIAS, BIAS2, A, B, C, F, N, STEP, GAIN, MOVE, MOVE2, ARTICULATED_ROW = 15, 18, 21, 27, 36, 42, 45, 48, 8, 72, 75, 80

#: A pivot of a free rotation below this part of the inertia about its axis counts as none.
NEGLIGIBLE = 1e-13


def workspace_size(name: str, links: int, motions: int, followers: int) -> int:
    """Numbers of workspace that a kernel needs."""
    row = {"inverse_dynamics": NEWTON_ROW, "bias": NEWTON_ROW, "mass_matrix": COMPOSITE_ROW, "poses": E + R + 3}
    m = followers
    extra = 0 if name in row else motions * (m + 2) + m * (m + 2)
    return row.get(name, ARTICULATED_ROW) * (links + 1) + extra


# --- one link ----------------------------------------------------------------------------------------------------


@hot
def _block(address: int) -> Any:
    """Number of links, and the constants seen as integers and as numbers."""
    n = integers(address, HEAD)[0]
    size = HEAD + SIZE * n
    return n, integers(address, size), doubles(address, size)


@hot
def _place(k: Any, x: Any, at: int, q: Any, prescribed: Any, w: Any, row: int) -> None:
    """Write rotation and position of a link in its parent's frame."""
    kind, axis = k[at + KIND], k[at + AXIS]
    turn, r = nine(x, at + TURN), vector(x, at + POSITION)
    if kind == FREE_ROTATION:
        put_nine(w, row + E, product(turn, quaternion_rotation(q, k[at + Q])))
        put(w, row + R, r)
        return
    theta = prescribed[3 * k[at + Q]] if k[at + V] < 0 else x[at + RATIO] * q[k[at + Q]] + x[at + OFFSET]
    if kind == TRANSLATION:
        put_nine(w, row + E, turn)
        put(w, row + R, plus(r, inwards(turn, along(axis, theta))))
        return
    c, s = math.cos(theta), math.sin(theta)
    if axis == 0:
        turning = (1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
    elif axis == 1:
        turning = (c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)
    else:
        turning = (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
    put_nine(w, row + E, product(turn, turning))
    put(w, row + R, r)


@hot
def _relative(k: Any, x: Any, at: int, v: Any, prescribed: Any, order: int) -> Any:
    """Relative velocity (order 1) or acceleration (order 2) of a joint, in the link's axes."""
    i = k[at + V]
    if k[at + KIND] == FREE_ROTATION:
        return vector(v, i)
    return along(k[at + AXIS], prescribed[3 * k[at + Q] + order] if i < 0 else x[at + RATIO] * v[i])


@hot
def _external(wrenches: Any, i: int, force: Any, moment: Any) -> Any:
    """Force and moment that the joint must give when a wrench (force, moment) acts from outside."""
    if wrenches.size == 0:
        return force, moment
    return minus(force, vector(wrenches, 6 * i)), minus(moment, vector(wrenches, 6 * i + 3))


@hot
def _wrenches(address: int, n: int) -> Any:
    return doubles(address, 6 * n if address != 0 else 0)


# --- recursive Newton-Euler --------------------------------------------------------------------------------------


@hot
def _newton_motion(k: Any, x: Any, at: int, v: Any, a: Any, prescribed: Any, moving: bool, w: Any, row: int, up: int) -> Any:
    """Angular velocity, its derivative and the acceleration of the origin of one link from those of its parent."""
    turn, r = nine(w, row + E), vector(w, row + R)
    w_p, w2_p = vector(w, up + OMEGA), vector(w, up + OMEGA2)
    omega, omega2 = outwards(turn, w_p), outwards(turn, w2_p)
    acc = outwards(turn, plus(vector(w, up + ACC), plus(cross(w2_p, r), cross(w_p, cross(w_p, r)))))
    rate = _relative(k, x, at, v, prescribed, 1)
    rate2 = _relative(k, x, at, a, prescribed, 2) if moving or k[at + V] < 0 else (0.0, 0.0, 0.0)
    if k[at + KIND] == TRANSLATION:
        acc = plus(acc, plus(rate2, times(2.0, cross(omega, rate))))
    else:
        omega2 = plus(omega2, plus(rate2, cross(omega, rate)))
        omega = plus(omega, rate)
    put(w, row + OMEGA, omega)
    put(w, row + OMEGA2, omega2)
    put(w, row + ACC, acc)
    return omega, omega2, acc


@jit
def newton_euler(address: int, q: Any, v: Any, a: Any, moving: bool, prescribed: Any, wrenches: Any, w: Any, out: Any) -> None:
    """φ(q, v, a), or with `moving` False the bias c(q, v)."""
    n, k, x = _block(address)
    for i in range(NEWTON_ROW):
        w[i] = 0.0
    put(w, ACC, times(-1.0, vector(x, GRAVITY)))
    for i in range(n):
        at, row = HEAD + SIZE * i, NEWTON_ROW * (i + 1)
        _place(k, x, at, q, prescribed, w, row)
        omega, omega2, acc = _newton_motion(k, x, at, v, a, prescribed, moving, w, row, NEWTON_ROW * (k[at + PARENT] + 1))
        m, s, I = x[at + MASS], vector(x, at + MOMENT), six(x, at + INERTIA)
        force = plus(times(m, acc), plus(cross(omega2, s), cross(omega, cross(omega, s))))
        moment = plus(plus(applied(I, omega2), cross(omega, applied(I, omega))), cross(s, acc))
        force, moment = _external(wrenches, i, force, moment)
        put(w, row + FORCE, force)
        put(w, row + TORQUE, moment)
    for i in range(k[NV]):
        out[i] = 0.0
    for i in range(n - 1, -1, -1):
        at, row = HEAD + SIZE * i, NEWTON_ROW * (i + 1)
        up = NEWTON_ROW * (k[at + PARENT] + 1)
        force, moment = vector(w, row + FORCE), vector(w, row + TORQUE)
        _project(k, x, at, a, moving, force, moment, out)
        turn = nine(w, row + E)
        f = inwards(turn, force)
        put(w, up + FORCE, plus(vector(w, up + FORCE), f))
        put(w, up + TORQUE, plus(vector(w, up + TORQUE), plus(inwards(turn, moment), cross(vector(w, row + R), f))))


@hot
def _project(k: Any, x: Any, at: int, a: Any, moving: bool, force: Any, moment: Any, out: Any) -> None:
    """Add a joint's wrench to its generalised force."""
    j = k[at + V]
    if j < 0:
        return
    if k[at + KIND] == FREE_ROTATION:
        put(out, j, plus(vector(out, j), moment))
        return
    out[j] += x[at + RATIO] * pick(force if k[at + KIND] == TRANSLATION else moment, k[at + AXIS])
    if moving:
        out[j] += x[at + ROTOR] * a[j]


# --- composite bodies --------------------------------------------------------------------------------------------


@jit
def composite_body(address: int, q: Any, prescribed: Any, w: Any, out: Any) -> None:
    """M(q), all entries: each column is the force that a unit acceleration asks of the bodies it carries."""
    n, k, x = _block(address)
    for i in range(COMPOSITE_ROW):
        w[i] = 0.0
    for i in range(n):
        at, row = HEAD + SIZE * i, COMPOSITE_ROW * (i + 1)
        _place(k, x, at, q, prescribed, w, row)
        w[row + COMPOSITE_MASS] = x[at + MASS]
        put(w, row + COMPOSITE_MOMENT, vector(x, at + MOMENT))
        put_six(w, row + COMPOSITE_INERTIA, six(x, at + INERTIA))
    for i in range(k[NV] * k[NV]):
        out[i] = 0.0
    for i in range(n - 1, -1, -1):
        at, row = HEAD + SIZE * i, COMPOSITE_ROW * (i + 1)
        up = COMPOSITE_ROW * (k[at + PARENT] + 1)
        m, s, I = w[row + COMPOSITE_MASS], vector(w, row + COMPOSITE_MOMENT), six(w, row + COMPOSITE_INERTIA)
        _columns(k, x, w, i, m, s, I, out)
        turn, r = nine(w, row + E), vector(w, row + R)
        s, I = inwards(turn, s), turned(turn, I)
        w[up + COMPOSITE_MASS] += m
        put(w, up + COMPOSITE_MOMENT, plus(vector(w, up + COMPOSITE_MOMENT), plus(s, times(m, r))))
        put_six(w, up + COMPOSITE_INERTIA, plus_six(six(w, up + COMPOSITE_INERTIA), shifted(I, m, s, r)))


@jit
def _columns(k: Any, x: Any, w: Any, i: int, m: float, s: Any, I: Any, out: Any) -> None:
    """Columns of one link: the joint itself and all joints before it."""
    at, nv = HEAD + SIZE * i, k[NV]
    column, free = k[at + V], k[at + KIND] == FREE_ROTATION
    if column < 0:
        return
    for j in range(3 if free else 1):
        e = along(j if free else k[at + AXIS], 1.0 if free else x[at + RATIO])
        if k[at + KIND] == TRANSLATION:
            force, moment = times(m, e), cross(s, e)
        else:
            force, moment = cross(e, s), applied(I, e)
        if free:
            for l in range(3):
                out[(column + l) * nv + column + j] += pick(moment, l)
        else:
            out[column * (nv + 1)] += x[at + RATIO] * pick(force if k[at + KIND] == TRANSLATION else moment, k[at + AXIS])
            out[column * (nv + 1)] += x[at + ROTOR]
        _spread(k, x, w, i, column + j, force, moment, out)


@hot
def _spread(k: Any, x: Any, w: Any, i: int, column: int, force: Any, moment: Any, out: Any) -> None:
    """Project a column's force on the joints before link i."""
    nv = k[NV]
    parent = k[HEAD + SIZE * i + PARENT]
    while parent >= 0:
        row = COMPOSITE_ROW * (i + 1)
        turn = nine(w, row + E)
        force = inwards(turn, force)
        moment = plus(inwards(turn, moment), cross(vector(w, row + R), force))
        i = parent
        at = HEAD + SIZE * i
        first, free = k[at + V], k[at + KIND] == FREE_ROTATION
        if first >= 0:
            projected = force if k[at + KIND] == TRANSLATION else moment
            for l in range(3 if free else 1):
                value = pick(projected, l) if free else x[at + RATIO] * pick(projected, k[at + AXIS])
                out[(first + l) * nv + column] += value
                out[column * nv + first + l] += value
        parent = k[at + PARENT]


# --- articulated bodies ------------------------------------------------------------------------------------------


@jit
def _rigid(k: Any, x: Any, n: int, q: Any, v: Any, prescribed: Any, wrenches: Any, w: Any) -> None:
    """Places, angular velocities, bias accelerations, and the inertia and bias force of every link alone."""
    for i in range(ARTICULATED_ROW):
        w[i] = 0.0
    put(w, MOVE, times(-1.0, vector(x, GRAVITY)))
    for i in range(n):
        at, row = HEAD + SIZE * i, ARTICULATED_ROW * (i + 1)
        _place(k, x, at, q, prescribed, w, row)
        turn, r = nine(w, row + E), vector(w, row + R)
        w_p = vector(w, ARTICULATED_ROW * (k[at + PARENT] + 1) + OMEGA)
        omega, bias = outwards(turn, w_p), outwards(turn, cross(w_p, cross(w_p, r)))
        bias2 = (0.0, 0.0, 0.0)
        rate = _relative(k, x, at, v, prescribed, 1)
        rate2 = _relative(k, x, at, v, prescribed, 2) if k[at + V] < 0 else (0.0, 0.0, 0.0)
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
        force, moment = _external(wrenches, i, cross(omega, cross(omega, s)), cross(omega, applied(I, omega)))
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
    n, k, x = _block(address)
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
    pivots = integers(0, 0)
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
    if not _solve(matrix, m, gaps):
        return -n
    for j in range(m):
        for i in range(size):
            z[i] -= gaps[j] * responses[j * size + i]
    return 0
