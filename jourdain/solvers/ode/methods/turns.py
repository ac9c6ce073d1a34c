"""An explicit and an implicit method in turns, as stiffness comes and goes ("auto": "dopri5" and "radau").

Which one is better is a question of work a second of simulated time. Explicit steps at the limit of their stability for a while (Hairer & Wanner,
Solving ODEs II, IV.2) are a reason to try implicit ones; these are kept where they are found to take less work, and left again where they do not, each time
for twice as long. Implicit steps are left where explicit ones of the length that the spectral radius of the Jacobian allows would take
less work, which is found out by a trial, too. Work is counted, not timed, so that runs are the same from one to the next.
"""

from __future__ import annotations

import math

import numpy as np

from jourdain.native.call import call
from jourdain.native.kernel import jit, kernel
from jourdain.native.record import Floats
from jourdain.solvers.ode.frame import DEARER, FAILED, SOFT, STIFF, WANTED, Clock, Count, Frame, Turns, evaluate_here, rhs, view
from jourdain.solvers.ode.method import Method

#: Explicit steps of order 5 are stable up to about |h λ| = 3.3, and take so many evaluations.
STABLE, STAGES = 3.3, 6.0
#: Implicit steps before their work is measured, and while it is; explicit steps of a trial, and of a stretch over which work is averaged.
BEGIN, TRIAL, EXPLICIT_TRIAL, STRETCH = 5, 5, 20, 64
#: Evaluations still to do at the present pace that are worth another method, and how many times the work of a trial.
WORTH, TIMES = 1500.0, 12.0
#: Implicit steps between two looks at the Jacobian, at least, and as a part of those done.
LOOK, PART = 10, 0.25
#: How much less work explicit steps must promise where the spectral radius has fallen to this part, and where it has not: what was fast then is only damped, and
#: explicit steps would bring it back; by how much looks are put off where they do not keep their promise.
PROMISE, FALLEN, SAME, LATER = 0.6, 0.5, 0.3, 4.0
#: The part of the work still to do that the first trial may cost (later ones half as much as those before), and the part that one that did not pay may be of
#: the work before the next.
LOSS, SHARE = 0.03, 0.04
#: Evaluations that a trial may cost at least, and how much dearer than implicit steps were when they did not pay explicit ones must have become to try at once.
FREE, MUCH = 2000.0, 1.5
#: A probe is given up after so many steps that have not grown by this factor, so that it costs about this part of a trial; it must promise this part of
#: the work, and is over where that is sure.
EARLY, GROWN, PROBE, GAIN, SURE = 2, 2.0, 0.3, 0.9, 0.4
#: Steps not far below the limit of stability, less others, that are a reason for a trial.
MIDWAY = 32
#: Explicit steps are not shorter than this over the spectral radius, whatever the tolerance.
SHORTEST = 0.3
#: Differences of f by which fast decay is looked for before the first step, their length, the cosine between the last of them that tells it from vibrations,
#: and how many times the work of a trial explicit steps must need for their stability alone to begin with one.
DIFFERENCES, NEAR, OPPOSITE, AT_ONCE = 4, 1e-7, 0.8, 40.0
#: Such a trial goes on while its work a second falls to this part from one look to the next, as it does where what is fast at first decays.
FALLING = 0.5
#: Products with the Jacobian by which its spectral radius is found; the first of them only turn the vector.
FIRST, PRODUCTS = 8, 40


@jit
def _mark(clock: Clock, count: Count, turns: Turns) -> None:
    """Begin a stretch over which work is counted."""
    turns.mark_t = clock.t
    turns.mark_rhs, turns.mark_jac, turns.mark_lu = count.n_rhs, count.n_jac, count.n_lu


@jit
def _work(frame: Frame, count: Count, turns: Turns, implicit: bool) -> float:
    """The work of the present stretch in evaluations of f."""
    stages = float(count.n_rhs - turns.mark_rhs)
    if not implicit:
        return stages
    jacobians, factors = float(count.n_jac - turns.mark_jac), float(count.n_lu - turns.mark_lu)
    if Frame.at(frame.implicit).jac == 0:  # by differences, which will not be needed if the method is kept
        stages -= jacobians * count.n
    return stages * (1.0 + turns.solution) + jacobians * turns.jacobian + factors * turns.factors


@jit
def _price(count: Count, turns: Turns) -> None:
    """What Jacobian, factors and solutions cost beside an evaluation of f, by the number of states (measured on trees and loops of 2 to 40 states)."""
    n = float(count.n)
    evaluation = (
        0.018 + 0.0045 * min(n, 12.0) + 0.004 * max(n - 12.0, 0.0)
    )  # µs, with its part of a step; of large models it may be far more, or less
    turns.jacobian = 2.0 + 0.3 * n
    turns.factors = (0.02 + 1.5e-5 * n * n * n) / evaluation
    turns.solution = (0.0045 * n + 3.2e-4 * n * n) / evaluation


@jit
def _of_a_trial(count: Count, turns: Turns) -> float:
    """About the work of a trial of implicit steps, in evaluations of f."""
    _price(count, turns)
    return (BEGIN + TRIAL) * (9.0 * (1.0 + turns.solution) + turns.factors) + 2.0 * count.n


@jit
def _turned(frame: Frame, clock: Clock, count: Count, turns: Turns, why: int, trial: int) -> None:
    """Go on with the other method."""
    at = min(turns.number, frame.turn_t.size - 1)
    frame.turn_t[at], frame.turn_why[at] = clock.t, why
    turns.number += 1
    turns.implicit = 1 - turns.implicit
    turns.trial = trial
    count.restart = 1
    count.near = count.stiff = count.midway = 0
    clock.error_old = 1e-4
    _mark(clock, count, turns)
    turns.long_t, turns.long_rhs = clock.t, count.n_rhs


@jit
def _to_implicit(frame: Frame, clock: Clock, count: Count, turns: Turns, trial: int) -> None:
    """Implicit steps from here on."""
    _turned(frame, clock, count, turns, STIFF, trial)
    turns.look = count.steps + BEGIN
    turns.spent, turns.trial_t = 0.0, clock.t
    if trial == 1:
        Frame.at(frame.implicit).jac = 0
    clock.h *= 5.0 if count.steps > 0 else 1.0


@jit
def _probe(frame: Frame, clock: Clock, count: Count, turns: Turns, explicit: float) -> float:
    """Work a second of some implicit steps from here, after which everything is as it was; infinite where they cannot be taken or hardly grow.

    It ends early where this is far below ``explicit``, that of explicit steps.
    """
    n, other = count.n, Frame.at(frame.implicit)
    other.jac = 0
    x, x_old, f = frame.x, frame.x_old, frame.f
    kept = frame.work[frame.work.size - 3 * n :]
    for i in range(n):
        kept[i], kept[n + i], kept[2 * n + i] = x[i], x_old[i], f[i]
    t, h, t_old, h_used, error_old = clock.t, clock.h, clock.t_old, clock.h_used, clock.error_old
    steps, rejected, fresh, restart, bad_status = count.steps, count.rejected, count.fresh, count.restart, count.bad_status
    count.restart = 1
    clock.h *= 5.0
    _mark(clock, count, turns)
    turns.spent, a_second = 0.0, math.inf
    for k in range(BEGIN + TRIAL):
        if (clock.t_bound - clock.t) * clock.direction <= 0.0 or call(other.step, other) != 0:
            break
        if k >= EARLY and abs(clock.h) < GROWN * abs(h):
            a_second = math.inf
            break
        a_second = _work(frame, count, turns, True) / abs(clock.t - turns.mark_t) if k >= EARLY and clock.t != turns.mark_t else math.inf
        if k >= EARLY and a_second < SURE * explicit:
            break
        if k == BEGIN - 1:
            turns.spent = _work(frame, count, turns, True)
            _mark(clock, count, turns)
    turns.spent += _work(frame, count, turns, True)
    for i in range(n):
        x[i], x_old[i], f[i] = kept[i], kept[n + i], kept[2 * n + i]
    clock.t, clock.h, clock.t_old, clock.h_used, clock.error_old = t, h, t_old, h_used, error_old
    count.steps, count.rejected, count.fresh, count.restart, count.bad_status = steps, rejected, fresh, restart, bad_status
    return a_second


@jit
def _long_enough(frame: Frame, clock: Clock, count: Count, turns: Turns) -> int:
    """After much work, far from the limit of stability as it may be, see whether implicit steps would take less."""
    trial = _of_a_trial(count, turns)
    if count.n_rhs < max(turns.until, PROBE * trial / SHARE):
        return 0
    a_second = (count.n_rhs - turns.long_rhs) / abs(clock.t - turns.long_t)
    pure = frame.renewer == 0 and frame.decide == 0  # nothing but the state changes with evaluations
    if pure and a_second * abs(frame.stops[frame.stops.size - 1] - clock.t) > max(WORTH, TIMES * trial):
        if Frame.at(frame.implicit).step == 0:
            turns.look = count.steps
            return WANTED
        turns.dear = _probe(frame, clock, count, turns, a_second)
        if turns.dear < GAIN * a_second:
            turns.other = a_second
            _to_implicit(frame, clock, count, turns, 1)
            return 0
        turns.failed += 1
        turns.until = count.n_rhs + turns.spent / SHARE * 2.0 ** (turns.failed - 1)
        _mark(clock, count, turns)
    turns.long_t, turns.long_rhs = clock.t, count.n_rhs
    return 0


@jit
def _explicit(frame: Frame, clock: Clock, count: Count, turns: Turns) -> int:
    """Whether to leave explicit steps."""
    if turns.trial == 1:
        if count.steps < turns.look:
            return 0
        if _work(frame, count, turns, False) > turns.other * abs(clock.t - turns.mark_t):
            turns.pause *= LATER
            _to_implicit(frame, clock, count, turns, 0)
            turns.look = count.steps + int(turns.pause * LOOK)
            return 0
        turns.trial, turns.pause = 0, 1.0
    due = count.steps >= turns.look and clock.t != turns.long_t
    held_up = count.near >= turns.least or count.midway >= MIDWAY
    if due:
        turns.look = count.steps + STRETCH
        if not held_up:
            return _long_enough(frame, clock, count, turns)
    if count.near == 0 and count.midway == 0:
        _mark(clock, count, turns)
    if not held_up or clock.t == turns.mark_t:
        return 0
    a_second = _work(frame, count, turns, False) / abs(clock.t - turns.mark_t)
    if count.n_rhs < turns.until and a_second < MUCH * turns.dear:
        if due:
            _mark(clock, count, turns)
        return 0
    if a_second * abs(frame.stops[frame.stops.size - 1] - clock.t) < max(WORTH, TIMES * _of_a_trial(count, turns)):
        count.near = count.midway = 0
        return 0
    if Frame.at(frame.implicit).step == 0:
        return WANTED
    turns.other = a_second
    _to_implicit(frame, clock, count, turns, 1)
    return 0


@jit
def _spectral_radius(frame: Frame, n: int) -> float:
    """The largest |λ| of the Jacobian that the implicit steps use, by the growth of a vector under its powers."""
    other = Frame.at(frame.implicit)
    J = other.work
    a, b = frame.work[:n], frame.work[n : 2 * n]
    for i in range(n):
        a[i] = 1.0 + 0.1 * ((7 * i) % 11)
    growth = 0.0
    for k in range(PRODUCTS):
        size = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += J[i * n + j] * a[j]
            b[i] = total
            size += total * total
        size = math.sqrt(size)
        if not size > 0.0:
            return 0.0
        for i in range(n):
            a[i] = b[i] / size
        if k >= FIRST:
            growth += math.log(size)
    return math.exp(growth / (PRODUCTS - FIRST))


@jit
def _decay_here(frame: Frame, clock: Clock, count: Count) -> float:
    """About the rate of the fastest decay here, by differences of f along the powers of a vector; 0 where what is fastest vibrates or grows.

    The powers of a Jacobian turn a vector to the direction of its largest eigenvalue; where that is real and negative each is nearly opposite to the one before.
    """
    n, x, f = count.n, frame.x, frame.f
    if evaluate_here(frame, clock, count) != 0:
        return 0.0
    a, moved, slope = frame.work[:n], frame.work[n : 2 * n], frame.work[2 * n : 3 * n]
    for i in range(n):
        a[i] = 1.0 + 0.1 * ((7 * i) % 11)
    rate = along = 0.0
    size = _norm(a, n)
    for _ in range(DIFFERENCES):
        for i in range(n):
            a[i] /= size
            moved[i] = x[i] + NEAR * a[i]
        if rhs(frame, clock, count, clock.t, moved, slope) != 0:
            count.bad_status = 0
            return 0.0
        along = 0.0
        for i in range(n):
            change = (slope[i] - f[i]) / NEAR
            along += change * a[i]
            a[i] = change
        rate = size = _norm(a, n)
        if not 0.0 < size < math.inf:
            return 0.0
    return rate if along < -OPPOSITE * rate else 0.0


@jit
def _norm(a: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * a[i]
    return math.sqrt(total)


@jit
def _at_start(frame: Frame, clock: Clock, count: Count, turns: Turns) -> int:
    """Begin with a trial of implicit steps where stability alone would let explicit ones take far more work than that."""
    span = abs(frame.stops[frame.stops.size - 1] - clock.t)
    if turns.seen == 0:
        turns.seen = 1
        if frame.renewer == 0 and frame.decide == 0:
            turns.other = STAGES / STABLE * _decay_here(frame, clock, count)
    if turns.other * span < max(WORTH, AT_ONCE * _of_a_trial(count, turns)):
        return 0
    if Frame.at(frame.implicit).step == 0:
        return WANTED
    _to_implicit(frame, clock, count, turns, 1)
    turns.seen = 2
    return 0


@jit
def _mean_rate(frame: Frame, n: int) -> float:
    """The size of the mean eigenvalue of the Jacobian that the implicit steps use."""
    J = Frame.at(frame.implicit).work
    trace = 0.0
    for i in range(n):
        trace += J[i * n + i]
    return abs(trace) / n


@jit
def _derived(frame: Frame) -> int:
    """Let implicit steps have the Jacobian by derivatives; 1 where it is still to be made. Trials take differences, so that runs that do not become
    implicit compile nothing."""
    other = Frame.at(frame.implicit)
    other.jac, other.jac_args = frame.jac, frame.jac_args
    return 1 if frame.jac == 0 else 0


@jit
def _implicit(frame: Frame, clock: Clock, count: Count, turns: Turns) -> int:
    """Whether to leave implicit steps."""
    if turns.trial == 0 and _derived(frame) != 0:
        return WANTED
    if count.steps < turns.look or clock.t == turns.mark_t:
        return 0
    work = _work(frame, count, turns, True)
    a_second = work / abs(clock.t - turns.mark_t)
    if turns.trial > 0 and (turns.trial == 1 or a_second > turns.other):
        _tried(frame, clock, count, turns, work)
        return 0
    if turns.trial > 0:
        turns.trial, turns.seen = 0, 1
        if _derived(frame) != 0:
            return WANTED
    turns.look = count.steps + int(turns.pause * max(LOOK, PART * count.steps))
    if turns.stiffness * _mean_rate(frame, count.n) >= PROMISE * a_second:  # it is less than the spectral radius
        _mark(clock, count, turns)
        return 0
    rho = _spectral_radius(frame, count.n)
    promise = PROMISE if rho < FALLEN * turns.rho else SAME
    if turns.stiffness * rho < promise * a_second:
        turns.other = a_second
        turns.look = count.steps + EXPLICIT_TRIAL
        if abs(clock.h) * rho > STABLE:
            clock.h = math.copysign(STABLE / rho, clock.h)
        _turned(frame, clock, count, turns, SOFT, 1)
        return 0
    _mark(clock, count, turns)
    return 0


@jit
def _tried(frame: Frame, clock: Clock, count: Count, turns: Turns, work: float) -> None:
    """Implicit steps on trial have taken more work than explicit ones; they go on for a while, since their steps may grow."""
    turns.spent += work
    before, turns.dear = turns.dear, work / abs(clock.t - turns.mark_t)
    if turns.trial == 1:
        rho = _spectral_radius(frame, count.n)
        turns.rho = rho
        turns.stiffness = min(max(turns.other / rho, STAGES / STABLE), STAGES / SHORTEST) if rho > 0.0 else STAGES / STABLE
    loss = turns.spent - turns.other * abs(clock.t - turns.trial_t)
    left = turns.other * abs(frame.stops[frame.stops.size - 1] - clock.t)
    patient = turns.seen != 2 or turns.dear < FALLING * before
    if turns.trial == 1 or (patient and loss < min(LOSS * 0.5**turns.failed * left, max(FREE, float(count.n_rhs)))):
        turns.trial, turns.look = 2, count.steps + TRIAL
        _mark(clock, count, turns)
        return
    if turns.seen == 2:  # what is fast at first may have decayed soon
        turns.seen, turns.dear = 1, 0.0
    else:
        turns.failed += 1
        turns.until = count.n_rhs + loss / SHARE * 2.0 ** (turns.failed - 1)
    clock.h = math.copysign(STAGES / turns.other, clock.direction)
    _turned(frame, clock, count, turns, DEARER, 0)


@kernel
def turn(address: int) -> int:
    """Decide by which method the next step is taken; WANTED: the Jacobian is needed for that."""
    frame, clock, count = view(address)
    turns = frame.turns
    if turns.held == 1:
        return 0
    if count.steps == 0 and turns.number == 0 and turns.implicit == 0:
        return _at_start(frame, clock, count, turns)
    if turns.implicit == 1 and Frame.at(frame.implicit).step == 0:
        return WANTED
    return _implicit(frame, clock, count, turns) if turns.implicit == 1 else _explicit(frame, clock, count, turns)


@kernel
def step(address: int) -> int:
    """Take one accepted step; what an implicit one cannot do is done explicitly, from there to the end."""
    frame, clock, count = view(address)
    turns = frame.turns
    if turns.implicit == 1:
        other = Frame.at(frame.implicit)
        h = clock.h
        turns.last = 1
        status = call(other.step, other)
        if status == 0 or count.bad_status < 0:
            return status
        count.bad_status = 0
        clock.h = math.copysign(min(abs(h), STAGES / turns.other) if turns.other > 0.0 else abs(h), h)
        _turned(frame, clock, count, turns, FAILED, 0)
        turns.held = 1
    turns.last = 0
    return call(frame.explicit_step, frame)


@kernel
def dense(address: int) -> int:
    """Write the interpolant of the method that took the last step."""
    frame = Frame.at(address)
    if frame.turns.last == 1:
        other = Frame.at(frame.implicit)
        return call(other.dense, other)
    return call(frame.explicit_dense, frame)


def method(explicit: Method, implicit: Method) -> Method:
    """Two methods in turns; the explicit one is the first."""
    return Method(
        name="auto",
        order=explicit.order,
        adaptive=True,
        step=step.address,
        dense=dense.address,
        constants=np.concatenate([explicit.constants, implicit.constants]),
        integers=explicit.integers,
        integer_work=lambda n: explicit.integer_work(n) + implicit.integers.size + implicit.integer_work(n),
        work=lambda n: explicit.work(n) + implicit.work(n) + 3 * n,
        degree=max(explicit.degree, implicit.degree),
        pair=(explicit, implicit),
        turner=turn.address,
    )


__all__ = ["method"]
