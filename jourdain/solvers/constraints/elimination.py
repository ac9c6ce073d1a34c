"""Accelerations and projections of constrained systems in native code.

M v̇ = f + Jᵀλ, J v̇ = g.  Each independent group of constraints (a *block*: rows that share coordinates) is eliminated by
itself with full pivoting, which finds the dependent velocities and drops redundant rows; what remains is the mass
matrix reduced to the independent velocities, v̇ = Z v̇_u + a₀ with J Z = 0.  A row of Z has entries only for the independent
velocities of its own block: it is kept as a short list, so that many small loops cost no more than their own sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from ..linear.dense import cholesky, cholesky_solve
from ..linear.fronts import eliminate_by_fronts, make_fronts, room, shortest
from ..linear.redundant import drop_redundant

#: A pivot below this fraction of the first counts as a redundant row; near a singular position the directions that the
#: constraints hardly hold are then left to the dynamics for the moment of passing, which keeps accelerations bounded.
RANK_TOLERANCE = 1e-5
#: A row shorter than this fraction of the longest is rounding error: it says nothing.
NOISE = 1e-12
#: Directions below this fraction of a row's length are left alone by the projection: correcting them would amplify noise.
PROJECTION_TOLERANCE = 1e-3

#: A residual of position (m, rad) above this after projection means that the loops cannot be closed: status LOCKED.
OPEN, LOCKED = 1e-6, 3

#: Entries of the plan (int64): sizes, addresses, then the blocks.
NQ, NV, NZ, M, HOLONOMIC, QUATERNIONS, ADDRESS_DESCRIPTOR, ADDRESS_POSITION, ADDRESS_VELOCITY, BLOCKS, LENGTH, SCRATCH = range(12)
#: Where the fronts are listed (0: no block is split), how many integers of scratch are needed, where the blocks begin.
FRONTS, INTEGERS, HEAD = 12, 13, 14

# compiled with the functions below that have an address: those are kept on disk, and nothing is compiled twice


@jit
def _factor(a: Any, m: int, n: int, permutation: Any) -> int:
    """Full-pivot elimination of an m × n block; the next pivot is sought while the rest is updated. Returns the rank."""
    best, p, q = 0.0, 0, 0
    for i in range(m):
        permutation[i] = i
        for j in range(n):
            size = abs(a[i * n + j])
            if size > best:
                best, p, q = size, i, j
    for j in range(n):
        permutation[m + j] = j
    first = best
    for k in range(min(m, n)):
        if not best > RANK_TOLERANCE * first:
            return k
        if p != k:
            permutation[k], permutation[p] = permutation[p], permutation[k]
            for j in range(n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        if q != k:
            permutation[m + k], permutation[m + q] = permutation[m + q], permutation[m + k]
            for i in range(m):
                a[i * n + k], a[i * n + q] = a[i * n + q], a[i * n + k]
        inverse = 1.0 / a[k * n + k]
        best, p, q = 0.0, k + 1, k + 1
        for i in range(k + 1, m):
            factor = a[i * n + k] * inverse
            a[i * n + k] = factor
            for j in range(k + 1, n):
                rest = a[i * n + j] - factor * a[k * n + j]
                a[i * n + j] = rest
                if abs(rest) > best:
                    best, p, q = abs(rest), i, j
    return min(m, n)


@jit
def factor_block(J: Any, n: int, plan: Any, at: int, lu: Any, permutation: Any) -> int:
    """Full-pivot factors of one block of J (its rows and columns are listed from ``plan[at]``); returns the rank.

    ``permutation`` receives the rows, then the columns, in the order of the pivots.
    """
    rows = plan[at]
    columns = plan[at + 1 + rows]
    for i in range(rows):
        source = plan[at + 1 + i] * n
        for j in range(columns):
            lu[i * columns + j] = J[source + plan[at + 2 + rows + j]]
    return _factor(lu, rows, columns, permutation)


@jit
def _dependent_rows(plan: Any, at: int, helper: Any, store: int, lu: Any, room: int, g: Any, Z: Any, a0: Any) -> None:
    """Listed rows of Z and entries of a0 for a block's dependent velocities: −U⁻¹W and U⁻¹L⁻¹g."""
    n = plan[NV]
    rows = plan[at]
    columns = plan[at + 1 + rows]
    rank = helper[store]
    loose = columns - rank
    order, first = store + 1, at + 2 + rows
    turn = order + rows
    for i in range(rank):
        right = g[plan[at + 1 + helper[order + i]]]
        for k in range(i):
            right -= lu[room + i * columns + k] * a0[plan[first + helper[turn + k]]]
        a0[plan[first + helper[turn + i]]] = right
    for i in range(rank - 1, -1, -1):
        dependent = plan[first + helper[turn + i]]
        for j in range(loose):
            Z[dependent * n + j] = -lu[room + i * columns + rank + j]
        right = a0[dependent]
        for k in range(i + 1, rank):
            other, factor = plan[first + helper[turn + k]], lu[room + i * columns + k]
            for j in range(loose):
                Z[dependent * n + j] -= factor * Z[other * n + j]
            right -= factor * a0[other]
        inverse = 1.0 / lu[room + i * columns + i]
        for j in range(loose):
            Z[dependent * n + j] *= inverse
        a0[dependent] = right * inverse


@jit
def _factor_blocks(J: Any, plan: Any, helper: Any, lu: Any) -> int:
    """Factors of all blocks; numbers the independent velocities in ``helper[:nv]`` and returns how many there are."""
    n = plan[NV]
    for j in range(n):
        helper[j] = 0
    at, store, room = HEAD, n, 0
    for block in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        limit = plan[plan[LENGTH] - plan[BLOCKS] + block]
        rank = min(limit, factor_block(J, n, plan, at, lu[room:], helper[store + 1 :]))
        helper[store] = rank
        for j in range(rank):
            helper[plan[at + 2 + rows + helper[store + 1 + rows + j]]] = -1
        at, store, room = at + 2 + rows + columns, store + 1 + rows + columns, room + rows * columns
    free = 0
    for j in range(n):
        if helper[j] >= 0:
            helper[j] = free
            free += 1
    return free


@jit
def eliminate(J: Any, g: Any, plan: Any, helper: Any, lu: Any, Z: Any, a0: Any) -> int:
    """The null space of J by lists, and a particular solution a0 of J a = g; returns how many velocities are free.

    From ``lists = plan[LENGTH] − 3 nv`` on, ``helper`` receives for each velocity where its list begins and how long it is, then the lists:
    numbers of the independent velocities on which it depends.  Entry k of row j of Z is ``Z[j nv + k]``.  ``helper[j]`` becomes −1 for a
    dependent velocity, else its number among the independent ones; behind come the rank and the permutation of each block.
    """
    n = plan[NV]
    free = _factor_blocks(J, plan, helper, lu)
    begin = plan[LENGTH] - 3 * n
    count, members = begin + n, begin + 2 * n
    used = members
    for j in range(n):
        a0[j] = 0.0
        if helper[j] >= 0:
            helper[begin + j], helper[count + j], helper[used] = used, 1, helper[j]
            Z[j * n] = 1.0
            used += 1
    at, store, room = HEAD, n, 0
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        rank = helper[store]
        for j in range(rank):
            dependent = plan[at + 2 + rows + helper[store + 1 + rows + j]]
            helper[begin + dependent], helper[count + dependent] = used, columns - rank
        for j in range(rank, columns):
            helper[used] = helper[plan[at + 2 + rows + helper[store + 1 + rows + j]]]
            used += 1
        _dependent_rows(plan, at, helper, store, lu, room, g, Z, a0)
        at, store, room = at + 2 + rows + columns, store + 1 + rows + columns, room + rows * columns
    return free


@jit
def particular(g: Any, plan: Any, helper: Any, lu: Any, a0: Any) -> None:
    """a₀ for another g with the factors of :func:`eliminate`: dependent velocities U⁻¹L⁻¹g, independent ones zero."""
    for j in range(plan[NV]):
        a0[j] = 0.0
    at, store, room = HEAD, plan[NV], 0
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        rank = helper[store]
        order, first = store + 1, at + 2 + rows
        turn = order + rows
        for i in range(rank):
            right = g[plan[at + 1 + helper[order + i]]]
            for k in range(i):
                right -= lu[room + i * columns + k] * a0[plan[first + helper[turn + k]]]
            a0[plan[first + helper[turn + i]]] = right
        for i in range(rank - 1, -1, -1):
            dependent = plan[first + helper[turn + i]]
            right = a0[dependent]
            for k in range(i + 1, rank):
                right -= lu[room + i * columns + k] * a0[plan[first + helper[turn + k]]]
            a0[dependent] = right / lu[room + i * columns + i]
        at, store, room = first + columns, store + 1 + rows + columns, room + rows * columns


@jit
def spread(plan: Any, helper: Any, free: int, line: Any, Z: Any) -> None:
    """Z by lists (see :func:`eliminate`) made a full matrix in place; ``line`` has room for a row."""
    n = plan[NV]
    begin = plan[LENGTH] - 3 * n
    for j in range(n):  # in place: row j of the full matrix ends before row j + 1 of the lists begins
        independent = helper[j] >= 0
        length, members = helper[begin + n + j], helper[begin + j]
        if not independent:
            for k in range(length):
                line[k] = Z[j * n + k]
        for k in range(free):
            Z[j * free + k] = 0.0
        if independent:
            Z[j * free + helper[j]] = 1.0
        else:
            for k in range(length):
                Z[j * free + helper[members + k]] = line[k]


@jit
def _reduce(Mass: Any, f: Any, Z: Any, a0: Any, plan: Any, helper: Any, free: int, ZM: Any, reduced: Any) -> None:
    """ZᵀM Z and, behind it, Zᵀ(f − M a₀): whole rows of M are added up first, then the columns of ZᵀM."""
    n = plan[NV]
    begin = plan[LENGTH] - 3 * n
    count = begin + n
    right = reduced[free * free :]
    for j in range(n):
        u = helper[j]
        if u >= 0:
            right[u] = f[j]
            for k in range(n):
                ZM[u * n + k] = Mass[j * n + k]
    for j in range(n):
        if helper[j] < 0:
            members = helper[begin + j]
            for i in range(helper[count + j]):
                u, z = helper[members + i], Z[j * n + i]
                right[u] += z * f[j]
                for k in range(n):
                    ZM[u * n + k] += z * Mass[j * n + k]
    for j in range(n):
        w = helper[j]
        if w >= 0:
            for u in range(free):
                reduced[u * free + w] = ZM[u * n + j]
    for j in range(n):
        if helper[j] < 0:
            members, a = helper[begin + j], a0[j]
            for u in range(free):
                right[u] -= ZM[u * n + j] * a
            for i in range(helper[count + j]):
                w, z = helper[members + i], Z[j * n + i]
                for u in range(w, free):
                    reduced[u * free + w] += ZM[u * n + j] * z


@jit
def listed_accelerations(Mass: Any, f: Any, Z: Any, a0: Any, plan: Any, helper: Any, free: int, ZM: Any, reduced: Any, a: Any) -> int:
    """v̇ = Z (ZᵀM Z)⁻¹ Zᵀ(f − M a₀) + a₀ with Z by lists (see :func:`eliminate`); 0 when ZᵀM Z is positive definite."""
    n = plan[NV]
    begin = plan[LENGTH] - 3 * n
    count = begin + n
    right = reduced[free * free :]
    _reduce(Mass, f, Z, a0, plan, helper, free, ZM, reduced)
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    for i in range(n):
        total = a0[i]
        members = helper[begin + i]
        for k in range(helper[count + i]):
            total += Z[i * n + k] * right[helper[members + k]]
        a[i] = total
    return 0


@jit
def solve_again(f: Any, Z: Any, a0: Any, plan: Any, helper: Any, free: int, ZM: Any, reduced: Any, a: Any) -> None:
    """Another right-hand side f, a₀ with the factors that :func:`listed_accelerations` left in ZM and ``reduced``; f and a may be one array."""
    n = plan[NV]
    begin = plan[LENGTH] - 3 * n
    count = begin + n
    right = reduced[free * free :]
    for u in range(free):
        total = 0.0
        for j in range(n):
            total -= ZM[u * n + j] * a0[j]
        right[u] = total
    for j in range(n):
        members, force = helper[begin + j], f[j]
        for i in range(helper[count + j]):
            right[helper[members + i]] += Z[j * n + i] * force
    cholesky_solve(reduced, free, right)
    for i in range(n):
        total = a0[i]
        members = helper[begin + i]
        for k in range(helper[count + i]):
            total += Z[i * n + k] * right[helper[members + k]]
        a[i] = total


@jit
def reduced_accelerations(Mass: Any, f: Any, Z: Any, a0: Any, n: int, free: int, MZ: Any, reduced: Any, a: Any) -> int:
    """v̇ = Z (ZᵀM Z)⁻¹ Zᵀ(f − M a₀) + a₀; 0 when the reduced mass matrix is positive definite."""
    for i in range(n):
        for k in range(free):
            MZ[i * free + k] = 0.0
        rest = f[i]
        for j in range(n):
            entry = Mass[i * n + j]
            if entry != 0.0:
                rest -= entry * a0[j]
                for k in range(free):
                    MZ[i * free + k] += entry * Z[j * free + k]
        MZ[n * free + i] = rest
    for k in range(free * free):
        reduced[k] = 0.0
    right = reduced[free * free :]
    for k in range(free):
        right[k] = 0.0
    for i in range(n):
        rest = MZ[n * free + i]
        for k in range(free):
            z = Z[i * free + k]
            if z != 0.0:
                right[k] += z * rest
                for j in range(k + 1):
                    reduced[k * free + j] += z * MZ[i * free + j]
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    for i in range(n):
        total = a0[i]
        for k in range(free):
            total += Z[i * free + k] * right[k]
        a[i] = total
    return 0


@jit
def constrained_solution(Mass: Any, f: Any, J: Any, g: Any, plan: Any, helper: Any, scratch: Any, a: Any) -> int:
    """a with M a = f + Jᵀλ, J a = g; J and g are changed where constraints are redundant.  0 when the solution exists."""
    n, m = plan[NV], plan[M]
    at = HEAD
    for block in range(plan[BLOCKS]):
        excess = plan[at] - plan[plan[LENGTH] - plan[BLOCKS] + block]
        if excess > 0 and drop_redundant(J, g, n, plan, at, excess, scratch) != 0:
            return 1
        at += 2 + plan[at] + plan[at + 1 + plan[at]]
    Z, rest = scratch[: n * n], scratch[n * n :]
    a0, rest = rest[:n], rest[n:]
    lu, rest = rest[: 2 * m * n + m], rest[2 * m * n + m :]
    MZ, rest = rest[: n * n + n], rest[n * n + n :]
    if plan[FRONTS] > 0:
        begin, base = plan[LENGTH] - 3 * n, plan[LENGTH] + n + 8
        free = eliminate_by_fronts(J, g, m, n, plan, plan[FRONTS], helper, begin, base, RANK_TOLERANCE, False, lu, Z, a0)
    else:
        free = eliminate(J, g, plan, helper, lu, Z, a0)
    return listed_accelerations(Mass, f, Z, a0, plan, helper, free, MZ, rest, a)


@jit
def ideal_impulse(t: int, x: int, w: Any, descriptor: int, plan: Any, v: Any, scratch: Any, helper: Any) -> int:
    """Moves v (with the residual w of its constraints) onto them by impulses Jᵀμ, which do no work to first order."""
    n, m = plan[NV], plan[M]
    pointers = words(descriptor, 10)
    pointers[0], pointers[1] = t, x
    if call(plan[ADDRESS_DESCRIPTOR], descriptor) != 0:
        return -1
    Mass, f = doubles(pointers[3], n * n), doubles(pointers[4], n)
    J, g = doubles(pointers[5], m * n), doubles(pointers[6], m)
    for i in range(n):
        f[i] = 0.0
        for j in range(n):
            f[i] += Mass[i * n + j] * v[j]
    for i in range(m):
        g[i] = -w[i]
        for j in range(n):
            g[i] += J[i * n + j] * v[j]
    return constrained_solution(Mass, f, J, g, plan, helper, scratch, v)


@jit
def store_rates(rates: Any, nq: int, n: int, nz: int, xdot: Any) -> None:
    """q̇ and ż beside the accelerations in ẋ = (q̇, v̇, ż)."""
    for i in range(nq):
        xdot[i] = rates[i]
    for i in range(nz):
        xdot[nq + n + i] = rates[nq + i]


@kernel
def constrained_state_derivative(args: int) -> int:
    """ẋ of a constrained system: args = t, x, ẋ, plan, scratch, integers, pointers of the descriptor function."""
    a = words(args, 7)
    plan = integers(a[3], HEAD)
    n, nq, nz, m = plan[NV], plan[NQ], plan[NZ], plan[M]
    plan = integers(a[3], plan[LENGTH])
    scratch = doubles(a[4], plan[SCRATCH])
    helper = integers(a[5], plan[INTEGERS])
    pointers = words(a[6], 10)
    pointers[0], pointers[1] = a[0], a[1]
    if call(plan[ADDRESS_DESCRIPTOR], a[6]) != 0:
        return -1
    Mass, f = doubles(pointers[3], n * n), doubles(pointers[4], n)
    J, g, rates = doubles(pointers[5], m * n), doubles(pointers[6], m), doubles(pointers[7], nq + nz)
    xdot = doubles(a[2], nq + n + nz)
    if constrained_solution(Mass, f, J, g, plan, helper, scratch, xdot[nq : nq + n]) != 0:
        return 2
    store_rates(rates, nq, n, nz, xdot)
    return 0


@jit
def row_square(J: Any, i: int, n: int) -> float:
    """Square of the length of a row."""
    norm = 0.0
    for j in range(n):
        norm += J[i * n + j] * J[i * n + j]
    return norm


@jit
def longest_row(J: Any, m: int, n: int) -> float:
    """Square of the length of the longest row."""
    longest = 0.0
    for i in range(m):
        longest = max(longest, row_square(J, i, n))
    return longest


@jit
def unit_row(J: Any, i: int, n: int, longest: float, out: Any) -> float:
    """Row i brought to length one, zero when it is the rounding of ``longest``; returns the factor."""
    norm = row_square(J, i, n)
    scale = 1.0 / np.sqrt(norm) if norm > NOISE * NOISE * longest else 0.0
    for j in range(n):
        out[i * n + j] = scale * J[i * n + j]
    return scale


@jit
def least_norm(J: Any, h: Any, m: int, n: int, gram: Any, d: Any) -> int:
    """Shortest d with J d = h by Gram–Schmidt on the rows with pivoting; (nearly) dependent rows are skipped."""
    right = gram[m * n : m * n + m]
    longest = longest_row(J, m, n)
    for i in range(m):
        right[i] = unit_row(J, i, n, longest, gram) * h[i]
    for j in range(n):
        d[j] = 0.0
    for k in range(m):
        best, p = 0.0, -1
        for i in range(k, m):
            norm = 0.0
            for j in range(n):
                norm += gram[i * n + j] * gram[i * n + j]
            if norm > best:
                best, p = norm, i
        if p < 0 or best <= PROJECTION_TOLERANCE * PROJECTION_TOLERANCE:
            return k
        if p != k:
            for j in range(n):
                gram[k * n + j], gram[p * n + j] = gram[p * n + j], gram[k * n + j]
            right[k], right[p] = right[p], right[k]
        scale = right[k] / best
        for j in range(n):
            d[j] += scale * gram[k * n + j]
        for i in range(k + 1, m):
            dot = 0.0
            for j in range(n):
                dot += gram[i * n + j] * gram[k * n + j]
            dot /= best
            if dot != 0.0:
                for j in range(n):
                    gram[i * n + j] -= dot * gram[k * n + j]
                right[i] -= dot * right[k]
    return m


@jit
def least_norm_by_blocks(J: Any, h: Any, m: int, plan: Any, work: Any, d: Any) -> None:
    """Shortest d with J d = h for the first m rows, each block by itself (see :func:`least_norm`)."""
    n = plan[NV]
    for j in range(n):
        d[j] = 0.0
    at = HEAD
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        first = at + 2 + rows
        size = rows * columns
        part, right, gram = work[:size], work[size : size + rows], work[size + rows + columns :]
        step = work[size + rows : size + rows + columns]
        kept = 0
        for i in range(rows):
            row = plan[at + 1 + i]
            if row < m:
                for j in range(columns):
                    part[kept * columns + j] = J[row * n + plan[first + j]]
                right[kept] = h[row]
                kept += 1
        if kept > 0:
            least_norm(part, right, kept, columns, gram, step)
            for j in range(columns):
                d[plan[first + j]] = step[j]
        at = first + columns


@jit
def _least_norm_by_fronts(J: Any, h: Any, m: int, plan: Any, helper: Any, work: Any, d: Any) -> None:
    """Shortest d with J d = h for the first m rows (see :mod:`jourdain.solvers.linear.fronts`)."""
    n = plan[NV]
    Z, rest = work[: n * n], work[n * n :]
    lu, reduced = rest[: 2 * plan[M] * n + plan[M]], rest[2 * plan[M] * n + plan[M] :]
    begin, base = plan[LENGTH] - 3 * n, plan[LENGTH] + n + 8
    free = eliminate_by_fronts(J, h, m, n, plan, plan[FRONTS], helper, begin, base, PROJECTION_TOLERANCE, True, lu, Z, d)
    shortest(n, free, helper, begin, Z, reduced, d)


@jit
def displace(q: Any, d: Any, nq: int, nv: int, quaternions: Any, count: int) -> None:
    """Moves q by the small displacement −d; ``quaternions`` lists (index in q, index in v) of quaternion blocks."""
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < count and quaternions[2 * k] == iq:
            e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
            x, y, z = -0.5 * d[iv], -0.5 * d[iv + 1], -0.5 * d[iv + 2]
            n0 = e0 - (e1 * x + e2 * y + e3 * z)
            n1 = e1 + e0 * x + e2 * z - e3 * y
            n2 = e2 + e0 * y + e3 * x - e1 * z
            n3 = e3 + e0 * z + e1 * y - e2 * x
            scale = 1.0 / np.sqrt(n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3)
            q[iq], q[iq + 1], q[iq + 2], q[iq + 3] = scale * n0, scale * n1, scale * n2, scale * n3
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            q[iq] -= d[iv]
            iq, iv = iq + 1, iv + 1


@kernel
def project(args: int) -> int:
    """Puts x back onto the constraints, in place: args = t, x, –, plan, scratch, quaternions, position and velocity
    pointers, pointers of the descriptor function, integers.

    Positions by Gauss–Newton with the shortest corrections, then velocities as ideal impulses; quaternions are normalised.
    """
    a = words(args, 10)
    plan = integers(a[3], HEAD)
    n, nq, nz, m, mh = plan[NV], plan[NQ], plan[NZ], plan[M], plan[HOLONOMIC]
    plan = integers(a[3], plan[LENGTH])
    x = doubles(a[1], nq + n + nz)
    scratch = doubles(a[4], plan[SCRATCH])
    quaternions = integers(a[5], 2 * plan[QUATERNIONS] + 1)
    d, gram = scratch[:n], scratch[n:]
    for j in range(n):
        d[j] = 0.0
    if plan[QUATERNIONS] > 0:
        displace(x[:nq], d, nq, n, quaternions, plan[QUATERNIONS])
    if mh > 0:
        pointers = words(a[6], 6)
        pointers[0], pointers[1] = a[0], a[1]
        h, J = doubles(pointers[2], mh), doubles(pointers[3], mh * n)
        worst = 0.0
        for iteration in range(8):
            call(plan[ADDRESS_POSITION], a[6])
            worst = 0.0
            for i in range(mh):
                worst = max(worst, abs(h[i]))
            # a small residual left alone grows like 1/σ on the way into a singular position
            if worst < 1e-16 or (iteration > 0 and worst < 1e-13):
                break
            if plan[FRONTS] > 0:
                _least_norm_by_fronts(J, h, mh, plan, integers(a[9], plan[INTEGERS]), gram, d)
            else:
                least_norm_by_blocks(J, h, mh, plan, gram, d)
            displace(x[:nq], d, nq, n, quaternions, plan[QUATERNIONS])
        if not worst < OPEN:
            return LOCKED
    if m > 0:
        pointers = words(a[7], 8)
        pointers[0], pointers[1], pointers[2] = a[0], a[1], a[1] + 8 * nq
        call(plan[ADDRESS_VELOCITY], a[7])
        return ideal_impulse(a[0], a[1], doubles(pointers[3], m), a[8], plan, x[nq : nq + n], scratch, integers(a[9], plan[INTEGERS]))
    return 0


def blocks(pattern: np.ndarray) -> list[tuple[list[int], list[int]]]:
    """Independent groups of a constraint Jacobian's pattern: rows and columns that touch each other."""
    m, n = pattern.shape
    label = np.arange(m)
    for j in range(n):
        rows = np.flatnonzero(pattern[:, j])
        if len(rows) > 1:
            target = label[rows].min()
            for old in set(label[rows].tolist()):
                label[label == old] = target
    groups = []
    for value in sorted(set(label.tolist())):
        rows = np.flatnonzero(label == value)
        columns = np.flatnonzero(pattern[rows].any(axis=0))
        if len(columns):
            groups.append((rows.tolist(), columns.tolist()))
    return groups


def make_plan(
    nq: int, nv: int, nz: int, holonomic: int, quaternions: int, pattern: np.ndarray, redundant: Sequence[int] = ()
) -> np.ndarray:
    """The integer plan that the kernels read; addresses are filled in by the caller.

    ``redundant`` rows follow from the others wherever the mechanism moves: the rank of their block is limited by their number.
    """
    groups = blocks(pattern)
    tail: list[int] = []
    for rows, columns in groups:
        tail += [len(rows), *rows, len(columns), *columns]
    # integers as many as the plan has serve as scratch: the lists of `eliminate` need room at the end
    limits = [len(rows) - len(set(rows) & set(redundant)) for rows, _ in groups]
    fronts = make_fronts(pattern, groups, [limit < len(rows) for limit, (rows, _) in zip(limits, groups, strict=True)])
    plan = np.zeros(HEAD + len(tail) + len(fronts) + 4 * nv + len(limits), dtype=np.int64)
    plan[[NQ, NV, NZ, M, HOLONOMIC, QUATERNIONS, BLOCKS]] = nq, nv, nz, pattern.shape[0], holonomic, quaternions, len(groups)
    m = pattern.shape[0]
    plan[LENGTH] = len(plan)
    plan[SCRATCH] = 3 * nv * nv + 4 * nv + 2 * m * nv + 2 * m + 16 + (2 * m * m if len(redundant) else 0)
    plan[FRONTS] = HEAD + len(tail) if fronts else 0
    plan[INTEGERS] = len(plan) + nv + 8 + room(nv, fronts)
    plan[HEAD : HEAD + len(tail) + len(fronts)] = tail + fronts
    plan[len(plan) - len(limits) :] = limits
    return plan
