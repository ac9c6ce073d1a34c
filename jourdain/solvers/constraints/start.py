"""The constraints at the start of a run, looked at in native code: how far they are off, and whether they are independent."""

from __future__ import annotations

import math
from typing import Any

from ...native.call import call
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record

#: A singular value of J below this part of the largest counts as zero: loops close in a singular position by the root of their residual.
SINGULAR = 1e-5


class Look(Record):
    """Functions h, J of positions and w, J of velocities with what they read and write, and what is found."""

    position: Address
    position_args: Address
    velocity: Address
    velocity_args: Address
    h: Floats
    w: Floats
    J: Floats
    v: Floats
    L: Floats
    column: Floats
    ranges: Integers
    found: Floats  # largest |h|, |w| and |v|


@jit
def _range_of(J: Any, i: int, n: int) -> tuple[int, int]:
    """First entry of a row that is not zero, and the place behind its last."""
    first, last = 0, n
    while first < n and J[i * n + first] == 0.0:
        first += 1
    while last > first and J[i * n + last - 1] == 0.0:
        last -= 1
    return first, last


@jit
def _products(J: Any, m: int, n: int, G: Any, ranges: Any) -> float:
    """J Jᵀ, its lower triangle; its trace is returned.  ``ranges`` then has where the rows of G begin."""
    for i in range(m):
        ranges[2 * i], ranges[2 * i + 1] = _range_of(J, i, n)
    trace = 0.0
    for i in range(m):
        begin = i
        for k in range(i + 1):
            dot = 0.0
            for j in range(max(ranges[2 * i], ranges[2 * k]), min(ranges[2 * i + 1], ranges[2 * k + 1])):
                dot += J[i * n + j] * J[k * n + j]
            G[i * m + k] = dot
            if dot != 0.0 and k < begin:
                begin = k
        trace += G[i * m + i]
        ranges[2 * m + i] = begin
    return trace


@jit
def independent(J: Any, m: int, n: int, L: Any, column: Any, ranges: Any) -> bool:
    """Whether the rows of J are independent for certain: 1/|L⁻¹| > SINGULAR |J| with J Jᵀ = L Lᵀ, which bounds σ_min and σ_max.

    By Cholesky's factors within their envelope, which is small for coupled loops; squares leave six digits of what is asked.  Norms
    are those of Frobenius.  Nearly singular matrices and those with m > n rows are not decided.
    """
    if m > n:
        return False
    least = SINGULAR * SINGULAR * _products(J, m, n, L, ranges)
    for i in range(m):
        begin = ranges[2 * m + i]
        for k in range(begin, i + 1):
            total = L[i * m + k]
            for j in range(max(begin, ranges[2 * m + k]), k):
                total -= L[i * m + j] * L[k * m + j]
            if k < i:
                L[i * m + k] = total / L[k * m + k]
            elif total > least:
                L[i * m + i] = math.sqrt(total)
            else:
                return False
    inverse = 0.0
    for k in range(m):
        for i in range(k, m):
            total = 1.0 if i == k else 0.0
            for j in range(max(k, ranges[2 * m + i]), i):
                total -= L[i * m + j] * column[j]
            column[i] = total / L[i * m + i]
            inverse += column[i] * column[i]
    return inverse * least < 1.0


@jit
def _largest(x: Any) -> float:
    """max |x|; not a number where there is one."""
    found = 0.0
    for i in range(x.size):
        if not abs(x[i]) <= found:
            found = abs(x[i])
    return found


@kernel
def look(address: int) -> int:
    """Evaluate the constraints; 0 where they are independent for certain, 1 where that is open, else a function failed."""
    a = Look.at(address)
    if a.position != 0 and call(a.position, a.position_args) != 0:
        return 2
    if call(a.velocity, a.velocity_args) != 0:
        return 2
    found = a.found
    found[0] = _largest(a.h)
    found[1] = _largest(a.w)
    found[2] = _largest(a.v)
    return 0 if independent(a.J, a.w.size, a.v.size, a.L, a.column, a.ranges) else 1


__all__ = ["SINGULAR", "Look", "independent", "look"]
