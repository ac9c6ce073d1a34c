"""Multipliers of the pairs of a tree after a step in joint coordinates, from the balance of its bodies (Uhlar, Sec. 3.2.2)."""

from __future__ import annotations

import math
from typing import Any

from ...native.call import doubles, integers
from ...native.kernel import jit
from . import frame as ap
from . import joint_space as sp


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
def recover(frame: Any, js: Any) -> None:
    """Multipliers of the tree's pairs from the balance of the bodies, outer bodies first: Ḡᵀ Λ = −r̃ by least squares."""
    r, position = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS]), integers(js[sp.INDEX], frame[ap.N_UNKNOWNS])
    now = doubles(frame[ap.F_LAM] + 8 * frame[ap.N_MULTIPLIERS] * ap.NOW, frame[ap.N_MULTIPLIERS])
    of, matrix = integers(js[sp.MULTIPLIER_OF], frame[ap.N_UNKNOWNS]), doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES])
    for i in range(js[sp.N_NODES] - 1, -1, -1):
        node, starts = sp.node_of(js, i), integers(js[sp.RECOVER] + 8 * 2 * i, 3)
        equations = integers(js[sp.RECOVER] + 8 * starts[0], starts[1] - starts[0])
        rows = integers(js[sp.RECOVER] + 8 * starts[1], starts[2] - starts[1])
        m, n = equations.size, rows.size
        if node[sp.PAIR] < 0 or n == 0:
            continue
        e, b, x = doubles(js[sp.SCRATCH], m * n), doubles(js[sp.SCRATCH] + 8 * 400, m), doubles(js[sp.SCRATCH] + 8 * 450, n)
        for k in range(m):
            position[equations[k]] = k
            b[k] = -r[equations[k]]
        for k in range(m * n):
            e[k] = 0.0
        for l in range(n):
            range_ = integers(js[sp.AP] + 8 * rows[l], 2)
            index = integers(js[sp.AI], range_[1])
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
