"""Joint coordinates and rates that follow from the poses and twists of bodies, sample after sample, in native code."""

from __future__ import annotations

import math
from typing import Any

from ...native.call import call
from ...native.kernel import jit, locked
from ..linear.dense import cholesky, cholesky_solve
from .projection import displace

#: Gauss–Newton ends when no coordinate changes by more (rad, m), and gives up after so many iterations.
EXACT, ITERATIONS = 1e-10, 25
#: The longest step of an iteration (rad, m).
LONGEST = 2.0


def memory_size(bodies: int, nq: int, n: int) -> int:
    """Numbers that :func:`read_samples` works with."""
    return 12 * bodies + nq + n * (n + 4)


@jit
def _rotation_left(A: Any, B: Any, e: Any) -> None:
    """Rotation vector (world axes) that turns the rotation A into B (rows of nine numbers)."""
    x, y, z, trace = 0.0, 0.0, 0.0, -1.0
    for k in range(3):
        x += 0.5 * (B[6 + k] * A[3 + k] - B[3 + k] * A[6 + k])
        y += 0.5 * (B[k] * A[6 + k] - B[6 + k] * A[k])
        z += 0.5 * (B[3 + k] * A[k] - B[k] * A[3 + k])
        trace += B[k] * A[k] + B[3 + k] * A[3 + k] + B[6 + k] * A[6 + k]
    sine = math.sqrt(x * x + y * y + z * z)
    scale = math.atan2(sine, 0.5 * trace) / sine if sine > 1e-12 else 1.0
    e[0], e[1], e[2] = scale * x, scale * y, scale * z


@jit
def _errors(found: Any, p: Any, R: Any, size: float, e: Any) -> float:
    """Displacement and rotation left for every body; the largest, lengths as parts of ``size``."""
    worst = 0.0
    for b in range(found.p.size // 3):
        for k in range(3):
            e[6 * b + k] = p[3 * b + k] - found.p[3 * b + k]
            worst = max(worst, abs(e[6 * b + k]) / size)
        _rotation_left(found.R[9 * b :], R[9 * b :], e[6 * b + 3 :])
        for k in range(3, 6):
            worst = max(worst, abs(e[6 * b + k]))
    return worst


@jit
def _project(J: Any, e: Any, scale: Any, x: Any, n: int) -> None:
    """x = (J S)ᵀ e."""
    for j in range(n):
        x[j] = 0.0
    for i in range(e.size):
        for j in range(n):
            x[j] += scale[j] * J[i * n + j] * e[i]


@jit
def _least_squares(J: Any, e: Any, n: int, work: Any, x: Any) -> int:
    """min |J x − e| by normal equations with columns of length one, refined once; 1 when they are singular."""
    rows = e.size
    scale, y, A, r = work[:n], work[n : 2 * n], work[2 * n : 2 * n + n * n], work[2 * n + n * n : 2 * n + n * n + rows]
    for j in range(n):
        total = 0.0
        for i in range(rows):
            total += J[i * n + j] * J[i * n + j]
        scale[j] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
    for i in range(n * n):
        A[i] = 0.0
    for i in range(rows):
        for j in range(n):
            left = scale[j] * J[i * n + j]
            if left != 0.0:
                for k in range(j + 1):
                    A[j * n + k] += left * scale[k] * J[i * n + k]
    if cholesky(A, n) != 0:
        return 1
    _project(J, e, scale, x, n)
    cholesky_solve(A, n, x)
    for i in range(rows):
        r[i] = e[i]
        for j in range(n):
            r[i] -= J[i * n + j] * scale[j] * x[j]
    _project(J, r, scale, y, n)
    cholesky_solve(A, n, y)
    for j in range(n):
        x[j] = scale[j] * (x[j] + y[j])
        if not (A[j * n + j] > 1e-6 and math.isfinite(x[j])):
            return 1
    return 0


@locked
def read_samples(
    first: int, before: float, found: Any, given: Any, quaternions: Any, turns: Any, counted: Any, size: float, enough: float, q: Any,
    rate: Any, rows: Any, memory: Any,
) -> int:  # fmt: skip
    """Rows (q, v) from the sample ``first`` on; the number of the first sample that Gauss–Newton does not reach to ``enough``.

    ``found`` is the compiled motion of the tree (address, arguments, time, positions, p, R, v, w, J), ``given`` the samples (t, p, R, v, w); q and
    ``rate`` are those ``before`` the first sample, and go on with the samples.  ``turns`` lists (index in q, index in v) of angles, whose
    full turns are counted by the mean of the rates at both ends, or as in ``counted`` (a row for each angle; NaN where not known).
    """
    nq, n, bodies, samples = q.size, rate.size, found.p.size // 3, given.t.size
    e, last, step = memory[: 6 * bodies], memory[6 * bodies : 6 * bodies + nq], memory[6 * bodies + nq : 6 * bodies + nq + n]
    work = memory[6 * bodies + nq + n :]
    for k in range(first, samples):
        now, p, R = given.t[k], given.p[3 * bodies * k :], given.R[9 * bodies * k :]
        found.time[0] = now
        for i in range(nq):
            last[i] = found.q[i] = q[i]
        for j in range(n):
            step[j] = -(now - before) * rate[j]
        displace(found.q, step, nq, n, quaternions)
        missed = math.inf
        for _ in range(ITERATIONS):
            if call(found.address, found.args) != 0:
                break
            missed = _errors(found, p, R, size, e)
            if _least_squares(found.J, e, n, work, step) != 0:
                missed = math.inf
                break
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(step[j]))
            for j in range(n):
                step[j] *= -min(1.0, LONGEST / max(largest, EXACT))
            displace(found.q, step, nq, n, quaternions)
            if largest < EXACT:  # what is left is of the square of this step
                break
        if not missed < enough:
            return k
        for b in range(bodies):
            for i in range(3):
                e[6 * b + i] = given.v[3 * (bodies * k + b) + i] - found.v[3 * b + i]
                e[6 * b + 3 + i] = given.w[3 * (bodies * k + b) + i] - found.w[3 * b + i]
        _least_squares(found.J, e, n, work, step)
        for i in range(turns.size // 2):
            at = turns[2 * i]
            known = counted[i * samples + k]
            expected = (
                known if math.isfinite(known) else last[at] + 0.5 * (now - before) * (rate[turns[2 * i + 1]] + step[turns[2 * i + 1]])
            )
            found.q[at] += 2.0 * math.pi * math.floor((expected - found.q[at]) / (2.0 * math.pi) + 0.5)
        for i in range(nq):
            q[i] = rows[k * (nq + n) + i] = found.q[i]
        for j in range(n):
            rate[j] = rows[k * (nq + n) + nq + j] = step[j]
        before = now
    return samples
