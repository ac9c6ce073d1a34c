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
#: Parts of a unit vector that are rounding errors of its other parts.
ROUNDING = 1e-15


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
def _gram(J: Any, n: int, listed: Any, units: Any, gram: Any) -> float:
    """Products of the listed rows of J with each other, which have few entries, in the lower triangle; their trace."""
    rows, trace = listed.size, 0.0
    for i in range(rows):
        line = gram[i * rows :]
        for k in range(i + 1):
            line[k] = 0.0
        for j in range(n):
            entry = J[listed[i] * n + j]
            if entry != 0.0:
                if units.differ == 1:
                    entry *= units.velocity[j] * units.velocity[j]
                for k in range(i + 1):
                    line[k] += entry * J[listed[k] * n + j]
        for k in range(i + 1 if units.differ == 1 else 0):
            line[k] *= units.row[listed[i]] * units.row[listed[k]]
        trace += line[i]
    return trace


@jit
def drop_redundant(J: Any, g: Any, n: int, listed: Any, excess: int, units: Any, work: Any) -> int:
    """Removes from the listed rows of J and of g their ``excess`` vanishing combinations, in place.

    Rows are combined in units of their own, D J: what is removed is D⁻¹YYᵀD J.  D Y is then at the beginning of ``work``, which has room for
    rows (rows + excess) numbers, and D⁻¹Y behind rows² of them.
    """
    rows = listed.size
    gram, Y = work[: rows * rows], work[rows * rows : rows * (rows + excess)]
    trace = _gram(J, n, listed, units, gram)
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
        y, told = Y[c * rows :], work[c * rows :]
        for i in range(rows):
            entry = 0.0 if abs(y[i]) < ROUNDING else y[i]  # rounding would fill rows that do not take part
            told[i], y[i] = entry * units.row[listed[i]], entry / units.row[listed[i]]
        for j in range(n + 1):
            dot = 0.0
            for i in range(rows):
                if y[i] != 0.0:
                    dot += told[i] * (g[listed[i]] if j == n else J[listed[i] * n + j])
            if dot != 0.0:
                for i in range(rows):
                    if j == n:
                        g[listed[i]] -= dot * y[i]
                    elif y[i] != 0.0:
                        J[listed[i] * n + j] -= dot * y[i]
    return 0
