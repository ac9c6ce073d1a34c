"""Recursions over elementary links as native loops: the equations of `formalisms`, with arrays in place of expressions.

The numbers of all links come as one block of 8-byte words (`formalisms.link_arrays`). Forces and accelerations of a link are
in its own axes, about its own origin. Row 0 of the workspace is the ground, row i + 1 is link i (Featherstone, Rigid Body
Dynamics Algorithms, chapters 5 and 6).
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.formalisms.link_arrays import FREE_ROTATION, HEADER, LINK, TRANSLATION, word
from jourdain.native.call import doubles, integers
from jourdain.solvers.frame import hot, jit
from jourdain.solvers.spatial_algebra import (
    along,
    applied,
    cross,
    inwards,
    minus,
    nine,
    outwards,
    pick,
    plus,
    plus_six,
    product,
    put,
    put_nine,
    put_six,
    quaternion_rotation,
    shifted,
    six,
    times,
    turned,
    vector,
)

# Words of the block of constants.
HEAD, SIZE = HEADER.itemsize // 8, LINK.itemsize // 8
NQ, NV, MOTIONS, FOLLOWERS, PRESCRIBED = (word(HEADER, n) for n in ("nq", "nv", "motions", "followers", "prescribed"))
GRAVITY = word(HEADER, "gravity")
PARENT, KIND, AXIS, Q, V, MOTION, LEADER = (word(LINK, n) for n in ("parent", "kind", "axis", "q", "v", "motion", "leader"))
TURN, POSITION, MASS, MOMENT, INERTIA = (word(LINK, n) for n in ("rotation", "position", "mass", "moment", "inertia"))
RATIO, OFFSET, ROTOR = (word(LINK, n) for n in ("ratio", "offset", "rotor"))

# Entries of a row of the workspace: rotation and position in the parent's frame, then what each recursion needs.
E, R = 0, 9
OMEGA, OMEGA2, ACC, FORCE, TORQUE, NEWTON_ROW = 12, 15, 18, 21, 24, 28
COMPOSITE_MASS, COMPOSITE_MOMENT, COMPOSITE_INERTIA, COMPOSITE_ROW = 12, 13, 16, 24

# --- one link ----------------------------------------------------------------------------------------------------


@hot
def block(address: int) -> Any:
    """Number of links, and the constants seen as integers and as numbers."""
    n = integers(address, HEAD)[0]
    size = HEAD + SIZE * n
    return n, integers(address, size), doubles(address, size)


@hot
def place(k: Any, x: Any, at: int, q: Any, prescribed: Any, w: Any, row: int) -> None:
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
def relative_rate(k: Any, x: Any, at: int, v: Any, prescribed: Any, order: int) -> Any:
    """Relative velocity (order 1) or acceleration (order 2) of a joint, in the link's axes."""
    i = k[at + V]
    if k[at + KIND] == FREE_ROTATION:
        return vector(v, i)
    return along(k[at + AXIS], prescribed[3 * k[at + Q] + order] if i < 0 else x[at + RATIO] * v[i])


@hot
def external_wrench(wrenches: Any, i: int, force: Any, moment: Any) -> Any:
    """Force and moment that the joint must give when a wrench (force, moment) acts from outside."""
    if wrenches.size == 0:
        return force, moment
    return minus(force, vector(wrenches, 6 * i)), minus(moment, vector(wrenches, 6 * i + 3))


# --- recursive Newton-Euler --------------------------------------------------------------------------------------


@hot
def _newton_motion(k: Any, x: Any, at: int, v: Any, a: Any, prescribed: Any, moving: bool, w: Any, row: int, up: int) -> Any:
    """Angular velocity, its derivative and the acceleration of the origin of one link from those of its parent."""
    turn, r = nine(w, row + E), vector(w, row + R)
    w_p, w2_p = vector(w, up + OMEGA), vector(w, up + OMEGA2)
    omega, omega2 = outwards(turn, w_p), outwards(turn, w2_p)
    acc = outwards(turn, plus(vector(w, up + ACC), plus(cross(w2_p, r), cross(w_p, cross(w_p, r)))))
    rate = relative_rate(k, x, at, v, prescribed, 1)
    rate2 = relative_rate(k, x, at, a, prescribed, 2) if moving or k[at + V] < 0 else (0.0, 0.0, 0.0)
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
    n, k, x = block(address)
    for i in range(NEWTON_ROW):
        w[i] = 0.0
    put(w, ACC, times(-1.0, vector(x, GRAVITY)))
    for i in range(n):
        at, row = HEAD + SIZE * i, NEWTON_ROW * (i + 1)
        place(k, x, at, q, prescribed, w, row)
        omega, omega2, acc = _newton_motion(k, x, at, v, a, prescribed, moving, w, row, NEWTON_ROW * (k[at + PARENT] + 1))
        m, s, I = x[at + MASS], vector(x, at + MOMENT), six(x, at + INERTIA)
        force = plus(times(m, acc), plus(cross(omega2, s), cross(omega, cross(omega, s))))
        moment = plus(plus(applied(I, omega2), cross(omega, applied(I, omega))), cross(s, acc))
        force, moment = external_wrench(wrenches, i, force, moment)
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
    n, k, x = block(address)
    for i in range(COMPOSITE_ROW):
        w[i] = 0.0
    for i in range(n):
        at, row = HEAD + SIZE * i, COMPOSITE_ROW * (i + 1)
        place(k, x, at, q, prescribed, w, row)
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


# --- kinematics --------------------------------------------------------------------------------------------------


@jit
def link_poses(address: int, q: Any, prescribed: Any, w: Any, out: Any) -> None:
    """Rotation to the ground's axes (nine numbers) and position of every link, twelve numbers each."""
    n, k, x = block(address)
    for i in range(n):
        at, row = HEAD + SIZE * i, 12 * i
        place(k, x, at, q, prescribed, w, 0)
        turn, r = nine(w, E), vector(w, R)
        if k[at + PARENT] >= 0:
            up = 12 * k[at + PARENT]
            base = nine(out, up)
            turn, r = product(base, turn), plus(vector(out, up + 9), inwards(base, r))
        put_nine(out, row, turn)
        put(out, row + 9, r)


@jit
def position_rates(address: int, q: Any, v: Any, out: Any) -> None:
    """q̇ = N(q) v: velocities as they are, ė = ½ e ∘ (0, ω) for quaternions."""
    n, k, _ = block(address)
    for i in range(n):
        at = HEAD + SIZE * i
        j, l = k[at + Q], k[at + V]
        if l < 0:
            continue
        if k[at + KIND] == FREE_ROTATION:
            scalar, e, omega = q[j], vector(q, j + 1), vector(v, l)
            out[j] = -0.5 * (e[0] * omega[0] + e[1] * omega[1] + e[2] * omega[2])
            put(out, j + 1, times(0.5, plus(times(scalar, omega), cross(e, omega))))
        else:
            out[j] = v[l]
