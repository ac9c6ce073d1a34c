"""Exchange of rotation vectors for their complements in flight: ψ and ψ − 2πψ/|ψ| are the same rotation.

Rotation vectors are singular at |ψ| = 2π; one that has grown beyond π is replaced after the step by the shorter one, and
past points of the method are carried over with their first and second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...native.call import doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Integers, Record
from ..native_function import NativeFunction
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


class Charts(Record):
    """Arguments of the kernels below: half the size of x, where rotation vectors begin in it, and which are to be exchanged."""

    t: Address
    x: Address
    out: Address
    n: int
    first: Integers
    marked: Integers


@kernel
def decide(args: int) -> int:
    """Marks rotation vectors that have grown long; the flag says whether there is one."""
    a = Charts.at(args)
    x = doubles(a.x, 2 * a.n)
    for k in range(a.first.size):
        i = a.first[k]
        long = x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] > LONGEST * LONGEST
        a.marked[k] = 1 if long else 0
        if long:
            doubles(a.out, 1)[0] = 1.0
    return 0


@kernel
def remap(args: int) -> int:
    """Exchanges the marked vectors of a present or past point."""
    a = Charts.at(args)
    n = a.n
    x, f = doubles(a.x, 2 * n), doubles(a.out, 2 * n)
    for k in range(a.first.size):
        if a.marked[k] == 1:
            i = a.first[k]
            complement(x[i : i + 3], x[n + i : n + i + 3], f[i : i + 3], f[n + i : n + i + 3])
    return 0


def exchange(charts: Sequence[int], n: int) -> Switch:
    """The switch for rotation vectors that begin at the given indices of n coordinates; the state is (x, ẋ, …)."""
    first, marked = np.array(charts, dtype=np.int64), np.zeros(len(charts), dtype=np.int64)
    args = Charts(n=n, first=first, marked=marked)
    return Switch(NativeFunction.of(decide.address, args), NativeFunction.of(remap.address, args.copy()))
