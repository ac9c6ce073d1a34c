"""Native parts of a step of an assembled system: evaluation over all elements, updates, end of a step, audit.

Each is a function ``int32_t f(void *frame)`` called by address, so that it is compiled once and none contains another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import hot, jit, kernel
from ..linear.sparse_lu import Factors
from ..ode.frame import EPS
from . import frame as ap
from .frame import FRAME, SCALARS

#: Defect of a step's energy balance, relative to the energies exchanged, above which the step is refused.
LOPSIDED = 1e-6
#: Distance of augmented angles from the directions of their bodies above which a step is refused (it is on the mirror branch).
MIRRORED = 1e-6


@hot
def row(frame: Any, which: int) -> Any:
    """A vector of coordinates."""
    n = frame[ap.N_Q]
    return doubles(frame[ap.F_VEC] + 8 * n * which, n)


@hot
def table(frame: Any, slot: int, k: int, columns: int) -> Any:
    """Row k of a table of integers."""
    return integers(frame[slot] + 8 * columns * k, columns)


@jit
def extent(frame: Any, which: int) -> float:
    """Largest coordinate of a vector, first-order ones relative to their own size."""
    q, largest, peak = row(frame, which), 0.0, doubles(frame[ap.F_PEAK], frame[ap.N_Q])
    for i in range(frame[ap.N_Q]):
        largest = max(largest, abs(q[i]) if peak[i] == 0.0 else _relative(frame, peak, q[i], i))
    return largest


@jit
def _relative(frame: Any, peak: Any, change: float, i: int) -> float:
    """A change of a first-order coordinate as the same part of the size of positions (their units have nothing in common)."""
    largest = max(peak[i], abs(row(frame, ap.U)[i]))
    return abs(change) * doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)[ap.SIZE] / largest


@hot
def _gather(frame: Any, group: Any, i: int, x: Any) -> None:
    """Packs coordinates, multipliers and history of an instance behind the scalars."""
    n, m, k = group[ap.N], group[ap.M], group[ap.K]
    index = integers(frame[ap.F_GATHER] + 8 * (group[ap.GATHER_AT] + i * n), n)
    q0, q1 = row(frame, ap.Q0), row(frame, ap.Q1)
    for a in range(n):
        x[SCALARS + a] = q0[index[a]]
        x[SCALARS + n + a] = q1[index[a]]
    if group[ap.HAS_MASS]:
        excess = row(frame, ap.EXCESS)
        for a in range(n):
            x[SCALARS + 2 * n + a] = excess[index[a]]
    if group[ap.HAS_RATE]:
        offset = row(frame, ap.OFFSET)
        for a in range(n):
            x[SCALARS + 3 * n + a] = offset[index[a]]
    now = doubles(frame[ap.F_LAM] + 8 * (frame[ap.N_MULTIPLIERS] * ap.NOW + group[ap.MULTIPLIER_AT] + i * m), m)
    for a in range(m):
        x[SCALARS + 4 * n + a] = now[a]
    z = doubles(frame[ap.F_HISTORY] + 8 * (group[ap.HISTORY_AT] + i * k), k)
    for a in range(k):
        x[SCALARS + 4 * n + m + a] = z[a]


@hot
def _scalars(frame: Any, x: Any) -> None:
    clock, scheme = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)
    x[0], x[1], x[2], x[3], x[4] = clock[ap.H], clock[ap.T], scheme[ap.KAPPA], scheme[ap.WEIGHT], scheme[ap.FACTOR]


@hot
def _group_values(frame: Any, g: int, which: int, r: Any, values: Any, x: Any, args: Any) -> float:
    """Evaluates the instances of a group and adds their results; the largest residual of a row that is left out."""
    group = table(frame, ap.F_GROUPS, g, ap.GROUP_COLUMNS)
    kernel_row = table(frame, ap.F_KERNELS, group[ap.KERNEL_AT] + which, ap.KERNEL_COLUMNS)
    rows, entries = group[ap.ROWS], kernel_row[ap.ENTRIES] if which != ap.RESIDUAL else 0
    y, aside = doubles(frame[ap.F_Y], rows + entries), 0.0
    last = 2 if which == ap.RESIDUAL else 3
    args[0], args[1], args[2], args[last + 1] = frame[ap.F_X], frame[ap.F_Y], frame[ap.F_Y] + 8 * rows, frame[ap.F_WORK]
    for i in range(group[ap.COUNT]):
        _gather(frame, group, i, x)
        args[last] = frame[ap.F_CONSTANTS] + 8 * (kernel_row[ap.CONSTANT_AT] + i * kernel_row[ap.CONSTANT_STRIDE])
        call(kernel_row[ap.ADDRESS], frame[ap.F_ARGS])
        unknown = integers(frame[ap.F_ROWS] + 8 * (group[ap.ROWS_AT] + i * rows), rows)
        for a in range(rows):
            if unknown[a] >= 0:
                r[unknown[a]] += y[a]
            elif a >= rows - group[ap.M]:
                aside = max(aside, abs(y[a]))
        slot = integers(frame[ap.F_SLOTS] + 8 * (kernel_row[ap.SLOTS_AT] + i * entries), entries)
        for e in range(entries):
            if slot[e] >= 0:
                values[slot[e]] += y[rows + e]
    return aside


@kernel
def evaluate(address: int) -> int:
    """Residual, and the matrix unless WHICH is RESIDUAL, summed over all elements."""
    frame = words(address, FRAME)
    which = integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.WHICH]
    r, values = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS]), doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES])
    x, args = doubles(frame[ap.F_X], SCALARS), words(frame[ap.F_ARGS], 8)
    for i in range(frame[ap.N_UNKNOWNS]):
        r[i] = 0.0
    if which != ap.RESIDUAL:
        for i in range(frame[ap.N_ENTRIES]):
            values[i] = 0.0
    _scalars(frame, x)
    clock = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)
    clock[ap.ASIDE] = 0.0
    for g in range(frame[ap.N_GROUPS]):
        clock[ap.ASIDE] = max(clock[ap.ASIDE], _group_values(frame, g, which, r, values, x, args))
    return 0


@hot
def _bodies(frame: Any, slot: int, source: Any, base: Any, target: Any, delta: Any, rates: Any, alpha: float) -> None:
    """Adds the increments of retraction (or advance, or expansion) of all bodies with a null space to ``base``."""
    args = words(frame[ap.F_ARGS], 8)
    args[0], args[1], args[2], args[3] = frame[ap.F_X], frame[ap.F_Y], frame[ap.F_CONSTANTS], frame[ap.F_WORK]
    for kind in range(frame[ap.N_KINDS]):
        of = table(frame, ap.F_REDUCTIONS, kind, ap.REDUCTION_COLUMNS)
        n, size = of[ap.BODY_N], of[ap.BODY_SIZE]
        x, y = doubles(frame[ap.F_X], 2 * n), doubles(frame[ap.F_Y], n)
        for b in range(of[ap.BODY_AT], of[ap.BODY_AT] + of[ap.BODY_COUNT]):
            body = table(frame, ap.F_BODIES, b, 2)
            for i in range(n):
                x[i] = source[body[0] + i]
            if slot == ap.ADVANCE:
                for i in range(n):
                    x[n + i] = alpha * rates[body[0] + i]
            else:
                for i in range(size):
                    x[n + i] = alpha * delta[body[1] + i]
            call(of[slot], frame[ap.F_ARGS])
            for i in range(n):
                target[body[0] + i] = base[body[0] + i] + y[i]


@jit
def settle(frame: Any) -> None:
    """q₁ and the excess (q₁ − q₀) − w that belong to the displacement."""
    q0, q1, moved, w, excess = row(frame, ap.Q0), row(frame, ap.Q1), row(frame, ap.U), row(frame, ap.W), row(frame, ap.EXCESS)
    for i in range(frame[ap.N_Q]):
        q1[i] = q0[i] + moved[i]
        excess[i] = moved[i] - w[i]


@kernel
def move(address: int) -> int:
    """APPLY: q₁, Λ from the saved iterate and α δ; PREDICT: q₁ = q₀ + h · guess; RATES: v₁ = P(q₁) δ.

    The displacement u = q₁ − q₀ is kept by itself, free of the rounding of positions.
    """
    frame = words(address, FRAME)
    mode, clock = integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE], doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)
    delta, free = doubles(frame[ap.F_DELTA], frame[ap.N_UNKNOWNS]), integers(frame[ap.F_FREE], 2 * frame[ap.N_FREE])
    q0, q1, saved, guess, v1 = row(frame, ap.Q0), row(frame, ap.Q1), row(frame, ap.SAVED), row(frame, ap.GUESS), row(frame, ap.V1)
    moved, kept_moved = row(frame, ap.U), row(frame, ap.U_SAVED)
    alpha, h = clock[ap.ALPHA], clock[ap.H]
    for k in range(frame[ap.N_FREE]):
        c, u = free[2 * k], free[2 * k + 1]
        if mode == ap.APPLY:
            moved[c] = kept_moved[c] + alpha * delta[u]
        elif mode == ap.PREDICT:
            moved[c] = h * guess[c]
        else:
            v1[c] = delta[u]
    if mode == ap.APPLY:
        _bodies(frame, ap.RETRACT, saved, kept_moved, moved, delta, guess, alpha)
        m = frame[ap.N_MULTIPLIERS]
        unknown = integers(frame[ap.F_MULTIPLIER_ROWS], m)
        kept, now = doubles(frame[ap.F_LAM] + 8 * m * ap.KEPT, m), doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m)
        for k in range(m):
            if unknown[k] >= 0:
                now[k] = kept[k] + alpha * delta[unknown[k]]
    elif mode == ap.PREDICT:
        for i in range(frame[ap.N_Q]):
            kept_moved[i] = 0.0
        _bodies(frame, ap.ADVANCE, q0, kept_moved, moved, delta, guess, h)
    else:
        for i in range(frame[ap.N_Q]):
            kept_moved[i] = 0.0
        _bodies(frame, ap.EXPAND, q1, kept_moved, v1, delta, guess, 1.0)
        return 0
    settle(frame)
    return 0


@jit
def prepare(frame: Any) -> None:
    """Displacement without forces, κ, and the rate as a function of the displacement, for the step H."""
    scheme, h = doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE), doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)[ap.H]
    b, g, theta = scheme[ap.BETA], scheme[ap.GAMMA], scheme[ap.THETA]
    w, offset, v, a, d = row(frame, ap.W), row(frame, ap.OFFSET), row(frame, ap.V0), row(frame, ap.A0), row(frame, ap.D0)
    scheme[ap.WEIGHT], scheme[ap.FACTOR] = theta, 1.0 / h
    scheme[ap.KAPPA] = h * h if scheme[ap.EVALUATION] == ap.END else 0.5 * h * h
    for i in range(frame[ap.N_Q]):
        w[i], offset[i] = h * v[i], 0.0
    if b > 0.0:
        am, af = scheme[ap.ALPHA_M], scheme[ap.ALPHA_F]
        scheme[ap.KAPPA], scheme[ap.FACTOR] = b * h * h * (1.0 - af) / (1.0 - am), theta * g / (b * h)
        for i in range(frame[ap.N_Q]):
            w[i] += h * h * (0.5 - b) * a[i] - b * h * h / (1.0 - am) * (am * a[i] - af * d[i])
            offset[i] = v[i] + theta * (-g / b * v[i] + h * (1.0 - 0.5 * g / b) * a[i])
    first = integers(frame[ap.F_FIRST], 2 * frame[ap.N_FIRST])
    for k in range(frame[ap.N_FIRST]):  # z without f: zero, or what velocities of Newmark's family are without forces
        i = first[2 * k]
        w[i] = offset[i] = 0.0
        if b > 0.0:
            w[i] = h * (1.0 - g) * a[i] + h * g * (scheme[ap.ALPHA_F] * d[i] - scheme[ap.ALPHA_M] * a[i]) / (1.0 - scheme[ap.ALPHA_M])


@jit
def increment(frame: Any) -> float:
    """Largest increment of the coordinates (multipliers do not count); infinite when one is not finite."""
    delta, largest = doubles(frame[ap.F_DELTA], frame[ap.N_COORDINATES]), 0.0
    first, peak = integers(frame[ap.F_FIRST_OF], frame[ap.N_COORDINATES]), doubles(frame[ap.F_PEAK], frame[ap.N_Q])
    for i in range(frame[ap.N_COORDINATES]):
        if not abs(delta[i]) < np.inf:
            return np.inf
        largest = max(largest, abs(delta[i]) if first[i] < 0 else _relative(frame, peak, delta[i], first[i]))
    return largest


@jit
def direction(frame: Any) -> None:
    """δ = −K⁻¹ r with the present factors."""
    n = frame[ap.N_UNKNOWNS]
    r, delta = doubles(frame[ap.F_R], n), doubles(frame[ap.F_DELTA], n)
    for i in range(n):
        delta[i] = -r[i]
    Factors.at(frame[ap.LU]).rhs = delta
    call(frame[ap.SOLVE], frame[ap.LU])


@jit
def free_rates(address: int, frame: Any) -> None:
    """Matrix and residual of the projection of the momentum p₁ = M Δq/h − h/2 ∇V onto the constraints at the end of a step."""
    scheme, h = doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE), doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)[ap.H]
    moved, excess, v1 = row(frame, ap.U), row(frame, ap.EXCESS), row(frame, ap.V1)
    count = integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    for i in range(frame[ap.N_Q]):
        excess[i], v1[i] = moved[i] / h, 0.0
    scheme[ap.WEIGHT] = 0.5 * h
    count[ap.WHICH], count[ap.MODE] = ap.PROJECTION, ap.RATES
    call(frame[ap.EVALUATE], address)
    scheme[ap.WEIGHT] = scheme[ap.THETA]


@jit
def _project_rates(address: int, frame: Any) -> int:
    """Rates at the end of a variational step."""
    free_rates(address, frame)
    if call(frame[ap.FACTORISE], frame[ap.LU]) != ap.OK:
        return ap.ANALYSE
    direction(frame)
    call(frame[ap.MOVE], address)
    return ap.OK


@jit
def book_violation(frame: Any) -> None:
    """The largest residual of a constraint goes into the books, also of one that is left out."""
    book, r = doubles(frame[ap.F_BOOK], ap.BOOK), doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS])
    unknown = integers(frame[ap.F_MULTIPLIER_ROWS], frame[ap.N_MULTIPLIERS])
    book[ap.VIOLATION] = max(book[ap.VIOLATION], doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)[ap.ASIDE])
    for k in range(frame[ap.N_MULTIPLIERS]):
        if unknown[k] >= 0:
            book[ap.VIOLATION] = max(book[ap.VIOLATION], abs(r[unknown[k]]))


@kernel
def finish(address: int) -> int:
    """Constraint violation, rates and accelerations at the end of the step."""
    frame = words(address, FRAME)
    scheme, clock = doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE), doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)
    book_violation(frame)
    if scheme[ap.EVALUATION] == ap.START:
        return _project_rates(address, frame)
    h, b, g, am, af = clock[ap.H], scheme[ap.BETA], scheme[ap.GAMMA], scheme[ap.ALPHA_M], scheme[ap.ALPHA_F]
    u, v0, v1 = row(frame, ap.U), row(frame, ap.V0), row(frame, ap.V1)
    a0, a1, d0, d1 = row(frame, ap.A0), row(frame, ap.A1), row(frame, ap.D0), row(frame, ap.D1)
    for i in range(frame[ap.N_Q]):
        moved, v = u[i], v0[i]
        if b > 0.0:
            a = a0[i]
            a1[i] = (moved - h * v - h * h * (0.5 - b) * a) / (b * h * h)
            d1[i] = ((1.0 - am) * a1[i] + am * a - af * d0[i]) / (1.0 - af)
            v1[i] = v + h * ((1.0 - g) * a + g * a1[i])
        elif scheme[ap.EVALUATION] == ap.END:
            v1[i] = moved / h
        else:
            v1[i] = 2.0 * moved / h - v
    first = integers(frame[ap.F_FIRST], 2 * frame[ap.N_FIRST])
    for k in range(frame[ap.N_FIRST]):
        i = first[2 * k]
        v1[i] = u[i] / h
        if b > 0.0:
            a1[i] = (u[i] / h - (1.0 - g) * a0[i]) / g
            v1[i] = d1[i] = ((1.0 - am) * a1[i] + am * a0[i] - af * d0[i]) / (1.0 - af)
    return ap.OK


@hot
def _audit(frame: Any, total: Any) -> None:
    """Energies, work and momenta summed over all elements (rates stand in EXCESS), and the new history."""
    args, x = words(frame[ap.F_ARGS], 8), doubles(frame[ap.F_X], SCALARS)
    y = doubles(frame[ap.F_Y], ap.AUDIT_SIZE)
    _scalars(frame, x)
    for a in range(ap.AUDIT_SIZE):
        total[a] = 0.0
    for g in range(frame[ap.N_GROUPS]):
        group = table(frame, ap.F_GROUPS, g, ap.GROUP_COLUMNS)
        kernel_row = table(frame, ap.F_KERNELS, group[ap.KERNEL_AT] + ap.AUDIT, ap.KERNEL_COLUMNS)
        k = group[ap.K]
        last = 3 if k > 0 else 2
        args[0], args[1], args[last + 1] = frame[ap.F_X], frame[ap.F_Y], frame[ap.F_WORK]
        for i in range(group[ap.COUNT]):
            _gather(frame, group, i, x)
            if k > 0:
                args[2] = frame[ap.F_HISTORY] + 8 * (frame[ap.N_HISTORY] + group[ap.HISTORY_AT] + i * k)
            args[last] = frame[ap.F_CONSTANTS] + 8 * (kernel_row[ap.CONSTANT_AT] + i * kernel_row[ap.CONSTANT_STRIDE])
            call(kernel_row[ap.ADDRESS], frame[ap.F_ARGS])
            for a in range(ap.AUDIT_SIZE):
                total[a] += y[a]


@jit
def _balanced(frame: Any, total: Any) -> bool:
    """Whether the energy balance of a conserving step holds.

    A turn of π in one step makes the mid-point directors dependent and the discrete null space lose rank; the projected equations then
    have solutions that are none of the motion, and they do not balance, however small the step is.  Of a system that has come to rest the
    rounding of its former energies is no defect, nor is that of speeds, as differences of rounded positions, in tiny steps and at a start
    from rest.
    """
    if doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)[ap.EVALUATION] != ap.DISCRETE:
        return True
    book, defect, scale = doubles(frame[ap.F_BOOK], ap.BOOK), total[3] - total[4], total[0] + abs(total[3]) + abs(total[4])
    for a in range(3):
        defect += total[a] - book[a]
        scale += abs(total[a] - book[a]) + 1e-6 * (abs(total[a]) + abs(book[a]))
    book[ap.PEAK] = max(book[ap.PEAK], scale)
    if abs(defect) <= LOPSIDED * max(scale, 1e-9 * book[ap.PEAK]):
        return True
    speed, h = extent(frame, ap.V1), doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)[ap.H]
    noise = 64.0 * EPS * extent(frame, ap.Q1) / (h * speed) if speed > 0.0 else 0.0
    return abs(defect) <= total[0] * noise * (1.0 + noise)


@jit
def _close_books(frame: Any, total: Any) -> None:
    """Energies and momenta of the new state, sums of work, and the defect of the balance."""
    book = doubles(frame[ap.F_BOOK], ap.BOOK)
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
    frame = words(address, FRAME)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    kappa, h = doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)[ap.KAPPA], clock[ap.H]
    q0, q1, v0, v1, u, excess = (
        row(frame, ap.Q0), row(frame, ap.Q1), row(frame, ap.V0), row(frame, ap.V1), row(frame, ap.U), row(frame, ap.EXCESS)
    )  # fmt: skip
    a0, a1, d0, d1, rate1, rate2 = (
        row(frame, ap.A0), row(frame, ap.A1), row(frame, ap.D0), row(frame, ap.D1), row(frame, ap.RATE1), row(frame, ap.RATE2)
    )  # fmt: skip
    for i in range(frame[ap.N_Q]):
        excess[i] = v1[i]
    total = doubles(frame[ap.F_BOOK] + 8 * ap.BOOK, ap.AUDIT_SIZE)
    _audit(frame, total)
    count[ap.REFUSED] = ap.ASTRAY if total[ap.ASTRAY] > MIRRORED else 0 if _balanced(frame, total) else ap.TOTAL
    if count[ap.REFUSED] != 0:
        return ap.DIVERGED
    _close_books(frame, total)
    for i in range(frame[ap.N_Q]):
        rate2[i] = rate1[i]
        rate1[i] = u[i] / h
        q0[i], v0[i], a0[i], d0[i] = q1[i], v1[i], a1[i], d1[i]
    first, peak = integers(frame[ap.F_FIRST], 2 * frame[ap.N_FIRST]), doubles(frame[ap.F_PEAK], frame[ap.N_Q])
    for k in range(frame[ap.N_FIRST]):
        peak[first[2 * k]] = max(peak[first[2 * k]], abs(q0[first[2 * k]]))
    m = frame[ap.N_MULTIPLIERS]
    lam = doubles(frame[ap.F_LAM], 2 * m)
    for k in range(m):
        lam[k] = lam[m + k] / kappa
    z = doubles(frame[ap.F_HISTORY], 2 * frame[ap.N_HISTORY])
    for k in range(frame[ap.N_HISTORY]):
        z[k] = z[frame[ap.N_HISTORY] + k]
    clock[ap.T_RATE2], clock[ap.T_RATE1] = clock[ap.T_RATE1], clock[ap.T] + 0.5 * h
    clock[ap.T] += h
    count[ap.STEPS] += 1
    return ap.OK


@kernel
def begin(address: int) -> int:
    """Books of the initial state: energies and momenta, no work yet; the step is next to nothing, so that history stays as it is."""
    frame = words(address, FRAME)
    clock = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE)
    h = clock[ap.H]
    clock[ap.H] = 1e-20 * h
    prepare(frame)
    q0, q1, v0, excess = row(frame, ap.Q0), row(frame, ap.Q1), row(frame, ap.V0), row(frame, ap.EXCESS)
    for i in range(frame[ap.N_Q]):
        q1[i], excess[i] = q0[i], v0[i]
    book = doubles(frame[ap.F_BOOK], ap.BOOK + ap.AUDIT_SIZE)
    for a in range(ap.BOOK):
        book[a] = 0.0
    total = doubles(frame[ap.F_BOOK] + 8 * ap.BOOK, ap.AUDIT_SIZE)
    _audit(frame, total)
    _close_books(frame, total)
    book[3] = book[4] = book[ap.BALANCE] = book[ap.USED] = 0.0
    clock[ap.H] = h
    return 0


@jit
def guess(frame: Any, extrapolated: bool) -> None:
    """Rates along which the step is predicted: v₀, or the mean rates of the last two steps extrapolated."""
    clock, rates, v0 = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), row(frame, ap.GUESS), row(frame, ap.V0)
    rate1, rate2 = row(frame, ap.RATE1), row(frame, ap.RATE2)
    if extrapolated:
        factor = (clock[ap.T] + 0.5 * clock[ap.H] - clock[ap.T_RATE1]) / (clock[ap.T_RATE1] - clock[ap.T_RATE2])
        for i in range(frame[ap.N_Q]):
            rates[i] = rate1[i] + factor * (rate1[i] - rate2[i])
    else:
        for i in range(frame[ap.N_Q]):
            rates[i] = v0[i]


@jit
def rest(frame: Any) -> None:
    """No displacement: q₁ = q₀."""
    moved = row(frame, ap.U)
    for i in range(frame[ap.N_Q]):
        moved[i] = 0.0
    settle(frame)


@kernel
def assemble(address: int) -> int:
    """Residual and matrix of a step from the state: at the predictor when MODE is PREDICT, else at the present q₁ and Λ."""
    frame = words(address, FRAME)
    prepare(frame)
    if integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE] == ap.PREDICT:
        rest(frame)
        guess(frame, False)
        call(frame[ap.MOVE], address)
    call(frame[ap.EVALUATE], address)
    return 0
