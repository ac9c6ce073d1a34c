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
from jourdain.native.call import address as at
from jourdain.native.call import call, doubles, integers
from jourdain.native.kernel import hot, jit, kernel
from jourdain.solvers.linear.dense import lu_factor, lu_solve
from jourdain.solvers.ode.frame import (
    EPS,
    NO_CONVERGENCE,
    NOT_FINITE,
    RHS_FAILED,
    SINGULAR,
    UNDERFLOW,
    Arguments,
    Clock,
    Count,
    Frame,
    accept,
    bounded_step,
    evaluate_here,
    first_not_finite,
    fixed_step,
    hermite,
    smallest_step,
    view,
    weight,
)  # fmt: skip
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.methods.alpha_records import MEMORY_SIZE, Flags, Memory, Plan, Residual, Scheme
from jourdain.solvers.ode.rotation import position_rates, quaternion_rate, tangent_column, turn

ITERATIONS = 12
#: Newton stops when the displacement is known to this part of what the acceleration contributes to it.
ACCURACY = 1e-8
#: Terms of inertia that are less than this part of the largest do not decide how soft a constraint may be.
LIGHTEST = 1e-4
#: The matrix is renewed where an iteration leaves more than this part of the error, and after a step of more iterations than this; a matrix costs as
#: much as two iterations an unknown, so that systems of many unknowns go on with an old one for longer.
SLOW, SLOW_MANY, LONG, LONG_MANY, MANY = 0.3, 0.5, 5, 7, 12
#: Constraint compliance relative to that of the bodies: removes the indeterminacy of redundant constraints.
COMPLIANCE, COMPLIANCE_REDUNDANT = 1e-13, 1e-8


@hot
def _turns(frame: Frame, plan: Plan) -> Any:
    """First position and first velocity of every quaternion."""
    return integers(Residual.at(frame.jac_args).quaternions, 2 * plan.turns + 1)


@jit
def _trial(frame: Frame, plan: Plan, turns: Any, h: float) -> None:
    """The point (q₁, v₁, z₁) that belongs to the present v̇₁ and ż₁."""
    nq, nv, nz = plan.nq, plan.nv, plan.nz
    c, x, x1 = Scheme.at(frame.constants), frame.x, frame.work[plan.state :]
    a, a1, acc, theta = (frame.work[plan.a :], frame.work[plan.a1 :], frame.work[plan.acc :], frame.work[plan.theta :])
    w, w1, rate, rate1 = (frame.work[plan.w :], frame.work[plan.w1 :], frame.work[plan.rate :], frame.work[plan.rate1 :])
    am, af, beta, gamma = c.alpha_m, c.alpha_f, c.beta, c.gamma
    for i in range(nv):
        a1[i] = ((1.0 - af) * acc[i] + af * x[nq + nv + nz + i] - am * a[i]) / (1.0 - am)
        theta[i] = h * (x[nq + i] + h * ((0.5 - beta) * a[i] + beta * a1[i]))
        x1[nq + i] = x[nq + i] + h * ((1.0 - gamma) * a[i] + gamma * a1[i])
    for i in range(nz):
        w1[i] = ((1.0 - af) * rate1[i] + af * rate[i] - am * w[i]) / (1.0 - am)
        x1[nq + nv + i] = x[nq + nv + i] + h * ((1.0 - gamma) * w[i] + gamma * w1[i])
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < plan.turns and turns[2 * k] == iq:
            turn(x, iq, theta[iv], theta[iv + 1], theta[iv + 2], x1)
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            x1[iq] = x[iq] + theta[iv]
            iq, iv = iq + 1, iv + 1


@jit
def _evaluate(frame: Frame, clock: Clock, count: Count, plan: Plan, t: float) -> int:
    """The residuals at the trial point; 0 when they are finite."""
    equations = Residual.at(frame.jac_args).equations
    clock.stage_t = t
    equations.t = Arguments.at(frame.rhs_args).t
    equations.x, equations.a, equations.lam = at(frame.work[plan.state :]), at(frame.work[plan.acc :]), at(frame.work[plan.lam :])
    count.n_rhs += 1
    status = call(plan.equations, equations)
    clock.t_bad = t
    if status != 0:
        count.bad_status = status
        return RHS_FAILED
    bad = first_not_finite(doubles(equations.r, plan.nv))
    if bad >= 0:
        count.bad = plan.nq + bad
        return NOT_FINITE
    bad = first_not_finite(doubles(equations.f, plan.nz))
    if bad >= 0:
        count.bad = plan.nq + plan.nv + bad
        return NOT_FINITE
    return 0


@jit
def _column(frame: Frame, plan: Plan, column: int, h: float, by_v: float) -> int:
    """Writes a column of the iteration matrix from the direction in dx and da."""
    nv, nz, m, mh = plan.nv, plan.nz, plan.m, plan.holonomic
    size = nv + nz + m
    c, matrix = Scheme.at(frame.constants), frame.work[plan.matrix :]
    tangent = Residual.at(frame.jac_args).tangent
    status = call(plan.tangent, tangent)
    dr, de, df = doubles(tangent.dr, nv), doubles(tangent.de, m), doubles(tangent.df, nz)
    for i in range(nv):
        matrix[i * size + column] = c.beta * h * h * dr[i]
    for i in range(nz):
        matrix[(nv + i) * size + column] = -h * c.gamma * df[i]
    for i in range(m):
        matrix[(nv + nz + i) * size + column] = de[i] if i < mh else de[i] / by_v
    return status


@jit
def _assemble(frame: Frame, plan: Plan, turns: Any, h: float) -> int:
    """The iteration matrix at the trial point, column by column."""
    nq, nv, nz, m = plan.nq, plan.nv, plan.nz, plan.m
    size, state = nv + nz + m, nq + nv + nz
    c, matrix, theta = Scheme.at(frame.constants), frame.work[plan.matrix :], frame.work[plan.theta :]
    dx, da, x1 = frame.work[plan.dx :], frame.work[plan.da :], frame.work[plan.state :]
    by_a, by_v = (1.0 - c.alpha_m) / (h * h * c.beta * (1.0 - c.alpha_f)), c.gamma / (h * c.beta)
    args = Residual.at(frame.jac_args)
    tangent = args.tangent
    tangent.t = Arguments.at(frame.rhs_args).t
    tangent.x, tangent.a, tangent.lam = at(frame.work[plan.state :]), at(frame.work[plan.acc :]), at(frame.work[plan.lam :])
    tangent.dx, tangent.da, tangent.dt = at(frame.work[plan.dx :]), at(frame.work[plan.da :]), at(frame.work[plan.dt :])
    frame.work[plan.dt :][0] = 0.0
    for i in range(state):
        dx[i] = 0.0
    for i in range(nv):
        da[i] = 0.0
    status = 0
    iq, iv, k = 0, 0, 0
    while iq < nq:
        turned = k < plan.turns and turns[2 * k] == iq
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
        matrix[(nv + j) * size + nv + j] += (1.0 - c.alpha_m) / (1.0 - c.alpha_f)
    J, soft, massless = doubles(args.equations.J, m * nv), frame.work[plan.soft :], integers(args.massless, nv)
    for k in range(m):
        column = nv + nz + k
        for i in range(size):
            matrix[i * size + column] = 0.0
        for i in range(nv):
            matrix[i * size + column] = -J[k * nv + i]
        soft[k] = matrix[column * size + column] = _compliance(J, matrix, massless, k, nv, size, c.epsilon)
    return status


@hot
def _compliance(J: Any, matrix: Any, massless: Any, k: int, nv: int, size: int, epsilon: float) -> float:
    """A small part of (J M⁻¹ Jᵀ)ₖₖ, velocities without mass left out.

    A quaternion has no inertia along itself, so that a diagonal term may be any small number: it counts as :data:`LIGHTEST` of the largest.
    """
    largest = 0.0
    for i in range(nv):
        if J[k * nv + i] != 0.0 and massless[i] == 0:
            largest = max(largest, abs(matrix[i * size + i]))
    total = 0.0
    for i in range(nv):
        if matrix[i * size + i] != 0.0 and massless[i] == 0:
            total += J[k * nv + i] * J[k * nv + i] / max(abs(matrix[i * size + i]), LIGHTEST * largest)
    return epsilon * total


@jit
def _correct(frame: Frame, plan: Plan, pivots: Any, h: float) -> float:
    """One Newton correction of v̇₁, ż₁ and λ₁; its size over the accuracy wanted."""
    nq, nv, nz, m, mh = plan.nq, plan.nv, plan.nz, plan.m, plan.holonomic
    c, b, x = Scheme.at(frame.constants), frame.work[plan.b :], frame.x
    size = nv + nz + m
    equations = Residual.at(frame.jac_args).equations
    r, e, f = doubles(equations.r, nv), doubles(equations.e, m), doubles(equations.f, nz)
    acc, rate1, lam = frame.work[plan.acc :], frame.work[plan.rate1 :], frame.work[plan.lam :]
    scale, by_v = c.beta * h * h, c.gamma / (h * c.beta)
    matrix, soft = frame.work[plan.matrix :], frame.work[plan.soft :]
    for i in range(nv):
        b[i] = -scale * r[i]
    for i in range(nz):
        b[nv + i] = -h * c.gamma * (rate1[i] - f[i])
    for i in range(m):
        b[nv + nz + i] = -((e[i] if i < mh else e[i] / by_v) + soft[i] * scale * lam[i])
    lu_solve(matrix, size, pivots, b)
    ratio = (1.0 - c.alpha_m) / (1.0 - c.alpha_f)
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
        rate1[i] += b[nv + i] * ratio / (h * c.gamma)
        result = max(result, abs(b[nv + i]) / (ACCURACY * h * abs(rate1[i]) + 64.0 * EPS * max(abs(x[nq + nv + i]), 1e-3)))
    return result


@jit
def _solve(frame: Frame, clock: Clock, count: Count, plan: Plan, h: float) -> int:
    """Newton's method for one step; the matrix is renewed when convergence is slow."""
    turns, flags = _turns(frame, plan), Flags.at(frame.ints)
    unknowns = plan.nv + plan.nz + plan.m
    pivots, memory = frame.ints[4:], Memory.at(frame.work[plan.memory :])
    last, taken = 0.0, 0
    slow, long = (SLOW_MANY, LONG_MANY) if unknowns > MANY else (SLOW, LONG)
    for k in range(ITERATIONS):
        _trial(frame, plan, turns, h)
        status = _evaluate(frame, clock, count, plan, clock.t + h)
        if status != 0:
            return status
        if flags.usable == 0 or abs(memory.h_factors - h) > 1e-9 * abs(h):
            count.n_jac += 1
            count.n_lu += 1
            if _assemble(frame, plan, turns, h) != 0:
                return RHS_FAILED
            if lu_factor(frame.work[plan.matrix :], unknowns, pivots) != 0:
                flags.usable = 0
                return SINGULAR
            flags.usable, memory.h_factors, taken = 1, h, 0
        size = _correct(frame, plan, pivots, h)
        taken += 1
        if not math.isfinite(size):
            return NO_CONVERGENCE
        ratio = size / last if k > 0 else 1.0
        if size <= 1.0 or (k > 0 and ratio < 1.0 and ratio / (1.0 - ratio) * size <= 0.5) or (k > 3 and size < 1e3 and ratio > 0.5):
            if taken > long:
                flags.usable = 0
            _trial(frame, plan, turns, h)
            return 0
        if k > 0 and ratio > slow:
            flags.usable = 0
        last = size
    return NO_CONVERGENCE


@jit
def _start(frame: Frame, clock: Clock, count: Count, plan: Plan) -> int:
    """Accelerations consistent with the state, at the beginning and after every jump."""
    nq, nv, nz = plan.nq, plan.nv, plan.nz
    flags = Flags.at(frame.ints)
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    f, x, a, w, rate = (
        frame.f,
        frame.x,
        frame.work[plan.a :],
        frame.work[plan.w :],
        frame.work[plan.rate :],
    )
    for i in range(nv):
        x[nq + nv + nz + i] = a[i] = f[nq + i]
    for i in range(nz):
        rate[i] = w[i] = f[nq + nv + i]
    flags.started, flags.known = 1, 0
    Memory.at(frame.work[plan.memory :]).h_last = 0.0
    return 0


@jit
def _prepare(frame: Frame, plan: Plan, h: float) -> None:
    """The guess of the step, and a₀ moved to the instant t₀ + (α_m − α_f) h where this step size wants it."""
    nq, nv, nz, m = plan.nq, plan.nv, plan.nz, plan.m
    x, memory = frame.x, Memory.at(frame.work[plan.memory :])
    a, acc, lam = frame.work[plan.a :], frame.work[plan.acc :], frame.work[plan.lam :]
    w, rate, rate1 = frame.work[plan.w :], frame.work[plan.rate :], frame.work[plan.rate1 :]
    ratio = h / memory.h_last if memory.h_last != 0.0 else 1.0
    for i in range(nv):
        acc[i] = x[nq + nv + nz + i]
        a[i] = acc[i] + ratio * (a[i] - acc[i])
    for i in range(nz):
        rate1[i] = rate[i]
        w[i] = rate[i] + ratio * (w[i] - rate[i])
    for i in range(m):
        lam[i] = x[nq + 2 * nv + nz + i]
    memory.h_last = h


@jit
def _error(frame: Frame, plan: Plan, turns: Any, h: float, known: bool) -> float:
    """The local error over its tolerance from the leading terms of its expansion in h.

    Accelerations are known to what rounding of positions leaves of them, ε q/βh²; changes below that say nothing, and shorter steps would make them larger.
    """
    nq, nv, nz = plan.nq, plan.nv, plan.nz
    c, x = Scheme.at(frame.constants), frame.x
    tol = frame.tol
    a, a1, old = frame.work[plan.a :], frame.work[plan.a1 :], frame.work[plan.difference :]
    w, w1, old_z, x1 = (
        frame.work[plan.w :],
        frame.work[plan.w1 :],
        frame.work[plan.difference_z :],
        frame.work[plan.state :],
    )
    shift = c.alpha_m - c.alpha_f
    by_q = abs(0.5 * shift + c.beta - 1.0 / 6.0)
    by_v = abs(0.5 * shift * shift + c.gamma * (shift + 0.5) - 1.0 / 6.0)
    span = 0.0
    for i in range(nq):
        span = max(span, abs(x1[i]))
    noise = 256.0 * EPS * max(span, 1e-3) / (c.beta * h * h)
    total = 0.0
    iq, iv, k = 0, 0, 0
    while iq < nq:
        turned = k < plan.turns and turns[2 * k] == iq
        for j in range(3 if turned else 1):
            scale = weight(tol, iq, 1.0, 1.0) if turned else weight(tol, iq, x[iq], x1[iq])
            total = max(total, by_q * h * h * max(abs(a1[iv + j] - a[iv + j]) - noise, 0.0) / scale)
        iq, iv, k = (iq + 4, iv + 3, k + 1) if turned else (iq + 1, iv + 1, k)
    if known:
        for i in range(nv):
            change = a1[i] - a[i] - old[i] * h
            total = max(total, by_v * h * max(abs(change) - noise, 0.0) / weight(tol, nq + i, x[nq + i], x1[nq + i]))
    for i in range(nz):
        change = w1[i] - w[i] - (old_z[i] * h if known else 0.0)
        total = max(total, by_v * h * abs(change) / weight(tol, nq + nv + i, x[nq + nv + i], x1[nq + nv + i]))
    return total


@jit
def _take(frame: Frame, clock: Clock, count: Count, plan: Plan, h: float, hit: bool) -> None:
    """Moves to the new point."""
    nq, nv, nz, m = plan.nq, plan.nv, plan.nz, plan.m
    x, x_old, x1 = frame.x, frame.x_old, frame.work[plan.state :]
    a, a1, acc, lam = (frame.work[plan.a :], frame.work[plan.a1 :], frame.work[plan.acc :], frame.work[plan.lam :])
    w, w1, rate, rate1 = (frame.work[plan.w :], frame.work[plan.w1 :], frame.work[plan.rate :], frame.work[plan.rate1 :])
    rate_old, old, old_z = frame.work[plan.rate_old :], frame.work[plan.difference :], frame.work[plan.difference_z :]
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
    Flags.at(frame.ints).known = 1
    accept(clock, count, h, hit)
    count.fresh = 0


@kernel
def step(address: int) -> int:
    """Take one accepted step; a step that does not converge is halved."""
    frame, clock, count = view(address)
    plan, flags = Residual.at(frame.jac_args).plan, Flags.at(frame.ints)
    turns = _turns(frame, plan)
    adapts = Scheme.at(frame.constants).adapts != 0.0
    if adapts:
        h, hit = bounded_step(clock, True)
    else:
        h, hit = fixed_step(clock, count)
    if flags.started == 0 or count.restart == 1:
        status = _start(frame, clock, count, plan)
        if status != 0:
            return status
    planned = h
    while True:
        _prepare(frame, plan, h)
        status = _solve(frame, clock, count, plan, h)
        error = 0.0
        if status == 0 and adapts:
            error = _error(frame, plan, turns, h, flags.known == 1)
        if status == 0 and error <= 1.0:
            break
        count.rejected += 1
        flags.usable = 0 if status != 0 else flags.usable
        factor = 0.5 if status != 0 or not math.isfinite(error) else max(0.2, 0.9 * error ** (-1.0 / 3.0))
        if not adapts and h == planned and not hit:
            count.since_base -= 1  # the grid point is still to be reached
        h, hit = h * factor, False
        if abs(h) < smallest_step(clock) or (not adapts and abs(h) < 1e-5 * abs(planned)) or (status != 0 and count.bad_status < 0):
            return status if status != 0 else UNDERFLOW
    _take(frame, clock, count, plan, h, hit)
    if adapts:
        factor = min(3.0, 0.9 * max(error, 1e-6) ** (-1.0 / 3.0))
        wanted = h if 0.9 < factor < 1.3 else h * factor  # an equal step keeps the factorised matrix
        cut = h == planned and abs(h) < abs(clock.h)
        if not cut or factor < 0.9 or abs(wanted) > abs(clock.h):
            clock.h = wanted
    return 0


@kernel
def dense(address: int) -> int:
    """Cubics through positions, velocities and states with their rates; accelerations and multipliers are linear."""
    frame, clock, count = view(address)
    plan = Residual.at(frame.jac_args).plan
    nq, nv, nz = plan.nq, plan.nv, plan.nz
    turns = _turns(frame, plan)
    x, x_old = frame.x, frame.x_old
    old, new = frame.work[plan.slope_old :], frame.work[plan.slope :]
    rate_old, rate = frame.work[plan.rate_old :], frame.work[plan.rate :]
    position_rates(nq, plan.turns, turns, x_old, x_old[nq:], old)
    position_rates(nq, plan.turns, turns, x, x[nq:], new)
    for i in range(nv):
        old[nq + i], new[nq + i] = x_old[nq + nv + nz + i], x[nq + nv + nz + i]
    for i in range(nz):
        old[nq + nv + i], new[nq + nv + i] = rate_old[i], rate[i]
    h = clock.h_used
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


def make_plan(nq: int, nv: int, nz: int, rows: int, holonomic: int, turns: int) -> Plan:
    """The plan the kernels read; addresses are filled in by the caller."""
    plan = Plan(nq=nq, nv=nv, nz=nz, m=rows, holonomic=holonomic, turns=turns)
    unknowns, whole = nv + nz + rows, nq + 2 * nv + nz + rows
    sizes = [MEMORY_SIZE, *[nv] * 6, *[nz] * 6, *[rows] * 2, *[nq + nv + nz] * 2, *[whole] * 2, unknowns, 1, unknowns * unknowns]
    names = list(Plan.struct.fields)
    for name, end in zip(names[names.index("memory") + 1 :], np.cumsum(sizes), strict=True):
        setattr(plan, name, end)
    return plan


def method(
    name: str = "generalized-alpha", rho: float = 0.8, plan: Plan | None = None, *, adaptive: bool = False, redundant: bool = False
) -> Method:
    """The method for a plan of sizes; ``redundant`` says that some constraints repeat others."""
    if plan is None:
        raise InputError(f"method '{name}' works on the equations of a mechanism: use it through System.simulate")
    epsilon = COMPLIANCE_REDUNDANT if redundant else COMPLIANCE
    unknowns, size = plan.nv + plan.nz + plan.m, plan.size
    return Method(
        name=name, order=2, adaptive=adaptive, step=step.address, dense=dense.address,
        constants=np.array([2.0, *coefficients(name, rho), epsilon, float(adaptive)]),
        work=lambda n: size, integer_work=lambda n: unknowns, degree=3, needs_jacobian=True, stiff=True, shortest=1e-5,
    )  # fmt: skip
