"""Thin cables by absolute nodal coordinates: places and slopes of nodes, no rotations (Gerstmayr & Shabana 2006), and points that slide on them.

Between two nodes r(s) is Hermite's cubic of places r and slopes r′.  With the invariants a = r′·r′, b = r′·r″, c = r″·r″, all quadratic in the coordinates,

    ε = √a − 1,   K² = (a c − b²)/a²,   ½ ∫ (EA ε² + EI K²) ds,

K being the turn of the tangent for a length before deformation.  Both terms have discrete gradients without cancellation, so that steps keep energy and momenta
exactly; there are no constraints within the cable, and its mass matrix is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbolic.expr import HALF, ONE, ZERO, Expr, as_expr, symbol
from ..symbolic.functions import maximum, sqrt
from ..symbolic.vectors import NULL, Vector
from .carriers import Carrier, Particle, split
from .element import Composite, Coordinate, Element, Internal, Symbols, Term

#: Places of Gauss's points on (0, 1) and their weights.
POINTS, WEIGHTS = (0.5 * (x + s) for x, s in zip(np.polynomial.legendre.leggauss(3), (1.0, 0.0), strict=True))
#: Hermite's cubics of ξ by their coefficients 1, ξ, ξ², ξ³; those of slopes (second and fourth) are for a length of 1.
HERMITE = np.array([[1.0, 0.0, -3.0, 2.0], [0.0, 1.0, -2.0, 1.0], [0.0, 0.0, 3.0, -2.0], [0.0, 0.0, -1.0, 1.0]])


def _mass_shares() -> np.ndarray:
    """∫ HᵢHⱼ dξ."""
    powers = 1.0 / (1.0 + np.add.outer(np.arange(4), np.arange(4)))
    return np.asarray(HERMITE @ powers @ HERMITE.T)


def catenary(
    start: Sequence[float], end: Sequence[float], length: float, pieces: int, down: Sequence[float] = (0, 0, -1)
) -> tuple[np.ndarray, np.ndarray]:
    """Places and slopes of the nodes of a slack cable that hangs between two points: even pieces of a curve of this length, without stretch.

    >>> places, slopes = catenary((0, 0), (1, 0), 1.2, 4, down=(0, -1))
    >>> places.round(3).tolist()[2], slopes[2].round(9).tolist()
    ([0.5, -0.292], [1.0, 0.0])
    """
    a, b, fall = (np.asarray(x, float) for x in (start, end, down))
    fall = fall / np.linalg.norm(fall)
    drop = float((b - a) @ fall)
    across = b - a - drop * fall
    span, flat = float(np.linalg.norm(across)), np.sqrt(max(length * length - drop * drop, 0.0))
    if not (length > np.linalg.norm(b - a) and span > 0.0 and pieces >= 1):
        raise ModelError(
            f"a catenary of {length:g} m in {pieces} pieces between points {np.linalg.norm(b - a):g} m apart does not hang; take a longer one, and points not above each other"
        )
    low, high = 1e-9, 1.0  # of x in sinh(x)/x = √(L² − drop²)/span, x = span over twice the parameter
    while np.sinh(high) / high < flat / span:
        low, high = high, 2.0 * high
    for _ in range(200):
        x = 0.5 * (low + high)
        low, high = (x, high) if np.sinh(x) / x < flat / span else (low, x)
    c = span / (2.0 * x)
    lowest = np.arctanh(-drop / length)  # of the middle; heights above are c cosh(u), u from −x to x about it
    first, last = lowest - x, lowest + x
    s = np.linspace(np.sinh(first), np.sinh(last), pieces + 1)
    u = np.arcsinh(s)
    places = a + np.outer(c * (u - first), across / span) - np.outer(c * (np.cosh(u) - np.cosh(first)), fall)
    slopes = np.outer(1.0 / np.cosh(u), across / span) - np.outer(np.tanh(u), fall)
    places[-1] = b
    return places, slopes


class Cable(Element):
    """A piece of cable between two nodes of places and slopes, in space or in the plane.

    Constants: ``length`` (m) before deformation, ``axial`` EA (N), ``bending`` EI (N m²), ``mass_per_length`` ρA (kg/m), ``gravity`` (m/s²).  A ``viscous`` one has
    a tension of ``viscosity`` · ε̇ beside that of the stretch (viscosity in N s; Kelvin and Voigt).
    """

    not_negative = ("axial", "bending", "mass_per_length", "viscosity")
    in_numbers = True

    def __init__(self, dimension: int = 3, viscous: bool = False) -> None:
        if dimension not in (2, 3):
            raise ModelError(f"{self.name}: dimension {dimension!r} is neither 2 nor 3")
        self.dimension, self.viscous = dimension, viscous
        self.blocks = {"node0": 2 * dimension, "node1": 2 * dimension}
        self.constants = {
            "length": 1,
            "axial": 1,
            "bending": 1,
            "mass_per_length": 1,
            "gravity": dimension,
            **({"viscosity": 1} if viscous else {}),
        }

    def _vectors(self, p: Any) -> list[Vector]:
        """Place and slope of the first node, and of the second."""
        return [v for b in self.blocks for v in split(p, b, self.dimension)]

    def _at(self, p: Any, length: Expr, xi: float, order: int) -> Vector:
        """A derivative by s at ξ."""
        total = NULL
        for i, v in enumerate(self._vectors(p)):
            polynomial = np.polynomial.Polynomial(HERMITE[i]).deriv(order)
            total = total + v * (as_expr(float(polynomial(xi))) * length ** ((i % 2) - order))
        return total

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """∫ ρA HᵢHⱼ ds in every direction."""
        d, shares, places = self.dimension, _mass_shares(), [(b, k) for b in self.blocks for k in range(2)]
        return {
            (b, d * k + c, e, d * m + c): s.mass_per_length * as_expr(float(shares[i, j])) * s.length ** (1 + i % 2 + j % 2)
            for i, (b, k) in enumerate(places)
            for j, (e, m) in enumerate(places)
            for c in range(d)
        }

    def potential(self, s: Symbols) -> Sequence[Term]:
        """Stretch, bending and weight."""
        terms: list[Term] = []
        for xi, weight in zip(POINTS, WEIGHTS, strict=True):
            slope, bend = (self._at(s, s.length, float(xi), k) for k in (1, 2))
            scale = as_expr(0.5 * float(weight)) * s.length
            a, b, c = slope.dot(slope), slope.dot(bend), bend.dot(bend)
            terms.append(_stretched(scale * s.axial, a))
            terms.append(_bent(scale * s.bending, a, b, c))
        weight, gravity = ZERO, Vector.of([*s.gravity, ZERO][:3])
        for i, v in enumerate(self._vectors(s)):
            share = float((HERMITE[i] / (1.0 + np.arange(4))).sum())
            weight = weight - s.mass_per_length * as_expr(share) * s.length ** (1 + i % 2) * gravity.dot(v)
        return [*terms, weight]

    def internal(self, s: Symbols) -> Internal | None:
        """Tension d Δε/h of a viscous cable with Δε = 2 r̄′·Δr′/(√a₀ + √a₁), exactly the change of strain; it dissipates d Δε²/h for a length."""
        if not self.viscous:
            return None
        forces: dict[Coordinate, Expr] = {}
        dissipated, d = ZERO, self.dimension
        for xi, weight in zip(POINTS, WEIGHTS, strict=True):
            start, end, mid = (self._at(p, s.length, float(xi), 1) for p in (s.at0, s.at1, s.mid))
            along = mid * (as_expr(2.0) / (sqrt(start.dot(start)) + sqrt(end.dot(end))))
            change = along.dot(end - start)
            tension = as_expr(float(weight)) * s.length * s.viscosity * change / s.h
            dissipated = dissipated + tension * change
            for i, (block, k) in enumerate((b, k) for b in self.blocks for k in range(2)):
                share = as_expr(float(np.polynomial.Polynomial(HERMITE[i]).deriv()(xi))) * s.length ** ((i % 2) - 1)
                for c in range(d):
                    entry = block, d * k + c
                    forces[entry] = forces.get(entry, ZERO) + tension * share * along[c]
        return Internal(forces, dissipated=dissipated)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """∫ ρA v ds and ∫ r × ρA v ds."""
        linear = angular = NULL
        shares, places, rates = _mass_shares(), self._vectors(s), self._vectors(s.velocity)
        for j, v in enumerate(rates):
            share = float((HERMITE[j] / (1.0 + np.arange(4))).sum())
            linear = linear + v * (s.mass_per_length * as_expr(share) * s.length ** (1 + j % 2))
            for i, r in enumerate(places):
                angular = angular + r.cross(v) * (s.mass_per_length * as_expr(float(shares[i, j])) * s.length ** (1 + i % 2 + j % 2))
        return linear, angular

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """Tension N and size of the bending moment M in the middle of the piece."""
        slope, bend = (self._at(s, s.length, 0.5, k) for k in (1, 2))
        a, b, c = slope.dot(slope), slope.dot(bend), bend.dot(bend)
        square = a * c - b * b
        return [("N", "N", s.axial * (sqrt(a) - 1.0)), ("M", "N*m", s.bending * sqrt(maximum(square, 0.0) + 1e-300) / a)]


def _stretched(scale: Expr, a: Expr) -> Composite:
    """scale · (√a − 1)², whose difference quotient is 1 − 2/(√a₀ + √a₁)."""
    return Composite(
        lambda x: scale * (sqrt(x) - 1.0) ** 2, (a,), quotient=lambda x0, x1: scale * (ONE - as_expr(2.0) / (sqrt(x0) + sqrt(x1)))
    )


def _bent(scale: Expr, a: Expr, b: Expr, c: Expr) -> Composite:
    """scale · (a c − b²)/a², with the discrete rule of products."""

    def gradient(p: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
        (a0, b0, c0), (a1, b1, c1) = p, q
        square = HALF * (a0 * c0 - b0 * b0 + a1 * c1 - b1 * b1)
        inverse = HALF * (ONE / (a0 * a0) + ONE / (a1 * a1))
        change = -(a0 + a1) / (a0 * a0 * a1 * a1)
        return [
            scale * (inverse * HALF * (c0 + c1) + square * change),
            -scale * inverse * (b0 + b1),
            scale * inverse * HALF * (a0 + a1),
        ]

    return Composite(lambda x, y, z: scale * (x * z - y * y) / (x * x), (a, b, c), gradient=gradient)


class SlidingPoint(Element):
    """A point of a body that slides on a piece of cable: p − r(s) = 0, s (m, counted along the whole cable) a coordinate of its own without mass.

    Constants: ``point`` in the body, ``first`` (m) where the piece begins, ``length`` (m).  The force is normal to the cable; friction is an element on s
    (:class:`.Viscous`, :class:`.Plastic`, :class:`.ViscousLaw`).  A ``rough`` point has Coulomb's friction μ N v/√(v² + v₀²) against its speed v along the cable, N the
    normal force, with the constants ``friction`` μ and ``speed`` v₀ (m/s), below which it creeps instead of sticking.
    """

    not_negative = ("friction",)

    def __init__(self, body: Carrier | None = None, dimension: int = 3, rough: bool = False) -> None:
        self.body = body or Particle(dimension)
        if self.body.dimension != dimension:
            raise ModelError(f"{self.name}: a body of kind '{self.body.name}' has {self.body.dimension} dimensions, the cable {dimension}")
        self.dimension, self.rough = dimension, rough
        self.blocks = {**self.body.blocks("body"), "node0": 2 * dimension, "node1": 2 * dimension, "s": 1}
        self.constants = {
            "first": 1, "length": 1, **({"point": self.body.local} if self.body.local else {}), **({"friction": 1, "speed": 1} if rough else {}),
        }  # fmt: skip

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """One row for each direction."""
        place = getattr(s, "point", ()) if self.body.local else ()
        point = self.body.point(s, "body", place if isinstance(place, tuple) else (place,))
        nodes = [v for b in ("node0", "node1") for v in split(s, b, self.dimension)]
        found: list[tuple[str, list[Term]]] = []
        for c, name in zip(range(self.dimension), "xyz", strict=False):
            found.append((f"position.{name}", [point[c], _on_the_cable(s.first, s.length, s.s[0], [v[c] for v in nodes])]))
        return found

    def internal(self, s: Symbols) -> Internal | None:
        """Friction along s by the mean of the constraint force across the cable: F Δs is what it dissipates."""
        if not self.rough:
            return None
        reactions = tuple(symbol(f"reaction[{c}]", "acceleration") for c in range(self.dimension))
        xi, slope = (s.mid.s[0] - s.first) / s.length, NULL
        for i, v in enumerate(v for b in ("node0", "node1") for v in split(s.mid, b, self.dimension)):
            h = HERMITE[i].tolist()
            slope = slope + v * ((as_expr(h[1]) + xi * (as_expr(2.0 * h[2]) + xi * as_expr(3.0 * h[3]))) * s.length ** ((i % 2) - 1))
        force, square = Vector.of([*reactions, ZERO][:3]), slope.dot(slope)
        across = force - slope * (force.dot(slope) / square)
        moved, stretch = s.at1.s[0] - s.at0.s[0], sqrt(square)
        speed = stretch * moved / s.h
        normal = sqrt(across.dot(across) + as_expr(1e-24))
        resisting = s.friction * normal * stretch * speed / sqrt(speed * speed + s.speed * s.speed)
        return Internal({("s", 0): resisting}, dissipated=resisting * moved, reactions=reactions)


class CableSeat(Element):
    """Holds a node of a cable at a ``point`` of a body; ``clamped`` also across two of its directions (``across``), so that it leaves along the third.

    Stretch is free, and a turn about the cable is not transmitted.
    """

    def __init__(self, body: Carrier, clamped: bool) -> None:
        self.body, self.clamped = body, clamped
        self.blocks = {**body.blocks("body"), "node": 6}
        self.constants = {"point": 3, **({"across": 6} if clamped else {})}

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """Three rows for the place, two for the slope."""
        place, slope = split(s, "node", 3)
        point = self.body.point(s, "body", s.point)
        rows: list[tuple[str, Sequence[Term]]] = [(f"position.{n}", [point[c] - place[c]]) for c, n in enumerate("xyz")]
        for k in range(2) if self.clamped else ():
            rows.append((f"slope.{k + 1}", [slope.dot(self.body.direction(s, "body", s.across[3 * k : 3 * k + 3]))]))
        return rows


class StillDirections(Element):
    """The directors of a body that has a place only do not turn: what it carries transmits no moments."""

    def __init__(self) -> None:
        self.blocks, self.constants = {"body": 12}, {"frame": 9}

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """Three scalar products with the directors of the start."""
        d = split(s, "body", 3)[1:]
        e = [Vector.of(s.frame[3 * k : 3 * k + 3]) for k in range(3)]
        return [(f"turn.{n}", [d[i].dot(e[j])]) for n, i, j in (("x", 1, 2), ("y", 0, 2), ("z", 0, 1))]


def _on_the_cable(first: Expr, length: Expr, along: Expr, q: Sequence[Expr]) -> Composite:
    """−Σ Hᵢ(ξ) qᵢ with ξ = (s − first)/length: a polynomial of s times coordinates, with exact differences of both."""

    def shapes(x: Expr) -> list[Expr]:
        xi = (x - first) / length
        return [
            (as_expr(h[0]) + xi * (as_expr(h[1]) + xi * (as_expr(h[2]) + xi * as_expr(h[3])))) * length ** (i % 2)
            for i, h in enumerate(HERMITE.tolist())
        ]

    def value(x: Expr, *entries: Expr) -> Expr:
        total = ZERO
        for h, e in zip(shapes(x), entries, strict=True):
            total = total - h * e
        return total

    def gradient(p: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
        (x0, *e0), (x1, *e1) = p, q
        a, b = (x0 - first) / length, (x1 - first) / length
        h0, h1 = shapes(x0), shapes(x1)
        by_s = ZERO
        for i, h in enumerate(HERMITE.tolist()):
            quotient = as_expr(h[1]) + as_expr(h[2]) * (a + b) + as_expr(h[3]) * (a * a + a * b + b * b)
            by_s = by_s - quotient * length ** ((i % 2) - 1) * HALF * (e0[i] + e1[i])
        return [by_s, *(-HALF * (x + y) for x, y in zip(h0, h1, strict=True))]

    return Composite(value, (along, *q), gradient=gradient)


__all__ = ["Cable", "CableSeat", "SlidingPoint", "StillDirections", "catenary"]
