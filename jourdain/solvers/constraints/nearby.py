"""Constraints that are redundant in closed positions around a given one, found in native code."""

from __future__ import annotations

import math
from typing import Any

from ...native.call import call, doubles, words
from ...native.kernel import jit, locked
from ..linear.dense import lu_full
from .elimination import displace, least_norm, longest_row, unit_row

#: A pivot below this fraction of the first counts as zero.
RANK_TOLERANCE = 1e-9
#: How far the positions are away in which the rank is looked at (rad, m).
DISTANCE = 0.1
#: Residual of the constraints (m, rad) at which a position counts as closed, and the most iterations.
CLOSED = 1e-11
ITERATIONS = 20


@jit
def _close(position: int, args: int, q: Any, step: Any, rows: int, quaternions: Any, work: Any) -> bool:
    """Moves q by −step and closes it with the shortest corrections (Gauss–Newton); whether that converged."""
    nq, n, count = q.size, step.size, quaternions.size // 2
    pointers = words(args, 4)
    displace(q, step, nq, n, quaternions, count)
    last = 0.0 if rows == 0 else 1e300
    for _ in range(ITERATIONS if rows > 0 else 0):
        if call(position, args) != 0:
            return False
        h, J = doubles(pointers[2], rows), doubles(pointers[3], rows * n)
        worst = 0.0
        for i in range(rows):
            worst = max(worst, abs(h[i]))
        if not worst < 1e10 or (worst < CLOSED and worst >= 0.5 * last):
            break
        last = worst
        least_norm(J, h, rows, n, work, step)
        displace(q, step, nq, n, quaternions, count)
    return last < CLOSED


@jit
def _rank(velocity: int, args: int, J: Any, m: int, n: int, A: Any, order: Any) -> int:
    """Rank of the Jacobian at the position that ``args`` point to; factors of its rows of unit length in A, their order in ``order``."""
    if call(velocity, args) != 0:
        return -1
    longest = longest_row(J, m, n)
    for i in range(m):
        unit_row(J, i, n, longest, A)
    return lu_full(A, m, n, order[:m], order[m:], RANK_TOLERANCE)


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


def memory_size(m: int, n: int, nq: int) -> int:
    """Numbers that :func:`redundant_nearby` works with."""
    return m * (2 * n + 1) + n * n + n + nq


@locked
def redundant_nearby(
    position: int, position_args: int, velocity: int, velocity_args: int, slot: int, holonomic: int, m: int, n: int, time: Any,
    quaternions: Any, directions: Any, order: Any, memory: Any, found: Any, q: Any, t: float,
) -> int:  # fmt: skip
    """How many of m constraints are redundant at q and around it; ``found`` receives their numbers.

    Functions are given by address and arguments: h, J of positions and w, J of velocities (the latter J in ``slot``), all at the time in
    ``time``.  Where J has full rank at q nothing is redundant.  Else small allowed motions (combinations by the rows of ``directions``) lead to
    closed positions near by, and the largest rank there counts.  ``order`` (m + n) and ``memory`` (:func:`memory_size`) are work space.
    The interpreter's lock is held, for the functions' own work spaces are used.
    """
    time[0] = t
    A, work = memory[: m * n], memory[m * n : m * (2 * n + 1)]
    Z, step, here = memory[m * (2 * n + 1) :], memory[m * (2 * n + 1) + n * n :], memory[m * (2 * n + 1) + n * n + n :]
    for i in range(q.size):
        here[i] = q[i]
    words(position_args, 2)[1] = here.ctypes.data
    pointers = words(velocity_args, slot + 1)
    pointers[1] = here.ctypes.data
    J = doubles(pointers[slot], m * n)
    first = _rank(velocity, velocity_args, J, m, n, A, order)
    if first == m or first < 0:
        return 0
    best = first if first == n else -1
    if first == n:
        for i in range(n, m):
            found[i - n] = order[i]
    _allowed(A, n, first, order[m:], Z)
    for s in range(directions.shape[0] if first < n else 0):
        norm = 0.0
        for j in range(n):
            step[j] = 0.0
            for k in range(n - first):
                step[j] += directions[s, k] * Z[k * n + j]
            norm += step[j] * step[j]
        for j in range(n):
            step[j] *= -DISTANCE / math.sqrt(norm)
        for i in range(q.size):
            here[i] = q[i]
        if _close(position, position_args, here[: q.size], step[:n], holonomic, quaternions, work):
            rank = _rank(velocity, velocity_args, J, m, n, A, order)
            if rank > best:
                best = rank
                for i in range(rank, m):
                    found[i - rank] = order[i]
    return m - best if best >= 0 else 0
