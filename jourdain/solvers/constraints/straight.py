"""Constrained systems whose elimination is straight-line code; where that is not sure of itself, kernels with pivoting do the same."""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles
from ...native.kernel import hot, kernel
from ...native.record import Address, Floats, Integers, Record
from .projection import ITERATIONS, LOCKED, OPEN, ROUNDING, displace


class Rates(Record):
    """The function that gives ẋ, with the kernel that takes its place."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    #: which of the arguments is ẋ
    place: int
    sure: Floats
    #: where the address of that kernel stands (it is compiled when it is first called)
    otherwise: Integers
    otherwise_args: Integers


class Closing(Record):
    """The function that closes a state, with the kernel that takes its place."""

    t: Address
    x: Address
    out: Address
    nq: int
    nv: int
    function: Address
    args: Integers
    h: Floats
    d: Floats
    c: Floats
    sure: Floats
    quaternions: Integers
    none: Floats
    #: where the address of that kernel stands (it is compiled when it is first called)
    otherwise: Integers
    otherwise_args: Integers


@hot
def _otherwise(a: Any) -> int:
    """The same by the other kernel."""
    a.otherwise_args[0], a.otherwise_args[1], a.otherwise_args[2] = a.t, a.x, a.out
    return call(a.otherwise[0], a.otherwise_args)


@kernel
def straight_rates(args: int) -> int:
    """ẋ of a constrained system."""
    a = Rates.at(args)
    a.args[0], a.args[1], a.args[a.place] = a.t, a.x, a.out
    if call(a.function, a.args) == 0 and a.sure[0] > 0.0:
        return 0
    return _otherwise(a)


@kernel
def straight_project(args: int) -> int:
    """Puts x back onto the constraints, in place: positions by the shortest corrections, velocities by ideal impulses; quaternions are normalised."""
    a = Closing.at(args)
    nq, n, h, d, c = a.nq, a.nv, a.h, a.d, a.c
    q, v = doubles(a.x, nq), doubles(a.x + 8 * nq, n)
    if a.quaternions.size > 0:
        displace(q, a.none, nq, n, a.quaternions)
    a.args[0], a.args[1] = a.t, a.x
    worst, before = 0.0, 0.0
    for iteration in range(ITERATIONS + 1):
        if call(a.function, a.args) != 0 or not a.sure[0] > 0.0:
            return _otherwise(a)
        before, worst = worst, 0.0
        for i in range(h.size):
            worst = max(worst, abs(h[i]))
        # as in close_positions
        if worst < 1e-16 or iteration == ITERATIONS or (iteration > 0 and (worst < 1e-13 or ROUNDING > worst > 0.5 * before)):
            break
        displace(q, d, nq, n, a.quaternions)
    for j in range(n):
        v[j] += c[j]
    return 0 if worst < OPEN else LOCKED


__all__ = ["Closing", "Rates", "straight_project", "straight_rates"]
