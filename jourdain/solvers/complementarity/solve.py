"""Contact problems by the method that suits them, with another where it does not converge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import InputError, SolverError
from ...native.call import call
from ...native.kernel import hot, jit, kernel
from ...native.record import Floats, Record
from .first_order import first_order
from .gauss_seidel import sweeps
from .holding import hold
from .interior import interior
from .laws import project, residual
from .newton import newton, newton_width, through_relaxed
from .operator import complete, copy, rows_of
from .over_bodies import order_bodies
from .pivoting import pivoting, pivots_fit
from .problem import BODIES, LAWS, Problem

#: Sweeps before the first trial of a faster method; twice as many before each of the next, up to SERIES.
SWEEPS, SERIES = 8, 256
#: Half widths of matrices from which on a step of Newton's method costs as much as many sweeps, so that it is tried after series of so many alone.
WIDE, LATE = 44, 64
#: Most steps of Newton's method in a trial; the series after which it goes through relaxed problems, and how many of them.
STEPS, RELAX, PROBLEMS = 16, 64, 60
#: Series from which on one that does not halve the residual is the last, where this many tolerances are left.
IDLE, NEARLY = 32, 100.0
#: Problems of no more rows are solved to this part of the tolerance, by so many steps of Newton's method at most: what rests shall not creep.
POLISHED, FINE, POLISH = 48, 1e-6, 3


@jit
def solve(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """Solves from p on; iterations of all kinds, the residual of the natural map and the block that has it.

    From a near guess few contacts are solved by :func:`.holding.hold`.  Rows without friction: pivots, where there are many after some sweeps.  Else sweeps of Gauss–Seidel, at most ``limit``; between series of them interior points are tried once for free bodies that touch in rows
    (whose sweeps are cheap, so that a second series comes before), and Newton's method from where the sweeps are, once by way of relaxed problems, or accelerated gradients where it has no room.  What does not lead to the solution is forgotten, so that the
    sweeps go on undisturbed; few contacts are then solved to rounding.  p ends at the best point found, inside its cones where that leaves the
    residual below the tolerance.
    """
    m, done = rows_of(problem), 0
    swept, best = problem.work[6 * m : 7 * m], problem.work[7 * m : 8 * m]
    project(problem, p)
    least, worst, rounding = residual(problem, p)
    wanted = tolerance if m > POLISHED else FINE * tolerance
    if problem.near == 1 and least > wanted + rounding and m <= POLISHED and m * m <= problem.matrix.size:
        done, least, worst, rounding = hold(problem, p, wanted, least, worst, rounding)
    if least <= wanted + rounding:
        return done, least, worst
    problem.held = 0
    complete(problem)
    inside, pivots = True, least > tolerance + rounding and pivots_fit(problem)
    if pivots and m <= POLISHED:
        steps, least, worst = pivoting(problem, p, tolerance, 20 * m)
        done += steps
        rounding, inside, pivots = residual(problem, p)[2], False, False
    found, spent, series, width = least, 0, SWEEPS, -2
    before, disturbed = math.inf, not inside
    copy(p, m, best)
    copy(p, m, swept)
    while least > tolerance + rounding and spent < limit and math.isfinite(found):
        if disturbed:  # velocities of bodies are those of another p
            found, worst, rounding = residual(problem, swept)
        disturbed = False
        steps, found, worst, rounding = sweeps(problem, swept, tolerance, min(series, limit - spent), found, worst, rounding)
        spent += max(steps, 1)
        if found < least:
            least, inside = found, True
            copy(swept, m, best)
        if least > tolerance + rounding and math.isfinite(found):
            copy(swept, m, p)
            steps, disturbed = 0, True
            patient = problem.form == BODIES and series == SWEEPS
            inner = series == 2 * SWEEPS and not pivots and order_bodies(problem)
            if width == -2 and not (pivots or inner or patient):
                width = newton_width(problem)
            if pivots:
                steps, found, worst = pivoting(problem, p, tolerance, 20 * m)
                pivots = False
            elif inner:
                steps, found, worst = interior(problem, p, tolerance)
            elif width >= 0 and series == RELAX:
                steps, found, worst = through_relaxed(problem, p, tolerance, PROBLEMS)
            elif 0 <= width <= WIDE or (width >= 0 and series >= LATE):
                steps, found, worst = newton(problem, p, tolerance, STEPS)
            elif width < 0 and series >= SERIES:
                steps, found, worst = first_order(problem, p, tolerance, series)
            else:
                disturbed = False
            done += steps
            if found < least:
                least, inside = found, False
                copy(p, m, best)
                if width < 0:
                    copy(p, m, swept)
            if disturbed:
                rounding = residual(problem, best)[2]
        if series >= IDLE and 2.0 * least > before and least <= NEARLY * tolerance + rounding:
            break  # rows that depend on each other may differ by more than the tolerance: no impulses meet them any better
        before, series = least, min(2 * series, SERIES)
    copy(best, m, p)
    if m <= POLISHED and tolerance + rounding >= least > wanted + rounding:
        steps, found, worst = newton(problem, p, wanted, POLISH)
        done += steps
        if found < least:
            least, inside = found, False
            copy(p, m, best)
        copy(best, m, p)
    if inside and spent == 0:
        return done, least, worst
    if not inside:
        project(problem, p)
    found, worst, rounding = residual(problem, p)
    if found > max(least, tolerance + rounding):
        copy(best, m, p)
        found, worst, rounding = residual(problem, p)
    return done + spent, found, worst


class Task(Record):
    """A problem to be solved from p on, and how that went: iterations, residual and the block that has it."""

    problem: Problem
    p: Floats
    tolerance: float
    limit: int
    done: int
    residual: float
    worst: int


@kernel
def solve_task(address: int) -> int:
    """:func:`solve` for callers that know its address, so that none of them carries the solvers in its own code."""
    task = Task.at(address)
    task.done, task.residual, task.worst = solve(task.problem, task.p, task.tolerance, task.limit)
    return 0


@hot
def carry_out(task: Any, solver: int, tolerance: float, limit: int) -> None:
    """Solves a task by the address of :func:`solve_task`."""
    task.tolerance, task.limit = tolerance, limit
    call(solver, task)


def solution(problem: Problem, start: np.ndarray | None = None, tolerance: float = 1e-10, limit: int = 2000) -> np.ndarray:
    """Impulses p of a problem; an error names the block whose law is broken most.

    >>> from .build import dense_problem
    >>> solution(dense_problem(np.eye(3), [-1.0, 0.1, 0.0], ["contact"], [0.5])).round(12) + 0.0
    array([ 1. , -0.1,  0. ])
    """
    p = np.zeros(problem.w.size) if start is None else np.array(start, float)
    if p.shape != problem.w.shape:
        raise InputError(f"contact problem: start of shape {p.shape} for {problem.w.size} rows")
    done, found, worst = solve(problem, p, tolerance, limit)
    if not found <= tolerance + residual(problem, p)[2]:
        law = LAWS[int(problem.law[worst])]
        raise SolverError(
            f"contact problem: after {done} iterations block {worst} ({law}) still breaks its law by {found:.2g} in units of velocity "
            f"(tolerance {tolerance:.2g}); a larger tolerance or limit, some compliance, or other coefficients of friction may help"
        )
    return p
