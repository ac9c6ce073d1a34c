"""Instants at which two shapes meet or part, as zeros of a guard that can be differentiated.

Where the gap is zero a small motion changes it by that of the two points that touch, along their common normal: g = n·(x_a − x_b), with normal and points on their
bodies as they are at the instant, has the derivatives of the gap there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....solvers.penalty.touch import MOTION, look
from ....symbolic.expr import ZERO, Expr, add, mul, sub, symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....systems.touching import PairOfShapes, Touching

#: Normal, and a point on either body, as a guard reads them.
NUMBERS = tuple(symbol(f"meeting_{i}", "input") for i in range(9))
#: A point of contact that comes or goes deeper than this part of the deepest one does not do so where it touches; rows that are looked at, at most.
DEEP, LOOKED_AT = 0.05, 2000


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two shapes that meet or part: their bodies (−1: the ground), and normal and points in numbers."""

    pair: PairOfShapes
    bodies: tuple[int, int]
    numbers: np.ndarray

    def gap(self, motion: Sequence[Expr]) -> Expr:
        """g by the motion of all bodies that touch."""
        found = ZERO
        a, b = (_point(motion, body, NUMBERS[3 * k + 3 : 3 * k + 6]) for k, body in enumerate(self.bodies))
        for n, x, y in zip(NUMBERS[:3], a, b, strict=True):
            found = add(found, mul(n, sub(x, y)))
        return found


def _point(motion: Sequence[Expr], body: int, p: Sequence[Expr]) -> list[Expr]:
    """A point that is fixed to a body, in the world."""
    if body < 0:
        return list(p)
    of = motion[MOTION * body : MOTION * (body + 1)]
    return [add(of[9 + i], add(mul(of[3 * i], p[0]), add(mul(of[3 * i + 1], p[1]), mul(of[3 * i + 2], p[2])))) for i in range(3)]


def meeting_at(touching: Touching, pair: PairOfShapes, t: float, x: np.ndarray) -> Meeting | None:
    """How a pair of shapes meets in a state; None where they are apart."""
    record, now, state = touching.record, np.array([t]), np.ascontiguousarray(x)
    count = look(record, now.ctypes.data, state.ctypes.data, record.near)
    rows = record.found.array[: max(0, count)]
    rows = rows[(rows["shape_a"] == pair.a) & (rows["shape_b"] == pair.b)]
    if not len(rows):
        return None
    c = rows[np.argmin(rows["gap"])]
    bodies, numbers = (int(c["body_a"]), int(c["body_b"])), [c["nx"], c["ny"], c["nz"]]
    for body, names in zip(bodies, ("ax ay az", "bx by bz"), strict=True):
        point = np.array([c[n] for n in names.split()])
        if body >= 0:
            moved = record.moved[MOTION * body : MOTION * (body + 1)]
            point = moved[:9].reshape(3, 3).T @ (point - moved[9:12])
        numbers += point.tolist()
    return Meeting(pair, bodies, np.array(numbers, dtype=float))


def restless(touching: Touching, t: np.ndarray, x: np.ndarray) -> list[tuple[str, str]]:
    """Names of shapes whose points of contact come or go at a depth between two rows, where the force jumps: corners and rims of faces that cut each other."""
    record, rows, found = touching.record, np.linspace(0, len(t) - 1, min(len(t), LOOKED_AT)).astype(int), dict[tuple[int, int], None]()
    before: dict[tuple[int, int], dict[int, float]] = {}
    for i in rows.tolist():
        now, state = np.array([t[i]]), np.ascontiguousarray(x[i])
        count = max(0, look(record, now.ctypes.data, state.ctypes.data, 0.0))
        points: dict[tuple[int, int], dict[int, float]] = {}
        for c in record.found.array[:count]:
            if c["gap"] < 0.0:
                points.setdefault((int(c["shape_a"]), int(c["shape_b"])), {})[int(c["feature"])] = -float(c["gap"])
        found |= {pair: None for pair in points.keys() & before.keys() if _jumps(before[pair], points[pair])}
        before = points
    return [(touching.name_of(a), touching.name_of(b)) for a, b in found]


def _jumps(before: dict[int, float], after: dict[int, float]) -> bool:
    """Whether points come or go deeper than depths have changed between two rows; a point under another name at its depth is the same."""
    common = before.keys() & after.keys()
    if not common:
        return False
    deepest = max(*before.values(), *after.values())
    near = max(3.0 * max(abs(before[k] - after[k]) for k in common), DEEP * deepest)
    came, went = ([d for k, d in of.items() if k not in common] for of in (after, before))
    for d in list(came):
        same = next((x for x in went if abs(x - d) <= near), None)
        if same is not None:
            came.remove(d)
            went.remove(same)
    return any(d > near for d in (*came, *went))


__all__ = ["NUMBERS", "Meeting", "meeting_at", "restless"]
