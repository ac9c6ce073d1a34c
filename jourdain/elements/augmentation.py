"""Joint angles, displacements and lengths as coordinates of their own, so that springs, motors and friction act on them.

An augmented coordinate has no mass and one more constraint (Uhlar, Sec. 5.1.1).  Angles are counted by default with the
*robust* constraint, written with the angle ψ at the start of the step,

    sin ψ (m₁_a·m₁_b) − cos ψ (m₂_a·m₁_b) + sin(Θ − ψ) = 0,

regular for steps of less than a quarter turn; the angle is unwrapped.  The *thesis* form m₁_a·m₂_b + m₂_a·m₂_b + sin Θ − cos Θ
has a mirror branch at Θ = 3π/4 + kπ on which energy stays perfect and the motion is wrong.  ``audit`` compares the
angle with cosine *and* sine found from the bodies (as atan2 would), which must agree after every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..symbolic.expr import Expr, symbol
from ..symbolic.functions import cos, sin, sqrt
from ..symbolic.vectors import Vector
from .carriers import Carrier, Directors
from .discrete.divided_difference import divided_difference
from .element import Composite, Element, Names, Symbols, Term
from .pairs import Cylindrical, Freedom, Pair, Rows, numbers

FORMS = ("robust", "thesis")


def of_one(function: Callable[[Expr], Expr], invariant: Expr) -> Composite:
    """A function of one invariant, with its difference quotient by rules."""

    def quotient(a: Expr, b: Expr) -> Expr:
        x = symbol("x", "position")
        return divided_difference(function(x), x, a, b)

    return Composite(function, (invariant,), quotient)


def _checked(form: str, name: str) -> str:
    if form not in FORMS:
        raise ModelError(f"{name}: form '{form}' is unknown; choose one of {', '.join(FORMS)}")
    return form


def angle_row(cosine: Expr, sine: Expr, angle: Expr, start: Expr) -> Sequence[Term]:
    """The robust constraint of an angle known by its cosine and sine (both quadratic in the directors)."""
    return sin(start) * cosine - cos(start) * sine, of_one(lambda x: sin(x - start), angle)


def frame_angle_row(a: Sequence[Vector], b: Sequence[Vector], angle: Expr, start: Expr, form: str) -> Sequence[Term]:
    """The constraint of the angle from frame a to frame b in either form."""
    if form == "robust":
        return angle_row(a[0].dot(b[0]), a[1].dot(b[0]), angle, start)
    return (a[0] + a[1]).dot(b[1]), of_one(lambda x: sin(x) - cos(x), angle)


def angle_audit(cosine: Expr, sine: Expr, angle: Expr) -> Expr:
    """Distance on the unit circle between the angle and the direction (cos, sin) found from the bodies."""
    return sqrt((cos(angle) - cosine) ** 2 + (sin(angle) - sine) ** 2)


class Angle(Element):
    """Base of angles as coordinates: the block "angle" beside the bodies."""

    #: Coordinates that the constraints of the same name define.
    augments: tuple[str, ...] = ("angle",)

    def cosine_sine(self, s: Symbols, p: Names) -> tuple[Expr, Expr]:
        """cos Θ and sin Θ from the directors."""
        raise NotImplementedError

    def constraints(self, s: Symbols) -> Rows:
        """The angle's constraint."""
        c, sine = self.cosine_sine(s, s)
        return [("angle", angle_row(c, sine, s.angle[0], s.at0.angle[0]))]

    def audit(self, s: Symbols) -> Sequence[tuple[str, Expr]]:
        """Distance of (cos Θ, sin Θ) from the bodies' directions: must vanish after every step."""
        c, sine = self.cosine_sine(s, s)
        return [("angle error", angle_audit(c, sine, s.angle[0]))]


class JointAngle(Pair, Angle):
    """Angle of body b against body a about the common axis n, counted from m₁ of a to m₁ of b.

    ``form`` is "robust" or "thesis" (see the module).  A torque on the coordinate is the pair of opposite moments about n.
    """

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None, form: str = "robust") -> None:
        super().__init__(a, b)
        self.form = _checked(form, self.name)
        self.blocks = {**self.blocks, "angle": 1}
        self.constants = {k: n for k, n in self.constants.items() if k.startswith("frame")}

    def place(  # type: ignore[override]
        self, axis: ArrayLike | None = None, a: ArrayLike | None = None, b: ArrayLike | None = None,
        normal: ArrayLike | None = None, angle: float = 0.0,
    ) -> dict[str, NDArray[np.float64]]:  # fmt: skip
        """Constants from the joint's axis for bodies that are at ``angle`` (rad) in the coordinates a and b."""
        made = super().place(np.zeros(self.dimension), axis, a, b, normal)
        frame, c, d = self._frame(axis, normal), math.cos(angle), math.sin(angle)
        turned = [c * frame[0] + d * frame[1], c * frame[1] - d * frame[0], *frame[2:]]
        qb = self._coordinates(b, self.b, "b")
        return {"frame_a": made["frame_a"], "frame_b": np.concatenate([self.b.components(qb, e) for e in turned])}

    def cosine_sine(self, s: Symbols, p: Names) -> tuple[Expr, Expr]:
        """m₁_a·m₁_b and m₂_a·m₁_b."""
        a, b = self.frames(s, p)
        return a[0].dot(b[0]), a[1].dot(b[0])

    def frames(self, s: Symbols, p: Names) -> tuple[Sequence[Vector], Sequence[Vector]]:
        """The frames of both bodies."""
        return self.a.axes(p, "a", numbers(s, "frame_a")), self.b.axes(p, "b", numbers(s, "frame_b"))

    def constraints(self, s: Symbols) -> Rows:
        """The angle's constraint in the chosen form."""
        return [("angle", frame_angle_row(*self.frames(s, s), s.angle[0], s.at0.angle[0], self.form))]

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """An angle constrains no relative motion: it follows it."""
        raise ModelError(f"{self.name}: an augmented angle is no pair; ask the joint it belongs to for its freedoms")


class PlanarJointAngle(JointAngle):
    """Angle of body b against body a in the plane (Uhlar, eqs. 5.3–5.9)."""

    dimension = 2


class JointDisplacement(Pair):
    """Displacement u = n·Δp of the joint point of b along the axis of a, as a coordinate."""

    augments = ("displacement",)

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None) -> None:
        super().__init__(a, b)
        self.blocks = {**self.blocks, "displacement": 1}

    def constraints(self, s: Symbols) -> Rows:
        """n·Δp − u = 0."""
        v = self.vectors(s, s)
        along = v.a[2] if self.dimension == 3 else v.a[0]
        return [("displacement", (along.dot(v.gap) - s.displacement[0],))]


class PlanarJointDisplacement(JointDisplacement):
    """Displacement along t in the plane."""

    dimension = 2


class Length(Pair):
    """Distance of two points as a coordinate: (p_b − p_a)² − ℓ² = 0, quadratic and so free of any quotient.

    With ``compression=True`` the coordinate is the compression u from the constant ``length``: (p_b − p_a)² − (length − u)² = 0
    (Uhlar, eq. 5.188).
    """

    framed = False
    augments = ("length",)

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None, compression: bool = False) -> None:
        super().__init__(a, b)
        self.compression = compression
        self.blocks = {**self.blocks, "length": 1}
        if compression:
            self.constants = {**self.constants, "free_length": 1}

    def constraints(self, s: Symbols) -> Rows:
        """Its constraint."""
        gap = self.vectors(s, s).gap
        u = s.length[0]
        size = s.free_length - u if self.compression else u
        return [("length", (gap.dot(gap) - size * size,))]


class PlanarLength(Length):
    """Distance of two points in the plane."""

    dimension = 2


class WheelSpin(Angle):
    """Spin of a wheel about its horizontal axle n, from the direction "ahead" n × e to the spoke m, e the vertical.

    cos θ = m·(n × e), sin θ = −m·e (Uhlar, eq. 5.242 with m = d₁, n = d₂, e = e₃).
    """

    def __init__(self, body: Carrier | None = None) -> None:
        self.body = body or Directors()
        self.blocks = {**self.body.blocks("a"), "angle": 1}
        self.constants = {"spoke": 3, "axle": 3, "vertical": 3}

    def cosine_sine(self, s: Symbols, p: Names) -> tuple[Expr, Expr]:
        """m·(n × e) and −m·e."""
        spoke, axle = (self.body.direction(p, "a", numbers(s, k)) for k in ("spoke", "axle"))
        vertical = Vector.of(s.vertical)
        return spoke.dot(axle.cross(vertical)), -spoke.dot(vertical)


class Yaw(Angle):
    """Turn of a body direction about the vertical, from the ground direction ``zero`` towards the direction ``quarter``.

    Uhlar's eq. 5.243 has direction d₂, zero e₂ and quarter −e₁.
    """

    def __init__(self, body: Carrier | None = None) -> None:
        self.body = body or Directors()
        self.blocks = {**self.body.blocks("a"), "angle": 1}
        self.constants = {"direction": 3, "zero": 3, "quarter": 3}

    def cosine_sine(self, s: Symbols, p: Names) -> tuple[Expr, Expr]:
        """Components of the direction along the ground's zero and quarter directions."""
        d = self.body.direction(p, "a", numbers(s, "direction"))
        return d.dot(Vector.of(s.zero)), d.dot(Vector.of(s.quarter))


class Screw(Cylindrical):
    """Screw pair: cylindrical pair with angle Θ and displacement u as coordinates and u = p Θ (Uhlar, Sec. 5.1.2).

    The constant ``pitch`` is length per radian; :meth:`place` takes ``pitch_per_turn`` or ``pitch_per_radian``.  With u = n·Δp the
    joint points coincide at Θ = 0.
    """

    augments = ("displacement", "angle")

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None, form: str = "robust") -> None:
        super().__init__(a, b)
        self.form = _checked(form, self.name)
        self.blocks = {**self.blocks, "displacement": 1, "angle": 1}
        self.constants = {**self.constants, "pitch": 1}

    def place(  # type: ignore[override]
        self, point: ArrayLike, axis: ArrayLike | None = None, a: ArrayLike | None = None, b: ArrayLike | None = None,
        normal: ArrayLike | None = None, pitch_per_turn: float | None = None, pitch_per_radian: float | None = None,
    ) -> dict[str, NDArray[np.float64]]:  # fmt: skip
        """Constants from place, axis and pitch (give one of the two pitches, in m)."""
        if (pitch_per_turn is None) == (pitch_per_radian is None):
            raise ModelError(f"{self.name}: give either pitch_per_turn or pitch_per_radian")
        pitch = pitch_per_radian if pitch_per_turn is None else pitch_per_turn / (2.0 * math.pi)
        if pitch is None or not math.isfinite(pitch):
            raise ModelError(f"{self.name}: pitch {pitch} is no finite number; give metres by turn or radian")
        return {**super().place(point, axis, a, b, normal), "pitch": np.array([pitch])}

    def constraints(self, s: Symbols) -> Rows:
        """Four rows of the cylindrical pair, displacement, angle, pitch."""
        v = self.vectors(s, s)
        u, angle = s.displacement[0], s.angle[0]
        return [
            *super().constraints(s),
            ("displacement", (v.a[2].dot(v.gap) - u,)),
            ("angle", frame_angle_row(v.a, v.b, angle, s.at0.angle[0], self.form)),
            ("pitch", (u - s.pitch * angle,)),
        ]

    def audit(self, s: Symbols) -> Sequence[tuple[str, Expr]]:
        """Distance of (cos Θ, sin Θ) from the bodies' directions."""
        v = self.vectors(s, s)
        return [("angle error", angle_audit(v.a[0].dot(v.b[0]), v.a[1].dot(v.b[0]), s.angle[0]))]

    def freedoms(self, s: Symbols, discrete: bool = True) -> list[Freedom]:
        """Rotation about n with the translation p̃ (m₁ × m₂), p̃ the algorithmic pitch (Uhlar, eqs. 5.46–5.52)."""
        v = self.vectors(s, s.mid)
        m1, m2, n = v.a
        along = m1.cross(m2)
        return [(n, along * (self.angle_rate(s, discrete) * s.pitch / n.dot(along)))]

    def angle_rate(self, s: Symbols, discrete: bool = True) -> Expr:
        """Γ: the rate of the angle coordinate for unit rotation about n, by discrete gradients or by gradients at ``s.mid``."""
        v = self.vectors(s, s.mid)
        m1, m2, n = v.a
        start, end, here, x = s.at0.angle[0], s.at1.angle[0], s.mid.angle[0], symbol("x", "position")
        if self.form == "thesis":
            slope = divided_difference(sin(x) - cos(x), x, start, end) if discrete else cos(here) + sin(here)
            return -(m1 + m2).dot(n.cross(v.b[1])) / slope
        slope = divided_difference(sin(x - start), x, start, end) if discrete else cos(here - start)
        return -(m1 * sin(start) - m2 * cos(start)).dot(n.cross(v.b[0])) / slope


__all__ = [
    "Angle", "JointAngle", "JointDisplacement", "Length", "PlanarJointAngle", "PlanarJointDisplacement", "PlanarLength", "Screw",
    "WheelSpin", "Yaw", "of_one",
]  # fmt: skip
