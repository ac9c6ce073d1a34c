"""Contact problems from arrays given in Python, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from .operator import prepare
from .problem import BLOCK_SPARSE, BODIES, CONTACT, DENSE, FRICTION, LAWS, TOGETHER, BlockSparse, Problem, room


def rows_by_law(laws: Sequence[str]) -> np.ndarray:
    """The first row of each block, and the number of rows."""
    for k, law in enumerate(laws):
        if law not in LAWS:
            raise InputError(f"block {k}: law '{law}' is not one of {', '.join(LAWS)}")
    return np.cumsum([0] + [3 if law == "contact" else 1 for law in laws])


def _problem(laws: Sequence[str], w: Any, coefficients: Any, compliance: Any, relaxed: bool, form: int, bodies: int = 0) -> Problem:
    row = rows_by_law(laws)
    n, m = len(laws), int(row[-1])
    right = _numbers("w", w, (m,))
    soft = np.zeros(m) if compliance is None else _numbers("compliance", compliance, (m,))
    given = np.zeros(n) if coefficients is None else np.asarray(coefficients, float)
    pairs = _numbers("coefficients", np.column_stack([given, given]) if given.ndim == 1 else given, (n, 2))
    for k in np.flatnonzero((pairs < 0.0).any(axis=1))[:1]:
        raise InputError(f"block {k} ({laws[k]}): coefficient {pairs[k].min():g} of friction is negative")
    for k in np.flatnonzero(soft < 0.0)[:1]:
        raise InputError(f"row {k}: compliance {soft[k]:g} is negative")
    law = [LAWS.index(name) for name in laws]
    made = room(n, m, form, bodies, pivots=m if m <= TOGETHER and not {CONTACT, FRICTION} & set(law) else 0)
    made.blocks, made.relaxed = n, int(relaxed)
    made.law[:], made.row[:], made.coefficient[:], made.w[:], made.compliance[:] = law, row, pairs, right, soft
    return made


def _prepared(problem: Problem) -> Problem:
    prepare(problem)
    return problem


def _numbers(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = np.array(given, float)
    if found.shape != shape:
        raise InputError(f"{name}: shape {found.shape} where {shape} is needed")
    if not np.all(np.isfinite(found)):
        raise InputError(f"{name}: entry {tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])} is not a finite number")
    return found


def dense_problem(W: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None, relaxed: bool = False) -> Problem:
    """A problem with W as a matrix; ``coefficients`` are μ (or pairs μ₁, μ₂) of contacts and the bounds a of dry friction.

    >>> problem = dense_problem(np.eye(3), [-1.0, 0.1, 0.0], ["contact"], [0.5])
    """
    m = int(rows_by_law(laws)[-1])
    made = _problem(laws, w, coefficients, compliance, relaxed, DENSE)
    made.dense[:] = _numbers("W", W, (m, m))
    return _prepared(made)


def block_sparse_problem(
    first: Any, column: Any, place: Any, values: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None,
    relaxed: bool = False,
) -> Problem:  # fmt: skip
    """A problem with W by blocks in compressed rows (see :class:`BlockSparse`); both triangles are given."""
    row, numbers = rows_by_law(laws), _numbers("values", values, np.shape(values))
    first, column, place = (np.ascontiguousarray(a, np.int64) for a in (first, column, place))
    n, size = len(laws), np.diff(row)
    if first.shape != (n + 1,) or column.shape != (first[-1],) or place.shape != column.shape or np.any(np.diff(first) < 0):
        raise InputError(f"blocks of W: {n} blocks need {n + 1} growing starts, and a column and a place for each of the blocks they count")
    if np.any((column < 0) | (column >= n)):
        raise InputError(f"blocks of W: column {column[(column < 0) | (column >= n)][0]} is not one of {n} blocks")
    last = place + np.repeat(size, np.diff(first)) * size[column]
    if np.any((place < 0) | (last > numbers.size)):
        raise InputError("blocks of W: a block leaves the array of values")
    made = _problem(laws, w, coefficients, compliance, relaxed, BLOCK_SPARSE)
    made.sparse = BlockSparse(first=first, column=column, place=place, values=numbers)
    return _prepared(made)


def body_problem(
    J: Any, pairs: Any, inverse_masses: Any, w: Any, laws: Sequence[str], coefficients: Any = None, compliance: Any = None,
    relaxed: bool = False,
) -> Problem:  # fmt: skip
    """A problem with W by bodies: J (rows × 12), two bodies for each block (−1: the ground) and M⁻¹ (bodies × 6 × 6)."""
    m, inverse = int(rows_by_law(laws)[-1]), np.asarray(inverse_masses, float)
    count = len(inverse)
    inverse = _numbers("inverse masses", inverse, (count, 6, 6))
    numbers, both = _numbers("J", J, (m, 12)), np.array(pairs, np.int64)
    if both.shape != (len(laws), 2) or np.any((both < -1) | (both >= count)):
        raise InputError(f"pairs: {len(laws)} blocks need two bodies each, numbered −1 (the ground) to {count - 1}")
    made = _problem(laws, w, coefficients, compliance, relaxed, BODIES, count)
    form = made.bodies
    form.pair[:], form.J[:], form.inverse_mass[:] = both.ravel(), numbers.ravel(), inverse.ravel()
    return _prepared(made)
