"""The constraints at the start of a run, looked at in native code: how far they are off, and whether they are independent."""

from __future__ import annotations

import math
from typing import Any

from ...native.call import call
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Record

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
    Q: Floats
    L: Floats
    column: Floats
    found: Floats  # largest |h|, |w| and |v|


@jit
def independent(J: Any, m: int, n: int, Q: Any, L: Any, column: Any) -> bool:
    """Whether the rows of J are independent for certain: 1/|L⁻¹| > SINGULAR |J| with J = L Q, which bounds σ_min and σ_max.

    By modified Gram–Schmidt; norms are those of Frobenius.  Nearly singular matrices and those with m > n rows are not decided.
    """
    if m > n:
        return False
    size = 0.0
    for i in range(m * n):
        Q[i] = J[i]
        size += J[i] * J[i]
    least = SINGULAR * math.sqrt(size)
    for i in range(m):
        norm = 0.0
        for k in range(i):
            dot = 0.0
            for j in range(n):
                dot += Q[k * n + j] * Q[i * n + j]
            L[i * m + k] = dot
            if dot != 0.0:
                for j in range(n):
                    Q[i * n + j] -= dot * Q[k * n + j]
        for j in range(n):
            norm += Q[i * n + j] * Q[i * n + j]
        norm = math.sqrt(norm)
        if not norm > least:
            return False
        L[i * m + i] = norm
        for j in range(n):
            Q[i * n + j] /= norm
    inverse = 0.0
    for k in range(m):
        for i in range(k, m):
            total = 1.0 if i == k else 0.0
            for j in range(k, i):
                total -= L[i * m + j] * column[j]
            column[i] = total / L[i * m + i]
            inverse += column[i] * column[i]
    return inverse * least * least < 1.0


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
    return 0 if independent(a.J, a.w.size, a.v.size, a.Q, a.L, a.column) else 1


__all__ = ["SINGULAR", "Look", "independent", "look"]
