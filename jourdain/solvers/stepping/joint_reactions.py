"""Multipliers of the pairs of a tree after a step in joint coordinates, from the balance of its bodies (Uhlar, Sec. 3.2.2)."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit
from . import joint_space as sp
from .frame import Frame
from .joint_space import JointFrame


@jit
def _least_squares(e: Any, m: int, n: int, b: Any, x: Any) -> None:
    """Least squares of E x = b by Householder reflections, E (m × n, m ≥ n) row by row, overwritten."""
    for k in range(n):
        size = 0.0
        for i in range(k, m):
            size += e[i * n + k] * e[i * n + k]
        size = math.sqrt(size)
        if size == 0.0:
            x[k] = 0.0
            continue
        alpha = -size if e[k * n + k] > 0.0 else size
        e[k * n + k] -= alpha
        square = 0.0
        for i in range(k, m):
            square += e[i * n + k] * e[i * n + k]
        for j in range(k + 1, n):
            total = 0.0
            for i in range(k, m):
                total += e[i * n + k] * e[i * n + j]
            for i in range(k, m):
                e[i * n + j] -= 2.0 * total / square * e[i * n + k]
        total = 0.0
        for i in range(k, m):
            total += e[i * n + k] * b[i]
        for i in range(k, m):
            b[i] -= 2.0 * total / square * e[i * n + k]
        x[k] = alpha
    for k in range(n - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, n):
            total -= e[k * n + j] * x[j]
        x[k] = total / x[k] if x[k] != 0.0 else 0.0


@jit
def recover(frame: Frame, js: JointFrame) -> None:
    """Multipliers of the tree's pairs from the balance of the bodies, outer bodies first: Ḡᵀ Λ = −r̃ by least squares."""
    r, position = frame.r, js.index
    now = frame.lam.now
    of, matrix = js.multiplier_of, frame.values
    for i in range(len(js.nodes) - 1, -1, -1):
        node, starts = js.nodes[i], js.recover[2 * i :]
        equations = js.recover[starts[0] : starts[1]]
        rows = js.recover[starts[1] : starts[2]]
        m, n = equations.size, rows.size
        if node.pair < 0 or n == 0:
            continue
        e, b, x = js.scratch, js.scratch[400:], js.scratch[450:]
        for k in range(m):
            position[equations[k]] = k
            b[k] = -r[equations[k]]
        for k in range(m * n):
            e[k] = 0.0
        for l in range(n):
            range_ = js.ap[rows[l] :]
            index = js.ai
            for p in range(range_[0], range_[1]):
                k = position[index[p]]
                if k >= 0:
                    e[k * n + l] = matrix[p]
        for k in range(m):
            position[equations[k]] = -1
        _least_squares(e, m, n, b, x)
        for l in range(n):
            now[of[rows[l]]] += x[l]
            sp.add_column(frame, js, rows[l], x[l], r)
