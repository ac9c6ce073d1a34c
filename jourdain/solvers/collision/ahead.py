"""Contacts of bodies that move: those that may come within a step, and the time at which the first of them comes.

Bodies move with constant velocities here: origins along lines, axes about the angular velocity.  While two convex shapes are apart by a gap d along a normal n,
they cannot touch before d/u, where u bounds how fast they approach each other along n: the relative velocity of their bodies and the angular velocities times
the farthest points.  Going on by such times reaches the first impact from before and never passes it (conservative advancement,
Mirtich 1996), so that nothing tunnels, however thin it is and however fast it moves.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import Any

from ...native.kernel import hot, jit
from .records import SPHERE
from .search import collide
from .vectors import length, vector

#: Advances before the search gives up at a time that is certainly not too late.
ADVANCES = 2000


@hot
def _arm(scene: Any, i: int) -> float:
    """How far the points of a shape are from the origin of its body; a sphere moves as its middle does."""
    s, p = scene.solids[i], scene.local
    return length((p[i, 9], p[i, 10], p[i, 11])) + (0.0 if s.kind == SPHERE else s.size)


@jit
def reach_out(scene: Any, velocities: Any, step: float) -> None:
    """Lets every shape reach as far as it can move in a time; a time of zero takes that back."""
    for i in range(scene.solids.size):
        s = scene.solids[i]
        s.reach = 0.0
        if s.body >= 0 and step > 0.0:
            s.reach = step * (length(vector(velocities, s.body, 3)) + _arm(scene, i) * length(vector(velocities, s.body, 0)))


@jit
def collide_ahead(scene: Any, poses: Any, velocities: Any, step: float, margin: float, contacts: Any) -> int:
    """As :func:`collide`, with all contacts that may close within a step: the margin of a pair is wider by what both can move.

    ``velocities`` has a row for each body: angular velocity, then velocity of its origin, both in the world's axes.
    """
    reach_out(scene, velocities, step)
    count = collide(scene, poses, margin, contacts)
    reach_out(scene, velocities, 0.0)
    return count  # type: ignore[no-any-return]


@jit
def advance(poses: Any, velocities: Any, t: float, out: Any) -> None:
    """Poses after a time: p + v t and exp(ω t) R (Rodrigues)."""
    for b in range(out.shape[0]):
        x, y, z = vector(velocities, b, 0)
        angle = sqrt(x * x + y * y + z * z)
        c, s = cos(angle * t), sin(angle * t)
        k = 1.0 / angle if angle > 0.0 else 0.0
        x, y, z = k * x, k * y, k * z
        for j in range(3):
            u, v, w = poses[b, j], poses[b, 3 + j], poses[b, 6 + j]
            along = (1.0 - c) * (x * u + y * v + z * w)
            out[b, j] = c * u + s * (y * w - z * v) + along * x
            out[b, 3 + j] = c * v + s * (z * u - x * w) + along * y
            out[b, 6 + j] = c * w + s * (x * v - y * u) + along * z
            out[b, 9 + j] = poses[b, 9 + j] + t * velocities[b, 3 + j]


@jit
def _approach(scene: Any, c: Any, velocities: Any) -> float:
    """A bound on the speed at which the gap of a contact closes."""
    u = 0.0
    if c.body_a >= 0:
        v = velocities[c.body_a, 3] * c.nx + velocities[c.body_a, 4] * c.ny + velocities[c.body_a, 5] * c.nz
        u += _arm(scene, c.shape_a) * length(vector(velocities, c.body_a, 0)) - v
    if c.body_b >= 0:
        v = velocities[c.body_b, 3] * c.nx + velocities[c.body_b, 4] * c.ny + velocities[c.body_b, 5] * c.nz
        u += _arm(scene, c.shape_b) * length(vector(velocities, c.body_b, 0)) + v
    return u


@jit
def _touched(scene: Any, count: int, key: int) -> bool:
    """Whether a pair is among those that touched at the start, which are in order."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if scene.touching[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < count and scene.touching[low] == key


@jit
def time_of_impact(scene: Any, poses: Any, velocities: Any, step: float, tolerance: float, contacts: Any) -> Any:
    """The time within a step at which two shapes that are apart come within a tolerance of each other, and these shapes; (step, −1, −1) where
    none do.  Pairs within the tolerance at the start are left out.  A negative time says how many contacts there must be room for.

    The contacts at that time are in the table; poses are in ``scene.ahead``.
    """
    t, start, n = 0.0, 0, scene.solids.size
    for k in range(ADVANCES):
        advance(poses, velocities, t, scene.ahead)
        count = collide_ahead(scene, scene.ahead, velocities, step - t, tolerance, contacts)
        if count < 0:
            return float(count), -1, -1
        if k == 0:
            for i in range(count):
                key = contacts[i].shape_a * n + contacts[i].shape_b
                if contacts[i].gap <= tolerance and start < scene.touching.size and (start == 0 or scene.touching[start - 1] != key):
                    scene.touching[start] = key
                    start += 1
        safe, first = step - t, -1
        for i in range(count):
            c = contacts[i]
            if not _touched(scene, start, c.shape_a * n + c.shape_b):
                u = _approach(scene, c, velocities)
                if c.gap <= tolerance:
                    return t, c.shape_a, c.shape_b
                if u > 0.0 and (c.gap - 0.5 * tolerance) / u < safe:
                    safe, first = (c.gap - 0.5 * tolerance) / u, i
        if first < 0 or t + safe >= step:
            return step, -1, -1
        if k == ADVANCES - 1:
            return t, contacts[first].shape_a, contacts[first].shape_b
        t += safe
    return step, -1, -1
