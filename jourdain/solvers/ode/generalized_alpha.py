"""The generalised-α method on M v̇ = f + Jᵀλ, h(q, t) = 0 (index 3) with quaternions and first-order states.

Arnold & Brüls (Multibody System Dynamics 18, 2007; Brüls, Cardona & Arnold 2012 for rotations):

    q₁ = q₀ ∘ exp(h v₀ + h²(½ − β) a₀ + h²β a₁),   v₁ = v₀ + h(1 − γ) a₀ + hγ a₁,
    (1 − α_m) a₁ + α_m a₀ = (1 − α_f) v̇₁ + α_f v̇₀,

with the equations of motion and the constraints met by (q₁, v₁, v̇₁, λ₁).  HHT-α, Newmark's method and the trapezoidal
rule are special cases.  First-order states follow the same weights (Jansen, Whiting & Hulbert 2000).  The unknowns of Newton's
method are the displacement and s = βh²λ, the equations of motion are scaled by βh² (Bottasso, Bauchau & Cardona 2007): the
conditioning of the iteration matrix does not depend on the step.

The state in the frame is x = (q, v, z, v̇, λ): accelerations and multipliers are part of the solution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import hot, jit, kernel
from jourdain.solvers.linear.dense import lu_factor, lu_solve
from jourdain.solvers.ode.frame import (
    BAD,
    BAD_STATUS,
    CLOCK,
    CONST,
    EPS,
    FRESH,
    H_USED,
    INTS,
    JAC_ARGS,
    N_JAC,
    N_LU,
    N_RHS,
    NO_CONVERGENCE,
    NOT_FINITE,
    REJECTED,
    RESTART,
    RHS_FAILED,
    SINCE_BASE,
    SINGULAR,
    STAGE_T,
    T_BAD,
    TOL,
    UNDERFLOW,
    WORK,
    X_OLD,
    F,
    H,
    T,
    X,
    accept,
    bounded_step,
    evaluate_here,
    first_not_finite,
    fixed_step,
    hermite,
    smallest_step,
    view,
    weight,
)
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.rotation import position_rates, quaternion_rate, tangent_column, turn

NAMES = ("generalized-alpha", "hht", "newmark", "trapezoidal")

ITERATIONS = 12
#: Newton stops when the displacement is known to this part of what the acceleration contributes to it.
ACCURACY = 1e-8
#: Constraint compliance relative to that of the bodies: removes the indeterminacy of redundant constraints.
COMPLIANCE, COMPLIANCE_REDUNDANT = 1e-13, 1e-8

# Arguments of the residual: time, state, –, plan, pointers of the equations and of the tangent, quaternions.
PLAN, EQUATIONS, TANGENT, QUATERNIONS, MASSLESS, ARGUMENTS = range(3, 9)
# Entries of the plan.
NQ, NV, NZ, M, HOLONOMIC, TURNS, EQUATIONS_ADDRESS, TANGENT_ADDRESS, OFFSETS = range(9)
# Constants: order (for the first step), the scheme, compliance of constraints, whether the step adapts.
ORDER, ALPHA_M, ALPHA_F, BETA, GAMMA, EPSILON, ADAPTS, CONSTANTS = range(8)
# Integers: matrix usable, method started, differences of the last step known.
USABLE, STARTED, KNOWN = range(3)
# Arrays of the workspace, in order: sizes below.
(
    MEMORY,
    A,
    A1,
    DIFFERENCE,
    ACC,
    THETA,
    DA,
    W,
    W1,
    RATE,
    RATE1,
    RATE_OLD,
    DIFFERENCE_Z,
    LAM,
    SOFT,
    STATE,
    DX,
    SLOPE_OLD,
    SLOPE,
    B,
    DT,
    MATRIX,
) = range(22)
PLAN_SIZE = OFFSETS + MATRIX + 2
H_FACTORS, H_LAST, MEMORY_SIZE = 0, 1, 2


@hot
def _address(frame: Any, plan: Any, array: int) -> int:
    return frame[WORK] + 8 * plan[OFFSETS + array]


@hot
def _array(frame: Any, plan: Any, array: int) -> Any:
    """View of an array of the workspace."""
    return doubles(_address(frame, plan, array), plan[OFFSETS + array + 1] - plan[OFFSETS + array])


@hot
def _whole(frame: Any, plan: Any, slot: int) -> Any:
    """View of the state (q, v, z, v̇, λ) in a slot of the frame."""
    return doubles(frame[slot], plan[NQ] + 2 * plan[NV] + plan[NZ] + plan[M])


@hot
def _plan(frame: Any) -> Any:
    return integers(words(frame[JAC_ARGS], ARGUMENTS)[PLAN], PLAN_SIZE)


@jit
def _trial(frame: Any, plan: Any, turns: Any, h: float) -> None:
    """The point (q₁, v₁, z₁) that belongs to the present v̇₁ and ż₁."""
    nq, nv, nz = plan[NQ], plan[NV], plan[NZ]
    c, x, x1 = doubles(frame[CONST], CONSTANTS), _whole(frame, plan, X), _array(frame, plan, STATE)
    a, a1, acc, theta = (_array(frame, plan, A), _array(frame, plan, A1), _array(frame, plan, ACC), _array(frame, plan, THETA))
    w, w1, rate, rate1 = (_array(frame, plan, W), _array(frame, plan, W1), _array(frame, plan, RATE), _array(frame, plan, RATE1))
    am, af, beta, gamma = c[ALPHA_M], c[ALPHA_F], c[BETA], c[GAMMA]
    for i in range(nv):
        a1[i] = ((1.0 - af) * acc[i] + af * x[nq + nv + nz + i] - am * a[i]) / (1.0 - am)
        theta[i] = h * (x[nq + i] + h * ((0.5 - beta) * a[i] + beta * a1[i]))
        x1[nq + i] = x[nq + i] + h * ((1.0 - gamma) * a[i] + gamma * a1[i])
    for i in range(nz):
        w1[i] = ((1.0 - af) * rate1[i] + af * rate[i] - am * w[i]) / (1.0 - am)
        x1[nq + nv + i] = x[nq + nv + i] + h * ((1.0 - gamma) * w[i] + gamma * w1[i])
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < plan[TURNS] and turns[2 * k] == iq:
            turn(x, iq, theta[iv], theta[iv + 1], theta[iv + 2], x1)
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            x1[iq] = x[iq] + theta[iv]
            iq, iv = iq + 1, iv + 1


@jit
def _evaluate(frame: Any, clock: Any, count: Any, plan: Any, t: float) -> int:
    """The residuals at the trial point; 0 when they are finite."""
    args = words(frame[JAC_ARGS], ARGUMENTS)
    slots = words(args[EQUATIONS], 9)
    clock[STAGE_T] = t
    slots[0] = frame[CLOCK] + 8 * STAGE_T
    slots[1], slots[3], slots[4] = _address(frame, plan, STATE), _address(frame, plan, ACC), _address(frame, plan, LAM)
    count[N_RHS] += 1
    status = call(plan[EQUATIONS_ADDRESS], args[EQUATIONS])
    clock[T_BAD] = t
    if status != 0:
        count[BAD_STATUS] = status
        return RHS_FAILED
    bad = first_not_finite(doubles(slots[5], plan[NV]))
    if bad >= 0:
        count[BAD] = plan[NQ] + bad
        return NOT_FINITE
    bad = first_not_finite(doubles(slots[7], plan[NZ]))
    if bad >= 0:
        count[BAD] = plan[NQ] + plan[NV] + bad
        return NOT_FINITE
    return 0


@jit
def _column(frame: Any, plan: Any, column: int, h: float, by_v: float) -> int:
    """Writes a column of the iteration matrix from the direction in DX and DA."""
    nv, nz, m, mh = plan[NV], plan[NZ], plan[M], plan[HOLONOMIC]
    size = nv + nz + m
    c, matrix = doubles(frame[CONST], CONSTANTS), _array(frame, plan, MATRIX)
    args = words(frame[JAC_ARGS], ARGUMENTS)
    slots = words(args[TANGENT], 11)
    status = call(plan[TANGENT_ADDRESS], args[TANGENT])
    dr, de, df = doubles(slots[8], nv), doubles(slots[9], m), doubles(slots[10], nz)
    for i in range(nv):
        matrix[i * size + column] = c[BETA] * h * h * dr[i]
    for i in range(nz):
        matrix[(nv + i) * size + column] = -h * c[GAMMA] * df[i]
    for i in range(m):
        matrix[(nv + nz + i) * size + column] = de[i] if i < mh else de[i] / by_v
    return status


@jit
def _assemble(frame: Any, plan: Any, turns: Any, h: float) -> int:
    """The iteration matrix at the trial point, column by column."""
    nq, nv, nz, m = plan[NQ], plan[NV], plan[NZ], plan[M]
    size, state = nv + nz + m, nq + nv + nz
    c, matrix, theta = doubles(frame[CONST], CONSTANTS), _array(frame, plan, MATRIX), _array(frame, plan, THETA)
    dx, da, x1 = _array(frame, plan, DX), _array(frame, plan, DA), _array(frame, plan, STATE)
    by_a, by_v = (1.0 - c[ALPHA_M]) / (h * h * c[BETA] * (1.0 - c[ALPHA_F])), c[GAMMA] / (h * c[BETA])
    args = words(frame[JAC_ARGS], ARGUMENTS)
    slots = words(args[TANGENT], 11)
    slots[0] = frame[CLOCK] + 8 * STAGE_T
    slots[1], slots[3], slots[4] = _address(frame, plan, STATE), _address(frame, plan, ACC), _address(frame, plan, LAM)
    slots[5], slots[6], slots[7] = _address(frame, plan, DX), _address(frame, plan, DA), _address(frame, plan, DT)
    _array(frame, plan, DT)[0] = 0.0
    for i in range(state):
        dx[i] = 0.0
    for i in range(nv):
        da[i] = 0.0
    status = 0
    iq, iv, k = 0, 0, 0
    while iq < nq:
        turned = k < plan[TURNS] and turns[2 * k] == iq
        for j in range(3 if turned else 1):
            if turned:
                wx, wy, wz = tangent_column(theta, iv, j)
                quaternion_rate(x1, iq, wx, wy, wz, dx)
            else:
                dx[iq] = 1.0
            dx[nq + iv + j], da[iv + j] = by_v, by_a
            status |= _column(frame, plan, iv + j, h, by_v)
            dx[nq + iv + j] = da[iv + j] = 0.0
        for j in range(4 if turned else 1):
            dx[iq + j] = 0.0
        iq, iv, k = (iq + 4, iv + 3, k + 1) if turned else (iq + 1, iv + 1, k)
    for j in range(nz):
        dx[nq + nv + j] = 1.0
        status |= _column(frame, plan, nv + j, h, by_v)
        dx[nq + nv + j] = 0.0
        matrix[(nv + j) * size + nv + j] += (1.0 - c[ALPHA_M]) / (1.0 - c[ALPHA_F])
    J, soft = doubles(words(args[EQUATIONS], 9)[8], m * nv), _array(frame, plan, SOFT)
    massless = integers(args[MASSLESS], nv)
    for k in range(m):
        column = nv + nz + k
        for i in range(size):
            matrix[i * size + column] = 0.0
        for i in range(nv):
            matrix[i * size + column] = -J[k * nv + i]
        soft[k] = matrix[column * size + column] = _compliance(J, matrix, massless, k, nv, size, c[EPSILON])
    return status


@hot
def _compliance(J: Any, matrix: Any, massless: Any, k: int, nv: int, size: int, epsilon: float) -> float:
    """A small part of (J M⁻¹ Jᵀ)ₖₖ, velocities without mass left out."""
    total = 0.0
    for i in range(nv):
        if matrix[i * size + i] != 0.0 and massless[i] == 0:
            total += J[k * nv + i] * J[k * nv + i] / abs(matrix[i * size + i])
    return epsilon * total


@jit
def _correct(frame: Any, plan: Any, pivots: Any, h: float) -> float:
    """One Newton correction of v̇₁, ż₁ and λ₁; its size over the accuracy wanted."""
    nq, nv, nz, m, mh = plan[NQ], plan[NV], plan[NZ], plan[M], plan[HOLONOMIC]
    c, b, x = doubles(frame[CONST], CONSTANTS), _array(frame, plan, B), _whole(frame, plan, X)
    size = nv + nz + m
    slots = words(words(frame[JAC_ARGS], ARGUMENTS)[EQUATIONS], 9)
    r, e, f = doubles(slots[5], nv), doubles(slots[6], m), doubles(slots[7], nz)
    acc, rate1, lam = _array(frame, plan, ACC), _array(frame, plan, RATE1), _array(frame, plan, LAM)
    scale, by_v = c[BETA] * h * h, c[GAMMA] / (h * c[BETA])
    matrix, soft = _array(frame, plan, MATRIX), _array(frame, plan, SOFT)
    for i in range(nv):
        b[i] = -scale * r[i]
    for i in range(nz):
        b[nv + i] = -h * c[GAMMA] * (rate1[i] - f[i])
    for i in range(m):
        b[nv + nz + i] = -((e[i] if i < mh else e[i] / by_v) + soft[i] * scale * lam[i])
    lu_solve(matrix, size, pivots, b)
    ratio = (1.0 - c[ALPHA_M]) / (1.0 - c[ALPHA_F])
    largest = 0.0
    for i in range(nv):
        acc[i] += b[i] * ratio / scale
        largest = max(largest, abs(acc[i]))
    for i in range(m):
        lam[i] += b[nv + nz + i] / scale
    result, span = 0.0, 0.0
    for i in range(nq):
        span = max(span, abs(x[i]))
    wanted = ACCURACY * scale * largest + 64.0 * EPS * max(span, 1e-3)
    for i in range(nv):
        result = max(result, abs(b[i]) / wanted)
    for i in range(nz):
        rate1[i] += b[nv + i] * ratio / (h * c[GAMMA])
        result = max(result, abs(b[nv + i]) / (ACCURACY * h * abs(rate1[i]) + 64.0 * EPS * max(abs(x[nq + nv + i]), 1e-3)))
    return result


@jit
def _solve(frame: Any, clock: Any, count: Any, plan: Any, h: float) -> int:
    """Newton's method for one step; the matrix is renewed when convergence is slow."""
    args = words(frame[JAC_ARGS], ARGUMENTS)
    turns, ints = integers(args[QUATERNIONS], 2 * plan[TURNS] + 1), integers(frame[INTS], 4)
    unknowns = plan[NV] + plan[NZ] + plan[M]
    pivots, memory = integers(frame[INTS] + 32, unknowns), _array(frame, plan, MEMORY)
    last, taken = 0.0, 0
    for k in range(ITERATIONS):
        _trial(frame, plan, turns, h)
        status = _evaluate(frame, clock, count, plan, clock[T] + h)
        if status != 0:
            return status
        if ints[USABLE] == 0 or abs(memory[H_FACTORS] - h) > 1e-9 * abs(h):
            count[N_JAC] += 1
            count[N_LU] += 1
            if _assemble(frame, plan, turns, h) != 0:
                return RHS_FAILED
            if lu_factor(_array(frame, plan, MATRIX), unknowns, pivots) != 0:
                ints[USABLE] = 0
                return SINGULAR
            ints[USABLE], memory[H_FACTORS], taken = 1, h, 0
        size = _correct(frame, plan, pivots, h)
        taken += 1
        if not math.isfinite(size):
            return NO_CONVERGENCE
        ratio = size / last if k > 0 else 1.0
        if size <= 1.0 or (k > 0 and ratio < 1.0 and ratio / (1.0 - ratio) * size <= 0.5) or (k > 3 and size < 1e3 and ratio > 0.5):
            if taken > 5:
                ints[USABLE] = 0
            _trial(frame, plan, turns, h)
            return 0
        if k > 0 and ratio > 0.3:
            ints[USABLE] = 0
        last = size
    return NO_CONVERGENCE


@jit
def _start(frame: Any, clock: Any, count: Any, plan: Any) -> int:
    """Accelerations consistent with the state, at the beginning and after every jump."""
    nq, nv, nz = plan[NQ], plan[NV], plan[NZ]
    ints = integers(frame[INTS], 4)
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    f, x, a, w, rate = (
        _whole(frame, plan, F),
        _whole(frame, plan, X),
        _array(frame, plan, A),
        _array(frame, plan, W),
        _array(frame, plan, RATE),
    )
    for i in range(nv):
        x[nq + nv + nz + i] = a[i] = f[nq + i]
    for i in range(nz):
        rate[i] = w[i] = f[nq + nv + i]
    ints[STARTED], ints[KNOWN] = 1, 0
    _array(frame, plan, MEMORY)[H_LAST] = 0.0
    return 0


@jit
def _prepare(frame: Any, plan: Any, h: float) -> None:
    """The guess of the step, and a₀ moved to the instant t₀ + (α_m − α_f) h where this step size wants it."""
    nq, nv, nz, m = plan[NQ], plan[NV], plan[NZ], plan[M]
    x, memory = _whole(frame, plan, X), _array(frame, plan, MEMORY)
    a, acc, lam = _array(frame, plan, A), _array(frame, plan, ACC), _array(frame, plan, LAM)
    w, rate, rate1 = _array(frame, plan, W), _array(frame, plan, RATE), _array(frame, plan, RATE1)
    ratio = h / memory[H_LAST] if memory[H_LAST] != 0.0 else 1.0
    for i in range(nv):
        acc[i] = x[nq + nv + nz + i]
        a[i] = acc[i] + ratio * (a[i] - acc[i])
    for i in range(nz):
        rate1[i] = rate[i]
        w[i] = rate[i] + ratio * (w[i] - rate[i])
    for i in range(m):
        lam[i] = x[nq + 2 * nv + nz + i]
    memory[H_LAST] = h


@jit
def _error(frame: Any, plan: Any, turns: Any, h: float, known: bool) -> float:
    """The local error over its tolerance from the leading terms of its expansion in h."""
    nq, nv, nz = plan[NQ], plan[NV], plan[NZ]
    c, x = doubles(frame[CONST], CONSTANTS), _whole(frame, plan, X)
    tol = doubles(frame[TOL], x.size + 1)
    a, a1, old = _array(frame, plan, A), _array(frame, plan, A1), _array(frame, plan, DIFFERENCE)
    w, w1, old_z, x1 = (
        _array(frame, plan, W),
        _array(frame, plan, W1),
        _array(frame, plan, DIFFERENCE_Z),
        _array(frame, plan, STATE),
    )
    shift = c[ALPHA_M] - c[ALPHA_F]
    by_q = abs(0.5 * shift + c[BETA] - 1.0 / 6.0)
    by_v = abs(0.5 * shift * shift + c[GAMMA] * (shift + 0.5) - 1.0 / 6.0)
    total = 0.0
    iq, iv, k = 0, 0, 0
    while iq < nq:
        turned = k < plan[TURNS] and turns[2 * k] == iq
        for j in range(3 if turned else 1):
            scale = weight(tol, iq, 1.0, 1.0) if turned else weight(tol, iq, x[iq], x1[iq])
            total = max(total, by_q * h * h * abs(a1[iv + j] - a[iv + j]) / scale)
        iq, iv, k = (iq + 4, iv + 3, k + 1) if turned else (iq + 1, iv + 1, k)
    if known:
        for i in range(nv):
            change = a1[i] - a[i] - old[i] * h
            total = max(total, by_v * h * abs(change) / weight(tol, nq + i, x[nq + i], x1[nq + i]))
    for i in range(nz):
        change = w1[i] - w[i] - (old_z[i] * h if known else 0.0)
        total = max(total, by_v * h * abs(change) / weight(tol, nq + nv + i, x[nq + nv + i], x1[nq + nv + i]))
    return total


@jit
def _take(frame: Any, clock: Any, count: Any, plan: Any, h: float, hit: bool) -> None:
    """Moves to the new point."""
    nq, nv, nz, m = plan[NQ], plan[NV], plan[NZ], plan[M]
    x, x_old, x1 = _whole(frame, plan, X), _whole(frame, plan, X_OLD), _array(frame, plan, STATE)
    a, a1, acc, lam = (_array(frame, plan, A), _array(frame, plan, A1), _array(frame, plan, ACC), _array(frame, plan, LAM))
    w, w1, rate, rate1 = (_array(frame, plan, W), _array(frame, plan, W1), _array(frame, plan, RATE), _array(frame, plan, RATE1))
    rate_old, old, old_z = _array(frame, plan, RATE_OLD), _array(frame, plan, DIFFERENCE), _array(frame, plan, DIFFERENCE_Z)
    for i in range(x.size):
        x_old[i] = x[i]
    for i in range(nq + nv + nz):
        x[i] = x1[i]
    for i in range(nv):
        old[i] = (a1[i] - a[i]) / h
        x[nq + nv + nz + i], a[i] = acc[i], a1[i]
    for i in range(nz):
        old_z[i] = (w1[i] - w[i]) / h
        rate_old[i], rate[i], w[i] = rate[i], rate1[i], w1[i]
    for i in range(m):
        x[nq + 2 * nv + nz + i] = lam[i]
    integers(frame[INTS], 4)[KNOWN] = 1
    accept(clock, count, h, hit)
    count[FRESH] = 0


@kernel
def step(address: int) -> int:
    """Take one accepted step; a step that does not converge is halved."""
    frame, clock, count = view(address)
    plan, ints = _plan(frame), integers(frame[INTS], 4)
    args = words(frame[JAC_ARGS], ARGUMENTS)
    turns = integers(args[QUATERNIONS], 2 * plan[TURNS] + 1)
    adapts = doubles(frame[CONST], CONSTANTS)[ADAPTS] != 0.0
    if adapts:
        h, hit = bounded_step(clock, True)
    else:
        h, hit = fixed_step(clock, count)
    if ints[STARTED] == 0 or count[RESTART] == 1:
        status = _start(frame, clock, count, plan)
        if status != 0:
            return status
    planned = h
    while True:
        _prepare(frame, plan, h)
        status = _solve(frame, clock, count, plan, h)
        error = 0.0
        if status == 0 and adapts:
            error = _error(frame, plan, turns, h, ints[KNOWN] == 1)
        if status == 0 and error <= 1.0:
            break
        count[REJECTED] += 1
        ints[USABLE] = 0 if status != 0 else ints[USABLE]
        factor = 0.5 if status != 0 or not math.isfinite(error) else max(0.2, 0.9 * error ** (-1.0 / 3.0))
        if not adapts and h == planned and not hit:
            count[SINCE_BASE] -= 1  # the grid point is still to be reached
        h, hit = h * factor, False
        if abs(h) < smallest_step(clock) or (not adapts and abs(h) < 1e-5 * abs(planned)) or (status != 0 and count[BAD_STATUS] < 0):
            return status if status != 0 else UNDERFLOW
    _take(frame, clock, count, plan, h, hit)
    if adapts:
        factor = min(3.0, 0.9 * max(error, 1e-6) ** (-1.0 / 3.0))
        wanted = h if 0.9 < factor < 1.3 else h * factor  # an equal step keeps the factorised matrix
        cut = h == planned and abs(h) < abs(clock[H])
        if not cut or factor < 0.9 or abs(wanted) > abs(clock[H]):
            clock[H] = wanted
    return 0


@kernel
def dense(address: int) -> int:
    """Cubics through positions, velocities and states with their rates; accelerations and multipliers are linear."""
    frame, clock, count = view(address)
    plan = _plan(frame)
    nq, nv, nz = plan[NQ], plan[NV], plan[NZ]
    args = words(frame[JAC_ARGS], ARGUMENTS)
    turns = integers(args[QUATERNIONS], 2 * plan[TURNS] + 1)
    x, x_old = _whole(frame, plan, X), _whole(frame, plan, X_OLD)
    old, new = _array(frame, plan, SLOPE_OLD), _array(frame, plan, SLOPE)
    rate_old, rate = _array(frame, plan, RATE_OLD), _array(frame, plan, RATE)
    position_rates(nq, plan[TURNS], turns, x_old, x_old[nq:], old)
    position_rates(nq, plan[TURNS], turns, x, x[nq:], new)
    for i in range(nv):
        old[nq + i], new[nq + i] = x_old[nq + nv + nz + i], x[nq + nv + nz + i]
    for i in range(nz):
        old[nq + nv + i], new[nq + nv + i] = rate_old[i], rate[i]
    h = clock[H_USED]
    for i in range(nq + nv + nz, x.size):
        old[i] = new[i] = (x[i] - x_old[i]) / h
    hermite(frame, clock, count, old, new)
    return 0


def coefficients(name: str, rho: float = 0.8) -> tuple[float, float, float, float]:
    """(α_m, α_f, β, γ) of a scheme with the spectral radius ``rho`` at infinite frequency.

    Chung & Hulbert (1993) for the generalised-α method, Hilber, Hughes & Taylor (1977) for "hht" (½ ≤ ρ ≤ 1); "newmark" gives the
    damped first-order scheme of Newmark (second order for ρ = 1), "trapezoidal" its undamped case.

    >>> coefficients("trapezoidal")
    (0.0, 0.0, 0.25, 0.5)
    """
    lowest = 0.5 if name == "hht" else 0.0
    if not lowest <= rho <= 1.0:
        raise InputError(f"method '{name}': rho = {rho} must lie between {lowest:g} (strongest damping) and 1 (none)")
    alpha_m = alpha_f = 0.0
    if name == "generalized-alpha":
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    elif name == "hht":
        alpha_f = (1.0 - rho) / (1.0 + rho)
    gamma = 0.5 - alpha_m + alpha_f
    if name == "newmark":
        gamma = 2.0 / (1.0 + rho) - 0.5
    return alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma


def make_plan(nq: int, nv: int, nz: int, rows: int, holonomic: int, turns: int) -> np.ndarray:
    """The integer plan the kernels read; addresses are filled in by the caller."""
    plan = np.zeros(PLAN_SIZE, dtype=np.int64)
    plan[:EQUATIONS_ADDRESS] = nq, nv, nz, rows, holonomic, turns
    unknowns, whole = nv + nz + rows, nq + 2 * nv + nz + rows
    sizes = [MEMORY_SIZE, *[nv] * 6, *[nz] * 6, *[rows] * 2, *[nq + nv + nz] * 2, *[whole] * 2, unknowns, 1, unknowns * unknowns]
    plan[OFFSETS + 1 : OFFSETS + 1 + len(sizes)] = np.cumsum(sizes)
    return plan


def method(
    name: str = "generalized-alpha", rho: float = 0.8, plan: np.ndarray | None = None, *, adaptive: bool = False, redundant: bool = False
) -> Method:
    """The method for a plan of sizes; ``redundant`` says that some constraints repeat others."""
    if plan is None:
        raise InputError(f"method '{name}' works on the equations of a mechanism: use it through System.simulate")
    epsilon = COMPLIANCE_REDUNDANT if redundant else COMPLIANCE
    unknowns = int(plan[NV] + plan[NZ] + plan[M])
    return Method(
        name=name, order=2, adaptive=adaptive, step=step.address, dense=dense.address,
        constants=np.array([2.0, *coefficients(name, rho), epsilon, float(adaptive)]),
        work=lambda n: int(plan[OFFSETS + MATRIX + 1]), integer_work=lambda n: unknowns, degree=3, needs_jacobian=True, stiff=True,
    )  # fmt: skip
