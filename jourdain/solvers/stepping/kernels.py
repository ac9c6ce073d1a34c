"""Native parts of a step of an assembled system: evaluation over all elements, updates, end of a step, audit.

Each is a function ``int32_t f(void *frame)`` called by address, so that it is compiled once and none contains another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit, kernel
from ..ode.frame import EPS
from . import frame as ap
from .frame import MEDIUM, SCALARS, Frame, Group

#: Defect of a step's energy balance, relative to the energies exchanged, above which the step is refused.
LOPSIDED = 1e-6
#: Distance of augmented angles from the directions of their bodies above which a step is refused (it is on the mirror branch).
MIRRORED = 1e-6


@jit
def extent(frame: Frame, q: Any) -> float:
    """Largest coordinate of a vector, first-order ones relative to their own size."""
    largest, peak = 0.0, frame.peak
    for i in range(frame.n_q):
        largest = max(largest, abs(q[i]) if peak[i] == 0.0 else _relative(frame, peak, q[i], i))
    return largest


@jit
def _relative(frame: Frame, peak: Any, change: float, i: int) -> float:
    """A change of a first-order coordinate as the same part of the size of positions (their units have nothing in common)."""
    largest = max(peak[i], abs(frame.vec.u[i]))
    return abs(change) * frame.clock.size / largest


@hot
def _gather(frame: Frame, group: Group, i: int, stride: int, x: Any) -> None:
    """Packs coordinates, multipliers and history of an instance behind the scalars, ``stride`` places apart."""
    vec = frame.vec
    n, m, k = group.n, group.m, group.k
    index = frame.gather[group.gather_at + i * n :]
    q0, q1 = vec.q0, vec.q1
    for a in range(n):
        x[stride * (SCALARS + a)] = q0[index[a]]
        x[stride * (SCALARS + n + a)] = q1[index[a]]
    if group.has_mass:
        excess = vec.excess
        for a in range(n):
            x[stride * (SCALARS + 2 * n + a)] = excess[index[a]]
    if group.has_rate:
        offset = vec.offset
        for a in range(n):
            x[stride * (SCALARS + 3 * n + a)] = offset[index[a]]
    now = frame.lam.now[group.multiplier_at + i * m :]
    for a in range(m):
        x[stride * (SCALARS + 4 * n + a)] = now[a]
    z = frame.history.start[group.history_at + i * k :]
    for a in range(k):
        x[stride * (SCALARS + 4 * n + m + a)] = z[a]


@hot
def _scalars(frame: Frame, stride: int, x: Any) -> None:
    clock, scheme = frame.clock, frame.scheme
    x[0], x[stride], x[2 * stride], x[3 * stride], x[4 * stride] = clock.h, clock.t, scheme.kappa, scheme.weight, scheme.factor


@hot
def _scatter(frame: Frame, g: int, which: int, i: int, stride: int, y: Any, r: Any, values: Any) -> float:
    """Adds what an instance gives, ``stride`` places apart, to residual and matrix; the largest residual of a row that is left out."""
    group = frame.groups[g]
    kernel_row, rows, aside = frame.kernels[group.kernel_at + which], group.rows, 0.0
    unknown = frame.rows[group.rows_at + i * rows :]
    for a in range(rows):
        if unknown[a] >= 0:
            r[unknown[a]] += y[stride * a]
        elif a >= rows - group.m:
            aside = max(aside, abs(y[stride * a]))
    entries = kernel_row.entries if which != ap.RESIDUAL else 0
    slot, found = frame.slots[kernel_row.slots_at + i * entries :], y[stride * rows :]
    for e in range(entries):
        if slot[e] >= 0:
            values[slot[e]] += found[stride * e]
    return aside


@hot
def _group_values(frame: Frame, g: int, which: int, r: Any, values: Any, x: Any, args: Any) -> float:
    """Evaluates the instances of a group and adds their results; the largest residual of a row that is left out."""
    group = frame.groups[g]
    kernel_row = frame.kernels[group.kernel_at + which]
    if kernel_row.wide != 0:
        return _wide_values(frame, g, which, r, values, args)
    y, aside = frame.y, 0.0
    last = 2 if which == ap.RESIDUAL else 3
    args[0], args[1], args[2], args[last + 1] = at(frame.x), at(frame.y), at(frame.y[group.rows :]), at(frame.work)
    args[MEDIUM] = kernel_row.medium
    for i in range(group.count):
        _gather(frame, group, i, 1, x)
        args[last] = at(frame.constants[kernel_row.constant_at + i * kernel_row.constant_stride :])
        call(kernel_row.function, frame.args)
        aside = max(aside, _scatter(frame, g, which, i, 1, y, r, values))
    return aside


@hot
def _wide_call(frame: Frame, group: Any, kernel_row: Any, first: int, x: Any) -> None:
    """Calls a kernel for as many instances as a SIMD register holds, the last one repeated where there are fewer."""
    for lane in range(frame.lanes):
        _gather(frame, group, min(first + lane, group.count - 1), frame.lanes, x[lane:])
    call(kernel_row.wide, frame.args)


@hot
def _wide_values(frame: Frame, g: int, which: int, r: Any, values: Any, args: Any) -> float:
    """The same for instances that share their constants, as many at a time as a SIMD register holds; the last ones fill theirs by repetition."""
    group = frame.groups[g]
    kernel_row, lanes = frame.kernels[group.kernel_at + which], frame.lanes
    x, y, aside = frame.wide_x, frame.wide_y, 0.0
    last = 2 if which == ap.RESIDUAL else 3
    args[0], args[1], args[2] = at(frame.wide_x), at(frame.wide_y), at(frame.wide_y[lanes * group.rows :])
    args[last], args[last + 1] = at(frame.constants[kernel_row.constant_at :]), at(frame.wide_work)
    for lane in range(lanes):
        _scalars(frame, lanes, x[lane:])
    for block in range((group.count + lanes - 1) // lanes):
        first = block * lanes
        _wide_call(frame, group, kernel_row, first, x)
        for lane in range(min(lanes, group.count - first)):
            aside = max(aside, _scatter(frame, g, which, first + lane, lanes, y[lane:], r, values))
    return aside


@kernel
def evaluate(address: int) -> int:
    """Residual, and the matrix unless WHICH is RESIDUAL, summed over all elements."""
    frame = Frame.at(address)
    which = frame.count.which
    r, values = frame.r, frame.values
    x, args = frame.x, frame.args
    for i in range(frame.n_unknowns):
        r[i] = 0.0
    if which != ap.RESIDUAL:
        for i in range(values.size):
            values[i] = 0.0
    _scalars(frame, 1, x)
    clock = frame.clock
    clock.aside = 0.0
    for g in range(len(frame.groups)):
        clock.aside = max(clock.aside, _group_values(frame, g, which, r, values, x, args))
    return 0


@hot
def _bodies(frame: Frame, what: int, source: Any, base: Any, target: Any, delta: Any, rates: Any, alpha: float) -> None:
    """Adds the increments of retraction (or advance, or expansion) of all bodies with a null space to ``base``."""
    args = frame.args
    args[0], args[1], args[2], args[3] = at(frame.x), at(frame.y), at(frame.constants), at(frame.work)
    for kind in range(len(frame.reductions)):
        of = frame.reductions[kind]
        n, size = of.n, of.size
        x, y = frame.x, frame.y
        function = of.retract if what == ap.RETRACT else of.advance if what == ap.ADVANCE else of.expand
        for b in range(of.first, of.first + of.count):
            body = frame.bodies[b]
            for i in range(n):
                x[i] = source[body.coordinate + i]
            if what == ap.ADVANCE:
                for i in range(n):
                    x[n + i] = alpha * rates[body.coordinate + i]
            else:
                for i in range(size):
                    x[n + i] = alpha * delta[body.unknown + i]
            call(function, args)
            for i in range(n):
                target[body.coordinate + i] = base[body.coordinate + i] + y[i]


@jit
def settle(frame: Frame) -> None:
    """q₁ and the excess (q₁ − q₀) − w that belong to the displacement."""
    vec = frame.vec
    q0, q1, moved, w, excess = vec.q0, vec.q1, vec.u, vec.w, vec.excess
    for i in range(frame.n_q):
        q1[i] = q0[i] + moved[i]
        excess[i] = moved[i] - w[i]


@kernel
def move(address: int) -> int:
    """APPLY: q₁, Λ from the saved iterate and α δ; PREDICT: q₁ = q₀ + h · guess; RATES: v₁ = P(q₁) δ.

    The displacement u = q₁ − q₀ is kept by itself, free of the rounding of positions.
    """
    frame = Frame.at(address)
    vec = frame.vec
    mode, clock = frame.count.mode, frame.clock
    delta, free = frame.delta, frame.free
    q0, q1, saved, guess, v1 = vec.q0, vec.q1, vec.saved, vec.guess, vec.v1
    moved, kept_moved = vec.u, vec.u_saved
    alpha, h = clock.alpha, clock.h
    for k in range(len(free)):
        c, u = free[k].coordinate, free[k].unknown
        if mode == ap.APPLY:
            moved[c] = kept_moved[c] + alpha * delta[u]
        elif mode == ap.PREDICT:
            moved[c] = h * guess[c]
        else:
            v1[c] = delta[u]
    if mode == ap.APPLY:
        _bodies(frame, ap.RETRACT, saved, kept_moved, moved, delta, guess, alpha)
        unknown = frame.multiplier_rows
        kept, now = frame.lam.kept, frame.lam.now
        for k in range(now.size):
            if unknown[k] >= 0:
                now[k] = kept[k] + alpha * delta[unknown[k]]
    elif mode == ap.PREDICT:
        for i in range(frame.n_q):
            kept_moved[i] = 0.0
        _bodies(frame, ap.ADVANCE, q0, kept_moved, moved, delta, guess, h)
    else:
        for i in range(frame.n_q):
            kept_moved[i] = 0.0
        _bodies(frame, ap.EXPAND, q1, kept_moved, v1, delta, guess, 1.0)
        return 0
    settle(frame)
    return 0


@jit
def prepare(frame: Frame) -> None:
    """Displacement without forces, κ, and the rate as a function of the displacement, for the step H."""
    vec = frame.vec
    scheme, h = frame.scheme, frame.clock.h
    b, g, theta = scheme.beta, scheme.gamma, scheme.theta
    w, offset, v, a, d = vec.w, vec.offset, vec.v0, vec.a0, vec.d0
    scheme.weight, scheme.factor = theta, 1.0 / h
    scheme.kappa = h * h if scheme.evaluation == ap.END else 0.5 * h * h
    for i in range(frame.n_q):
        w[i], offset[i] = h * v[i], 0.0
    if b > 0.0:
        am, af = scheme.alpha_m, scheme.alpha_f
        scheme.kappa, scheme.factor = b * h * h * (1.0 - af) / (1.0 - am), theta * g / (b * h)
        for i in range(frame.n_q):
            w[i] += h * h * (0.5 - b) * a[i] - b * h * h / (1.0 - am) * (am * a[i] - af * d[i])
            offset[i] = v[i] + theta * (-g / b * v[i] + h * (1.0 - 0.5 * g / b) * a[i])
    first = frame.first
    for k in range(len(first)):  # z without f: zero, or what velocities of Newmark's family are without forces
        i = first[k].coordinate
        w[i] = offset[i] = 0.0
        if b > 0.0:
            w[i] = h * (1.0 - g) * a[i] + h * g * (scheme.alpha_f * d[i] - scheme.alpha_m * a[i]) / (1.0 - scheme.alpha_m)


@jit
def increment(frame: Frame) -> float:
    """Largest increment of the coordinates (multipliers do not count); infinite when one is not finite."""
    delta, largest = frame.delta, 0.0
    first, peak = frame.first_of, frame.peak
    for i in range(frame.n_coordinates):
        if not abs(delta[i]) < np.inf:
            return np.inf
        largest = max(largest, abs(delta[i]) if first[i] < 0 else _relative(frame, peak, delta[i], first[i]))
    return largest


@jit
def direction(frame: Frame) -> None:
    """δ = −K⁻¹ r with the present factors."""
    n = frame.n_unknowns
    r, delta = frame.r, frame.delta
    for i in range(n):
        delta[i] = -r[i]
    frame.lu.rhs = delta
    call(frame.solve, frame.lu)


@jit
def free_rates(frame: Frame) -> None:
    """Matrix and residual of the projection of the momentum p₁ = M Δq/h − h/2 ∇V onto the constraints at the end of a step."""
    vec = frame.vec
    scheme, h = frame.scheme, frame.clock.h
    moved, excess, v1 = vec.u, vec.excess, vec.v1
    count = frame.count
    for i in range(frame.n_q):
        excess[i], v1[i] = moved[i] / h, 0.0
    scheme.weight = 0.5 * h
    count.which, count.mode = ap.PROJECTION, ap.RATES
    call(frame.evaluate, frame)
    scheme.weight = scheme.theta


@jit
def _project_rates(frame: Frame) -> int:
    """Rates at the end of a variational step."""
    free_rates(frame)
    frame.lu.made_for = 0.0
    if call(frame.factorise, frame.lu) != ap.OK:
        return ap.ANALYSE
    direction(frame)
    call(frame.move, frame)
    return ap.OK


@jit
def book_violation(frame: Frame) -> None:
    """The largest residual of a constraint goes into the books, also of one that is left out."""
    book, r = frame.book, frame.r
    unknown = frame.multiplier_rows
    book[ap.VIOLATION] = max(book[ap.VIOLATION], frame.clock.aside)
    for k in range(unknown.size):
        if unknown[k] >= 0:
            book[ap.VIOLATION] = max(book[ap.VIOLATION], abs(r[unknown[k]]))


@kernel
def finish(address: int) -> int:
    """Constraint violation, rates and accelerations at the end of the step."""
    frame = Frame.at(address)
    vec = frame.vec
    scheme, clock = frame.scheme, frame.clock
    book_violation(frame)
    if scheme.evaluation == ap.START:
        return _project_rates(frame)
    h, b, g, am, af = clock.h, scheme.beta, scheme.gamma, scheme.alpha_m, scheme.alpha_f
    u, v0, v1 = vec.u, vec.v0, vec.v1
    a0, a1, d0, d1 = vec.a0, vec.a1, vec.d0, vec.d1
    for i in range(frame.n_q):
        moved, v = u[i], v0[i]
        if b > 0.0:
            a = a0[i]
            a1[i] = (moved - h * v - h * h * (0.5 - b) * a) / (b * h * h)
            d1[i] = ((1.0 - am) * a1[i] + am * a - af * d0[i]) / (1.0 - af)
            v1[i] = v + h * ((1.0 - g) * a + g * a1[i])
        elif scheme.evaluation == ap.END:
            v1[i] = moved / h
        else:
            v1[i] = 2.0 * moved / h - v
    first = frame.first
    for k in range(len(first)):
        i = first[k].coordinate
        v1[i] = u[i] / h
        if b > 0.0:
            a1[i] = (u[i] / h - (1.0 - g) * a0[i]) / g
            v1[i] = d1[i] = ((1.0 - am) * a1[i] + am * a0[i] - af * d0[i]) / (1.0 - af)
    return ap.OK


@hot
def _wide_audit(frame: Frame, g: int, total: Any, args: Any) -> None:
    """Sums of a group as many instances at a time as a SIMD register holds."""
    group = frame.groups[g]
    kernel_row, lanes = frame.kernels[group.kernel_at + ap.AUDIT], frame.lanes
    x, y = frame.wide_x, frame.wide_y
    args[0], args[1], args[2], args[3] = (
        at(frame.wide_x),
        at(frame.wide_y),
        at(frame.constants[kernel_row.constant_at :]),
        at(frame.wide_work),
    )
    for lane in range(lanes):
        _scalars(frame, lanes, x[lane:])
    for block in range((group.count + lanes - 1) // lanes):
        first = block * lanes
        _wide_call(frame, group, kernel_row, first, x)
        for a in range(ap.AUDIT_SIZE):
            for lane in range(min(lanes, group.count - first)):
                total[a] += y[lanes * a + lane]


@hot
def _audit(frame: Frame, total: Any) -> None:
    """Energies, work and momenta summed over all elements (rates stand in EXCESS), and the new history."""
    args, x = frame.args, frame.x
    y = frame.y
    _scalars(frame, 1, x)
    for a in range(ap.AUDIT_SIZE):
        total[a] = 0.0
    for g in range(len(frame.groups)):
        group = frame.groups[g]
        kernel_row = frame.kernels[group.kernel_at + ap.AUDIT]
        k = group.k
        if kernel_row.wide != 0:
            _wide_audit(frame, g, total, args)
            continue
        last = 3 if k > 0 else 2
        args[0], args[1], args[last + 1], args[MEDIUM] = at(frame.x), at(frame.y), at(frame.work), kernel_row.medium
        for i in range(group.count):
            _gather(frame, group, i, 1, x)
            if k > 0:
                args[2] = at(frame.history.end[group.history_at + i * k :])
            args[last] = at(frame.constants[kernel_row.constant_at + i * kernel_row.constant_stride :])
            call(kernel_row.function, frame.args)
            for a in range(ap.AUDIT_SIZE):
                total[a] += y[a]


@jit
def _balanced(frame: Frame, total: Any) -> bool:
    """Whether the energy balance of a conserving step holds.

    A turn of π in one step makes the mid-point directors dependent and the discrete null space lose rank; the projected equations then
    have solutions that are none of the motion, and they do not balance, however small the step is.  Of a system that has come to rest the
    rounding of its former energies is no defect, nor is that of speeds, as differences of rounded positions, in tiny steps and at a start
    from rest.
    """
    if frame.scheme.evaluation != ap.DISCRETE:
        return True
    book, defect, scale = frame.book, total[3] - total[4], total[0] + abs(total[3]) + abs(total[4])
    for a in range(3):
        defect += total[a] - book[a]
        scale += abs(total[a] - book[a]) + 1e-6 * (abs(total[a]) + abs(book[a]))
    book[ap.PEAK] = max(book[ap.PEAK], scale)
    if abs(defect) <= LOPSIDED * max(scale, 1e-9 * book[ap.PEAK]):
        return True
    speed, h = extent(frame, frame.vec.v1), frame.clock.h
    noise = 64.0 * EPS * extent(frame, frame.vec.q1) / (h * speed) if speed > 0.0 else 0.0
    return abs(defect) <= total[0] * noise * (1.0 + noise)


@jit
def _close_books(frame: Frame, total: Any) -> None:
    """Energies and momenta of the new state, sums of work, and the defect of the balance."""
    book = frame.book
    before = book[0] + book[1] + book[2]
    for a in range(ap.AUDIT_SIZE):
        if a == 3 or a == 4:
            book[a] += total[a]
        else:
            book[a] = total[a]
    book[ap.TOTAL] = book[0] + book[1] + book[2]
    balance = book[ap.TOTAL] - before + total[3] - total[4]
    if abs(balance) > abs(book[ap.BALANCE]):
        book[ap.BALANCE] = balance
    book[ap.USED] += 1.0


@kernel
def accept(address: int) -> int:
    """Commits the step: books, history, state and clock; DIVERGED, and nothing done, when the energy balance does not hold or an angle
    has left the directions of its bodies."""
    frame = Frame.at(address)
    vec = frame.vec
    clock, count = frame.clock, frame.count
    kappa, h = frame.scheme.kappa, clock.h
    q0, q1, v0, v1, u, excess = (
        vec.q0, vec.q1, vec.v0, vec.v1, vec.u, vec.excess
    )  # fmt: skip
    a0, a1, d0, d1, rate1, rate2 = (
        vec.a0, vec.a1, vec.d0, vec.d1, vec.rate1, vec.rate2
    )  # fmt: skip
    for i in range(frame.n_q):
        excess[i] = v1[i]
    total = frame.audit
    _audit(frame, total)
    count.refused = ap.ASTRAY if total[ap.ASTRAY] > MIRRORED else 0 if _balanced(frame, total) else ap.TOTAL
    if count.refused != 0:
        return ap.DIVERGED
    _close_books(frame, total)
    for i in range(frame.n_q):
        rate2[i] = rate1[i]
        rate1[i] = u[i] / h
        q0[i], v0[i], a0[i], d0[i] = q1[i], v1[i], a1[i], d1[i]
    first, peak = frame.first, frame.peak
    for k in range(len(first)):
        i = first[k].coordinate
        peak[i] = max(peak[i], abs(q0[i]))
    last, now, z, z_end = frame.lam.last, frame.lam.now, frame.history.start, frame.history.end
    for k in range(last.size):
        last[k] = now[k] / kappa
    for k in range(z.size):
        z[k] = z_end[k]
    clock.t_rate2, clock.t_rate1 = clock.t_rate1, clock.t + 0.5 * h
    clock.t += h
    count.steps += 1
    return ap.OK


@kernel
def begin(address: int) -> int:
    """Books of the initial state: energies and momenta, no work yet; the step is next to nothing, so that history stays as it is."""
    frame = Frame.at(address)
    vec = frame.vec
    clock = frame.clock
    h = clock.h
    clock.h = 1e-20 * h
    prepare(frame)
    q0, q1, v0, excess = vec.q0, vec.q1, vec.v0, vec.excess
    for i in range(frame.n_q):
        q1[i], excess[i] = q0[i], v0[i]
    book = frame.book
    for a in range(ap.BOOK):
        book[a] = 0.0
    total = frame.audit
    _audit(frame, total)
    _close_books(frame, total)
    book[3] = book[4] = book[ap.BALANCE] = book[ap.USED] = 0.0
    clock.h = h
    return 0


@jit
def guess(frame: Frame, extrapolated: bool) -> None:
    """Rates along which the step is predicted: v₀, or the mean rates of the last two steps extrapolated."""
    vec = frame.vec
    clock, rates, v0 = frame.clock, vec.guess, vec.v0
    rate1, rate2 = vec.rate1, vec.rate2
    if extrapolated:
        factor = (clock.t + 0.5 * clock.h - clock.t_rate1) / (clock.t_rate1 - clock.t_rate2)
        for i in range(frame.n_q):
            rates[i] = rate1[i] + factor * (rate1[i] - rate2[i])
    else:
        for i in range(frame.n_q):
            rates[i] = v0[i]


@jit
def rest(frame: Frame) -> None:
    """No displacement: q₁ = q₀."""
    moved = frame.vec.u
    for i in range(frame.n_q):
        moved[i] = 0.0
    settle(frame)


@kernel
def assemble(address: int) -> int:
    """Residual and matrix of a step from the state: at the predictor when MODE is PREDICT, else at the present q₁ and Λ."""
    frame = Frame.at(address)
    prepare(frame)
    if frame.count.mode == ap.PREDICT:
        rest(frame)
        guess(frame, False)
        call(frame.move, frame)
    call(frame.evaluate, frame)
    return 0
