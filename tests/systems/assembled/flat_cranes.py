"""Cranes by differential flatness: from the load's course alone follow the rope's direction, all coordinates and the drives' forces.

The rope pulls the load with m (γ̈ + g), so it points along γ̈ + g; where it meets the trolley's plane is the trolley.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jourdain.symbolic import evaluate, sqrt, symbols
from jourdain.symbolic.derivatives import gradient
from jourdain.symbolic.expr import Expr

(T,) = symbols("t")
GRAVITY = 9.81


def rate(e: Expr, order: int = 1) -> Expr:
    for _ in range(order):
        e = gradient(e, [T])[0]
    return e


def function(e: Expr) -> Callable[[np.ndarray], np.ndarray]:
    return lambda t: np.broadcast_to(evaluate([e], {T: np.asarray(t, float)})[0], np.shape(t))


def smooth(x: Expr) -> Expr:
    """The ninth-order polynomial between 0 and 1."""
    return x**5 * (126.0 + x * (-420.0 + x * (540.0 + x * (-315.0 + 70.0 * x))))


def line(first: Sequence[float], last: Sequence[float], duration: float) -> list[Expr]:
    return [a + (b - a) * smooth(T / duration) for a, b in zip(first, last, strict=True)]


def _rope(course: Sequence[Expr], load: float) -> tuple[list[Expr], Expr, list[Expr], Expr]:
    """Trolley, length, force on the load without weight, tension."""
    force = [load * rate(x, 2) for x in course]
    pull = [*force[:-1], force[-1] + load * GRAVITY]
    trolley = [x - course[-1] * f / pull[-1] for x, f in zip(course[:-1], pull[:-1], strict=True)]
    length, tension = sum((c - x) ** 2 for c, x in zip(trolley, course, strict=False)) + course[-1] ** 2, sum(f * f for f in pull)
    return trolley, sqrt(length), force, sqrt(tension)


def overhead(course: Sequence[Expr], masses: Sequence[float], winch: float = 10.0, load: float = 100.0) -> tuple[list[Expr], list[Expr]]:
    """Coordinates (trolley, length) and forces of the drives; ``masses`` move with each coordinate of the trolley."""
    trolley, length, force, tension = _rope(course, load)
    drives = [m * rate(c, 2) + f for m, c, f in zip(masses, trolley, force, strict=False)]
    return [*trolley, length], [*drives, winch * rate(length, 2) - tension]


def rotary(
    course: Sequence[Expr], bridge: float = 480.0, trolley: float = 10.0, winch: float = 10.0, load: float = 100.0
) -> tuple[list[Expr], list[Expr]]:
    """Rate of slewing, radius and length, and torque, force and force of the drives."""
    (x, y), length, force, tension = _rope(course, load)
    radius = sqrt(x**2 + y**2)
    turn = (x * rate(y) - y * rate(x)) / radius**2
    torque = rate((bridge + trolley * radius**2) * turn) + x * force[1] - y * force[0]
    push = trolley * (rate(radius, 2) - radius * turn**2) + (x * force[0] + y * force[1]) / radius
    return [turn, radius, length], [torque, push, winch * rate(length, 2) - tension]
