"""The constraints at the start of a run, looked at in native code: how far they are off, and whether they are independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import call
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from .projection import NOISE

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
    lists: Integers
    found: Floats  # largest |h|, |w| and |v|


@jit
def _list_entries(J: Any, m: int, n: int, begin: Any, columns: Any) -> None:
    """Columns of the entries of J that are not zero, row by row."""
    used = 0
    for i in range(m):
        begin[i] = used
        for j in range(n):
            if J[i * n + j] != 0.0:
                columns[used] = j
                used += 1
    begin[m] = used


@jit
def _products(J: Any, m: int, n: int, G: Any, lists: Any, row: Any) -> float:
    """J Jᵀ, the lower triangle within its envelope; its trace is returned.  ``lists`` then has, after m + 1 places, where rows of G begin."""
    begin, envelope, columns = lists, lists[m + 1 :], lists[3 * m + 1 :]
    _list_entries(J, m, n, begin, columns)
    for j in range(n):
        row[j] = 0.0
    trace = 0.0
    for i in range(m):
        for p in range(begin[i], begin[i + 1]):
            row[columns[p]] = J[i * n + columns[p]]
        first = -1
        for k in range(i + 1):
            dot = 0.0
            for p in range(begin[k], begin[k + 1]):
                dot += row[columns[p]] * J[k * n + columns[p]]
            if first < 0 and (dot != 0.0 or k == i):
                first = k
            if first >= 0:
                G[i * m + k] = dot
        for p in range(begin[i], begin[i + 1]):
            row[columns[p]] = 0.0
        trace += G[i * m + i]
        envelope[i] = first
    return trace


@jit
def _trace_of_inverse(L: Any, m: int, begin: Any, last: Any, Z: Any) -> float:
    """tr (L Lᵀ)⁻¹ by the entries Z of the inverse within the envelope of L alone (Takahashi, Fagan & Chin)."""
    for j in range(m):
        last[j] = j
    for i in range(m):
        for j in range(begin[i], i):
            last[j] = i
    trace = 0.0
    for j in range(m - 1, -1, -1):
        end, inverse = last[j] + 1, 1.0 / L[j * m + j]
        for i in range(j + 1, end):
            if begin[i] <= j:
                total = 0.0
                for k in range(j + 1, end):
                    if begin[k] <= j:
                        total += L[k * m + j] * (Z[i * m + k] if k <= i else Z[k * m + i])
                Z[i * m + j] = -total * inverse
        total = inverse
        for k in range(j + 1, end):
            if begin[k] <= j:
                total -= L[k * m + j] * Z[k * m + j]
        Z[j * m + j] = total * inverse
        trace += Z[j * m + j]
    return trace


@jit
def independent(J: Any, m: int, n: int, L: Any, lists: Any) -> bool:
    """Whether the rows of J are independent for certain: 1/|L⁻¹| > SINGULAR |J| with J Jᵀ = L Lᵀ, which bounds σ_min and σ_max.

    By Cholesky's factors within their envelope, which is small for coupled loops; squares leave six digits of what is asked.  Norms
    are those of Frobenius.  Nearly singular matrices and those with m > n rows are not decided.  For L and lists see :func:`room`.
    """
    if m > n:
        return False
    inverse = L[m * m :]
    least = max(SINGULAR * SINGULAR * _products(J, m, n, L, lists, inverse[m * m :]), NOISE * NOISE)
    envelope = lists[m + 1 :]
    for i in range(m):
        begin = envelope[i]
        for k in range(begin, i + 1):
            total = L[i * m + k]
            for j in range(max(begin, envelope[k]), k):
                total -= L[i * m + j] * L[k * m + j]
            if k < i:
                L[i * m + k] = total / L[k * m + k]
            elif total > least:
                L[i * m + i] = math.sqrt(total)
            else:
                return False
    return _trace_of_inverse(L, m, envelope, lists[2 * m + 1 :], inverse) * least < 1.0


def room(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Memory of :func:`independent`: the factor, the inverse and a row; beginnings, envelope, ends and columns of the entries."""
    return np.zeros(2 * m * m + n), np.zeros(3 * m + 1 + m * n, dtype=np.int64)


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
    return 0 if independent(a.J, a.w.size, a.v.size, a.L, a.lists) else 1


__all__ = ["SINGULAR", "Look", "independent", "look", "room"]
