"""Jacobian and velocity terms of loop closures by unit joint velocities (García de Jalón et al. 2003, eqs. 36–41 and 51–52).

A closure says something of points and unit vectors of two bodies.  Turning joint i at unit rate moves a point by ∂r/∂z_i = u_i × (r − P_i)
(u_i for a slider) and a vector by u_i × u; with z̈ = 0 it accelerates by what velocities alone contribute.  Every row is a product x·y of
such vectors, so that its Jacobian is ∂x·y + x·∂y and its velocity term ẍ₀·y + 2ẋ·ẏ + x·ÿ₀.  All is seen from the body that carries both
ends and written in its axes: what joints before it contribute to both ends alike is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from ...model.bodies import Frame
from ...model.constraints import Closure
from ...symbolic.expr import HALF, ONE, TWO, Expr, add, div, mul
from ...symbolic.vectors import AXES, NULL, Vector
from ..tree.kinematics import Kinematics
from ..tree.links import Freedom, Map
from .loop_closure import ancestor_axes, perpendiculars

#: Φ_z of one row by column, and Φ̇_z ż.
Rates = tuple[dict[int, Expr], Expr]


class Moving(NamedTuple):
    """A point or vector: itself, its rate, its second derivative with z̈ = 0, and what unit joint velocities do to it."""

    x: Vector
    rate: Vector
    rate2: Vector
    slopes: dict[int, Vector]


class ClosureRates:
    """Rows of one closure in the order of :func:`jourdain.formalisms.loops.loop_closure.closure_rows`."""

    def __init__(self, kinematics: Kinematics, closure: Closure) -> None:
        self.kinematics, self.closure = kinematics, closure
        self.base = kinematics.common(closure.a, closure.b)

    def rows(self) -> list[Rates]:
        """Φ_z and Φ̇_z ż of all rows."""
        kind, data, a = self.closure.kind, self.closure.data, self.closure.a
        if self.closure.convention == "robotran":
            return self._robotran()
        gap = _difference(self._point(self.closure.b), self._point(a))
        if kind == "rod":  # (38), scaled so that the multiplier is the force along the rod
            jacobian, rate = _product(gap, gap)
            half = div(ONE, mul(TWO, data))
            return [({j: mul(half, e) for j, e in jacobian.items()}, mul(half, rate))]
        coincident = [_product(Moving(e, NULL, NULL, {}), gap) for e in AXES]
        if kind in ("ball", "spherical"):
            return coincident
        if kind in ("body", "fixed"):
            return coincident + self._same_axes()
        if kind == "universal":
            return [*coincident, self._normal(*data)]
        u, w = perpendiculars(data)
        if kind == "planar":
            return [_product(self._vector(a, data), gap), self._normal(u, data), self._normal(w, data)]
        if kind == "prismatic":
            return [_product(self._vector(a, e), gap) for e in (u, w)] + self._same_axes()
        aligned = [self._normal(u, data), self._normal(w, data)]
        if kind == "cylindrical":
            return [_product(self._vector(a, e), gap) for e in (u, w)] + aligned
        return aligned if kind == "parallel" else coincident + aligned

    def _robotran(self) -> list[Rates]:
        """In the order of :func:`jourdain.formalisms.loops.loop_closure.robotran_rows`."""
        a, b = self.closure.a, self.closure.b
        gap = _difference(self._point(a), self._point(b))
        if self.closure.kind == "rod":
            jacobian, rate = _product(gap, gap)
            return [({j: mul(HALF, e) for j, e in jacobian.items()}, mul(HALF, rate))]
        axes = [Moving(e, NULL, NULL, {}) for e in ancestor_axes(self.kinematics, self.base, self.closure)]
        rows = [_product(e, gap) for c, e in zip("xyz", axes, strict=True) if c not in self.closure.ignore]
        if self.closure.kind == "body":
            spin = _difference(self._spin(a), self._spin(b))
            rows += [({j: e.x.dot(s) for j, s in spin.slopes.items()}, e.x.dot(spin.rate)) for e in axes]
        return rows

    def _spin(self, frame: Frame) -> Moving:
        """Angular velocity, its rate, and what unit joint velocities add to it."""
        k, base = self.kinematics, self.base
        slopes: dict[int, Vector] = {}
        i = k.place(frame).link
        while i != base:
            link = k.tree.links[i]
            for f in link.freedoms:
                turning = f.velocities(self._scaled(i, f), NULL)[1]
                if not turning.is_zero:
                    slopes[f.index] = slopes.get(f.index, NULL) + turning
            i = link.parent
        return Moving(k.angular_velocity(frame, base), k.angular_acceleration(frame, base, acceleration=False), NULL, slopes)

    def _point(self, frame: Frame) -> Moving:
        k, base = self.kinematics, self.base
        place = k.place(frame)
        arm = k.turned(place.link, place.position, base)
        slopes: dict[int, Vector] = {}
        i = place.link
        while i != base:
            link = k.tree.links[i]
            for f in link.freedoms:
                slopes[f.index] = slopes.get(f.index, NULL) + f.velocities(self._scaled(i, f), arm)[0]
            arm = arm + k.arm(link, base)
            i = link.parent
        return Moving(k.position(frame, base), k.velocity(frame, base), k.acceleration(frame, base, acceleration=False), slopes)

    def _vector(self, frame: Frame, own: Vector) -> Moving:
        k, base = self.kinematics, self.base
        u = k.rotation(frame, base) @ own
        w, alpha = k.angular_velocity(frame, base), k.angular_acceleration(frame, base, acceleration=False)
        slopes = {j: w.cross(u) for j, w in self._spin(frame).slopes.items()}
        return Moving(u, w.cross(u), alpha.cross(u) + w.cross(w.cross(u)), slopes)

    def _scaled(self, link: int, freedom: Freedom) -> Map:
        turned = self.kinematics.turning(link, self.base)
        return lambda v: turned(v) * freedom.ratio

    def _normal(self, a: Vector, b: Vector) -> Rates:
        return _product(self._vector(self.closure.a, a), self._vector(self.closure.b, b))

    def _same_axes(self) -> list[Rates]:
        return [self._normal(AXES[i], AXES[(i + 1) % 3]) for i in range(3)]


def _difference(a: Moving, b: Moving) -> Moving:
    slopes = {j: a.slopes.get(j, NULL) - b.slopes.get(j, NULL) for j in {**a.slopes, **b.slopes}}
    return Moving(a.x - b.x, a.rate - b.rate, a.rate2 - b.rate2, slopes)


def _product(x: Moving, y: Moving) -> Rates:
    """∂(x·y)/∂z_i, and the second time derivative with z̈ = 0."""
    if x is y:
        return {j: mul(TWO, x.x.dot(s)) for j, s in x.slopes.items()}, mul(TWO, add(x.x.dot(x.rate2), x.rate.dot(x.rate)))
    slopes = {j: add(x.slopes.get(j, NULL).dot(y.x), x.x.dot(y.slopes.get(j, NULL))) for j in {**x.slopes, **y.slopes}}
    return slopes, add(add(x.rate2.dot(y.x), mul(TWO, x.rate.dot(y.rate))), x.x.dot(y.rate2))


__all__ = ["ClosureRates", "Moving", "Rates"]
