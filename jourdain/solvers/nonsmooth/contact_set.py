"""The contacts of an instant as rows of velocities: u = J v + d, and W = J M⁻¹ Jᵀ by blocks.

Coordinates fall into *parts* that no inertia and no constraint couples: every free body is one, a robot is one.  A contact moves two of them at
most, so that its rows of J and of M⁻¹Jᵀ are short, and two contacts meet in W only where they share a part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Record
from ..complementarity.operator import dot6
from ..complementarity.problem import BlockSparse
from ..linear.dense import cholesky, cholesky_solve
from ..linear.inwards import solve_inwards, to_root_three, to_tips
from .halfway import body_halfway

#: No part: that side of a contact is the ground, or moves the part of the other side.
NOBODY = -1
#: Sorts of contacts: forces between surfaces; one force by a number (ends of joints, ropes); and what only brakes, up to a bound that is not its own normal
#: impulse: dry friction in a joint (row 0), and couples against rolling (rows 1 and 2) and spinning (row 0) up to lever arms times that of their ``parent``.
TOUCH, SINGLE, DRY, ROLL, SPIN = range(5)


class Parts(Record):
    """Parts of the velocities: those of part c are ``member[first[c] : first[c + 1]]``; at ``masses[c]`` of M begin the factors of its mass matrix from the
    tips inwards (:mod:`..linear.inwards`), or, for a single body that nothing holds (``inverse[c]``), B with M⁻¹ = B Bᵀ: over the first three velocities it is a number times 1."""

    first: Integers
    member: Integers
    part_of: Integers
    place_of: Integers
    masses: Integers
    inverse: Integers
    M: Floats
    stride: int  # velocities of the largest part, at least those of a body


class Closures(Record):
    """Constraints J_c v = …, ``rows`` in all, each within one part: those of part c are ``first[c] … first[c + 1]``; J_c and Z = M⁻¹J_cᵀ begin at
    ``place[c]``, the factors of S = J_c Z at ``square[c]``."""

    rows: int
    first: Integers
    place: Integers
    square: Integers
    J: Floats
    Z: Floats
    S: Floats
    right: Floats


class ContactSet(Record):
    """Contacts that may act in a step, at most ``room``; rows of a contact are its normal and two tangents."""

    room: int
    count: int
    law: Integers
    sort: Integers
    parent: Integers  # the contact whose couple it is, −1: none
    gap: Floats
    part: Integers  # two a contact
    J: Floats  # row by row, stride numbers for each of two parts
    Y: Floats  # M⁻¹Jᵀ in the same places, or half the way to it (:mod:`.halfway`)
    #: numbers of each side's rows of Y up to the last that is not 0, where they are half the way; and room for Y p
    top: Integers
    pushed: Floats
    drift: Floats  # d, three a contact
    axes: Floats  # normal and tangents in the world's axes, nine a contact
    point: Floats  # three a contact
    arm: Floats  # from the origins of its two bodies to the point, in the world's axes, six a contact
    place: Integers  # where the wrenches on the two bodies are booked in the state (−1: nowhere)
    #: shapes and feature of each contact, and of those of the step before with their impulses in the world's axes
    key: Integers
    old_count: int
    old_key: Integers
    old_impulse: Floats
    #: J v at the end of the step before, with its own rows; and what J̇ v adds to velocities from the middle of a step to its end
    old_speed: Floats
    turning: Floats
    speed: Floats  # J v + d at the start of the step, three a contact
    #: work space: contacts by part, and which of them a row of W has met
    start: Integers
    listed: Integers
    met: Integers
    met_at: Integers


@hot
def _place(s: Any, stride: int, k: int, side: int, row: int) -> int:
    """Where row ``row`` of contact k begins for one of its parts."""
    return (6 * k + 2 * row + side) * stride


@hot
def _part_velocity(s: Any, parts: Any, c: int, at: int, v: Any) -> float:
    """A row of J over the velocities of one part."""
    first = parts.first[c]
    n, k = parts.first[c + 1] - first, parts.member[first]
    if n == 6 and parts.member[first + 5] == k + 5:  # members are in order: these are side by side
        return dot6(s.J, at, v, k)  # type: ignore[no-any-return]
    total = 0.0
    for i in range(n):
        total += s.J[at + i] * v[parts.member[first + i]]
    return total


@jit
def contact_velocity(s: Any, parts: Any, k: int, row: int, v: Any) -> float:
    """A row of J v + d."""
    total, at = s.drift[3 * k + row], _place(s, parts.stride, k, 0, row)
    if s.part[2 * k] >= 0:
        total += _part_velocity(s, parts, s.part[2 * k], at, v)
    if s.part[2 * k + 1] >= 0:
        total += _part_velocity(s, parts, s.part[2 * k + 1], at + parts.stride, v)
    return total  # type: ignore[no-any-return]


@jit
def contact_velocities(s: Any, parts: Any, k: int, v: Any, out: Any) -> None:
    """The three rows of J v + d of a contact, to their places in ``out``."""
    stride, x, y, z = parts.stride, s.drift[3 * k], s.drift[3 * k + 1], s.drift[3 * k + 2]
    for side in (0, 1):
        c, i = s.part[2 * k + side], _place(s, parts.stride, k, side, 0)
        if c >= 0:
            x += _part_velocity(s, parts, c, i, v)
            y += _part_velocity(s, parts, c, i + 2 * stride, v)
            z += _part_velocity(s, parts, c, i + 4 * stride, v)
    out[3 * k], out[3 * k + 1], out[3 * k + 2] = x, y, z


@jit
def push(s: Any, parts: Any, k: int, row: int, impulse: float, v: Any) -> None:
    """v += M⁻¹Jᵀ p for one row."""
    for side in (0, 1):
        c = s.part[2 * k + side]
        if c >= 0:
            at, first = _place(s, parts.stride, k, side, row), parts.first[c]
            for i in range(parts.first[c + 1] - first):
                v[parts.member[first + i]] += s.Y[at + i] * impulse


@jit
def book_wrench(s: Any, k: int, row: int, force: float, out: Any, shift: int) -> None:
    """Adds the force of one row to the wrenches (force, torque about the origin) on both bodies, which are booked at ``place − shift`` of ``out``."""
    sort = s.sort[k]
    for side in (0, 1):
        if s.place[2 * k + side] >= 0:
            f = (1.0 - 2.0 * side) * force
            x, y, z = f * s.axes[9 * k + 3 * row], f * s.axes[9 * k + 3 * row + 1], f * s.axes[9 * k + 3 * row + 2]
            arm, w = s.arm[6 * k + 3 * side :], out[s.place[2 * k + side] - shift :]
            if sort == ROLL or sort == SPIN:  # noqa: SIM109  (kernels have no "in")
                w[3] += x
                w[4] += y
                w[5] += z
                continue
            if sort != TOUCH:
                w[0] += f if row == 0 else 0.0
                continue
            w[0] += x
            w[1] += y
            w[2] += z
            w[3] += arm[1] * z - arm[2] * y
            w[4] += arm[2] * x - arm[0] * z
            w[5] += arm[0] * y - arm[1] * x


@jit
def keep(s: Any, stride: int, k: int, to: int) -> None:
    """Moves contact k to an earlier place."""
    if k == to:
        return
    s.law[to], s.gap[to], s.sort[to], s.parent[to] = s.law[k], s.gap[k], s.sort[k], s.parent[k]
    for i in (0, 1):
        s.part[2 * to + i], s.place[2 * to + i] = s.part[2 * k + i], s.place[2 * k + i]
    for i in (0, 1, 2):
        s.drift[3 * to + i], s.point[3 * to + i], s.key[3 * to + i] = s.drift[3 * k + i], s.point[3 * k + i], s.key[3 * k + i]
        s.turning[3 * to + i], s.speed[3 * to + i] = s.turning[3 * k + i], s.speed[3 * k + i]
    for i in range(9):
        s.axes[9 * to + i] = s.axes[9 * k + i]
    for i in range(6):
        s.arm[6 * to + i] = s.arm[6 * k + i]
    for i in range(6 * stride):
        s.J[6 * stride * to + i] = s.J[6 * stride * k + i]


@jit
def prepare_closures(closures: Any, parts: Any) -> int:
    """Z and the factors of S from J_c; M holds its Cholesky factors.  Not 0 where constraints depend on each other."""
    for c in range(0 if closures.rows == 0 else parts.first.size - 1):
        m, n = closures.first[c + 1] - closures.first[c], parts.first[c + 1] - parts.first[c]
        if m == 0:
            continue
        J, Z, S = closures.J[closures.place[c] :], closures.Z[closures.place[c] :], closures.S[closures.square[c] :]
        for i in range(m * n):
            Z[i] = J[i]
        for i in range(m):
            solve_inwards(parts.M[parts.masses[c] :], n, Z[i * n :])
            for j in range(i + 1):
                total = 0.0
                for k in range(n):
                    total += J[j * n + k] * Z[i * n + k]
                S[i * m + j] = S[j * m + i] = total
        if cholesky(S, m) != 0:
            return 1
    return 0


@jit
def _close(closures: Any, c: int, n: int, y: Any) -> None:
    """Takes from velocities of a part what its constraints do not allow, in the metric of M."""
    m, right = closures.first[c + 1] - closures.first[c], closures.right
    J, Z = closures.J[closures.place[c] :], closures.Z[closures.place[c] :]
    for i in range(m):
        total = 0.0
        for k in range(n):
            total += J[i * n + k] * y[k]
        right[i] = total
    cholesky_solve(closures.S[closures.square[c] :], m, right)
    for i in range(m):
        for k in range(n):
            y[k] -= Z[i * n + k] * right[i]


@jit
def respond(s: Any, parts: Any, closures: Any) -> None:
    """Y = M⁻¹Jᵀ for all contacts, along the constraints."""
    for k in range(s.count):
        for side in (0, 1):
            c = s.part[2 * k + side]
            if c < 0:
                continue
            n, at = parts.first[c + 1] - parts.first[c], _place(s, parts.stride, k, side, 0)
            if parts.inverse[c] != 0:
                for row in (0, 1, 2):
                    _respond_loose(parts.M[parts.masses[c] :], s.J, at + 2 * parts.stride * row, s.Y)
                continue
            x, y, z = s.Y[at:], s.Y[at + 2 * parts.stride :], s.Y[at + 4 * parts.stride :]
            for i in range(n):
                x[i], y[i], z[i] = s.J[at + i], s.J[at + 2 * parts.stride + i], s.J[at + 4 * parts.stride + i]
            M = parts.M[parts.masses[c] :]
            to_root_three(M, n, x, y, z)
            to_tips(M, n, x)
            to_tips(M, n, y)
            to_tips(M, n, z)
            if closures.rows > 0 and closures.first[c + 1] > closures.first[c]:
                _close(closures, c, n, x)
                _close(closures, c, n, y)
                _close(closures, c, n, z)


@hot
def _respond_loose(B: Any, J: Any, i: int, y: Any) -> None:
    """y = B Bᵀ J from place i on."""
    body_halfway(B, J, i, y)
    s, u, v, w, a, b, c = B[0], y[i], y[i + 1], y[i + 2], y[i + 3], y[i + 4], y[i + 5]
    y[i] = s * u + (B[3] * a + B[4] * b + B[5] * c)
    y[i + 1] = s * v + (B[9] * a + B[10] * b + B[11] * c)
    y[i + 2] = s * w + (B[15] * a + B[16] * b + B[17] * c)
    y[i + 3] = B[21] * a
    y[i + 4] = B[27] * a + B[28] * b
    y[i + 5] = B[33] * a + B[34] * b + B[35] * c


@jit
def respond_part(parts: Any, closures: Any, c: int, y: Any) -> None:
    """y = M⁻¹ y for the velocities of a part, along the constraints."""
    n = parts.first[c + 1] - parts.first[c]
    solve_inwards(parts.M[parts.masses[c] :], n, y)
    if closures.rows > 0 and closures.first[c + 1] > closures.first[c]:
        _close(closures, c, n, y)


@jit
def recall(s: Any, p: Any) -> None:
    """Impulses that contacts had in the step before, as a first guess; both lists are in order of shapes and features."""
    old = 0
    for k in range(s.count):
        while old < s.old_count and _before(s.old_key, old, s.key, k):
            old += 1
        same = old < s.old_count and not _before(s.key, k, s.old_key, old)
        for row in (0, 1, 2):
            at = 9 * k + 3 * row
            p[3 * k + row] = 0.0
            if same:
                for i in (0, 1, 2):
                    p[3 * k + row] += s.axes[at + i] * s.old_impulse[3 * old + i]


@hot
def _before(a: Any, i: int, b: Any, j: int) -> bool:
    for m in (0, 1, 2):
        if a[3 * i + m] != b[3 * j + m]:
            return a[3 * i + m] < b[3 * j + m]
    return False


@jit
def note_touching(s: Any, parts: Any, closed: float, h: float, v: Any) -> None:
    """J v of contacts that are closed at the start of a run and stay so, in the place of a step before: those within ``closed``, also after a step at that speed."""
    old = 0
    for k in range(s.count):
        contact_velocities(s, parts, k, v, s.speed)
        if s.gap[k] > closed or (s.sort[k] < DRY and h * abs(s.speed[3 * k]) > closed):
            continue
        for row in (0, 1, 2):
            s.old_key[3 * old + row], s.old_speed[3 * old + row], s.old_impulse[3 * old + row] = (
                s.key[3 * k + row],
                s.speed[3 * k + row],
                0.0,
            )
        old += 1
    s.old_count = old


@jit
def find_turning(s: Any, parts: Any, part: float, first: bool, v: Any) -> None:
    """J v at the start of the step, and what J̇ v adds until its end: a ``part`` of the change of J v, at the same v, from the middle of the step before (of the
    ``first``: from its start) to that of this one.

    The latter is told of contacts that acted in the step before, or are closed at the start of the first; others may have been anywhere.
    """
    old = 0
    for k in range(s.count):
        while old < s.old_count and _before(s.old_key, old, s.key, k):
            old += 1
        pushed = 0.0
        if part > 0.0 and old < s.old_count and not _before(s.key, k, s.old_key, old):
            pushed = 1.0 if first else abs(s.old_impulse[3 * old]) + abs(s.old_impulse[3 * old + 1]) + abs(s.old_impulse[3 * old + 2])
        contact_velocities(s, parts, k, v, s.speed)
        for row in (0, 1, 2):
            s.turning[3 * k + row] = part * (s.speed[3 * k + row] - s.old_speed[3 * old + row]) if pushed > 0.0 else 0.0


@jit
def remember(s: Any, p: Any) -> None:
    """Keeps impulses in the world's axes for the next step."""
    s.old_count = s.count
    for k in range(s.count):
        for i in (0, 1, 2):
            s.old_key[3 * k + i] = s.key[3 * k + i]
            total = 0.0
            for row in (0, 1, 2):
                total += s.axes[9 * k + 3 * row + i] * p[3 * k + row]
            s.old_impulse[3 * k + i] = total


@jit
def _list_by_part(s: Any, parts: Any) -> None:
    """Contacts of each part in order: listed[start[c] : start[c + 1]]."""
    n, start = parts.first.size - 1, s.start
    for c in range(n + 2):
        start[c] = 0
    for k in range(2 * s.count):
        if s.part[k] >= 0:
            start[s.part[k] + 2] += 1
    for c in range(1, n + 2):
        start[c] += start[c - 1]
    for k in range(2 * s.count):
        c = s.part[k]
        if c >= 0:  # start[c + 1] runs from the first place of part c to its end
            s.listed[start[c + 1]] = k // 2
            start[c + 1] += 1


@hot
def _add_block(A: Any, a: int, B: Any, b: int, stride: int, n: int, out: Any, at: int) -> None:
    """Adds A Bᵀ of two times three rows of n numbers, from a and b on, to a block of W."""
    w00, w01, w02, w10, w11, w12, w20, w21, w22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        x, y, z = A[a + i], A[a + 2 * stride + i], A[a + 4 * stride + i]
        p, q, r = B[b + i], B[b + 2 * stride + i], B[b + 4 * stride + i]
        w00, w01, w02 = w00 + x * p, w01 + x * q, w02 + x * r
        w10, w11, w12 = w10 + y * p, w11 + y * q, w12 + y * r
        w20, w21, w22 = w20 + z * p, w21 + z * q, w22 + z * r
    out[at], out[at + 1], out[at + 2] = out[at] + w00, out[at + 1] + w01, out[at + 2] + w02
    out[at + 3], out[at + 4], out[at + 5] = out[at + 3] + w10, out[at + 4] + w11, out[at + 5] + w12
    out[at + 6], out[at + 7], out[at + 8] = out[at + 6] + w20, out[at + 7] + w21, out[at + 8] + w22


@jit
def form_delassus(s: Any, parts: Any, w: BlockSparse, halfway: bool) -> int:
    """W = J Y by blocks in compressed rows, YᵀY where Y is half the way; how many blocks there are, negative where they do not fit."""
    _list_by_part(s, parts)
    blocks, room, J, stride = 0, w.column.size, s.Y if halfway else s.J, parts.stride
    for k in range(s.count):
        s.met[k] = -1
    for k in range(s.count):
        w.first[k] = blocks
        for side in (0, 1):
            c = s.part[2 * k + side]
            if c < 0:
                continue
            for e in range(s.start[c], s.start[c + 1]):
                l = s.listed[e]
                if s.met[l] != k:
                    if blocks >= room:
                        return -blocks - 1
                    s.met[l], s.met_at[l] = k, 9 * blocks
                    w.column[blocks], w.place[blocks] = l, 9 * blocks
                    for m in range(9 * blocks, 9 * blocks + 9):
                        w.values[m] = 0.0
                    blocks += 1
                other = 0 if s.part[2 * l] == c else 1
                n = min(s.top[2 * k + side], s.top[2 * l + other]) if halfway else parts.first[c + 1] - parts.first[c]
                _add_block(J, _place(s, stride, k, side, 0), s.Y, _place(s, stride, l, other, 0), stride, n, w.values, s.met_at[l])
    w.first[s.count] = blocks
    return blocks


def make_closures(parts: Parts, part: np.ndarray) -> Closures:
    """Memory for constraints whose ``part`` is given, in order."""
    rows, sizes = np.bincount(part, minlength=parts.first.size - 1), np.diff(parts.first)
    first, place, square = (np.r_[0, np.cumsum(x)].astype(np.int64) for x in (rows, rows * sizes, rows * rows))
    J, Z = np.zeros((2, int(place[-1])))
    return Closures(
        rows=len(part),
        first=first,
        place=place,
        square=square,
        J=J,
        Z=Z,
        S=np.zeros(int(square[-1])),
        right=np.zeros(int(rows.max(initial=0))),
    )


def make_contact_set(room: int, parts: Parts) -> ContactSet:
    """Memory for so many contacts."""
    wide, stride = int(room), int(parts.stride)
    return ContactSet(
        room=wide, law=np.zeros(wide, np.int64), sort=np.zeros(wide, np.int64), parent=np.full(wide, -1, np.int64), gap=np.zeros(wide), part=np.zeros(2 * wide, np.int64), J=np.zeros(6 * wide * stride),
        Y=np.zeros(6 * wide * stride), drift=np.zeros(3 * wide), axes=np.zeros(9 * wide), point=np.zeros(3 * wide), arm=np.zeros(6 * wide),
        place=np.zeros(2 * wide, np.int64), key=np.zeros(3 * wide, np.int64), old_key=np.zeros(3 * wide, np.int64),
        old_impulse=np.zeros(3 * wide), old_speed=np.zeros(3 * wide), turning=np.zeros(3 * wide), speed=np.zeros(3 * wide), start=np.zeros(parts.first.size + 1, np.int64), listed=np.zeros(2 * wide, np.int64), top=np.zeros(2 * wide, np.int64), pushed=np.zeros(parts.member.size),
        met=np.zeros(wide, np.int64), met_at=np.zeros(wide, np.int64),
    )  # fmt: skip
