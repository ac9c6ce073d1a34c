"""Constraints that are redundant in closed positions around a given one, found in native code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import address, call
from ...native.kernel import jit, locked
from ...native.record import Floats, Integers, Matrix, Record
from ..linear.dense import lu_full
from .plan import Compiled
from .projection import displace, least_norm, longest_row, unit_row

#: A pivot below this fraction of the first counts as zero.
RANK_TOLERANCE = 1e-9
#: How far the positions are away in which the rank is looked at (rad, m).
DISTANCE = 0.1
#: Residual of the constraints (m, rad) at which a position counts as closed, and the most iterations.
CLOSED = 1e-11
ITERATIONS = 20


class Nearby(Record):
    """Compiled constraints (h, J of positions and w, J of velocities) at the time in ``time``, and what the kernels below work with."""

    holonomic: int
    m: int
    n: int
    position: Compiled
    velocity: Compiled
    time: Floats
    quaternions: Integers
    directions: Matrix  # combinations of allowed motions that are tried
    order: Integers
    A: Floats
    work: Floats
    Z: Floats
    step: Floats
    q: Floats


@jit
def _close(s: Any) -> bool:
    """Moves q by −step and closes it with the shortest corrections (Gauss–Newton); whether that converged."""
    level, q, step, rows = s.position, s.q, s.step, s.holonomic
    nq, n = q.size, s.n
    displace(q, step, nq, n, s.quaternions)
    last = 0.0 if rows == 0 else 1e300
    for _ in range(ITERATIONS if rows > 0 else 0):
        if call(level.function, level.args) != 0:
            return False
        worst = 0.0
        for i in range(rows):
            worst = max(worst, abs(level.h[i]))
        if not worst < 1e10 or (worst < CLOSED and worst >= 0.5 * last):
            break
        last = worst
        least_norm(level.J, level.h, rows, n, s.work, step)
        displace(q, step, nq, n, s.quaternions)
    return last < CLOSED


@jit
def _rank(s: Any) -> int:
    """Rank of the Jacobian at q; factors of its rows of unit length in A, their order in ``order``."""
    level, m, n = s.velocity, s.m, s.n
    if call(level.function, level.args) != 0:
        return -1
    longest = longest_row(level.J, m, n)
    for i in range(m):
        unit_row(level.J, i, n, longest, s.A)
    return lu_full(s.A, m, n, s.order[:m], s.order[m:], RANK_TOLERANCE)


@jit
def _allowed(A: Any, n: int, rank: int, columns: Any, Z: Any) -> None:
    """Velocities that the constraints allow, one for each column without a pivot (rows of Z)."""
    for k in range(n - rank):
        for j in range(n):
            Z[k * n + j] = 0.0
        Z[k * n + columns[rank + k]] = 1.0
        for i in range(rank - 1, -1, -1):
            total = A[i * n + rank + k]
            for j in range(i + 1, rank):
                total += A[i * n + j] * Z[k * n + columns[j]]
            Z[k * n + columns[i]] = -total / A[i * n + i]


def nearby(m: int, n: int, nq: int, **fields: Any) -> Nearby:
    """The record with its work space."""
    return Nearby(
        m=m, n=n, order=np.zeros(m + n, dtype=np.int64), A=np.zeros(m * n), work=np.zeros(m * (n + 2)), Z=np.zeros(n * n), step=np.zeros(n),
        q=np.zeros(nq), **fields,
    )  # fmt: skip


@locked
def redundant_nearby(s: Any, q: Any, t: float, found: Any) -> int:
    """How many constraints are redundant at q and around it; ``found`` receives their numbers.

    Where J has full rank at q nothing is redundant.  Else small allowed motions lead to closed positions near by, and the largest rank there
    counts.  The interpreter's lock is held, for the functions' own work spaces are used.
    """
    m, n, order, step, here = s.m, s.n, s.order, s.step, s.q
    s.time[0] = t
    for i in range(q.size):
        here[i] = q[i]
    s.position.args[1] = s.velocity.args[1] = address(here)
    first = _rank(s)
    if first == m or first < 0:
        return 0
    best = first if first == n else -1
    if first == n:
        for i in range(n, m):
            found[i - n] = order[i]
    _allowed(s.A, n, first, order[m:], s.Z)
    for k in range(s.directions.shape[0] if first < n else 0):
        norm = 0.0
        for j in range(n):
            step[j] = 0.0
            for i in range(n - first):
                step[j] += s.directions[k, i] * s.Z[i * n + j]
            norm += step[j] * step[j]
        for j in range(n):
            step[j] *= -DISTANCE / math.sqrt(norm)
        for i in range(q.size):
            here[i] = q[i]
        if _close(s):
            rank = _rank(s)
            if rank > best:
                best = rank
                for i in range(rank, m):
                    found[i - rank] = order[i]
    return m - best if best >= 0 else 0


__all__ = ["Nearby", "nearby", "redundant_nearby"]
