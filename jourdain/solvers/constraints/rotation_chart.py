"""Exchange of rotation vectors for their complements in flight: ψ and ψ − 2πψ/|ψ| are the same rotation.

Rotation vectors are singular at |ψ| = 2π; one that has grown beyond π is replaced after the step by the shorter one, and
past points of the method are carried over with their first and second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...native.call import doubles, integers, words
from ...native.kernel import jit, kernel
from ..native_function import NativeFunction, address
from ..ode.events import Switch

#: Length of a rotation vector above which it is exchanged (rad): beyond π, so that no vector is exchanged back at once.
LONGEST = 1.1 * math.pi


@jit
def complement(psi: Any, rate: Any, rate_again: Any, second: Any) -> None:
    """Replaces ψ, ψ̇ (twice, as both x and ẋ hold it) and ψ̈ by those of the complement ψ(1 − 2π/|ψ|), in place."""
    n = math.sqrt(psi[0] * psi[0] + psi[1] * psi[1] + psi[2] * psi[2])
    along, square = 0.0, 0.0
    for i in range(3):
        along += psi[i] * rate[i]
        square += rate[i] * rate[i] + psi[i] * second[i]
    n1 = along / n
    n2 = (square - n1 * n1) / n
    factor = 1.0 - 2.0 * math.pi / n
    factor1 = 2.0 * math.pi * n1 / (n * n)
    factor2 = 2.0 * math.pi * (n2 / (n * n) - 2.0 * n1 * n1 / (n * n * n))
    for i in range(3):
        p, r, s = psi[i], rate[i], second[i]
        second[i] = s * factor + 2.0 * r * factor1 + p * factor2
        rate[i] = r * factor + p * factor1
        rate_again[i] = rate[i]
        psi[i] = p * factor


@kernel
def decide(args: int) -> int:
    """args = t, x, flag, list: count, size of x, then (first index, marked) of each rotation vector."""
    a = words(args, 4)
    head = integers(a[3], 2)
    count, n = head[0], head[1]
    charts = integers(a[3], 2 + 2 * count)
    x, flag = doubles(a[1], 2 * n), doubles(a[2], 1)
    for k in range(count):
        i = charts[2 + 2 * k]
        long = x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] > LONGEST * LONGEST
        charts[3 + 2 * k] = 1 if long else 0
        if long:
            flag[0] = 1.0
    return 0


@kernel
def remap(args: int) -> int:
    """args = t, x, ẋ, list (see :func:`decide`): exchanges the marked vectors of a present or past point."""
    a = words(args, 4)
    head = integers(a[3], 2)
    count, n = head[0], head[1]
    charts = integers(a[3], 2 + 2 * count)
    x, f = doubles(a[1], 2 * n), doubles(a[2], 2 * n)
    for k in range(count):
        if charts[3 + 2 * k] == 1:
            i = charts[2 + 2 * k]
            complement(x[i : i + 3], x[n + i : n + i + 3], f[i : i + 3], f[n + i : n + i + 3])
    return 0


def exchange(charts: Sequence[int], n: int) -> Switch:
    """The switch for rotation vectors that begin at the given indices of n coordinates; the state is (x, ẋ, …)."""
    table = np.array([len(charts), n, *(v for i in charts for v in (i, 0))], dtype=np.int64)
    args = np.array([0, 0, 0, address(table)], dtype=np.uintp)
    return Switch(NativeFunction(decide.address, args, (table,)), NativeFunction(remap.address, args.copy(), (table,)))
