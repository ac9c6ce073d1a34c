"""Contacts of a tree as rows of velocities: poses of the links, the search, mass matrices by parts, and forces spread over the joints."""

from __future__ import annotations

import math
from typing import Any

from ....native.call import address as at
from ....native.call import call, doubles
from ....native.kernel import hot, jit, kernel
from ....native.record import Address, Floats, Integers, Matrix, Record, Table
from ....solvers.collision.flush import is_flush
from ....solvers.collision.records import Contact, World
from ....solvers.collision.search import collide
from ....solvers.linear.inwards import factor_inwards
from ....solvers.nonsmooth.contact_set import DRY, NOBODY, ROLL, SINGLE, SPIN, TOUCH, Closures, ContactSet, Parts, prepare_closures
from ....solvers.nonsmooth.records import NO_ROOM
from ....solvers.ode.rotation import nearest_rotation
from ....solvers.penalty.touch import axes_of
from ..link_sweeps import COLUMN, NUMBERS, Hook, Pointers, _start, _sweep
from .loose_bodies import loose_factor
from .passing import GRAZING, TOO_FAST, find_passed
from .shares import force_row, part_of_body

#: What is returned where a part of the velocities feels no inertia.
NO_INERTIA = -78
#: Where the numbers of stops begin among those of shapes.
STOPS = 1 << 40
#: Where those of ropes, of dry friction in joints and of couples against rolling and spinning begin.
ROPES, DRY_JOINTS, COUPLES = 1 << 41, 1 << 42, 1 << 43
#: What is returned where constraints depend on each other.
DEPENDENT = -79


class Framed(Record):
    """Bodies by compiled functions of (t, x)."""

    poses: Hook
    pose: Floats
    motion: Hook
    J: Floats
    drift: Floats
    M: Floats
    part: Integers
    #: of bodies that bend, nv × nv: M + ½h C + ¼h² K is the mass of implicit steps
    K: Floats
    C: Floats
    #: whether coordinates are those of an absolute formulation: rotation matrices may be off by a little, and masses be without rows of their own
    absolute: int


class TreeContacts(Record):
    """Arguments of :func:`contact_rows`: an :class:`~jourdain.solvers.nonsmooth.records.Asked`, the tree, the scene, and the laws by groups of shapes."""

    t: Address
    x: Address
    start: Address
    moved: float
    h: float
    motion: Hook
    prescribed: Floats
    poses: Pointers
    poses_function: Address
    link_poses: Matrix
    mass: Pointers
    spread: Integers  # of each sort of link, drives as if they were free
    scene: World
    body_link: Integers
    loose: Integers  # whether nothing holds the body
    body_place: Matrix
    body_poses: Matrix
    body_before: Matrix
    body_size: Floats
    slack: float
    #: up to what difference of height faces of two shapes are one, and bodies rest on each other, however far contacts are looked for
    level: float
    found: Table[Contact]
    #: How far bodies may move before whom they pass is looked for; contacts, poses on the way, whether rows of ``found`` were met there, and their order.
    thin: float
    early: Table[Contact]
    between: Matrix
    carried: Integers
    order: Integers
    source: Integers  # the given shape of each shape of the scene
    group: Integers
    groups: int
    law_of: Integers
    #: ends of joints: position, velocity, direction that is open (±1), where, and the law
    stop_q: Integers
    stop_v: Integers
    stop_sign: Floats
    stop_bound: Floats
    stop_law: Integers
    stop_place: Integers  # where the force of a stop is booked in the state
    #: dry friction in joints: velocity, law, and where its force is booked
    dry_v: Integers
    dry_law: Integers
    dry_place: Integers
    #: ropes: bodies (−1: the ground), points on them, length, law, and where the tension is booked
    rope_body: Integers
    rope_point: Floats
    rope_length: Floats
    rope_law: Integers
    rope_place: Integers
    #: friction by direction: of each pair of groups which of the two bodies has the direction (0: none, 1 or 2), and the direction by law
    grain: Integers
    grain_axis: Floats
    #: lever arms by law: whether there is a couple against rolling, and against spinning
    rolls: Integers
    spins: Integers
    booked: Integers  # where forces of a law on a body are booked: laws × bodies
    parts: Parts
    #: The descriptor's J (all velocities) at (t, x), and which of its rows hold.
    descriptor: Hook
    constraint_jacobian: Floats
    holding: Integers
    closures: Closures
    contacts: ContactSet
    wrench: Floats
    ends: Floats  # the places of a contact on both its bodies
    #: Where links have no loops over them: compiled poses, and J (six rows a body), the velocities of drives and M; the part of each body.
    framed: Framed


@jit
def _body_poses(c: Any, x: int, out: Any) -> int:
    """Poses of all bodies with shapes at a state."""
    if c.framed.motion.function != 0:
        hook = c.framed.poses
        hook.args[0], hook.args[1] = c.t, x
        failed = call(hook.function, hook.args)
        for b in range(out.shape[0]):
            for i in range(12):
                out[b, i] = c.framed.pose[12 * b + i]
            if c.framed.absolute == 1:
                nearest_rotation(out[b])
        return failed
    p = c.poses
    p.q = x
    status = call(c.poses_function, p)
    for b in range(out.shape[0]):
        R, place, pose = c.link_poses[c.body_link[b]], c.body_place[b], out[b]
        for i in (0, 1, 2):
            for j in (0, 1, 2):
                pose[3 * i + j] = R[3 * i] * place[j] + R[3 * i + 1] * place[3 + j] + R[3 * i + 2] * place[6 + j]
            pose[9 + i] = R[9 + i] + R[3 * i] * place[9] + R[3 * i + 1] * place[10] + R[3 * i + 2] * place[11]
    return status


@jit
def _largest_motion(c: Any) -> float:
    """How far points of bodies have moved since the step began, at most."""
    largest = 0.0
    for b in range(c.body_poses.shape[0]):
        new, old = c.body_poses[b], c.body_before[b]
        shift, turned = 0.0, 0.0
        for i in range(9):
            turned += (new[i] - old[i]) * (new[i] - old[i])
        for i in range(9, 12):
            shift += (new[i] - old[i]) * (new[i] - old[i])
        largest = max(largest, math.sqrt(shift) + c.body_size[b] * math.sqrt(0.5 * turned))
    return largest


@jit
def _part_masses(c: Any) -> int:
    """Mass matrices of all parts by composite bodies, factorised, or factors of their inverses for bodies that nothing holds; the rows of links stay for
    :func:`_spread_force`."""
    p, parts = c.mass, c.parts
    p.q = c.x
    _start(p)
    _sweep(p, 0, 0, 0, False)
    _sweep(p, 1, 0, 0, False)
    program, step, shares = p.program, p.work.step, p.work.shares
    links, sort, rows, row = program.links, program.sort, p.work.rows, program.row
    dust, zeros, M = at(p.work.dust), at(p.work.zeros), parts.M
    step.new = at(shares)
    for i in range(M.size):
        M[i] = 0.0
    for place in range(program.held.size):
        i = program.held[place]
        own = links[i]
        if own.v < 0:
            continue
        part = parts.part_of[own.v]
        first, n = parts.masses[part], parts.first[part + 1] - parts.first[part]
        columns, freedoms = rows[row * (i + 1) + COLUMN :], own.velocities
        for j in range(freedoms):
            column, carried, k = parts.place_of[own.v + j], at(columns) + 48 * j, own.parent
            M[first + column * n + column] += own.rotor
            for l in range(freedoms):
                M[first + parts.place_of[own.v + l] * n + column] += columns[freedoms * (6 + j) + l]
            while k >= 0:
                # the wrench moves to and fro between two places, since a step must not overwrite what it reads
                to = dust if carried != dust else zeros
                link = links[k]
                step.numbers = at(link) + 8 * NUMBERS
                step.own, step.wrench, step.parent_out = at(rows) + 8 * row * (k + 1), carried, to
                call(c.spread[sort[k]], step)
                for l in range(0 if link.v < 0 else link.velocities):
                    other = parts.place_of[link.v + l]
                    M[first + other * n + column] += shares[l]
                    M[first + column * n + other] += shares[l]
                k, carried = link.parent, to
    q = doubles(c.x, program.header.nq)
    for k in range(program.loose.size):
        link = links[program.loose[k]]
        if not loose_factor(link, q[link.q - 3 :], M[parts.masses[parts.part_of[link.v]] :]):
            return NO_INERTIA
    for part in range(parts.first.size - 1):
        if parts.inverse[part] == 0 and factor_inwards(M[parts.masses[part] :], parts.first[part + 1] - parts.first[part]) != 0:
            return NO_INERTIA
    return 0


@hot
def _add_constraints(closures: Any, part: int, M: Any, n: int) -> None:
    """M + σ JᵀJ over the constraints of a part, which moves that keep these do not feel: coordinates without mass have one then."""
    J, largest = closures.J[closures.place[part] :], 0.0
    for i in range(n):
        largest = max(largest, M[i * n + i])
    if largest == 0.0:  # of coordinates that have no mass at all
        largest = 1.0
    for r in range(closures.first[part + 1] - closures.first[part]):
        square = 0.0
        for i in range(n):
            square += J[r * n + i] * J[r * n + i]
        for i in range(n):
            for j in range(0 if J[r * n + i] == 0.0 or square == 0.0 else n):
                M[i * n + j] += largest / square * J[r * n + i] * J[r * n + j]


@jit
def _framed_masses(c: Any) -> int:
    """The same from the compiled mass matrix."""
    parts, f, nv = c.parts, c.framed, c.parts.part_of.size
    f.motion.args[0], f.motion.args[1] = c.t, c.x
    status = call(f.motion.function, f.motion.args)
    if status != 0:
        return status  # type: ignore[no-any-return]
    for part in range(parts.first.size - 1):
        first, n, M = parts.first[part], parts.first[part + 1] - parts.first[part], parts.M[parts.masses[part] :]
        for i in range(n):
            for j in range(n):
                at_ = parts.member[first + i] * nv + parts.member[first + j]
                M[i * n + j] = f.M[at_] + 0.5 * c.h * f.C[at_] + 0.25 * c.h * c.h * f.K[at_]
        if f.absolute == 1 and c.closures.rows > 0:
            _add_constraints(c.closures, part, M, n)
        if factor_inwards(M, n) != 0:
            return NO_INERTIA
    return 0


@jit
def _closures(c: Any) -> int:
    """The constraints at the state, as far as they are independent."""
    closures, parts = c.closures, c.parts
    if closures.rows == 0:
        return 0
    c.descriptor.args[0], c.descriptor.args[1] = c.t, c.x
    status = call(c.descriptor.function, c.descriptor.args)
    nv = parts.part_of.size
    for part in range(parts.first.size - 1):
        first, place = parts.first[part], closures.place[part]
        n = parts.first[part + 1] - first
        for i in range(closures.first[part], closures.first[part + 1]):
            for k in range(n):
                closures.J[place + k] = c.constraint_jacobian[c.holding[i] * nv + parts.member[first + k]]
            place += n
    return status  # type: ignore[no-any-return]


@jit
def _turn_tangents(c: Any, contact: Any, law: int, axes: Any) -> None:
    """Puts the first tangent along the direction in which friction differs, as the body that has it stands."""
    grain = c.grain[c.group[c.source[contact.shape_a]] * c.groups + c.group[c.source[contact.shape_b]]]
    if grain == 0:
        return
    body, d = contact.body_a if grain == 1 else contact.body_b, c.grain_axis[3 * law :]
    x, y, z = d[0], d[1], d[2]
    if body >= 0:
        R = c.body_poses[body]
        x, y, z = R[0] * x + R[1] * y + R[2] * z, R[3] * x + R[4] * y + R[5] * z, R[6] * x + R[7] * y + R[8] * z
    along = x * axes[0] + y * axes[1] + z * axes[2]
    x, y, z = x - along * axes[0], y - along * axes[1], z - along * axes[2]
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-9:  # it stands on the surface: any tangent is as good
        return
    x, y, z = x / length, y / length, z / length
    axes[3], axes[4], axes[5] = x, y, z
    axes[6], axes[7], axes[8] = axes[1] * z - axes[2] * y, axes[2] * x - axes[0] * z, axes[0] * y - axes[1] * x


@jit
def _begin(c: Any, law: int, sort: int, gap: float) -> int:
    """A place for one contact more; its number."""
    s, k = c.contacts, c.contacts.count
    s.law[k], s.gap[k], s.sort[k], s.parent[k] = law, gap, sort, -1
    for j in (0, 1, 2):
        s.point[3 * k + j] = s.drift[3 * k + j] = s.arm[6 * k + j] = s.arm[6 * k + 3 + j] = 0.0
    s.count = k + 1
    return k  # type: ignore[no-any-return]


@jit
def _clear_rows(c: Any, k: int) -> None:
    """Rows of zeros."""
    stride = c.parts.stride
    for j in range(6 * stride * k, 6 * stride * (k + 1)):
        c.contacts.J[j] = 0.0


@jit
def _join(c: Any, k: int, body_a: int, body_b: int) -> None:
    """The parts of a contact's two bodies."""
    s = c.contacts
    a, b = part_of_body(c, body_a), part_of_body(c, body_b)
    s.part[2 * k], s.part[2 * k + 1] = a, NOBODY if b == a else b


@jit
def _row(c: Any, k: int, row: int, body_a: int, point_a: Any, body_b: int, point_b: Any, turns: bool) -> None:
    """A row of J: the relative velocity of two points, or (``turns``) the relative rate of turning, along one of the axes."""
    s, stride, drift = c.contacts, c.parts.stride, 0.0
    axes, first = s.axes[9 * k :], 6 * k + 2 * row
    second = 1 if part_of_body(c, body_b) != s.part[2 * k] else 0
    if body_a >= 0:
        drift += force_row(c, body_a, point_a, axes, row, 1.0, turns, s.J[first * stride :])
    if body_b >= 0:
        drift += force_row(c, body_b, point_b, axes, row, -1.0, turns, s.J[(first + second) * stride :])
    s.drift[3 * k + row] = drift


@hot
def _all_loose(c: Any, body_a: int, body_b: int) -> bool:
    """Whether nothing holds what a contact moves."""
    return (
        c.parts.stride == 6
        and c.framed.motion.function == 0
        and (body_a < 0 or c.loose[body_a] != 0)
        and (body_b < 0 or c.loose[body_b] != 0)
    )


@hot
def _loose_rows(c: Any, k: int, body_a: int, body_b: int) -> None:
    """The three rows of J for bodies that nothing holds; places of the ground are not read."""
    s, J = c.contacts, c.contacts.J
    axes = s.axes[9 * k :]
    for side in (0, 1):
        body, sign = (body_a, 1.0) if side == 0 else (body_b, -1.0)
        if body >= 0:
            R, to, point = c.link_poses[c.body_link[body]], 36 * k + 6 * side, c.ends[3 * side :]
            dx, dy, dz = point[0] - R[9], point[1] - R[10], point[2] - R[11]
            for row in (0, 1, 2):
                x, y, z = sign * axes[3 * row], sign * axes[3 * row + 1], sign * axes[3 * row + 2]
                mx, my, mz = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
                J[to], J[to + 1], J[to + 2] = x, y, z
                J[to + 3], J[to + 4] = R[0] * mx + R[3] * my + R[6] * mz, R[1] * mx + R[4] * my + R[7] * mz
                J[to + 5] = R[2] * mx + R[5] * my + R[8] * mz
                to += 12


@jit
def _points(c: Any, contact: Any, first: Any, second: Any) -> None:
    """Where a contact is on both its bodies: in the middle between their surfaces; on the surface of each where they are far from it in the middle of the step."""
    if c.moved > c.thin:
        first[0], first[1], first[2] = contact.ax, contact.ay, contact.az
        second[0], second[1], second[2] = contact.bx, contact.by, contact.bz
    else:
        first[0], first[1], first[2] = (0.5 * (contact.ax + contact.bx), 0.5 * (contact.ay + contact.by), 0.5 * (contact.az + contact.bz))
        second[0], second[1], second[2] = first[0], first[1], first[2]


@jit
def _slides_on(c: Any, contact: Any) -> bool:
    """Whether what closes, by the way that its bodies have come, is an edge beyond which a face goes on at the same height."""
    way, tolerance = 0.0, c.level
    for side in (0, 1):
        body, sign = (contact.body_a, -1.0) if side == 0 else (contact.body_b, 1.0)
        if body >= 0:
            new, old = c.body_poses[body], c.body_before[body]
            along = (new[9] - old[9]) * contact.nx + (new[10] - old[10]) * contact.ny + (new[11] - old[11]) * contact.nz
            way += sign * along
    closes = c.moved == 0.0 or (way > GRAZING * tolerance and contact.gap < 4.0 * way)
    return closes and not c.moved > c.thin and is_flush(c.scene, contact, tolerance)  # type: ignore[no-any-return]


@jit
def _write(c: Any, contact: Any, law: int) -> None:
    """One contact more: its place, laws and rows of J."""
    s, k = c.contacts, _begin(c, law, TOUCH, contact.gap)
    axes, first, second = s.axes[9 * k :], c.ends, c.ends[3:]
    axes_of(contact, axes)
    _turn_tangents(c, contact, law, axes)
    _points(c, contact, first, second)
    for i in (0, 1, 2):
        s.point[3 * k + i] = first[i] if contact.body_a >= 0 else second[i]
        s.arm[6 * k + i] = 0.0 if contact.body_a < 0 else first[i] - c.body_poses[contact.body_a, 9 + i]
        s.arm[6 * k + 3 + i] = 0.0 if contact.body_b < 0 else second[i] - c.body_poses[contact.body_b, 9 + i]
    s.key[3 * k], s.key[3 * k + 1], s.key[3 * k + 2] = contact.shape_a, contact.shape_b, contact.feature
    _join(c, k, contact.body_a, contact.body_b)
    bodies = c.body_poses.shape[0]
    s.place[2 * k] = -1 if contact.body_a < 0 else c.booked[law * bodies + contact.body_a]
    s.place[2 * k + 1] = -1 if contact.body_b < 0 else c.booked[law * bodies + contact.body_b]
    if _all_loose(c, contact.body_a, contact.body_b):
        _loose_rows(c, k, contact.body_a, contact.body_b)
        return
    _clear_rows(c, k)
    for row in (0, 1, 2):
        _row(c, k, row, contact.body_a, first, contact.body_b, second, False)


@jit
def _write_couple(c: Any, contact: Any, parent: int, sort: int) -> None:
    """What brakes the rolling or the spinning of a contact: rates of turning about its axes."""
    s = c.contacts
    k = _begin(c, s.law[parent], sort, s.gap[parent])
    s.parent[k] = parent
    for j in range(9):
        s.axes[9 * k + j] = s.axes[9 * parent + j]
    point = s.point[3 * k :]
    for j in (0, 1, 2):
        point[j] = s.point[3 * parent + j]
    for j in (0, 1):
        s.place[2 * k + j] = s.place[2 * parent + j]
    s.key[3 * k], s.key[3 * k + 1] = COUPLES + s.key[3 * parent], s.key[3 * parent + 1]
    s.key[3 * k + 2] = 2 * s.key[3 * parent + 2] + (1 if sort == SPIN else 0)
    _join(c, k, contact.body_a, contact.body_b)
    _clear_rows(c, k)
    if sort == SPIN:
        _row(c, k, 0, contact.body_a, point, contact.body_b, point, True)
    else:
        for row in (1, 2):
            _row(c, k, row, contact.body_a, point, contact.body_b, point, True)


@jit
def _rope_end(c: Any, i: int, side: int, out: Any) -> int:
    """The place of one end of a rope, and its body."""
    body, local = c.rope_body[2 * i + side], c.rope_point[6 * i + 3 * side :]
    for j in (0, 1, 2):
        out[j] = local[j]
        if body >= 0:
            R = c.body_poses[body]
            out[j] = R[9 + j] + R[3 * j] * local[0] + R[3 * j + 1] * local[1] + R[3 * j + 2] * local[2]
    return body  # type: ignore[no-any-return]


@jit
def _write_rope(c: Any, i: int) -> None:
    """A rope: what is left of its length, and the speed at which it grows slack; the first of its axes points from the first end to the second."""
    s, k = c.contacts, _begin(c, c.rope_law[i], SINGLE, 0.0)
    first, second, axes = s.point[3 * k :], c.wrench[6:], s.axes[9 * k :]
    a, b = _rope_end(c, i, 0, first), _rope_end(c, i, 1, second)
    x, y, z = second[0] - first[0], second[1] - first[1], second[2] - first[2]
    length = math.sqrt(x * x + y * y + z * z)
    s.gap[k] = c.rope_length[i] - length
    for j in range(9):
        axes[j] = 0.0
    axes[0], axes[1], axes[2] = (x / length, y / length, z / length) if length > 0.0 else (0.0, 0.0, 1.0)
    s.key[3 * k], s.key[3 * k + 1], s.key[3 * k + 2] = ROPES + 2 * i, ROPES + 2 * i + 1, 0
    s.place[2 * k], s.place[2 * k + 1] = c.rope_place[i], -1
    _join(c, k, a, b)
    _clear_rows(c, k)
    _row(c, k, 0, a, first, b, second, False)


@jit
def _write_joint(c: Any, v: int, law: int, sort: int, place: int, key: int, gap: float, sign: float) -> None:
    """A row of one velocity of a joint as a contact without tangents; its impulse is a generalised one."""
    s, parts, k = c.contacts, c.parts, _begin(c, law, sort, gap)
    s.part[2 * k], s.part[2 * k + 1] = parts.part_of[v], NOBODY
    s.place[2 * k], s.place[2 * k + 1] = place, -1
    s.key[3 * k], s.key[3 * k + 1], s.key[3 * k + 2] = key, key, 0
    for j in range(9):
        s.axes[9 * k + j] = 1.0 if j % 4 == 0 else 0.0
    _clear_rows(c, k)
    s.J[6 * parts.stride * k + parts.place_of[v]] = sign


@jit
def _write_stop(c: Any, i: int) -> None:
    """The end of a joint's way."""
    sign, q = c.stop_sign[i], doubles(c.x, c.stop_q[i] + 1)
    gap = sign * (q[c.stop_q[i]] - c.stop_bound[i])
    _write_joint(c, c.stop_v[i], c.stop_law[i], SINGLE, c.stop_place[i], STOPS + i, gap, sign)


@jit
def _write_dry(c: Any, i: int) -> None:
    """Dry friction in a joint."""
    _write_joint(c, c.dry_v[i], c.dry_law[i], DRY, c.dry_place[i], DRY_JOINTS + i, 0.0, 1.0)


@kernel
def contact_rows(address: int) -> int:
    """The contacts in the middle of a step: those whose gaps may close within it."""
    c = TreeContacts.at(address)
    motion, s = c.motion, c.contacts
    if motion.function != 0:
        motion.args[0], motion.args[1] = c.t, at(c.prescribed)
        call(motion.function, motion.args)
    _body_poses(c, c.start, c.body_before)
    status = _body_poses(c, c.x, c.body_poses)
    if status != 0:
        return status
    c.moved = _largest_motion(c)
    found = collide(c.scene, c.body_poses, 4.0 * c.moved + c.slack, c.found)
    s.count = 0
    if found >= 0:
        found = find_passed(c, found)
    if found < 0:
        return found if found == TOO_FAST else NO_ROOM
    status = _closures(c)
    if status == 0:
        status = _framed_masses(c) if c.framed.motion.function != 0 else _part_masses(c)
    if status != 0:
        return status
    if s.room < found + c.stop_q.size + c.rope_law.size + c.dry_v.size:
        return NO_ROOM
    if prepare_closures(c.closures, c.parts) != 0:
        return DEPENDENT
    for i in range(found):
        contact = c.found[c.order[i]]
        law = c.law_of[c.group[c.source[contact.shape_a]] * c.groups + c.group[c.source[contact.shape_b]]]
        if law >= 0 and not _slides_on(c, contact):
            _write(c, contact, law)
    touching = s.count
    for i in range(c.stop_q.size):
        _write_stop(c, i)
    for i in range(c.rope_law.size):
        _write_rope(c, i)
    for i in range(c.dry_v.size):
        _write_dry(c, i)
    return _couples(c, found, touching)


@jit
def _couples(c: Any, found: int, touching: int) -> int:
    """What brakes rolling and spinning, behind all others."""
    s, k = c.contacts, 0
    for i in range(found):
        contact = c.found[c.order[i]]
        if k >= touching or s.key[3 * k] != contact.shape_a or s.key[3 * k + 1] != contact.shape_b or s.key[3 * k + 2] != contact.feature:
            continue  # it has no law
        law, k = s.law[k], k + 1
        if s.count + 2 > s.room and (c.rolls[law] != 0 or c.spins[law] != 0):
            return NO_ROOM
        if c.rolls[law] != 0:
            _write_couple(c, contact, k - 1, ROLL)
        if c.spins[law] != 0:
            _write_couple(c, contact, k - 1, SPIN)
    return 0


__all__ = ["COUPLES", "DEPENDENT", "DRY_JOINTS", "NO_INERTIA", "ROPES", "STOPS", "Framed", "TreeContacts", "contact_rows"]
