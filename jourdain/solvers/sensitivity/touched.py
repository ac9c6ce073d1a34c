"""Derivatives of rates with contacts by penalty: what forces of contact change with the motion of bodies and with the constants of their laws.

Rates are functions of the wrenches w on bodies, which stand among the inputs; w follows from the motion of the bodies (rotation, origin, velocity, angular
velocity) by places of contact, law and lever arm.  Motion and law are compiled with their pushes and pulls.  Between them stand, for each point in touch, two
matrices of the turns, shifts and velocities y of its two bodies: dr = R y of what the law reads, dw = A dg + B y with what it gives, g.  How places of contact
(gap, point, normal, curvature) follow the shift and turn of one shape against the other is found from two looks at the pair a little apart, to about 1e-10;
a common motion of both carries them along exactly.  Forward and back use the same matrices.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record, Table
from ..collision.records import KINDS, Contact
from ..collision.vectors import cross, dot, minus, plus
from ..penalty.touch import (
    ABOUT,
    ACROSS,
    CURVATURE,
    DEPTH,
    FRICTION,
    GIVEN,
    MOTION,
    NORMAL,
    RATE,
    READ,
    ROLL,
    SLIDE,
    SPIN,
    WRENCH,
    Touch,
    apply_law,
    law_between,
    touch,
    world_force,
)
from .field import Map

#: How far apart the two looks at a pair are, in parts of its smaller shape.
APART = 1e-5
#: What is returned where more points touch than there is room for, and where a contact is lost as its shapes move a little.
NO_ROOM, NO_SLOPE = 92, 93
#: Turn, shift, velocity and angular velocity of two bodies; gap, point, normal, curvature; shift and turn of a shape against the other.
TWISTS, PLACES, RELATIVE = 24, 8, 6


class LawSlopes(Record):
    """Push and pull of a compiled law with their arguments."""

    push: Address
    push_args: Address
    pull: Address
    pull_args: Address


class Touched(Record):
    """The contacts of a run with the derivatives of what they are made of; ``inner`` maps are those of the rate with given wrenches, of (t, x, u)."""

    touch: Touch
    inner_push: Map
    inner_pull: Map
    motion_push: Map
    motion_pull: Map
    laws: Table[LawSlopes]
    lanes: int
    n: int
    nu: int
    nc: int
    #: The inputs that derivatives read.
    u: Floats
    #: Contacts of one pair.
    pair: Table[Contact]
    #: Points that touch at the present place: how many, law and both bodies of each, what their laws read, and their matrices.
    count: int
    who: Integers
    read: Matrix
    by_motion: Matrix
    by_given: Matrix
    fixed: Matrix
    # of one point
    home: Floats
    point: Floats
    places: Floats
    slopes: Floats
    y: Floats
    axes: Floats
    dread: Floats
    dgiven: Floats
    dc: Floats
    # of all
    change: Floats
    moved: Floats
    bar: Floats
    cbar: Floats
    back: Floats


@hot
def _three(a: Any, k: int) -> Any:
    return a[k], a[k + 1], a[k + 2]


@jit
def _size(scene: Any, contact: Any) -> float:
    """The size of the smaller shape; half-spaces have none."""
    a, b = scene.solids[contact.shape_a].size, scene.solids[contact.shape_b].size
    if a <= 0.0 or (0.0 < b < a):
        return b  # type: ignore[no-any-return]
    return a  # type: ignore[no-any-return]


@jit
def _shifted(s: Touched, shape: int, k: int, h: float, angle: float) -> None:
    """Turns (k < 3), about the point of contact, or shifts a shape a little from its home."""
    pose, home, x = s.touch.scene.world[shape], s.home, s.point
    for i in range(12):
        pose[i] = home[i]
    if k >= 3:
        pose[9 + k - 3] += h
        return
    i, j = (k + 1) % 3, (k + 2) % 3
    c, d = cos(angle), sin(angle)
    for q in range(3):
        pose[3 * i + q] = c * home[3 * i + q] - d * home[3 * j + q]
        pose[3 * j + q] = d * home[3 * i + q] + c * home[3 * j + q]
    first, second = home[9 + i] - x[i], home[9 + j] - x[j]
    pose[9 + i], pose[9 + j] = x[i] + c * first - d * second, x[j] + d * first + c * second


@jit
def _look(s: Touched, contact: Any, number: int, out: Any) -> bool:
    """Where shapes touch in the feature of a contact as they stand now."""
    scene = s.touch.scene
    scene.count, scene.contacts = 0, s.pair
    call(scene.kernels[scene.solids[scene.a].kind * KINDS + scene.solids[scene.b].kind], scene)
    for i in range(min(scene.count, s.pair.size)):
        c = s.pair[i]
        if c.feature == contact.feature:
            out[0] = c.gap
            out[1], out[2], out[3] = 0.5 * (c.ax + c.bx), 0.5 * (c.ay + c.by), 0.5 * (c.az + c.bz)
            out[4], out[5], out[6] = c.nx, c.ny, c.nz
            out[7] = 0.0
            if s.touch.laws[number].curved == 1:
                apply_law(s.touch, c, number)
                out[7] = s.touch.read[CURVATURE]
            return True
    return False


@jit
def _place_slopes(s: Touched, contact: Any, number: int, x: Any) -> bool:
    """Gap, point, normal and curvature by a turn and a shift of the first shape against the second, about the point x; whether they were found."""
    scene, shape = s.touch.scene, contact.shape_a
    a, b, kept = contact.shape_a, contact.shape_b, scene.contacts
    near = scene.near
    scene.a, scene.b = (a, b) if scene.solids[a].kind <= scene.solids[b].kind else (b, a)
    size = _size(scene, contact)
    h, pose, found = APART * size, scene.world[shape], True
    scene.near = scene.solids[a].reach + scene.solids[b].reach + 10.0 * h
    s.point[0], s.point[1], s.point[2] = x
    for i in range(12):
        s.home[i] = pose[i]
    for k in range(RELATIVE):
        width = 0.0
        for i in range(PLACES):
            s.slopes[i * RELATIVE + k] = 0.0
        for side in (0, 1):
            sign = 1.0 - 2.0 * side
            _shifted(s, shape, k, sign * h, sign * APART)
            if not _look(s, contact, number, s.places):
                _shifted(s, shape, 3, 0.0, 0.0)
                if not _look(s, contact, number, s.places):
                    found = False
            else:
                width += h if k >= 3 else APART
            for i in range(PLACES):
                s.slopes[i * RELATIVE + k] += sign * s.places[i]
        for i in range(PLACES):
            s.slopes[i * RELATIVE + k] /= max(width, 1e-300)
        if width == 0.0:
            found = False
    for i in range(12):
        pose[i] = s.home[i]
    scene.contacts, scene.near = kept, near
    return found


@jit
def _tangent_change(n: Any, dn: Any) -> Any:
    """How the two tangents that belong to a normal turn with it (see :func:`..penalty.touch.axes_of`)."""
    x, y, z = n
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    da = a * a * dn[2]
    db = dn[0] * y * a + x * dn[1] * a + x * y * da
    first = (sign * (2.0 * x * dn[0] * a + x * x * da), sign * db, -sign * dn[0])
    return first, (db, 2.0 * y * dn[1] * a + y * y * da, -dn[1])


@hot
def _arm(c: Any, body: int, x: Any) -> Any:
    if body < 0:
        return 0.0, 0.0, 0.0
    return x[0] - c.moved[MOTION * body + 9], x[1] - c.moved[MOTION * body + 10], x[2] - c.moved[MOTION * body + 11]


@hot
def _turning(c: Any, body: int) -> Any:
    if body < 0:
        return 0.0, 0.0, 0.0
    return c.moved[MOTION * body + 15], c.moved[MOTION * body + 16], c.moved[MOTION * body + 17]


@hot
def _speed(c: Any, body: int, arm: Any) -> Any:
    if body < 0:
        return 0.0, 0.0, 0.0
    m = c.moved[MOTION * body :]
    return plus((m[12], m[13], m[14]), 1.0, cross((m[15], m[16], m[17]), arm))


@hot
def _write(matrix: Any, column: int, width: int, row: int, sign: float, v: Any) -> None:
    """Three rows of a column."""
    matrix[row * width + column], matrix[(row + 1) * width + column], matrix[(row + 2) * width + column] = (
        sign * v[0],
        sign * v[1],
        sign * v[2],
    )


@jit
def _columns(s: Touched, i: int, contact: Any, x: Any) -> None:
    """The matrices of one point: what its law reads and, with what the law gives held, its wrench, by all turns, shifts and velocities of both bodies."""
    c, axes, y = s.touch, s.axes, s.y
    n, t1, t2 = _three(axes, 0), _three(axes, 3), _three(axes, 6)
    ra, rb = _arm(c, contact.body_a, x), _arm(c, contact.body_b, x)
    wa, wb = _turning(c, contact.body_a), _turning(c, contact.body_b)
    u, w = minus(_speed(c, contact.body_a, ra), _speed(c, contact.body_b, rb)), minus(wa, wb)
    force = world_force(c, NORMAL, FRICTION)
    g, R, B = c.given, s.by_motion[i], s.fixed[i]
    for k in range(TWISTS):
        for q in range(TWISTS):
            y[q] = 1.0 if q == k else 0.0
        tha, oa, va, da, thb, ob, vb, db = (
            _three(y, 0), _three(y, 3), _three(y, 6), _three(y, 9), _three(y, 12), _three(y, 15), _three(y, 18), _three(y, 21)
        )  # fmt: skip
        on_a, on_b = plus(oa, 1.0, cross(tha, ra)), plus(ob, 1.0, cross(thb, rb))
        turn, shift = minus(tha, thb), minus(on_a, on_b)
        for q in range(PLACES):
            row = s.slopes[q * RELATIVE :]
            s.places[q] = row[0] * turn[0] + row[1] * turn[1] + row[2] * turn[2] + row[3] * shift[0] + row[4] * shift[1] + row[5] * shift[2]
        dx, dn = plus(on_b, 1.0, _three(s.places, 1)), plus(cross(thb, n), 1.0, _three(s.places, 4))
        d1, d2 = _tangent_change(n, dn)
        arm_a, arm_b = minus(dx, oa), minus(dx, ob)
        du = minus(plus(plus(va, 1.0, cross(da, ra)), 1.0, cross(wa, arm_a)), plus(plus(vb, 1.0, cross(db, rb)), 1.0, cross(wb, arm_b)))
        dw = minus(da, db)
        for q in range(READ):
            R[q * TWISTS + k] = 0.0
        R[DEPTH * TWISTS + k], R[RATE * TWISTS + k] = -s.places[0], -(dot(dn, u) + dot(n, du))
        R[CURVATURE * TWISTS + k], R[SPIN * TWISTS + k] = s.places[7], dot(dn, w) + dot(n, dw)
        R[SLIDE * TWISTS + k], R[(SLIDE + 1) * TWISTS + k] = dot(d1, u) + dot(t1, du), dot(d2, u) + dot(t2, du)
        R[ROLL * TWISTS + k], R[(ROLL + 1) * TWISTS + k] = dot(d1, w) + dot(t1, dw), dot(d2, w) + dot(t2, dw)
        df = plus(plus((g[NORMAL] * dn[0], g[NORMAL] * dn[1], g[NORMAL] * dn[2]), g[FRICTION], d1), g[FRICTION + 1], d2)
        dm = plus(plus((g[ABOUT] * dn[0], g[ABOUT] * dn[1], g[ABOUT] * dn[2]), g[ACROSS], d1), g[ACROSS + 1], d2)
        ma = plus(plus(dm, 1.0, cross(arm_a, force)), 1.0, cross(ra, df))
        mb = plus(plus(dm, 1.0, cross(arm_b, force)), 1.0, cross(rb, df))
        _write(B, k, TWISTS, 0, 1.0, df)
        _write(B, k, TWISTS, 3, 1.0, ma)
        _write(B, k, TWISTS, 6, -1.0, df)
        _write(B, k, TWISTS, 9, -1.0, mb)


@jit
def _given_columns(s: Touched, i: int, ra: Any, rb: Any) -> None:
    """The wrench of one point by what its law gives."""
    A = s.by_given[i]
    for q in range(2 * WRENCH * GIVEN):
        A[q] = 0.0
    for k in range(3):
        e = _three(s.axes, 3 * k)
        j = NORMAL if k == 0 else FRICTION + k - 1
        _write(A, j, GIVEN, 0, 1.0, e)
        _write(A, j, GIVEN, 3, 1.0, cross(ra, e))
        _write(A, j, GIVEN, 6, -1.0, e)
        _write(A, j, GIVEN, 9, -1.0, cross(rb, e))
        j = ABOUT if k == 0 else ACROSS + k - 1
        _write(A, j, GIVEN, 3, 1.0, e)
        _write(A, j, GIVEN, 9, -1.0, e)


@jit
def linearise(s: Touched, t: int, x: int) -> int:
    """The wrenches at (t, x), and the matrices of all points in touch."""
    c = s.touch
    status = touch(c, t, x)
    if status != 0:
        return status
    for k in range(c.wrench.size):
        if c.wrench[k] >= 0:
            for i in range(WRENCH):
                s.u[c.wrench[k] + i] = c.u[c.wrench[k] + i]
    s.count, total = 0, c.scene.count
    for j in range(total):
        contact = c.found[j]
        number = law_between(c, contact)
        if number < 0 or contact.gap >= 0.0:
            continue
        i = s.count
        if i >= s.read.shape[0]:
            return NO_ROOM
        x0 = (0.5 * (contact.ax + contact.bx), 0.5 * (contact.ay + contact.by), 0.5 * (contact.az + contact.bz))
        if not _place_slopes(s, contact, number, x0):
            return NO_SLOPE
        status, _, _, _, _ = apply_law(c, contact, number)
        if status != 0:
            return status
        for q in range(9):
            s.axes[q] = c.axes[q]
        for q in range(READ):
            s.read[i][q] = c.read[q]
        s.who[3 * i], s.who[3 * i + 1], s.who[3 * i + 2] = number, contact.body_a, contact.body_b
        _columns(s, i, contact, x0)
        _given_columns(s, i, _arm(c, contact.body_a, x0), _arm(c, contact.body_b, x0))
        s.count = i + 1
    return 0


@jit
def _twist(s: Touched, body: int, lane: int, first: int) -> None:
    """Turn, shift and velocities of a body from the change of its motion."""
    y, lanes = s.y, s.lanes
    for i in range(12):
        y[first + i] = 0.0
    if body < 0:
        return
    m, d = s.touch.moved[MOTION * body :], s.moved[MOTION * body * lanes :]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        total = 0.0
        for q in range(3):
            total += d[(3 * j + q) * lanes + lane] * m[3 * i + q] - d[(3 * i + q) * lanes + lane] * m[3 * j + q]
        y[first + k] = 0.5 * total
    for i in range(9):
        y[first + 3 + i] = d[(9 + i) * lanes + lane]


@jit
def _twist_back(s: Touched, body: int, first: int) -> None:
    """Adds weights of a body's turn, shift and velocities to those of its motion."""
    if body < 0:
        return
    y, m, d = s.y, s.touch.moved[MOTION * body :], s.moved[MOTION * body :]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for q in range(3):
            d[3 * j + q] += 0.5 * y[first + k] * m[3 * i + q]
            d[3 * i + q] -= 0.5 * y[first + k] * m[3 * j + q]
    for i in range(9):
        d[9 + i] += y[first + 3 + i]


@hot
def _wrench_place(s: Touched, i: int, side: int) -> int:
    """Where the wrench of a point on one of its bodies begins among the inputs; −1 on the ground."""
    body = s.who[3 * i + 1 + side]
    if body < 0:
        return -1
    return s.touch.wrench[s.who[3 * i] * s.touch.poses.shape[0] + body]  # type: ignore[no-any-return]


@jit
def _push_point(s: Touched, i: int, lane: int) -> int:
    """Adds the change of the wrenches of one point in one direction to those of the inputs."""
    law, R, A, B = s.laws[s.who[3 * i]], s.by_motion[i], s.by_given[i], s.fixed[i]
    _twist(s, s.who[3 * i + 1], lane, 0)
    _twist(s, s.who[3 * i + 2], lane, 12)
    for q in range(READ):
        total = 0.0
        for k in range(TWISTS):
            total += R[q * TWISTS + k] * s.y[k]
        s.dread[q] = total
    args = words(law.push_args, 4)
    args[0], args[1], args[2], args[3] = at(s.read[i]), at(s.dread), at(s.dc), at(s.dgiven)
    status = call(law.push, law.push_args)
    for side in (0, 1):
        place = _wrench_place(s, i, side)
        for q in range(WRENCH):
            row, total = WRENCH * side + q, 0.0
            for k in range(TWISTS):
                total += B[row * TWISTS + k] * s.y[k]
            for k in range(GIVEN):
                total += A[row * GIVEN + k] * s.dgiven[k]
            if place >= 0:
                s.change[(1 + s.n + place + q) * s.lanes + lane] += total
    return status  # type: ignore[no-any-return]


@jit
def _pull_point(s: Touched, i: int, cbar: Any) -> int:
    """Walks the weights of the wrenches of one point back to the motion of its bodies and to the constants of its law."""
    law, R, A, B = s.laws[s.who[3 * i]], s.by_motion[i], s.by_given[i], s.fixed[i]
    for k in range(GIVEN):
        s.dgiven[k] = 0.0
    for k in range(TWISTS):
        s.y[k] = 0.0
    for side in (0, 1):
        place = _wrench_place(s, i, side)
        for q in range(WRENCH):
            if place >= 0:
                row, weight = WRENCH * side + q, s.bar[1 + s.n + place + q]
                for k in range(GIVEN):
                    s.dgiven[k] += A[row * GIVEN + k] * weight
                for k in range(TWISTS):
                    s.y[k] += B[row * TWISTS + k] * weight
    args = words(law.pull_args, 4)
    args[0], args[1], args[2], args[3] = at(s.read[i]), at(s.dgiven), at(s.dread), at(s.cbar)
    status = call(law.pull, law.pull_args)
    for k in range(s.nc):
        cbar[k] += s.cbar[k]
    for q in range(READ):
        for k in range(TWISTS):
            s.y[k] += R[q * TWISTS + k] * s.dread[q]
    _twist_back(s, s.who[3 * i + 1], 0)
    _twist_back(s, s.who[3 * i + 2], 12)
    return status  # type: ignore[no-any-return]


@kernel
def push(address: int) -> int:
    """df for changes (dt, dx) and dc: slots (t, x, u, d, dc, df), contacts."""
    slots = words(address, 7)
    s = Touched.at(slots[6])
    lanes, size = s.lanes, (1 + s.n) * s.lanes
    status = linearise(s, slots[0], slots[1])
    if status != 0:
        return status
    given, dc = doubles(slots[3], size), doubles(slots[4], s.nc * lanes)
    for i in range(size):
        s.change[i] = given[i]
    for i in range(s.nu * lanes):
        s.change[size + i] = 0.0
    args = s.motion_push.args
    args[0], args[1], args[3], args[4], args[5] = slots[0], slots[1], slots[3], slots[4], at(s.moved)
    status = call(s.motion_push.function, args)
    for lane in range(lanes):
        for k in range(s.nc):
            s.dc[k] = dc[k * lanes + lane]
        for i in range(s.count):
            if status == 0:
                status = _push_point(s, i, lane)
    if status != 0:
        return status
    inner = s.inner_push.args
    inner[0], inner[1], inner[3], inner[4], inner[5] = slots[0], slots[1], at(s.change), slots[4], slots[5]
    return call(s.inner_push.function, inner)


@kernel
def pull(address: int) -> int:
    """Weights of (t, x) and of the constants for weights of f: slots (t, x, u, w, bar, c̄), contacts."""
    slots = words(address, 7)
    s = Touched.at(slots[6])
    status = linearise(s, slots[0], slots[1])
    if status != 0:
        return status
    inner = s.inner_pull.args
    inner[0], inner[1], inner[3], inner[4], inner[5] = slots[0], slots[1], slots[3], at(s.bar), slots[5]
    status = call(s.inner_pull.function, inner)
    bar, cbar = doubles(slots[4], 1 + s.n), doubles(slots[5], s.nc)
    for i in range(s.moved.size):
        s.moved[i] = 0.0
    for i in range(s.count):
        if status == 0:
            status = _pull_point(s, i, cbar)
    if status != 0:
        return status
    args = s.motion_pull.args
    args[0], args[1], args[3], args[4], args[5] = slots[0], slots[1], at(s.moved), at(s.back), at(s.cbar)
    status = call(s.motion_pull.function, args)
    for i in range(1 + s.n):
        bar[i] = s.bar[i] + s.back[i]
    for i in range(s.nc):
        cbar[i] += s.cbar[i]
    return status


__all__ = ["NO_ROOM", "NO_SLOPE", "LawSlopes", "Touched", "linearise", "pull", "push"]
