"""Motion between events while contacts are closed: forces from a complementarity problem in accelerations (Pfeiffer & Glocker 1996; Glocker 2001).

A closed contact sticks (or begins to slide) by Coulomb's law in accelerations, u̇_N and u̇_T with λ; one that slides has λ_T = −μ λ_N u_T/‖u_T‖, so that
its column of W is that of one combined force.  With rows u = J v + d,

    u̇ = J v̇ + J̇ v,    v̇ = v̇_f + M⁻¹Jᵀλ,

J̇ v as the change of u along q ∘ exp(± ε v), by differences of order four.  The state is x = (q, v, z, energy taken by contacts).

While a contact slides slowly, u_T/‖u_T‖ follows the force that drags it at the rate μ λ_N W_TT/‖u_T‖, which no explicit method follows to ‖u_T‖ = 0.  Within
a thin layer of speeds, as thin as the run's tolerance, a contact therefore *begins* to slide (its direction is that of u̇_T: the same law in accelerations as at
rest, with the friction of sliding) or *ends* to (in the direction in which it has come into the layer, until it rests).

What only brakes (dry friction in joints, couples against rolling and spinning) has a bound a: a given one, or a lever arm times the normal force of its
contact, which is found by iteration.  What moves feels the force −a along its motion, what rests a force of at most a (friction at rest has a bound of its own).
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import jit
from ..complementarity.operator import prepare
from ..complementarity.problem import CONTACT, FRICTION, UNILATERAL
from ..complementarity.solve import carry_out
from .closed_places import changes_of, see_closed
from .contact_set import DRY, ROLL, SPIN, contact_velocity, respond

#: What a closed contact does: in the first two its friction is found with the accelerations, in the others its direction is known.
STICKS, BEGINS, SLIDES, ENDS = range(4)
#: Parts of speeds below which nothing slides.
AT_REST = 1e-9
#: Residual of the laws in parts of the largest acceleration, most sweeps, and what guards may fall below zero in the same parts.
EXACT, SWEEPS, ROUNDING = 1e-13, 200, 1e-10
#: Rows of which less than this part is left by others depend on them.
DEPENDENT = 1e-10
#: Of more contacts that slide forces may be open; ε in parts of W, and how often it is solved.
FEW, NEARNESS, DRAWN = 3, 1e-4, 3
#: Most solutions in which bounds of couples follow normal forces.
COUPLED = 60
#: What is returned where no forces fit the laws: positive, so that steps become shorter up to that instant.
NO_FORCES = 80


@jit
def spread(c: Any, k: int, row: int, to: int, factor: float, J: Any, source: Any) -> None:
    """Adds a row of J or of M⁻¹Jᵀ over all velocities."""
    s, parts = c.contacts, c.parts
    for side in (0, 1):
        part = s.part[2 * k + side]
        if part >= 0:
            first, begin = parts.first[part], (6 * k + 2 * row + side) * parts.stride
            for i in range(parts.first[part + 1] - first):
                J[to, parts.member[first + i]] += factor * source[begin + i]


@jit
def first_way(s: Any, k: int) -> int:
    """The first of the rows along which a contact slides, or what brakes moves."""
    return 0 if s.sort[k] == DRY or s.sort[k] == SPIN else 1


@jit
def direction(c: Any, i: int, k: int, v: Any) -> Any:
    """Along the two tangents: where contact i slides, or has begun to."""
    s, first = c.contacts, first_way(c.contacts, k)
    a = contact_velocity(s, c.parts, k, first, v)
    b = contact_velocity(s, c.parts, k, 2, v) if first == 1 else 0.0
    d1, d2 = 0.0, 0.0
    for j in (0, 1, 2):
        d1 += s.axes[9 * k + 3 * first + j] * c.along[3 * i + j]
        d2 += s.axes[9 * k + 6 + j] * c.along[3 * i + j] if first == 1 else 0.0
    speed = math.sqrt(a * a + b * b)
    if c.slides[i] != ENDS and speed > AT_REST * c.scale and a * d1 + b * d2 > 0.0:
        return a / speed, b / speed, speed
    length = math.sqrt(d1 * d1 + d2 * d2)
    return (d1 / length, d2 / length, a * d1 + b * d2) if length > 0.0 else (1.0, 0.0, 0.0)


@jit
def _drag(c: Any, i: int, k: int, v: Any) -> Any:
    """Tangential forces for a unit of the normal force of a contact that slides: −(μ₁² d₁, μ₂² d₂)/√(μ₁² d₁² + μ₂² d₂²)."""
    d1, d2, _ = direction(c, i, k, v)
    law = c.contacts.law[k]
    m1, m2 = c.laws.friction[law], c.laws.across[law]
    if m1 == m2:
        return -m1 * d1, -m2 * d2
    length = math.sqrt(m1 * m1 * d1 * d1 + m2 * m2 * d2 * d2)
    return (-m1 * m1 * d1 / length, -m2 * m2 * d2 / length) if length > 0.0 else (0.0, 0.0)


@jit
def _friction(c: Any, i: int, law: int) -> Any:
    """μ along the two tangents of a contact that is solved by the law in accelerations: that of rest, or of sliding where it has begun."""
    if c.slides[i] == BEGINS:
        return c.laws.friction[law], c.laws.across[law]
    return c.laws.static[law], c.laws.static_across[law]


@jit
def clear(J: Any, rows: int, n: int) -> None:
    for r in range(rows):
        for i in range(n):
            J[r, i] = 0.0


@jit
def _lay_out(c: Any, v: Any) -> int:
    """Rows of closed contacts: three that stick, one that slides; of what brakes, those that rest; their laws."""
    s, problem, rows, blocks = c.contacts, c.problem, 0, 0
    clear(c.J, 3 * c.count, c.nv)
    clear(c.Y, 3 * c.count, c.nv)
    for i in range(c.count):
        k = c.place[i]
        c.row[i] = -1
        if k < 0 or (s.sort[k] >= DRY and c.slides[i] != 0):
            continue
        c.row[i], problem.row[blocks] = rows, rows
        law = s.law[k]
        problem.coefficient[blocks, 0], problem.coefficient[blocks, 1] = _friction(c, i, law)
        if s.sort[k] == DRY or s.sort[k] == SPIN:
            problem.law[blocks] = FRICTION
            spread(c, k, 0, rows, 1.0, c.J, s.J)
            spread(c, k, 0, rows, 1.0, c.Y, s.Y)
            c.p[rows] = c.known[3 * i]
            rows += 1
        elif c.slides[i] >= SLIDES:
            f1, f2 = _drag(c, i, k, v)
            problem.law[blocks] = UNILATERAL
            spread(c, k, 0, rows, 1.0, c.J, s.J)
            spread(c, k, 0, rows, 1.0, c.Y, s.Y)
            spread(c, k, 1, rows, f1, c.Y, s.Y)
            spread(c, k, 2, rows, f2, c.Y, s.Y)
            c.p[rows] = c.known[3 * i]
            rows += 1
        else:
            problem.law[blocks] = CONTACT
            if s.sort[k] == ROLL:  # the normal force is given
                problem.coefficient[blocks, 0] = problem.coefficient[blocks, 1] = 1.0
            for row in (0, 1, 2):
                spread(c, k, row, rows + row, 1.0, c.J, s.J)
                spread(c, k, row, rows + row, 1.0, c.Y, s.Y)
                c.p[rows + row] = c.known[3 * i + row]
            rows += 3
        blocks += 1
    problem.blocks, problem.row[blocks] = blocks, rows
    return rows


@jit
def fill(c: Any, rows: int) -> None:
    """W = J M⁻¹Jᵀ of all rows."""
    for i in range(rows):
        a = c.J[i]
        for j in range(rows):
            b, total = c.Y[j], 0.0
            for n in range(c.nv):
                total += a[n] * b[n]
            c.problem.dense[i, j] = total
        c.problem.compliance[i] = 0.0


@jit
def _turning(c: Any) -> None:
    """w = J̇ v."""
    s, problem, block = c.contacts, c.problem, 0
    for i in range(c.count):
        k, r = c.place[i], c.row[i]
        if r < 0:
            continue
        for row in range(problem.row[block + 1] - r):
            total = c.change[4 * i] if row == 0 else 0.0
            for j in range(0 if row == 0 else 3):
                total += s.axes[9 * k + 3 * row + j] * c.change[4 * i + 1 + j]
            problem.w[r + row] = total
        block += 1


@jit
def _right(c: Any, slope: Any) -> float:
    """Adds J v̇_f to w; the largest."""
    problem, largest = c.problem, 0.0
    for r in range(problem.row[problem.blocks]):
        for n in range(c.nv):
            problem.w[r] += c.J[r, n] * slope[n]
        largest = max(largest, abs(problem.w[r]))
    return largest


@jit
def eliminate(c: Any, rows: int, dependent: float) -> None:
    """W = L Lᵀ of rows with ``left`` ≥ 0 by pivots, until what is left of rows depends on those taken; of w what these do not say stays in ``rest``."""
    W, L, left, rest = c.problem.dense, c.basis, c.left, c.rest
    for n in range(rows):
        best, a = dependent, -1
        for r in range(rows):
            if left[r] > best * W[r, r]:
                best, a = left[r] / W[r, r], r
        if a < 0:
            return
        pivot = math.sqrt(left[a])
        left[a] = -1.0
        for r in range(rows):
            if left[r] < 0.0:
                continue
            total = W[r, a]
            for m in range(n):
                total -= L[r, m] * L[a, m]
            L[r, n] = total / pivot
            left[r] = max(0.0, left[r] - L[r, n] * L[r, n])
            rest[r] -= L[r, n] * rest[a] / pivot


@jit
def _reconcile(c: Any) -> None:
    """J̇ v of rows along which contacts are held and that depend on others, from those.

    Within a step velocities are off the contacts by its error.  Redundant rows, as along the line on which a cone rolls, would contradict each
    other, and no forces would meet both.
    """
    s, problem, block = c.contacts, c.problem, 0
    rows = problem.row[problem.blocks]
    for i in range(c.count):
        if c.row[i] >= 0:
            held = c.slides[i] < SLIDES or s.sort[c.place[i]] >= DRY
            for r in range(problem.row[block], problem.row[block + 1]):
                c.left[r], c.rest[r] = (problem.dense[r, r] if held else -1.0), problem.w[r]
            if s.sort[c.place[i]] == ROLL:  # the normal force is given
                c.left[problem.row[block]] = -1.0
            block += 1
    eliminate(c, rows, DEPENDENT)
    block = 0
    for i in range(c.count):
        if c.row[i] >= 0:
            for r in range(problem.row[block] + first_way(s, c.place[i]), problem.row[block + 1]):
                problem.w[r] -= c.rest[r] if c.left[r] >= 0.0 else 0.0
            block += 1


@jit
def _parent(c: Any, i: int) -> int:
    """The closed contact whose rolling or spinning entry i brakes, −1: none."""
    k = c.contacts.parent[c.place[i]]
    for j in range(c.count if k >= 0 else 0):
        if c.place[j] == k:
            return j  # type: ignore[no-any-return]
    return -1


@jit
def _bounds(c: Any, slope: Any, v: Any) -> float:
    """Bounds of what brakes, from normal forces as they are now; forces of what moves change the accelerations.  The largest change of an acceleration."""
    s, problem, changed, block = c.contacts, c.problem, 0.0, 0
    for i in range(c.count):
        k, r = c.place[i], c.row[i]
        own = block
        block += 1 if r >= 0 else 0
        if k < 0 or s.sort[k] < DRY:
            continue
        law, j = s.law[k], _parent(c, i)
        bound = c.laws.friction[law] if c.slides[i] != 0 else c.laws.static[law]
        if s.sort[k] != DRY:
            arm = c.laws.rolling[law] if s.sort[k] == ROLL else c.laws.spinning[law]
            bound = arm * max(c.force[3 * j], 0.0) if j >= 0 else 0.0
        more = bound - c.bound[i]
        c.bound[i] = bound
        if r < 0:
            d1, d2, _ = direction(c, i, k, v)
            first = first_way(s, k)
            clear(c.extra, 1, c.nv)
            spread(c, k, first, 0, -more * d1, c.extra, s.Y)
            if first == 1:
                spread(c, k, 2, 0, -more * d2, c.extra, s.Y)
            for n in range(c.nv):
                slope[n] += c.extra[0, n]
                changed = max(changed, abs(c.extra[0, n]))
            c.force[3 * i + first] = -bound * d1
            if first == 1:
                c.force[3 * i + 2] = -bound * d2
        elif s.sort[k] == ROLL:
            size = problem.dense[r + 1, r + 1]
            problem.compliance[r] = size
            changed = max(changed, abs(size * more))
        else:
            problem.coefficient[own, 0] = problem.coefficient[own, 1] = bound
            changed = max(changed, abs(problem.dense[r, r] * more))
    return changed


@jit
def _given_normals(c: Any) -> None:
    """The rows p_n = a of couples against rolling that rest."""
    for i in range(c.count):
        if c.row[i] >= 0 and c.contacts.sort[c.place[i]] == ROLL:
            c.problem.w[c.row[i]] = -c.problem.compliance[c.row[i]] * c.bound[i]


@jit
def _take_over(c: Any, v: Any) -> None:
    """Forces of all closed contacts, and their accelerations after them, from the solution."""
    s, problem = c.contacts, c.problem
    for i in range(c.count):
        k, r = c.place[i], c.row[i]
        if k >= 0 and r < 0:
            continue  # of what moves and brakes the force is known
        for row in (0, 1, 2):
            c.force[3 * i + row] = c.moving[3 * i + row] = 0.0
        if k < 0:
            continue
        if s.sort[k] == DRY or s.sort[k] == SPIN:
            c.force[3 * i], c.moving[3 * i] = c.p[r], problem.u[r]
        elif c.slides[i] >= SLIDES:
            f1, f2 = _drag(c, i, k, v)
            c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2] = c.p[r], f1 * c.p[r], f2 * c.p[r]
            c.moving[3 * i] = problem.u[r]
        else:
            for row in (0, 1, 2):
                c.force[3 * i + row], c.moving[3 * i + row] = c.p[r + row], problem.u[r + row]


@jit
def _margins(c: Any) -> None:
    """How far each closed contact is from leaving, and from beginning to move."""
    s, problem = c.contacts, c.problem
    for i in range(c.count):
        k, r = c.place[i], c.row[i]
        c.lift[i] = c.slip[i] = math.inf
        if k < 0 or r < 0:
            continue
        f, a, law = c.force[3 * i :], c.moving[3 * i :], s.law[k]
        if s.sort[k] == DRY or s.sort[k] == SPIN:
            c.slip[i] = problem.dense[r, r] * (c.bound[i] - abs(f[0])) - abs(a[0])
            continue
        way = math.sqrt(a[1] * a[1] + a[2] * a[2])
        if s.sort[k] == ROLL:
            c.slip[i] = problem.dense[r + 1, r + 1] * (c.bound[i] - math.sqrt(f[1] * f[1] + f[2] * f[2])) - way
            continue
        normal = max(problem.dense[r, r], 0.0)
        c.lift[i] = normal * f[0] - a[0]
        if c.slides[i] < SLIDES:
            m1, m2 = _friction(c, i, law)
            m = max(m1, m2)
            x, y = (f[1] * m / m1 if m1 > 0.0 else 0.0), (f[2] * m / m2 if m2 > 0.0 else 0.0)
            c.slip[i] = normal * (m * f[0] - math.sqrt(x * x + y * y)) - way


@jit
def _slides_on_many(c: Any) -> int:
    """The number of contacts that slide, where there are so many that laws may leave normal forces open; else 0."""
    found = 0
    for i in range(c.count):
        found += 1 if c.row[i] >= 0 and c.contacts.sort[c.place[i]] < DRY and c.slides[i] >= SLIDES else 0
    return found if found > FEW else 0


@jit
def _draw_near(c: Any, rows: int, tolerance: float) -> None:
    """Solves for the forces nearest to those that are known, by proximal points (Rockafellar 1976): p_k of W p + ε (p − p_{k−1}) + w.

    Of normal forces that laws leave open others might be taken in every evaluation, and friction would jump with them.
    """
    problem, w = c.problem, c.rest
    for r in range(rows):
        w[r], c.left[r] = problem.w[r], c.p[r]
        if problem.compliance[r] == 0.0:  # else it is a row of a couple against rolling
            problem.compliance[r] = NEARNESS * problem.dense[r, r]
    for _ in range(DRAWN):
        for r in range(rows):
            if problem.compliance[r] == NEARNESS * problem.dense[r, r]:
                problem.w[r] = w[r] - problem.compliance[r] * c.left[r]
        prepare(problem)
        carry_out(c.task, c.solver, tolerance, SWEEPS)
        for r in range(rows):
            c.left[r] = c.p[r]
    for r in range(rows):
        problem.w[r] = w[r]
        if problem.compliance[r] == NEARNESS * problem.dense[r, r]:
            problem.compliance[r] = 0.0


@jit
def motion(c: Any, t: int, x: Any, out: Any) -> int:
    """ẋ with the forces of closed contacts."""
    base, n = c.base, c.nq + c.nv + c.nz
    base.args[0], base.args[1], base.args[2] = t, at(x), at(out)
    status = call(base.function, base.args)
    out[n] = 0.0
    if status != 0 or c.count == 0:
        return status
    status = changes_of(c, x, doubles(t, 1)[0])
    if status == 0:
        status = see_closed(c, t, at(x))
    if status != 0:
        return status
    respond(c.contacts, c.parts, c.closures)
    v, slope = x[c.nq :], out[c.nq :]
    rows = _lay_out(c, v)
    fill(c, rows)
    for i in range(c.count):
        c.bound[i] = 0.0
    _bounds(c, slope, v)
    largest, soft = 0.0, _slides_on_many(c)
    for again in range(COUPLED):
        _turning(c)
        _reconcile(c)
        largest = max(largest, _right(c, slope))
        _given_normals(c)
        if rows > 0:
            if soft > 0:
                _draw_near(c, rows, EXACT * max(largest, 1e-9))
            else:
                prepare(c.problem)
                carry_out(c.task, c.solver, EXACT * max(largest, 1e-9), SWEEPS)
            if not c.task.residual <= 1e5 * EXACT * max(largest, 1e-9):
                return NO_FORCES
        _take_over(c, v)
        changed = _bounds(c, slope, v)
        if changed <= EXACT * max(largest, 1e-9):
            break
        if again == COUPLED - 1:
            return NO_FORCES
    _margins(c)
    for i in range(c.count):
        k, r = c.place[i], c.row[i]
        ways = 0 if r < 0 else 1 if c.slides[i] >= SLIDES or c.contacts.sort[k] == DRY or c.contacts.sort[k] == SPIN else 3
        for row in range(ways):
            for j in range(c.nv):
                slope[j] += c.Y[r + row, j] * c.p[r + row]
        for row in range(3 if k >= 0 else 0):
            if c.contacts.sort[k] != ROLL or row > 0:
                out[n] -= c.force[3 * i + row] * contact_velocity(c.contacts, c.parts, k, row, v)
    return 0


__all__ = [
    "AT_REST",
    "BEGINS",
    "ENDS",
    "EXACT",
    "NO_FORCES",
    "ROUNDING",
    "SLIDES",
    "STICKS",
    "SWEEPS",
    "clear",
    "direction",
    "eliminate",
    "fill",
    "first_way",
    "motion",
    "spread",
]
