"""Basic constraints by name, and every joint as a sum of them.

A basic constraint is one or a few scalar equations between frames of two bodies: points that coincide, directions that stay normal
(dot-1), a distance that stays normal to a direction (dot-2), a length, an angle, a ratio of angles, a point on a curve or surface.  With each
equation comes the wrench a unit multiplier means, which is its Jacobian with respect to the bodies' velocities:

    ḣ = Σ F·(v_b − v_a − ω_a × d) + T·(ω_b − ω_a),   d = p_b − p_a        (on the constraint)

Haug, Computer-Aided Kinematics and Dynamics of Mechanical Systems (1989), chapters 3 and 9; rows have the order of
:func:`~jourdain.formalisms.loops.loop_closure.closure_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import ModelError
from ...model.bodies import Frame
from ...model.constraints import Closure
from ...symbolic.derivatives import gradient, jvp
from ...symbolic.expr import HALF, ONE, ZERO, Expr, add, as_expr, mul, neg, sub, symbol
from ...symbolic.functions import atan2
from ...symbolic.graph import substitute
from ...symbolic.vectors import AXES, NULL, Vector
from .loop_closure import perpendiculars


class Between(NamedTuple):
    """What an equation does between two frames: force at b's origin and torque on b's body of a unit multiplier (world axes)."""

    a: Frame
    b: Frame
    force: Vector
    torque: Vector


@dataclass(frozen=True)
class BasicConstraint:
    """One scalar equation with its name and the frames it acts between."""

    name: str
    h: Expr
    parts: tuple[Between, ...]

    def velocity(self, kinematics: Any) -> Expr:
        """ḣ from the velocities of the frames (parts that depend on time or contour parameters apart)."""
        total = ZERO
        for a, b, F, T in self.parts:
            d = kinematics.position(b) - kinematics.position(a)
            w = kinematics.angular_velocity(a)
            total = add(total, F.dot(kinematics.velocity(b) - kinematics.velocity(a) - w.cross(d)))
            total = add(total, T.dot(kinematics.angular_velocity(b) - w))
        return total

    def twist_jacobian(self, kinematics: Any) -> dict[str, tuple[Vector, Vector]]:
        """∂ḣ/∂v and ∂ḣ/∂ω of every body's own origin (world axes): what fills this row of the Jacobian."""
        found: dict[str, tuple[Vector, Vector]] = {}
        for a, b, F, T in self.parts:
            point = kinematics.position(b)
            for frame, sign in ((b, 1.0), (a, -1.0)):
                if frame.body.is_ground:
                    continue
                arm = point - kinematics.position(frame.body)
                v, w = found.get(frame.body.name, (NULL, NULL))
                found[frame.body.name] = (v + F * sign, w + (T + arm.cross(F)) * sign)
        return found


class Pair:
    """Two frames with their axes and the vector between their origins, in world axes."""

    def __init__(self, kinematics: Any, a: Frame, b: Frame) -> None:
        self.a, self.b = a, b
        self.A, self.B = kinematics.rotation(a), kinematics.rotation(b)
        self.d = kinematics.position(b) - kinematics.position(a)

    def one(self, name: str, h: Expr, force: Vector = NULL, torque: Vector = NULL) -> BasicConstraint:
        """An equation between the two frames."""
        return BasicConstraint(name, h, (Between(self.a, self.b, force, torque),))


# --- the library -------------------------------------------------------------------------------------------------


def coincidence(pair: Pair) -> list[BasicConstraint]:
    """Both origins in one point: p_b − p_a = 0 (3 equations)."""
    return [pair.one(f"coincidence-{c}", e.dot(pair.d), e) for c, e in zip("xyz", AXES, strict=True)]


def dot1(pair: Pair, in_a: Vector, in_b: Vector, cosine: Any = 0.0) -> BasicConstraint:
    """A direction of a stays normal to one of b, a·b = 0, or at the angle of a ``cosine``."""
    a, b = pair.A @ in_a, pair.B @ in_b
    return pair.one("dot-1", sub(a.dot(b), as_expr(cosine)), NULL, b.cross(a))


def dot2(pair: Pair, in_a: Vector) -> BasicConstraint:
    """The vector between the origins stays normal to a direction of a: a·d = 0."""
    a = pair.A @ in_a
    return pair.one("dot-2", a.dot(pair.d), a)


def parallel1(pair: Pair, axis: Vector) -> list[BasicConstraint]:
    """An axis with the same components in both frames stays parallel (two dot-1)."""
    return [dot1(pair, e, axis) for e in perpendiculars(axis)]


def parallel2(pair: Pair, axis: Vector) -> list[BasicConstraint]:
    """The vector between the origins stays along an axis of a (two dot-2)."""
    return [dot2(pair, e) for e in perpendiculars(axis)]


def same_orientation(pair: Pair) -> list[BasicConstraint]:
    """Three dot-1 of different axes: no relative rotation."""
    return [dot1(pair, AXES[i], AXES[(i + 1) % 3]) for i in range(3)]


def distance(pair: Pair, length: Any) -> BasicConstraint:
    """Constant distance: (d·d − l²)/2l = 0, scaled so that the multiplier is the force along the line."""
    length = as_expr(length)
    h = mul(HALF, (pair.d.dot(pair.d) - length * length) / length)
    return pair.one("distance", h, pair.d * (1.0 / length))


def angle(pair: Pair, axis: Vector, value: Any) -> BasicConstraint:
    """The angle of b about an axis of a has a value (rad, a function of time for a driver); it is read between −π and π."""
    theta, n = measured_angle(pair, axis)
    return pair.one("angle", sub(theta, as_expr(value)), NULL, n)


def displacement(pair: Pair, axis: Vector, value: Any) -> BasicConstraint:
    """The displacement of b along an axis of a has a value (m)."""
    n = pair.A @ axis
    return pair.one("displacement", sub(n.dot(pair.d), as_expr(value)), n)


def measured_angle(pair: Pair, axis: Vector) -> tuple[Expr, Vector]:
    """Angle of b about an axis of a, and the axis in the world."""
    u, w = perpendiculars(axis)
    turned = pair.B @ u
    return atan2((pair.A @ w).dot(turned), (pair.A @ u).dot(turned)), pair.A @ axis


def gear(first: Pair, first_axis: Vector, second: Pair, second_axis: Vector, ratio: Any, phase: Any = 0.0) -> BasicConstraint:
    """Two angles in a ratio: θ₂ = ratio·θ₁ + phase; ratio −R₁/R₂ for outer, R₁/R₂ for inner gears and belts."""
    ratio, phase = as_expr(ratio), as_expr(phase)
    (theta1, n1), (theta2, n2) = measured_angle(first, first_axis), measured_angle(second, second_axis)
    parts = (Between(second.a, second.b, NULL, n2), Between(first.a, first.b, NULL, n1 * neg(ratio)))
    return BasicConstraint("gear", sub(sub(theta2, mul(ratio, theta1)), phase), parts)


def rack(pinion: Pair, pinion_axis: Vector, slider: Pair, slide: Vector, radius: Any, offset: Any = 0.0) -> BasicConstraint:
    """Rack and pinion: displacement = radius·angle + offset."""
    radius, offset = as_expr(radius), as_expr(offset)
    (theta, n), along = measured_angle(pinion, pinion_axis), slider.A @ slide
    parts = (Between(slider.a, slider.b, along, NULL), Between(pinion.a, pinion.b, NULL, n * neg(radius)))
    return BasicConstraint("rack", sub(sub(along.dot(slider.d), mul(radius, theta)), offset), parts)


def point_on_surface(pair: Pair, surface: Callable[[Expr, Expr, Expr], Any]) -> BasicConstraint:
    """The origin of b on a surface f(x, y, z) = 0 fixed on a (a cam with a point follower, a road)."""
    local = [symbol(n, "position") for n in "xyz"]
    f = as_expr(surface(*local))
    at = dict(zip(local, pair.A.T @ pair.d, strict=True))
    h, *slope = substitute([f, *gradient(f, local)], at)
    return pair.one("point on surface", h, pair.A @ Vector(*slope))


def point_on_curve(pair: Pair, curve: Callable[[Expr], Sequence[Any]], s: Expr) -> list[BasicConstraint]:
    """The origin of b on a curve c(s) fixed on a; the parameter s is a coordinate (entries None leave that direction free)."""
    local, found = pair.A.T @ pair.d, []
    for i, target in enumerate(curve(s)):
        if target is not None:
            found.append(pair.one(f"point on curve-{'xyz'[i]}", sub(local[i], as_expr(target)), pair.A.column(i)))
    return found


def cam(
    pair: Pair, contour_a: Callable[[Expr], Sequence[Any]], s: Expr, contour_b: Callable[[Expr], Sequence[Any]], r: Expr
) -> list[BasicConstraint]:
    """Two plane contours (in the x–y planes of the frames) that touch: equal points (2) and parallel tangents (1).

    The contour parameters s and r are coordinates; one freedom is lost on the whole.
    """
    (ca, ta), (cb, tb) = _contour(contour_a, s), _contour(contour_b, r)
    gap = pair.d + pair.B @ cb - pair.A @ ca
    lever = pair.B @ cb
    found = []
    for i, c in enumerate("xy"):
        e = pair.A.column(i)
        found.append(pair.one(f"cam-{c}", e.dot(gap), e, lever.cross(e)))
    normal = pair.A @ Vector(neg(ta.y), ta.x, ZERO)
    along = pair.B @ tb
    return [*found, pair.one("cam-tangent", normal.dot(along), NULL, along.cross(normal))]


def _contour(contour: Callable[[Expr], Sequence[Any]], s: Expr) -> tuple[Vector, Vector]:
    x, y = (as_expr(e) for e in contour(s))
    dx, dy = jvp([x, y], {s: ONE})
    return Vector(x, y, ZERO), Vector(dx, dy, ZERO)


# --- joints as sums ----------------------------------------------------------------------------------------------

#: Which basic constraints a joint or closure is the sum of, with their numbers of equations.
SUMS: dict[str, tuple[tuple[str, int], ...]] = {
    "spherical": (("coincidence", 3),),
    "ball": (("coincidence", 3),),
    "universal": (("coincidence", 3), ("dot-1", 1)),
    "revolute": (("coincidence", 3), ("parallel-1", 2)),
    "cylindrical": (("parallel-2", 2), ("parallel-1", 2)),
    "prismatic": (("parallel-2", 2), ("same orientation", 3)),
    "planar": (("dot-2", 1), ("parallel-1", 2)),
    "parallel": (("parallel-1", 2),),
    "fixed": (("coincidence", 3), ("same orientation", 3)),
    "body": (("coincidence", 3), ("same orientation", 3)),
    "rod": (("distance", 1),),
    "free": (),
}


def joint_constraints(kinematics: Any, closure: Closure) -> list[BasicConstraint]:
    """The basic constraints whose sum a joint or closure is, built from the library."""
    pair, data = Pair(kinematics, closure.a, closure.b), closure.data
    if closure.kind not in SUMS:
        raise ModelError(f"'{closure.name}': a joint of kind '{closure.kind}' is no sum of basic constraints; it is {', '.join(SUMS)}")
    makers: dict[str, Callable[[], list[BasicConstraint]]] = {
        "coincidence": lambda: coincidence(pair),
        "dot-1": lambda: [dot1(pair, data[0], data[1], data[0].dot(data[1]))],
        "dot-2": lambda: [dot2(pair, data)],
        "parallel-1": lambda: parallel1(pair, data),
        "parallel-2": lambda: parallel2(pair, data),
        "same orientation": lambda: same_orientation(pair),
        "distance": lambda: [distance(pair, data)],
    }
    return [c for name, _ in SUMS[closure.kind] for c in makers[name]()]


def explain(kind: str) -> str:
    """A joint as a sum in words.

    >>> explain("revolute")
    'revolute = coincidence (3) + parallel-1 (2): 5 equations, 1 freedom left'
    """
    if kind not in SUMS:
        raise ModelError(f"a joint of kind '{kind}' is no sum of basic constraints; known are {', '.join(SUMS)}")
    total = sum(n for _, n in SUMS[kind])
    parts = " + ".join(f"{name} ({n})" for name, n in SUMS[kind]) or "nothing"
    freedoms = 6 - total
    return f"{kind} = {parts}: {total} equation{'s' if total != 1 else ''}, {freedoms} freedom{'s' if freedoms != 1 else ''} left"


def jacobian_by_name(equations: Any, labels: Sequence[str]) -> dict[str, dict[str, Expr]]:
    """The sparse constraint Jacobian as a table: row name → coordinate name → entry."""
    found: dict[str, dict[str, Expr]] = {r.name: {} for r in equations.rows}
    for (i, j), e in equations.constraint_jacobian.items():
        found[equations.rows[i].name][labels[j]] = e
    return found


__all__ = [
    "SUMS", "BasicConstraint", "Between", "Pair", "angle", "cam", "coincidence", "displacement", "distance", "dot1", "dot2", "explain", "gear",
    "jacobian_by_name", "joint_constraints", "measured_angle", "parallel1", "parallel2", "point_on_curve", "point_on_surface", "rack",
    "same_orientation",
]  # fmt: skip
