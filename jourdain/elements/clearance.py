"""Joint clearances without gap search: a point confined in a cavity φ ≤ 0, and the revolute joint with play.

García Orden & Goicolea, Sec. 6: the wall pushes back by the generalised Hertz law V = k/(n + 1) φⁿ⁺¹ for φ > 0, that is f = −k φⁿ Dφ.
Here φ is a function of invariants (components of the point in the cavity's frame, products of the axes) that are at
most quadratic in the coordinates, so that energy and both momenta are conserved for cavities on moving bodies too.
Optional dissipation adds c k φⁿ φ̇ along the same direction (Hunt & Crossley), with ΔD = c k φ̄ⁿ Δφ²/h ≥ 0.
Gaps appear among the results only: "gap" of a cavity (m, first order in φ), misalignment, axial and radial gap of a hinge.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

from ..errors import ModelError
from ..model.contact.penalty_laws import pressed, stored
from ..symbolic.derivatives import gradient
from ..symbolic.expr import HALF, ONE, ZERO, Expr, as_expr, symbol
from ..symbolic.functions import absolute, atan2, cos, exp, sqrt, where
from ..symbolic.graph import substitute
from .carriers import Carrier
from .discrete.divided_difference import discrete_gradient_by_rules, divided_difference
from .discrete.mean_value import mean_value_gradient
from .element import Composite, Coordinate, Internal, Names, Symbols, Term, forces_along
from .pairs import JointVectors, Pair, numbers

Shape = Callable[..., Expr]
FORMS = ("gonzalez", "rules", "beta")
PLAYS = ("angular", "axial", "radial")


def hertz(phi: Expr, stiffness: Expr, exponent: float) -> Expr:
    """V = k/(n + 1) φⁿ⁺¹ where φ > 0, else 0 (J)."""
    return stored(phi, stiffness, exponent)


def hertz_quotient(phi0: Expr, phi1: Expr, stiffness: Expr, exponent: float) -> Expr:
    """V[φ₀, φ₁], without cancellation."""
    x = symbol("phi", "position")
    power = where(x > 0.0, x ** as_expr(exponent + 1.0), ZERO)
    return stiffness / (exponent + 1.0) * divided_difference(power, x, phi0, phi1)


def sphere(x: Expr, y: Expr, z: Expr, c: Symbols) -> Expr:
    """φ = r − ``radius`` (for any form; :class:`SphericalClearance` is the better element for a sphere)."""
    return sqrt(x * x + y * y + z * z) - c.radius


def blob(x: Expr, y: Expr, z: Expr, c: Symbols) -> Expr:
    """Peanut-shaped cavity along y with lobes at ±``offset``/``scale``: φ = 1 − exp(1 − …) − exp(1 − …), scale in 1/m.

    The sign is that of a cavity (φ < 0 inside), opposite to the printed one.  Far outside φ tends to 1 and the wall loses its push.
    """
    kx, ky, kz = c.scale
    side = ONE - (kx * x) ** 2 - (kz * z) ** 2
    return 1.0 - exp(side - (ky * y + c.offset) ** 2) - exp(side - (ky * y - c.offset) ** 2)


class SphericalClearance(Pair):
    """A point of b in a spherical cavity of a: Hertz' law k <r − r₀>ⁿ as a potential of the distance (Remark 14; any n > 0).

    Conserves energy and momenta; with ``dissipation=True`` the constant ``damping`` c (s/m) adds c k <r − r₀>ⁿ ṙ.
    """

    framed = False
    not_negative = ("radius", "stiffness", "damping")

    def __init__(
        self, a: Carrier | None = None, b: Carrier | None = None, exponent: float = 1.5, dissipation: bool = False, dimension: int = 3
    ) -> None:
        self.dimension = dimension
        super().__init__(a, b)
        self.exponent = _checked(exponent, self.name, 0.0)
        self.dissipation = dissipation
        self.constants = {**self.constants, "radius": 1, "stiffness": 1}
        if dissipation:
            self.constants["damping"] = 1

    def potential(self, s: Symbols) -> Sequence[Term]:
        """V(r) as a function of r²; nothing is divided by r inside the cavity."""
        gap = self.vectors(s, s).gap

        def energy(x: Expr) -> Expr:
            r = sqrt(where(x > s.radius * s.radius, x, s.radius * s.radius))
            return hertz(r - s.radius, s.stiffness, self.exponent)

        def quotient(x0: Expr, x1: Expr) -> Expr:
            x = symbol("x", "position")
            power = where(x > s.radius * s.radius, (sqrt(x) - s.radius) ** as_expr(self.exponent + 1.0), ZERO)
            return s.stiffness / (self.exponent + 1.0) * divided_difference(power, x, x0, x1)

        return (Composite(energy, (gap.dot(gap),), quotient),)

    def internal(self, s: Symbols) -> Internal | None:
        """The dissipative part."""
        if not self.dissipation:
            return None
        from .dissipation import pair_forces

        start, end, mid = (self.vectors(s, p).gap for p in (s.at0, s.at1, s.mid))
        r0, r1 = sqrt(start.dot(start)), sqrt(end.dot(end))
        share = HALF * (pressed(r0 - s.radius, self.exponent) + pressed(r1 - s.radius, self.exponent))
        touching = (r0 > s.radius) | (r1 > s.radius)
        total = where(touching, r0 + r1, 1.0)
        change = where(touching, 2.0 * mid.dot(end - start) / total, ZERO)
        size = s.damping * s.stiffness * share * change / s.h
        return Internal(pair_forces(self, s, mid * (2.0 * size / total)), dissipated=size * change)

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """The distance from the wall (negative when pressed into it)."""
        gap = self.vectors(s, s).gap
        return [("gap", "m", s.radius - sqrt(gap.dot(gap)))]


def _checked(exponent: float, name: str, least: float) -> float:
    if not (math.isfinite(exponent) and exponent > least):
        raise ModelError(f"{name}: exponent {exponent} of the contact law must exceed {least:g} (the force must be continuous enough)")
    return float(exponent)


class Cavity(Pair):
    """A point of b confined in a cavity φ(x, y, z) ≤ 0 given in a frame of a (the ground, or a moving body).

    ``shape(x, y, z, c)`` returns φ from the point's components in the cavity's frame and the constants c (see :func:`blob`).  ``form``:

    * "gonzalez" (default): discrete gradient of V(φ) in the components x, y, z;
    * "rules": V[φ₀, φ₁] ∇̄φ with ∇̄φ by the rules of :mod:`.divided_difference` (smooth φ);
    * "beta": Φ̄ DΦ at the mean-value point of Φ = √(2k/(n+1)) φ^((n+1)/2) (eqs. 30–33, 41).

    The exponent must exceed 1 (Remark 12).
    """

    framed_at_a_only = True
    not_negative = ("stiffness", "damping")

    def __init__(
        self, shape: Shape, shape_constants: Mapping[str, int] | None = None, a: Carrier | None = None, b: Carrier | None = None,
        exponent: float = 4.0, form: str = "gonzalez", dissipation: bool = False,
    ) -> None:  # fmt: skip
        self.shape, self.form, self.dissipation = shape, form, dissipation
        if form not in FORMS:
            raise ModelError(f"Cavity: form '{form}' is unknown; choose one of {', '.join(FORMS)}")
        self.exponent = _checked(exponent, "Cavity", 1.0)
        try:
            inspect.signature(shape).bind("x", "y", "z", "c")
        except (TypeError, ValueError):
            raise ModelError(
                f"Cavity: shape {getattr(shape, '__name__', shape)!r} must be a function of (x, y, z, c) that returns φ"
            ) from None
        super().__init__(a, b)
        self.constants = {**self.constants, "stiffness": 1, **(shape_constants or {})}
        if dissipation:
            self.constants["damping"] = 1

    def components(self, s: Symbols, p: Names) -> list[Expr]:
        """The point's components in the cavity's frame."""
        gap = self.b.point(p, "b", numbers(s, "point_b")) - self.a.point(p, "a", numbers(s, "point_a"))
        return [e.dot(gap) for e in self.a.axes(p, "a", numbers(s, "frame_a"))]

    def phi(self, s: Symbols, p: Names) -> Expr:
        """φ at the coordinates of p."""
        return as_expr(self.shape(*self.components(s, p), s))

    def _energy(self, s: Symbols) -> Callable[..., Expr]:
        return lambda *y: hertz(as_expr(self.shape(*y, s)), s.stiffness, self.exponent)

    def potential(self, s: Symbols) -> Sequence[Term]:
        """V(φ) (not in the form "beta", whose force is an internal one)."""
        if self.form == "beta":
            return ()
        y = tuple(symbol(n, "position") for n in "xyz")
        phi = as_expr(self.shape(*y, s))

        def by_rules(before: Sequence[Expr], after: Sequence[Expr]) -> Sequence[Expr]:
            return wall_gradient(phi, y, before, after, s.stiffness, self.exponent)

        return (Composite(self._energy(s), tuple(self.components(s, s)), gradient=by_rules if self.form == "rules" else None),)

    def internal(self, s: Symbols) -> Internal | None:
        """The force of the form "beta", and dissipation."""
        start, end = self.components(s, s.at0), self.components(s, s.at1)
        y = tuple(symbol(n, "position") for n in "xyz")
        phi = as_expr(self.shape(*y, s))
        forces: dict[Coordinate, Expr] = {}
        stored = dissipated = ZERO
        if self.form == "beta":
            root = constraint_of_wall(phi, s.stiffness, self.exponent)
            f0, f1 = (substitute([root], dict(zip(y, p, strict=True)))[0] for p in (start, end))
            slope = mean_value_gradient(root, y, start, end)
            mean = HALF * (f0 + f1)
            _add(forces, self._pull(s, [where(mean > 0.0, mean * g, ZERO) for g in slope]))
            stored = HALF * f1 * f1
        if self.dissipation:
            phi0, phi1 = (substitute([phi], dict(zip(y, p, strict=True)))[0] for p in (start, end))
            share = HALF * (pressed(phi0, self.exponent) + pressed(phi1, self.exponent))
            size = s.damping * s.stiffness * share * (phi1 - phi0) / s.h
            _add(forces, self._pull(s, [size * g for g in discrete_gradient_by_rules(phi, y, start, end)]))
            dissipated = size * (phi1 - phi0)
        return Internal(forces, dissipated=dissipated, stored=stored) if forces else None

    def _pull(self, s: Symbols, weights: Sequence[Expr]) -> dict[Coordinate, Expr]:
        """Generalised forces of forces along the components, at the mean coordinates."""
        return forces_along(self, s, self.components(s, s.mid), weights)

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """φ, and the distance from the wall −φ/|Dφ| (to first order; negative when pressed into it)."""
        y = tuple(symbol(n, "position") for n in "xyz")
        phi = as_expr(self.shape(*y, s))
        slope2 = ZERO
        for g in gradient(phi, y):
            slope2 = slope2 + g * g
        value, square = substitute([phi, slope2], dict(zip(y, self.components(s, s), strict=True)))
        return [("phi", "", value), ("gap", "m", -value / sqrt(square))]


def _add(total: dict[Coordinate, Expr], more: Mapping[Coordinate, Expr]) -> None:
    for c, e in more.items():
        total[c] = total.get(c, ZERO) + e


def wall_gradient(
    phi: Expr, y: Sequence[Expr], before: Sequence[Expr], after: Sequence[Expr], stiffness: Expr, exponent: float
) -> list[Expr]:
    """V[φ₀, φ₁] ∇̄φ between two points, zero when both lie inside."""
    phi0, phi1 = (substitute([phi], dict(zip(y, p, strict=True)))[0] for p in (before, after))
    touching = (phi0 > 0.0) | (phi1 > 0.0)
    push = hertz_quotient(phi0, phi1, stiffness, exponent)
    return [where(touching, push * g, ZERO) for g in discrete_gradient_by_rules(phi, y, before, after)]


def constraint_of_wall(phi: Expr, stiffness: Expr, exponent: float) -> Expr:
    """The regularised constraint Φ = √(2k/(n + 1)) φ^((n+1)/2) where φ > 0 (eq. 41), so that V = ½Φ²."""
    return sqrt(2.0 * stiffness / (exponent + 1.0)) * pressed(phi, 0.5 * (exponent + 1.0))


class RevoluteClearance(Pair):
    """Revolute joint with play: angle between the axes ≤ δ_θ, axial gap ≤ δ_z, radial gap ≤ δ_r (Example 5, eqs. 46–59).

    ``angular``, ``axial``, ``radial`` choose what is limited and give the exponents of the contact laws (None: not limited).  Constants:
    ``angular_play`` (rad), ``axial_play``, ``radial_play`` (m) and a stiffness for each.  φ₁ = cos δ_θ − n_a·n_b, φ₂ = |Δp·n_a| − δ_z,
    φ₃ = √(Δp² − (Δp·n_a)²) − δ_r are functions of quadratic invariants: energy and momenta are conserved.  With ``dissipation=True`` each
    wall has a constant ``…_damping`` c (s by the unit of φ) that adds c k φⁿ φ̇; momenta are conserved still.
    """

    not_negative = tuple(f"{w}_{n}" for w in PLAYS for n in ("play", "stiffness", "damping"))

    def __init__(
        self, a: Carrier | None = None, b: Carrier | None = None, angular: float | None = 2.0, axial: float | None = None,
        radial: float | None = None, dissipation: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(a, b)
        self.angular, self.axial, self.radial, self.dissipation = angular, axial, radial, dissipation
        for word in PLAYS:
            exponent = getattr(self, word)
            if exponent is not None:
                _checked(exponent, f"{self.name}, {word} play", 0.0)
                numbers_of = ("play", "stiffness", "damping") if dissipation else ("play", "stiffness")
                self.constants = {**self.constants, **{f"{word}_{n}": 1 for n in numbers_of}}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """The walls that are present."""
        v = self.vectors(s, s)
        n, gap = v.a[2], v.gap
        terms: list[Term] = []
        if self.angular is not None:
            limit = cos(s.angular_play)
            terms.append(_wall(lambda x: limit - x, n.dot(v.b[2]), s.angular_stiffness, self.angular))
        if self.axial is not None:
            terms.append(_wall(lambda x: absolute(x) - s.axial_play, n.dot(gap), s.axial_stiffness, self.axial))
        if self.radial is not None:
            terms.append(self._radial(s, gap.dot(gap), gap.dot(n), self.radial))
        return terms

    def internal(self, s: Symbols) -> Internal | None:
        """The dissipative part: c k φ̄ⁿ Δφ/h along the discrete gradient of φ."""
        if not self.dissipation:
            return None
        start, end, mid = (_HingeInvariants(self.vectors(s, p)) for p in (s.at0, s.at1, s.mid))
        forces: dict[Coordinate, Expr] = {}
        lost = ZERO
        for word in (w for w in PLAYS if getattr(self, w) is not None):
            exponent = getattr(self, word)
            play, stiffness, damping = (getattr(s, f"{word}_{n}") for n in ("play", "stiffness", "damping"))
            phi0, phi1 = start.phi(word, play), end.phi(word, play)
            share = HALF * (pressed(phi0, exponent) + pressed(phi1, exponent))
            size = damping * stiffness * share * (phi1 - phi0) / s.h
            touching = (phi0 > 0.0) | (phi1 > 0.0)
            weights = [where(touching, size * w, ZERO) for w in start.slopes(word, end)]
            _add(forces, forces_along(self, s, mid.of(word), weights))
            lost = lost + size * (phi1 - phi0)
        return Internal(forces, dissipated=lost)

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """Angle between the axes (rad), gap along the axis of a and across it (m)."""
        v = self.vectors(s, s)
        n, gap = v.a[2], v.gap
        turned, across = n.cross(v.b[2]), gap.cross(n)
        angle = atan2(sqrt(turned.dot(turned)), n.dot(v.b[2]))
        return [("misalignment", "rad", angle), ("axial", "m", gap.dot(n)), ("radial", "m", sqrt(across.dot(across)))]

    def _radial(self, s: Symbols, square: Expr, along: Expr, exponent: float) -> Composite:
        """The wall of c = √(Δp² − (Δp·n)²), with ∇̄c = (1, −(b₀ + b₁))/(c₀ + c₁) in the invariants a = Δp², b = Δp·n."""

        def energy(a: Expr, b: Expr) -> Expr:
            return hertz(_across(a, b) - s.radial_play, s.radial_stiffness, exponent)

        def by_rules(before: Sequence[Expr], after: Sequence[Expr]) -> Sequence[Expr]:
            c0, c1 = _across(*before), _across(*after)
            touching = (c0 > s.radial_play) | (c1 > s.radial_play)
            push = hertz_quotient(c0 - s.radial_play, c1 - s.radial_play, s.radial_stiffness, exponent)
            weight = where(touching, push / where(touching, c0 + c1, 1.0), ZERO)
            return [weight, -weight * (before[1] + after[1])]

        return Composite(energy, (square, along), gradient=by_rules)


def _across(square: Expr, along: Expr) -> Expr:
    """√(Δp² − (Δp·n)²), 0 where rounding makes it imaginary."""
    c2 = square - along * along
    return where(c2 > 0.0, sqrt(where(c2 > 0.0, c2, ONE)), ZERO)


class _HingeInvariants:
    """n_a·n_b, Δp·n_a and Δp² of a hinge, with its φ and their discrete slopes by the invariants."""

    def __init__(self, v: JointVectors) -> None:
        n = v.a[2]
        self.cosine, self.along, self.square = n.dot(v.b[2]), n.dot(v.gap), v.gap.dot(v.gap)

    def of(self, word: str) -> list[Expr]:
        """The invariants that a limit depends on."""
        return {"angular": [self.cosine], "axial": [self.along], "radial": [self.square, self.along]}[word]

    def phi(self, word: str, play: Expr) -> Expr:
        """φ of a limit."""
        if word == "angular":
            return cos(play) - self.cosine
        return (absolute(self.along) if word == "axial" else _across(self.square, self.along)) - play

    def slopes(self, word: str, end: _HingeInvariants) -> list[Expr]:
        """∇̄φ by the invariants from here to ``end``; meant for steps that touch the wall at one end at least."""
        if word == "angular":
            return [-ONE]
        if word == "axial":
            total = absolute(self.along) + absolute(end.along)
            return [(self.along + end.along) / where(total > 0.0, total, ONE)]
        total = _across(self.square, self.along) + _across(end.square, end.along)
        safe = where(total > 0.0, total, ONE)
        return [ONE / safe, -(self.along + end.along) / safe]


def _wall(law: Callable[[Expr], Expr], invariant: Expr, stiffness: Expr, exponent: float) -> Composite:
    """Hertz' wall for φ = law(invariant)."""

    def energy(x: Expr) -> Expr:
        return hertz(law(x), stiffness, exponent)

    def quotient(x0: Expr, x1: Expr) -> Expr:
        x = symbol("x", "position")
        change = divided_difference(law(x), x, x0, x1)
        return hertz_quotient(law(x0), law(x1), stiffness, exponent) * change

    return Composite(energy, (invariant,), quotient)


def angular_play(radial_gap: float, axial_gap: float, radial: float, axial: float, length: float, flange: float) -> float:
    """δ_θ (rad) left to a flanged journal of given length and flange radius when the gaps already used are subtracted."""
    return max(0.0, min(2.0 * (radial - radial_gap) / length, (axial - axial_gap) / flange))


__all__ = [
    "Cavity", "RevoluteClearance", "SphericalClearance", "angular_play", "blob", "constraint_of_wall", "hertz",
    "hertz_quotient", "sphere", "wall_gradient",
]  # fmt: skip
