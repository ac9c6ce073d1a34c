"""Contacts by penalty: from the motion of bodies the points where they touch, the forces of their laws, and the wrenches on bodies among the inputs.

For a contact with normal n (from b to a), at the point midway between both surfaces, depth δ = −g, its rate −n·(v_a − v_b), sliding and turning of a against
b go to the compiled law; N n + T and the torques act on a, their opposites on b.  Laws with a memory (the speed at which bodies met, the deflection of
bristles) read *slots* among the inputs, which are renewed at accepted steps alone:  pair and feature of a contact, approach speed, and with bristles their
deflection and the two material points that were in touch.  During a step the deflection is that of the slot and how far these points have slid since.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import hot, jit
from ...native.record import Address, Floats, Integers, Matrix, Record, Table
from ..collision.curvature import patch_curvature
from ..collision.records import Contact, World
from ..collision.search import collide

#: What is returned where more contacts are found than there is room for, or more of them have a memory than there are slots.
NO_ROOM, NO_SLOTS = -81, -82
#: What is returned where shapes have gone through each other since the last look: a method with error control takes a smaller step.
PASSED = 31
#: Most looks between two places.
MOST_LOOKS = 1024
#: Numbers of the motion of a body: rotation, origin, velocity, angular velocity; of a wrench.
MOTION, WRENCH = 18, 6
#: What a law reads: depth, rate, approach speed, curvature, sliding (2), deflection (2), spin, rolling (2).
DEPTH, RATE, APPROACH, CURVATURE, SLIDE, BENT, SPIN, ROLL, READ = 0, 1, 2, 3, 4, 6, 8, 9, 11
#: What it gives: normal force, friction (2), torque about the normal, about the tangents (2), elastic energy, deflection (2).
NORMAL, FRICTION, ABOUT, ACROSS, ENERGY, NEW, GIVEN = 0, 1, 3, 4, 6, 7, 9
#: A slot: pair of shapes (0: empty) and feature, approach speed; deflection (3), points on a and b in their axes (3 each).
PAIR, FEATURE, MET, BRISTLE, ON_A, ON_B, SHORT, LONG = 0, 1, 2, 3, 6, 9, 3, 12


class Law(Record):
    """A compiled law with its arguments, its slots among the inputs and among the memories, and what a slot holds."""

    function: Address
    args: Address
    slot: int
    memory: int
    slots: int
    width: int
    curved: int  # 1: the law reads how surfaces are curved, which takes the elliptic integrals of Hertz's patch


class Touch(Record):
    """Contacts of one system: the motion of bodies as a function of (t, x), shapes, laws, and where wrenches stand among the inputs."""

    motion: Address
    motion_args: Integers
    moved: Floats
    poses: Matrix
    scene: World
    found: Table[Contact]
    source: Integers  # the given shape of each shape of the scene
    group: Integers
    groups: int
    law_of: Integers
    laws: Table[Law]
    read: Floats
    given: Floats
    u: Floats
    wrench: Integers  # laws × bodies: where a wrench begins in u (−1: none)
    shapes: int
    base: int  # added to the numbers of pairs, where several of these records share slots
    used: Integers  # of each law, slots that are taken while memories are renewed
    near: float  # gaps up to this are looked at when memories are renewed
    axes: Floats
    bad: int  # the status of a look that failed
    #: The last look: when, poses, and pairs that touched; how far bodies may move without a look between, sizes of bodies, and room for such looks.
    watch: int
    t_last: float
    last: Matrix
    pairs: Integers
    touched: int
    reach: float
    size: Floats
    between: Table[Contact]
    bad_a: int
    bad_b: int
    #: The last law that gave no finite force (1 where one did): between which shapes, when, and at which depth and rate.
    odd: int
    odd_a: int
    odd_b: int
    odd_t: float
    odd_depth: float
    odd_rate: float
    #: of the last look: contacts that act, deepest penetration, elastic energy
    acting: int
    deepest: float
    energy: float
    #: derivatives: wrenches before and at two places, their change along a direction, and a state
    n: int
    nq: int
    saved: Floats
    one: Floats
    change: Floats
    state: Floats
    work: Floats
    clock: Floats


@jit
def axes_of(contact: Any, axes: Any) -> None:
    """Normal and two tangents (Duff et al., "Building an orthonormal basis, revisited", 2017)."""
    x, y, z = contact.nx, contact.ny, contact.nz
    axes[0], axes[1], axes[2] = x, y, z
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    axes[3], axes[4], axes[5] = 1.0 + sign * x * x * a, sign * b, -sign * x
    axes[6], axes[7], axes[8] = b, sign + y * y * a, -y


@hot
def along(axes: Any, k: int, x: float, y: float, z: float) -> float:
    """A component of a vector."""
    return axes[3 * k] * x + axes[3 * k + 1] * y + axes[3 * k + 2] * z


@hot
def _velocity(c: Any, body: int, x: float, y: float, z: float) -> Any:
    """The velocity of a body's point, and its angular velocity."""
    if body < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    m = c.moved[MOTION * body :]
    dx, dy, dz = x - m[9], y - m[10], z - m[11]
    p, q, r = m[15], m[16], m[17]
    return m[12] + q * dz - r * dy, m[13] + r * dx - p * dz, m[14] + p * dy - q * dx, p, q, r


@hot
def _outward(c: Any, body: int, p: Any) -> Any:
    """A point of a body in the world."""
    if body < 0:
        return p[0], p[1], p[2]
    m = c.moved[MOTION * body :]
    return (
        m[9] + m[0] * p[0] + m[1] * p[1] + m[2] * p[2],
        m[10] + m[3] * p[0] + m[4] * p[1] + m[5] * p[2],
        m[11] + m[6] * p[0] + m[7] * p[1] + m[8] * p[2],
    )


@hot
def _inward(c: Any, body: int, x: float, y: float, z: float, out: Any) -> None:
    """A point of the world in the axes of a body."""
    out[0], out[1], out[2] = x, y, z
    if body >= 0:
        m = c.moved[MOTION * body :]
        dx, dy, dz = x - m[9], y - m[10], z - m[11]
        for i in (0, 1, 2):
            out[i] = m[i] * dx + m[3 + i] * dy + m[6 + i] * dz


@hot
def _carrier(contact: Any) -> int:
    """The body in whose axes bristles are kept: the world's where one side is the ground."""
    return -1 if contact.body_a < 0 or contact.body_b < 0 else contact.body_b


@hot
def _turned(c: Any, body: int, s: Any) -> Any:
    """A direction of a body in the world."""
    if body < 0:
        return s[0], s[1], s[2]
    m = c.moved[MOTION * body :]
    return m[0] * s[0] + m[1] * s[1] + m[2] * s[2], m[3] * s[0] + m[4] * s[1] + m[5] * s[2], m[6] * s[0] + m[7] * s[1] + m[8] * s[2]


@hot
def pair_of(c: Any, contact: Any) -> int:
    """The number of a pair of shapes in slots, from 1."""
    return c.base + contact.shape_a * c.shapes + contact.shape_b + 1  # type: ignore[no-any-return]


@hot
def _slot_of(c: Any, law: Any, contact: Any) -> int:
    """Where the memory of a contact begins among the inputs; −1 where it has none."""
    pair = float(pair_of(c, contact))
    for k in range(law.slots):
        place = law.slot + k * law.width
        if c.u[place + PAIR] == pair and c.u[place + FEATURE] == float(contact.feature):
            return place
    return -1


@jit
def apply_law(c: Any, contact: Any, number: int) -> Any:
    """Reads the motion at a contact, and calls its law; the point and the slot of its memory."""
    law, read, axes = c.laws[number], c.read, c.axes
    axes_of(contact, axes)
    x, y, z = 0.5 * (contact.ax + contact.bx), 0.5 * (contact.ay + contact.by), 0.5 * (contact.az + contact.bz)
    u, v, w, p, q, r = velocity_between(c, contact, x, y, z)
    rate = -along(axes, 0, u, v, w)
    slot = _slot_of(c, law, contact)
    read[DEPTH], read[RATE] = -contact.gap, rate
    if law.curved == 1:
        read[CURVATURE] = patch_curvature(c.scene, contact, axes)
    read[APPROACH] = c.u[slot + MET] if slot >= 0 and c.u[slot + MET] > 0.0 else max(rate, 0.0)
    read[SPIN] = along(axes, 0, p, q, r)
    sx, sy, sz = 0.0, 0.0, 0.0
    if slot >= 0 and law.width == LONG:
        memory = c.u[slot:]
        ax, ay, az = _outward(c, contact.body_a, memory[ON_A:])
        bx, by, bz = _outward(c, contact.body_b, memory[ON_B:])
        sx, sy, sz = _turned(c, _carrier(contact), memory[BRISTLE:])
        sx, sy, sz = sx + ax - bx, sy + ay - by, sz + az - bz
    for k in (0, 1):
        read[SLIDE + k], read[BENT + k] = along(axes, 1 + k, u, v, w), along(axes, 1 + k, sx, sy, sz)
        read[ROLL + k] = along(axes, 1 + k, p, q, r)
    return again(c, number), x, y, z, slot


@hot
def again(c: Any, number: int) -> int:
    """Calls a law with what is read."""
    law = c.laws[number]
    return call(law.function, law.args)  # type: ignore[no-any-return]


@hot
def velocity_between(c: Any, contact: Any, x: float, y: float, z: float) -> Any:
    """Velocity and angular velocity of the first body against the second at a point."""
    ua, va, wa, pa, qa, ra = _velocity(c, contact.body_a, x, y, z)
    ub, vb, wb, pb, qb, rb = _velocity(c, contact.body_b, x, y, z)
    return ua - ub, va - vb, wa - wb, pa - pb, qa - qb, ra - rb


@hot
def add_wrench(c: Any, body: int, w: Any, sign: float, x: float, y: float, z: float, force: Any, torque: Any) -> None:
    """Adds a force at a point and a torque to a wrench about the origin of a body."""
    m = c.moved[MOTION * body :]
    dx, dy, dz = x - m[9], y - m[10], z - m[11]
    fx, fy, fz = sign * force[0], sign * force[1], sign * force[2]
    w[0] += fx
    w[1] += fy
    w[2] += fz
    w[3] += dy * fz - dz * fy + sign * torque[0]
    w[4] += dz * fx - dx * fz + sign * torque[1]
    w[5] += dx * fy - dy * fx + sign * torque[2]


@hot
def _push(c: Any, body: int, place: int, sign: float, x: float, y: float, z: float, force: Any, torque: Any) -> None:
    """Adds a force at a point and a torque to the wrench on a body."""
    if place >= 0:
        add_wrench(c, body, c.u[place:], sign, x, y, z, force, torque)


@hot
def world_force(c: Any, first: int, second: int) -> Any:
    """A result of the law, one number along the normal and two along the tangents, in the world's axes."""
    g, a = c.given, c.axes
    n, s, t = g[first], g[second], g[second + 1]
    return n * a[0] + s * a[3] + t * a[6], n * a[1] + s * a[4] + t * a[7], n * a[2] + s * a[5] + t * a[8]


@hot
def law_between(c: Any, contact: Any) -> int:
    """The number of the law between two shapes; −1 for none."""
    return c.law_of[c.group[c.source[contact.shape_a]] * c.groups + c.group[c.source[contact.shape_b]]]  # type: ignore[no-any-return]


@jit
def look(c: Any, t: int, x: int, margin: float) -> int:
    """Where bodies touch at (t, x), whose addresses are given: how many contacts are listed, or a negative status."""
    args = c.motion_args
    args[0], args[1], args[2] = t, x, at(c.moved)
    status = call(c.motion, args)
    c.bad = status
    if status != 0:
        return -abs(status)
    for b in range(c.poses.shape[0]):
        for i in range(12):
            c.poses[b, i] = c.moved[MOTION * b + i]
    found = collide(c.scene, c.poses, margin, c.found)
    if found < 0:
        c.bad = found = NO_ROOM
    return found


@jit
def _moved(c: Any) -> float:
    """How far points of bodies have moved since the last look, at most."""
    largest = 0.0
    for b in range(c.poses.shape[0]):
        shift, turned = 0.0, 0.0
        for i in range(9):
            turned += (c.poses[b, i] - c.last[b, i]) * (c.poses[b, i] - c.last[b, i])
        for i in range(9, 12):
            shift += (c.poses[b, i] - c.last[b, i]) * (c.poses[b, i] - c.last[b, i])
        largest = max(largest, math.sqrt(shift) + c.size[b] * math.sqrt(0.5 * turned))
    return largest


@hot
def _touched(c: Any, count: int, pair: int) -> bool:
    """Whether a pair of shapes touches now, or did at the last look."""
    for k in range(c.touched):
        if c.pairs[k] == pair:
            return True
    for i in range(count):  # noqa: SIM110 (kernels know no generators)
        if c.found[i].gap < 0.0 and c.found[i].shape_a * c.shapes + c.found[i].shape_b == pair:
            return True
    return False


@jit
def passed(c: Any, t: float, count: int) -> int:
    """PASSED where two shapes went through each other since the last look; the look is noted where none did."""
    moved = _moved(c) if t > c.t_last else 0.0
    if moved > c.reach:
        looks = int(moved / c.reach) + 1
        if looks > MOST_LOOKS:
            c.bad, c.bad_a, c.bad_b = PASSED, -1, -1
            return PASSED
        for k in range(1, looks):
            part = k / looks
            for b in range(c.poses.shape[0]):
                for i in range(12):
                    c.poses[b, i] = c.last[b, i] + part * (c.moved[MOTION * b + i] - c.last[b, i])
            near = collide(c.scene, c.poses, 0.0, c.between)
            for i in range(near):
                contact = c.between[i]
                if (
                    contact.gap < 0.0
                    and law_between(c, contact) >= 0
                    and not _touched(c, count, contact.shape_a * c.shapes + contact.shape_b)
                ):
                    c.bad, c.bad_a, c.bad_b = PASSED, contact.shape_a, contact.shape_b
                    return PASSED
        for b in range(c.poses.shape[0]):
            for i in range(12):
                c.poses[b, i] = c.moved[MOTION * b + i]
    c.t_last, c.touched = t, 0
    for b in range(c.poses.shape[0]):
        for i in range(12):
            c.last[b, i] = c.poses[b, i]
    for i in range(count):
        if c.found[i].gap < 0.0 and c.touched < c.pairs.size:
            c.pairs[c.touched] = c.found[i].shape_a * c.shapes + c.found[i].shape_b
            c.touched += 1
    return 0


@hot
def _all_finite(c: Any) -> bool:
    """Whether the motion of all bodies is: a method may go on with what an odd force has left, which no law of contact is to blame for."""
    total = 0.0
    for i in range(c.moved.size):
        total += c.moved[i]
    return math.isfinite(total)


@hot
def _note_odd(c: Any, contact: Any, t: float) -> None:
    """Notes the pair whose law gave no finite force."""
    c.odd, c.odd_a, c.odd_b, c.odd_t = 1, contact.shape_a, contact.shape_b, t
    c.odd_depth, c.odd_rate = c.read[DEPTH], c.read[RATE]


@jit
def touch(c: Any, t: int, x: int) -> int:
    """Puts the wrenches of all contacts at (t, x) among the inputs: 0, or a status."""
    count = look(c, t, x, 0.0)
    bodies = c.poses.shape[0]
    if count >= 0 and c.watch == 1:
        status = passed(c, doubles(t, 1)[0], count)
        if status != 0:
            return status
    c.acting, c.deepest, c.energy = 0, 0.0, 0.0
    for k in range(c.wrench.size):
        place = c.wrench[k]
        if place >= 0:
            for i in range(WRENCH):
                c.u[place + i] = 0.0
    if count < 0:
        return count
    now = doubles(t, 1)[0]
    if c.odd == 1 and now > c.odd_t and _all_finite(c):
        c.odd = 0
    for i in range(count):
        contact = c.found[i]
        number = law_between(c, contact)
        if number < 0 or contact.gap >= 0.0:
            continue
        status, px, py, pz, _ = apply_law(c, contact, number)
        if status != 0:
            return status
        if not math.isfinite(c.given[NORMAL] + c.given[FRICTION] + c.given[FRICTION + 1]) and _all_finite(c):
            _note_odd(c, contact, now)
        force, torque = world_force(c, NORMAL, FRICTION), world_force(c, ABOUT, ACROSS)
        if contact.body_a >= 0:
            _push(c, contact.body_a, c.wrench[number * bodies + contact.body_a], 1.0, px, py, pz, force, torque)
        if contact.body_b >= 0:
            _push(c, contact.body_b, c.wrench[number * bodies + contact.body_b], -1.0, px, py, pz, force, torque)
        c.energy += c.given[ENERGY]
        c.deepest = max(c.deepest, -contact.gap)
        if c.given[NORMAL] > 0.0:
            c.acting += 1
    return 0


@jit
def renew(c: Any, t: int, x: int, out: Any) -> int:
    """The slots of all contacts after a step that ended at (t, x), written among the new memories."""
    count = look(c, t, x, c.near)
    return count if count < 0 else renew_found(c, count, out)  # type: ignore[no-any-return]


@jit
def renew_found(c: Any, count: int, out: Any) -> int:
    """The same from the contacts that a look has found."""
    for k in range(len(c.laws)):
        law = c.laws[k]
        c.used[k] = 0
        for i in range(law.slots * law.width):
            out[law.memory + i] = 0.0
    return renew_more(c, count, out)  # type: ignore[no-any-return]


@jit
def renew_more(c: Any, count: int, out: Any) -> int:
    """The same in the slots that are not used yet."""
    for k in range(len(c.laws)):
        law = c.laws[k]
        for i in range(count):
            contact = c.found[i]
            if law.slots == 0 or law_between(c, contact) != k:
                continue
            used = c.used[k]
            if used == law.slots:
                c.bad = NO_SLOTS
                return NO_SLOTS
            status, x0, y0, z0, slot = apply_law(c, contact, k)
            if status != 0:
                return status
            new, met, rate = out[law.memory + used * law.width :], 0.0, max(c.read[RATE], 0.0)
            if slot >= 0:
                met = c.u[slot + MET]
            if contact.gap >= 0.0 or met == 0.0:
                met = rate
            new[PAIR], new[FEATURE], new[MET] = float(pair_of(c, contact)), float(contact.feature), met
            c.used[k] = used + 1
            if law.width == LONG:
                _anchor(c, contact, x0, y0, z0, new)
    return 0


@jit
def _anchor(c: Any, contact: Any, x: float, y: float, z: float, new: Any) -> None:
    """The deflection of bristles after a step, and the points that are in touch now, or near it: bristles that touch nothing stand upright."""
    g, a, carrier = c.given, c.axes, _carrier(contact)
    s, t = (g[NEW], g[NEW + 1]) if contact.gap < 0.0 else (0.0, 0.0)
    sx, sy, sz = s * a[3] + t * a[6], s * a[4] + t * a[7], s * a[5] + t * a[8]
    bristle = new[BRISTLE:]
    bristle[0], bristle[1], bristle[2] = sx, sy, sz
    if carrier >= 0:
        m = c.moved[MOTION * carrier :]
        for i in (0, 1, 2):
            bristle[i] = m[i] * sx + m[3 + i] * sy + m[6 + i] * sz
    _inward(c, contact.body_a, x, y, z, new[ON_A:])
    _inward(c, contact.body_b, x, y, z, new[ON_B:])


@jit
def touch_rows(c: Touch, t: Any, x: Any, u: Any, books: Any) -> int:
    """Contact forces at states in rows, written into rows of inputs; contacts that act, depth and energy of each.  The row that fails, from 1, or 0."""
    for i in range(t.size):
        for k in range(u.shape[1]):
            c.u[k] = u[i, k]
        if touch(c, at(t[i:]), at(x[i])) != 0:
            return i + 1
        for k in range(u.shape[1]):
            u[i, k] = c.u[k]
        books[i, 0], books[i, 1], books[i, 2] = float(c.acting), c.deepest, c.energy
    return 0


__all__ = [
    "NO_ROOM",
    "NO_SLOTS",
    "Law",
    "Touch",
    "apply_law",
    "law_between",
    "again",
    "look",
    "passed",
    "renew",
    "renew_found",
    "renew_more",
    "touch",
    "touch_rows",
    "velocity_between",
    "world_force",
]
