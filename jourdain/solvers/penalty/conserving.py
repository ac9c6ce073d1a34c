"""Contacts by penalty in steps of bodies by directors and of points that deform: forces whose work is exactly what surfaces store and what is booked as lost.

Between q₀ and q₁ bodies are looked at in the middle, at the rotations nearest to their mean directors, and move there with Δφ/h and the angular velocity
ω = ½ Σ gᵢ × Δdᵢ/h (gᵢ reciprocal to the mean directors): a wrench (f, m) about the origin is f on φ and ½ m × gᵢ on the directors, its work
is f·Δφ + h m·ω, and momenta are exchanged exactly.  At a point with depth δ whose surfaces part by s within the step, the elastic force is

    N̄ = (E(δ + s/2) − E(δ − s/2)) / s,

which begins and ends with the touch within a step.  What curved surfaces leave of E(q₁) − E(q₀) + Σ N̄ s, of third order in the step, is made good along the relative
motion of the points themselves (Gonzalez 1996).  Damping and friction are those of the law in the middle; what they take is booked, whatever the step is.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import doubles
from ...native.kernel import hot, jit, kernel
from ...native.record import Floats, Integers, Record
from ..collision.search import collide
from ..ode.rotation import nearest_rotation
from ..stepping import frame as ap
from ..stepping.frame import SCALARS
from ..stepping.solid import Call
from ..stepping.vectors import compressed, reduced_matrix, reduced_residual
from .touch import (
    ABOUT,
    ACROSS,
    DEPTH,
    ENERGY,
    FRICTION,
    MOTION,
    NORMAL,
    RATE,
    Touch,
    add_wrench,
    again,
    apply_law,
    law_between,
    passed,
    renew_found,
    renew_more,
    velocity_between,
    world_force,
)

#: Coordinates of a body, and how far apart two places are by which forces are differentiated (m, or parts of a director).
BODY, APART = 12, 1e-8
#: Ways (m) of points within a step below which nothing is made good: they are rounding.
STILL = 1e-9
#: Where ways are shorter than this part of the depth, forces that make energy good are at most that part of the elastic ones: if points of contact come and go in
#: full depth, energy jumps, and that is booked.
FINE, MOST = 0.01, 0.5
#: Parts of the depth below which a way is too short for a divided difference.
SHORT = 1e-6


class Held(Record):
    """The contacts of an assembled system: those of the model, sizes of the element, and where memories of points stand among the coordinates."""

    touch: Touch
    stores: Integers  # of each law, whether its energy is known
    bodies: Integers
    #: where the coordinates of each carrier begin, and how many there are: bodies (origin and directors) come first, then points, of which the first three are places
    first: Integers
    width: Integers
    size: int
    projected: int
    unknowns: int
    inputs: int
    work: int
    evaluation: int
    lever: float  # length (m) by which turning is compared with sliding
    #: memories: places among the inputs of the law, coordinates, and all coordinates of the run
    slot: Integers
    memory: Integers
    coordinates: Floats
    #: bodies in the middle: reciprocal directors, wrenches, and the direction in which energy is made good
    reciprocal: Floats
    total: Floats
    direction: Floats
    active: Integers
    marks: Integers
    #: sums over contacts: wrenches and directions, weight, ways, work and forces
    kept: Floats
    weight: float  # of all points, with their ways
    ways: float
    done: float  # work of elastic forces
    pressed: float  # sum of elastic forces


@hot
def _recall(m: Any) -> None:
    """Memories as they stand among the coordinates."""
    for i in range(m.slot.size):
        m.touch.u[m.slot[i]] = m.coordinates[m.memory[i]]


@hot
def _place(m: Any, b: int, q: Any, rates: Any) -> None:
    """Pose and motion of a body from its directors and their rates; the reciprocal directors are kept.  Points do not turn."""
    c, g, d, e = m.touch, m.reciprocal[9 * b :], q[m.first[b] :], rates[m.first[b] :]
    motion = c.moved[MOTION * b :]
    if m.width[b] < BODY:
        for i in range(9):
            motion[i] = 1.0 if i % 4 == 0 else 0.0
        for i in (0, 1, 2):
            motion[9 + i], motion[12 + i], motion[15 + i] = d[i], e[i], 0.0
        return
    for i in (0, 1, 2):
        j, k = 3 + 3 * ((i + 1) % 3), 3 + 3 * ((i + 2) % 3)
        g[3 * i] = d[j + 1] * d[k + 2] - d[j + 2] * d[k + 1]
        g[3 * i + 1] = d[j + 2] * d[k] - d[j] * d[k + 2]
        g[3 * i + 2] = d[j] * d[k + 1] - d[j + 1] * d[k]
    volume = d[3] * g[0] + d[4] * g[1] + d[5] * g[2]
    for i in range(9):
        g[i] /= volume
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            motion[3 * i + j] = d[3 + 3 * j + i]
        motion[9 + i], motion[12 + i], motion[15 + i] = d[i], e[i], 0.0
    nearest_rotation(motion)
    for i in (0, 3, 6):
        x, y, z = e[3 + i], e[4 + i], e[5 + i]
        motion[15] += 0.5 * (g[i + 1] * z - g[i + 2] * y)
        motion[16] += 0.5 * (g[i + 2] * x - g[i] * z)
        motion[17] += 0.5 * (g[i] * y - g[i + 1] * x)


@jit
def _look(m: Any, q: Any, rates: Any, margin: float) -> int:
    """Bodies at some coordinates, and how many contacts there are; negative where there is no room."""
    c = m.touch
    for b in range(c.poses.shape[0]):
        _place(m, b, q, rates)
        for i in range(12):
            c.poses[b, i] = c.moved[MOTION * b + i]
    found = collide(c.scene, c.poses, margin, c.found)
    return max(found, 0)  # an iterate that is far off may have any number of contacts


@jit
def _stored(m: Any, count: int) -> float:
    """Elastic energy of the contacts that a look has found."""
    c, energy = m.touch, 0.0
    for i in range(count):
        contact = c.found[i]
        number = law_between(c, contact)
        if number >= 0 and contact.gap < 0.0:
            apply_law(c, contact, number)
            energy += c.given[ENERGY]
    return energy


@jit
def _energy(m: Any, q: Any, rates: Any) -> float:
    """Elastic energy at some coordinates."""
    return _stored(m, _look(m, q, rates, 0.0))  # type: ignore[no-any-return]


@hot
def _push(m: Any, w: Any, body: int, sign: float, x: float, y: float, z: float, force: Any, torque: Any) -> None:
    """Adds a force at a point and a torque to the wrench on a body about its origin."""
    if body >= 0:
        add_wrench(m.touch, body, w[6 * body :], sign, x, y, z, force, torque)


@hot
def _point_of(m: Any, contact: Any) -> int:
    """The carrier of a contact that is a point; −1 where both turn."""
    if contact.body_a >= 0 and m.width[contact.body_a] < BODY:
        return contact.body_a  # type: ignore[no-any-return]
    if contact.body_b >= 0 and m.width[contact.body_b] < BODY:
        return contact.body_b  # type: ignore[no-any-return]
    return -1


@jit
def _point(m: Any, contact: Any, number: int, h: float) -> None:
    """Adds what one contact does to the wrenches; with a discrete gradient also the direction in which energy is made good."""
    c, discrete = m.touch, m.evaluation == ap.DISCRETE
    read, given = c.read, c.given
    _, x, y, z, _ = apply_law(c, contact, number)
    point = _point_of(m, contact)
    if point >= 0:  # forces act at the node, which takes no moments: so neither does what it touches, and angular momentum is exchanged
        place = c.moved[MOTION * point + 9 :]
        x, y, z = place[0], place[1], place[2]
    depth, rate = read[DEPTH], read[RATE]
    way = 0.5 * h * rate if discrete else 0.0
    start, end = depth - way, depth + way
    if start <= 0.0 and end <= 0.0:
        return
    whole, weight = given[NORMAL], 0.0
    torque = world_force(c, ABOUT, ACROSS)
    if discrete and m.stores[number] == 1:
        slide, turn = given[FRICTION], given[FRICTION + 1]
        read[RATE] = 0.0
        again(c, number)
        elastic = given[NORMAL]
        read[DEPTH] = start
        again(c, number)
        before = given[ENERGY]
        read[DEPTH] = end
        again(c, number)
        after = given[ENERGY]
        mean = (after - before) / (2.0 * way) if abs(way) > SHORT * max(abs(start), abs(end)) else elastic
        m.done -= mean * 2.0 * way
        m.pressed += mean
        weight = max(before, after)
        given[NORMAL], given[FRICTION], given[FRICTION + 1] = max(0.0, mean + whole - elastic), slide, turn
    force = world_force(c, NORMAL, FRICTION)
    _push(m, m.total, contact.body_a, 1.0, x, y, z, force, torque)
    _push(m, m.total, contact.body_b, -1.0, x, y, z, force, torque)
    if contact.body_a >= 0:
        m.active[contact.body_a] = 1
    if contact.body_b >= 0:
        m.active[contact.body_b] = 1
    if weight > 0.0:
        u, v, w, p, q, r = velocity_between(c, contact, x, y, z)
        arm, scale = 0.0 if point >= 0 else m.lever * m.lever, weight * h
        along, about = (scale * u, scale * v, scale * w), (scale * arm * p, scale * arm * q, scale * arm * r)
        _push(m, m.direction, contact.body_a, 1.0, x, y, z, along, about)
        _push(m, m.direction, contact.body_b, -1.0, x, y, z, along, about)
        m.weight += weight
        m.ways += weight * h * h * (u * u + v * v + w * w + arm * (p * p + q * q + r * r))


@jit
def _reach(m: Any, q0: Any, q1: Any, touching: bool) -> float:
    """Twice the way of points of bodies within the step, at most; of those that touch, or of all."""
    c, largest = m.touch, 0.0
    for b in range(c.poses.shape[0]):
        if touching and m.active[b] == 0:
            continue
        shift, turned, d, e = 0.0, 0.0, q0[m.first[b] :], q1[m.first[b] :]
        for i in range(3):
            shift += (e[i] - d[i]) * (e[i] - d[i])
        if m.width[b] == BODY:
            for i in range(3, BODY):
                turned += (e[i] - d[i]) * (e[i] - d[i])
        largest = max(largest, math.sqrt(shift) + c.size[b] * math.sqrt(turned))
    return 2.0 * largest


@jit
def _gather(m: Any, x: Any, q1: Any, reach: float, only: int, middle: Any, rates: Any) -> float:
    """Sums over contacts, of all bodies or of one (from 1), where the scheme evaluates forces; their elastic energy at q₁ where it is asked for."""
    c, h, n = m.touch, x[0], m.size
    q0, discrete, energy = x[SCALARS:], m.evaluation == ap.DISCRETE, 0.0
    theta = x[3] if m.evaluation == ap.END else 0.5
    for i in range(n):
        middle[i], rates[i] = q0[i] + theta * (q1[i] - q0[i]), (q1[i] - q0[i]) / h
        if m.evaluation == ap.END:
            rates[i] = x[SCALARS + 3 * n + i] + x[4] * (q1[i] - q0[i])
    c.scene.only = only
    if discrete:
        energy = _energy(m, q1, rates)
    m.weight, m.ways, m.done, m.pressed = 0.0, 0.0, 0.0, 0.0
    for i in range(m.total.size):
        m.total[i] = m.direction[i] = 0.0
    for b in range(m.active.size):
        m.active[b] = 0
    count = _look(m, middle, rates, reach)
    c.scene.only = 0
    for i in range(count):
        contact = c.found[i]
        number = law_between(c, contact)
        if number >= 0:
            _point(m, contact, number, h)
    return energy


@jit
def _make_good(m: Any, change: float) -> None:
    """Adds to the wrenches what their work lacks of the change of elastic energy."""
    if m.weight > 0.0:
        missing, way = -(change + m.done), math.sqrt(m.ways / m.weight)
        if way * m.pressed < FINE * m.weight:
            most = MOST * m.pressed * way
            missing = min(max(missing, -most), most)
        factor = missing / (m.ways + m.weight * STILL * STILL)
        for i in range(m.total.size):
            m.total[i] += factor * m.direction[i]


@jit
def _reached(m: Any, x: Any, q1: Any) -> float:
    """How far from touching contacts are looked for."""
    return _reach(m, x[SCALARS:], q1, False) if m.evaluation == ap.DISCRETE else 0.0  # type: ignore[no-any-return]


@jit
def _wrenches(m: Any, x: Any, q1: Any, start: float, middle: Any, rates: Any) -> None:
    """Wrenches on all bodies where the scheme evaluates forces; ``start`` is the elastic energy at q₀."""
    _make_good(m, _gather(m, x, q1, _reached(m, x, q1), 0, middle, rates) - start)


@hot
def _generalised(m: Any, factor: float, r: Any) -> None:
    """factor × the forces on origins and directors that the wrenches are."""
    for b in range(m.touch.poses.shape[0]):
        w, g, out = m.total[6 * b :], m.reciprocal[9 * b :], r[m.first[b] :]
        if m.width[b] < BODY:
            for i in range(m.width[b]):
                out[i] = factor * w[i] if i < 3 else 0.0
            continue
        for i in (0, 1, 2):
            out[i] = factor * w[i]
            x, y, z = g[3 * i], g[3 * i + 1], g[3 * i + 2]
            out[3 + 3 * i] = 0.5 * factor * (w[4] * z - w[5] * y)
            out[4 + 3 * i] = 0.5 * factor * (w[5] * x - w[3] * z)
            out[5 + 3 * i] = 0.5 * factor * (w[3] * y - w[4] * x)


@jit
def _keep(m: Any, kept: Any, sign: float) -> None:
    """kept + sign × the sums over contacts."""
    size = m.total.size
    for i in range(size):
        kept[i] += sign * m.total[i]
        kept[size + i] += sign * m.direction[i]
    kept[2 * size] += sign * m.weight
    kept[2 * size + 1] += sign * m.ways
    kept[2 * size + 2] += sign * m.done
    kept[2 * size + 3] += sign * m.pressed


@jit
def _join(m: Any, kept: Any) -> None:
    """Adds what was kept to the sums over contacts."""
    size = m.total.size
    for i in range(size):
        m.total[i] += kept[i]
        m.direction[i] += kept[size + i]
    m.weight, m.ways = max(0.0, m.weight + kept[2 * size]), max(0.0, m.ways + kept[2 * size + 1])
    m.done, m.pressed = m.done + kept[2 * size + 2], m.pressed + kept[2 * size + 3]


@jit
def _differences(m: Any, x: Any, start: float, q: Any, middle: Any, rates: Any, one: Any, K: Any) -> None:
    """∂r/∂q₁ by differences, for bodies that touch: where one moves, its own contacts are looked at alone, and those of the others stay as they were."""
    n, bodies = m.size, m.active.size
    q1, kappa, rest = x[SCALARS + n :], x[2], m.kept
    for i in range(n * n):
        K[i] = 0.0
    for i in range(n):
        q[i] = q1[i]
    reach = _reached(m, x, q1) + APART
    whole = _gather(m, x, q1, reach, 0, middle, rates)
    for i in range(rest.size):
        rest[i] = 0.0
    _keep(m, rest, 1.0)
    for b in range(bodies):
        m.marks[b] = m.active[b]
    for b in range(bodies):
        if m.marks[b] == 0:
            continue
        others = whole - start - _gather(m, x, q1, reach, b + 1, middle, rates)
        _keep(m, rest, -1.0)
        for j in range(m.first[b], m.first[b] + (BODY if m.width[b] == BODY else 3)):
            for side in (0, 1):
                q[j] = q1[j] + (APART if side == 0 else -APART)
                own = _gather(m, x, q, reach, b + 1, middle, rates)
                _join(m, rest)
                _make_good(m, others + own)
                _generalised(m, (-kappa if side == 0 else kappa) / (2.0 * APART), one)
                for i in range(n):
                    K[i * n + j] += one[i]
            q[j] = q1[j]
        _gather(m, x, q1, reach, b + 1, middle, rates)
        _keep(m, rest, 1.0)
    for b in range(bodies):
        m.active[b] = m.marks[b]


@jit
def _balanced(m: Any, x: Any, out: Any, entries: Any, w: Any, tangent: bool) -> None:
    """The residual −κ f and its derivative, by the unknowns of the element."""
    n, kappa = m.size, x[2]
    vectors = n // 3
    q0, q1 = x[SCALARS:], x[SCALARS + n :]
    r, q, middle, rates, one = w, w[n:], w[2 * n :], w[3 * n :], w[4 * n :]
    K, columns = w[5 * n :], w[5 * n + n * n :]
    _recall(m)
    theta = x[3] if m.evaluation == ap.END else 0.5
    for i in range(n):
        rates[i] = 0.0
    start = _energy(m, q0, rates) if m.evaluation == ap.DISCRETE else 0.0
    _wrenches(m, x, q1, start, middle, rates)
    _generalised(m, -kappa, r)
    if tangent:
        _differences(m, x, start, q, middle, rates, one, K)
    for i in range(n):
        middle[i] = q0[i] + theta * (q1[i] - q0[i])
    reduced_residual(3, vectors, m.bodies, m.projected, middle, r, out)
    if tangent:
        compressed(3, vectors, m.bodies, m.projected, m.unknowns, q1, K, columns)
        reduced_matrix(3, vectors, m.bodies, m.projected, m.unknowns, middle, q1, theta, r, columns, entries)


@kernel
def touch_residual(address: int) -> int:
    """The residual of all contacts."""
    given = Call.at(address)
    m = Held.at(given.medium)
    out = doubles(given.y, m.unknowns)
    _balanced(m, doubles(given.x, m.inputs), out, out, doubles(given.fourth, m.work), False)
    return 0


@kernel
def touch_tangent(address: int) -> int:
    """The residual and its derivative."""
    given = Call.at(address)
    m = Held.at(given.medium)
    out, entries = doubles(given.y, m.unknowns), doubles(given.third, m.unknowns * m.unknowns)
    _balanced(m, doubles(given.x, m.inputs), out, entries, doubles(given.fifth, m.work), True)
    return 0


@kernel
def touch_audit(address: int) -> int:
    """Elastic energy at the end of a step, and what the contacts took; 1 in the last place where bodies went through each other."""
    given = Call.at(address)
    m = Held.at(given.medium)
    x, y, w = doubles(given.x, m.inputs), doubles(given.y, ap.AUDIT_SIZE), doubles(given.fourth, m.work)
    c, h, n = m.touch, x[0], m.size
    q0, q1, middle, rates = x[SCALARS:], x[SCALARS + n :], w[2 * n :], w[3 * n :]
    for i in range(ap.AUDIT_SIZE):
        y[i] = 0.0
    _recall(m)
    for i in range(n):
        rates[i] = 0.0
    c.t_last = math.inf
    count = _look(m, q0, rates, 0.0)
    passed(c, 0.0, count)
    start = _stored(m, count)
    c.t_last = -math.inf
    count = _look(m, q1, rates, 0.0)
    if passed(c, 0.0, count) != 0:
        y[ap.ASTRAY] = 1.0
    y[1] = _stored(m, count)
    _wrenches(m, x, q1, start, middle, rates)
    if _reach(m, q0, q1, True) > 4.0 * c.reach:  # bodies in touch could leave on the other side
        y[ap.ASTRAY] = 1.0
    work = 0.0
    for b in range(c.poses.shape[0]):
        f, d, e, g = m.total[6 * b :], q0[m.first[b] :], q1[m.first[b] :], m.reciprocal[9 * b :]
        for i in (0, 1, 2):
            work += f[i] * (e[i] - d[i])
        for i in range(3 if m.width[b] == BODY else 0):
            a = 3 + 3 * i
            u, v, s = e[a] - d[a], e[a + 1] - d[a + 1], e[a + 2] - d[a + 2]
            work += 0.5 * f[3] * (g[3 * i + 1] * s - g[3 * i + 2] * v)
            work += 0.5 * f[4] * (g[3 * i + 2] * u - g[3 * i] * s)
            work += 0.5 * f[5] * (g[3 * i] * v - g[3 * i + 1] * u)
    y[3] = start - y[1] - work if h > 0.0 else 0.0
    return 0


class Points(Record):
    """What renews memories of points after a step: coordinates and rates of the run, where each body begins, the new values, and those that share their slots."""

    held: Held
    q: Floats
    v: Floats
    first: Integers
    new: Floats
    own: Floats
    #: whether slots of points before it are left as they are, with the numbers of those that are taken; and the next of these records
    shares: int
    taken: Integers
    after: int


@jit
def _renew(a: Any) -> int:
    m, c = a.held, a.held.touch
    _recall(m)
    n = m.size
    for b in range(a.first.size):
        for i in range(m.width[b]):
            a.own[m.first[b] + i], a.own[n + m.first[b] + i] = a.q[a.first[b] + i], a.v[a.first[b] + i]
    count = _look(m, a.own, a.own[n:], c.near)
    if a.shares == 0:
        return renew_found(c, count, a.new)  # type: ignore[no-any-return]
    for k in range(c.used.size):
        c.used[k] = a.taken[k]
    return renew_more(c, count, a.new)  # type: ignore[no-any-return]


@kernel
def renew_points(address: int) -> int:
    """Memories of points after an accepted step, among the new values."""
    while address != 0:
        a = Points.at(address)
        status = _renew(a)
        if status != 0:
            return status
        address = a.after
        if address != 0:
            following = Points.at(address)
            for k in range(following.taken.size):
                following.taken[k] = a.held.touch.used[k]
    return 0
