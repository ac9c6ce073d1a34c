"""Redundant constraints taken out smoothly: what their combination says is removed, whichever rows one would call redundant.

Off the constraints by a small error (inside a step) the rows of an over-constrained mechanism become independent by that error.
With Y an orthonormal basis of the combinations that vanish on the constraints, (1 − YYᵀ)J has the right rank again, and the
accelerations that follow from (1 − YYᵀ)(J v̇ − g) = 0 depend smoothly on the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import jit
from .dense import cholesky, cholesky_solve

#: Shift of the inverse iteration relative to the trace: above round-off, below every true constraint.
SHIFT = 1e-13
ROUNDS = 3


@jit
def orthonormalise(Y: Any, count: int, rows: int) -> None:
    """Gram–Schmidt on ``count`` vectors of length ``rows``, one after the other in Y."""
    for c in range(count):
        for k in range(c):
            dot = 0.0
            for i in range(rows):
                dot += Y[c * rows + i] * Y[k * rows + i]
            for i in range(rows):
                Y[c * rows + i] -= dot * Y[k * rows + i]
        norm = 0.0
        for i in range(rows):
            norm += Y[c * rows + i] * Y[c * rows + i]
        scale = 1.0 / np.sqrt(norm)
        for i in range(rows):
            Y[c * rows + i] *= scale


@jit
def drop_redundant(J: Any, g: Any, n: int, listed: Any, excess: int, work: Any) -> int:
    """Removes from the listed rows of J and of g their ``excess`` vanishing combinations, in place."""
    rows = listed.size
    gram, Y = work[: rows * rows], work[rows * rows : rows * (rows + excess)]
    trace = 0.0
    for i in range(rows):
        p = listed[i] * n
        for k in range(i + 1):
            q = listed[k] * n
            total = 0.0
            for j in range(n):
                total += J[p + j] * J[q + j]
            gram[i * rows + k] = total
        trace += gram[i * rows + i]
    for i in range(rows):
        gram[i * rows + i] += SHIFT * trace
        for c in range(excess):
            Y[c * rows + i] = 1.0 / (1.0 + i + (c + 1) * (i % (c + 2)))
    if cholesky(gram, rows) != 0:
        return 1
    for _ in range(ROUNDS):
        for c in range(excess):
            cholesky_solve(gram, rows, Y[c * rows : (c + 1) * rows])
        orthonormalise(Y, excess, rows)
    for c in range(excess):
        for j in range(n + 1):
            dot = 0.0
            for i in range(rows):
                r = listed[i]
                dot += Y[c * rows + i] * (g[r] if j == n else J[r * n + j])
            for i in range(rows):
                r = listed[i]
                if j == n:
                    g[r] -= dot * Y[c * rows + i]
                else:
                    J[r * n + j] -= dot * Y[c * rows + i]
    return 0
