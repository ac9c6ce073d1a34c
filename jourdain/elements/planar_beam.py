"""Geometrically exact beams in the plane: a node is the block of six coordinates of a planar body, its origin and the two directors of a section.

    Γ₁ = d₁·x′ − Γ⁰₁,   Γ₂ = d₂·x′ − Γ⁰₂,   K = ½ (d₂·d₁′ − d₁·d₂′) − K⁰

are those of :mod:`.beam` with everything that leaves the plane gone.  An element is small enough to be written out: forces and tangent are straight-line code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..symbolic.expr import HALF, ONE, ZERO, Expr
from ..symbolic.functions import where
from ..symbolic.vectors import NULL, Vector
from .beam import FOLDED, lagrange
from .element import Composite, Element, Internal, Symbols, Term, forces_along
from .rigid import PlanarBody

if TYPE_CHECKING:
    from ..structures.parts.sections import Material, Section

#: Constants of viscous sections by their name.
VISCOSITIES: dict[str, dict[str, int]] = {"none": {}, "kelvin-voigt": {"damping": 9}, "standard": {"branch": 9, "relaxation": 1}}
#: Resultants of a section, and their units.
RESULTANTS = (("N", "N"), ("V", "N"), ("M", "N*m"))


def planar_section_of(section: Section, material: Material) -> dict[str, Any]:
    """Stiffness (EA, κGA, EI) and inertia (ρA, ρI) of a cross section that bends about its z axis.

    >>> from jourdain.structures import Material, rectangle
    >>> planar_section_of(rectangle(0.1, 0.2), Material(1e6, 0.25, 1000.0))["inertia"][0].round(6)
    np.float64(20.0)
    """
    E, G, A = material.E, material.G, section.area
    return {
        "stiffness": np.array([E * A, section.shear_y * G * A, E * section.Iz]),
        "inertia": material.density * np.array([A, section.Iz]),
    }


class PlanarNode(Element):
    """The directors of a section: orthonormal, without mass of their own."""

    blocks = {"body": 6}  # noqa: RUF012
    reduction = PlanarBody.reduction
    constraints = PlanarBody.constraints


class PlanarBeam(Element):
    """A beam element of 2, 3 or 4 nodes in the plane; with one point of quadrature less than nodes it does not lock.

    Constants: ``values`` and ``slopes`` (points × nodes) of the interpolation, ``lengths`` (m) and ``natural`` strains of the points, ``shares`` (nodes × nodes)
    of a length, ``inertia`` ρA (kg/m) and ρI (kg m), ``gravity`` (m/s²), ``stiffness`` (3 × 3 between strains and N, V, M); :meth:`numbers` makes the first five.
    ``viscosity`` adds resultants D ε̇ (Kelvin–Voigt) or those of a branch C_d (ε − α), α̇ = (ε − α)/τ (standard solid), with ε·ΔR = ΔΨ + ΔD in every step.
    """

    def __init__(self, nodes: int = 2, viscosity: str = "none") -> None:
        if nodes not in (2, 3, 4):
            raise ModelError(f"{self.name}: a beam element has 2, 3 or 4 nodes, not {nodes!r}")
        if viscosity not in VISCOSITIES:
            raise ModelError(f"{self.name}: viscosity '{viscosity}' is unknown; there are {', '.join(VISCOSITIES)}")
        self.nodes, self.points, self.viscosity = nodes, nodes - 1, viscosity
        self.blocks = {f"node{k}": 6 for k in range(nodes)}
        n, g = nodes, nodes - 1
        self.constants = {
            "values": n * g, "slopes": n * g, "lengths": g, "natural": 3 * g, "shares": n * n, "inertia": 2, "gravity": 2, "stiffness": 9,
            **VISCOSITIES[viscosity],
        }  # fmt: skip
        self.history = {"strain": 3 * g} if viscosity == "standard" else {}

    def numbers(self, sections: np.ndarray) -> dict[str, np.ndarray]:
        """Interpolation, lengths, natural strains and shares of an element with ``sections`` (nodes × 3 × 2: origin, directors) before deformation."""
        n, line = self.nodes, sections[:, 0]
        xi, weights = np.polynomial.legendre.leggauss(self.points)
        N, dN = lagrange(n, xi)
        stretch = np.linalg.norm(dN @ line, axis=1)
        if not stretch.min() > 0.0:
            raise ModelError(f"{self.name}: its nodes have no length between them: {line.tolist()}")
        slopes = dN / stretch[:, None]
        y, yd = np.einsum("pa,aij->pij", N, sections), np.einsum("pa,aij->pij", slopes, sections)
        d, dd, x = y[:, 1:], yd[:, 1:], yd[:, 0]
        bent = 0.5 * (np.einsum("pi,pi->p", d[:, 1], dd[:, 0]) - np.einsum("pi,pi->p", d[:, 0], dd[:, 1]))
        natural = np.column_stack([np.einsum("pki,pi->pk", d, x), bent])
        xi, w = np.polynomial.legendre.leggauss(n)
        N2, dN2 = lagrange(n, xi)
        shares = np.einsum("g,ga,gb->ab", w * np.linalg.norm(dN2 @ line, axis=1), N2, N2)
        return {
            "values": N.ravel(),
            "slopes": slopes.ravel(),
            "lengths": weights * stretch,
            "natural": natural.ravel(),
            "shares": shares.ravel(),
        }

    # -- the declaration ----------------------------------------------------------------------------------------------

    def initial_history(self, q: Mapping[str, Sequence[float]], constants: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
        """A viscous branch starts relaxed."""
        if not self.history:
            return {}
        y = np.reshape(np.concatenate([q[b] for b in self.blocks]), (-1, 3, 2))
        values, slopes = (np.reshape(constants[n], (self.points, -1)) for n in ("values", "slopes"))
        d, e = (np.einsum("pa,aki->pki", w, y) for w in (values, slopes))
        bent = 0.5 * (np.einsum("pi,pi->p", d[:, 2], e[:, 1]) - np.einsum("pi,pi->p", d[:, 1], e[:, 2]))
        found = np.column_stack([np.einsum("pki,pi->pk", d[:, 1:], e[:, 0]), bent]).ravel() - np.asarray(constants["natural"])
        return {"strain": found.tolist()}

    def internal(self, s: Symbols) -> Internal | None:
        """Viscous resultants R on strains that are quadratic in q: forces B(q̄)ᵀ R with B(q̄) Δq = Δε, so that their work is R·Δε exactly."""
        if self.viscosity == "none":
            return None
        strains: list[Expr] = []
        weights: list[Expr] = []
        dissipated, stored, new = ZERO, ZERO, []
        for p in range(self.points):
            length, e0, e1, middle = self._length(s, p), *(self._strains(s, p, at) for at in (s.at0, s.at1, s.mid))
            if self.viscosity == "kelvin-voigt":
                change = [b - a for a, b in zip(e0, e1, strict=True)]
                R = [x / s.h for x in self._times(s.damping, change)]
                dissipated = dissipated + length * _sum(x * y for x, y in zip(R, change, strict=True))
            else:
                old, ratio = s.history.strain[3 * p : 3 * p + 3], HALF * s.h / s.relaxation
                now = [((ONE - ratio) * a + ratio * (x + y)) / (ONE + ratio) for a, x, y in zip(old, e0, e1, strict=True)]
                R = self._times(s.branch, [HALF * (x - a + y - b) for a, b, x, y in zip(old, now, e0, e1, strict=True)])
                dissipated = dissipated + length * _sum(r * (b - a) for r, a, b in zip(R, old, now, strict=True))
                left = [y - b for y, b in zip(e1, now, strict=True)]
                stored = stored + HALF * length * _sum(x * y for x, y in zip(left, self._times(s.branch, left), strict=True))
                new += now
            strains += middle
            weights += [length * r for r in R]
        return Internal(forces_along(self, s, strains, weights), {"strain": tuple(new)} if new else {}, dissipated, stored)

    def _times(self, matrix: Sequence[Expr], e: Sequence[Expr]) -> list[Expr]:
        return [_sum(matrix[3 * i + j] * e[j] for j in range(3)) for i in range(3)]

    def _strains(self, s: Symbols, p: int, at: Any = None) -> tuple[Expr, Expr, Expr]:
        """Γ₁, Γ₂, K at a point, of coordinates where forces act or ``at`` others."""
        q = s if at is None else at
        slope = self._at(s, q, p, 0, s.slopes)
        d1, d2, e1, e2 = (self._at(s, q, p, k, w) for w in (s.values, s.slopes) for k in (1, 2))
        natural = s.natural[3 * p : 3 * p + 3]
        return (
            d1.dot(slope) - natural[0], d2.dot(slope) - natural[1], HALF * (d2.dot(e1) - d1.dot(e2)) - natural[2],
        )  # fmt: skip

    def _at(self, s: Symbols, q: Any, p: int, k: int, weights: tuple[Expr, ...]) -> Vector:
        """The k-th vector of the nodes (origin, directors) at a point, by weights of the interpolation."""
        total = NULL
        for a, b in enumerate(self.blocks):
            total = total + q.pair(b, k) * weights[p * self.nodes + a]
        return total

    def _length(self, s: Symbols, p: int) -> Expr:
        return s.lengths[p] if isinstance(s.lengths, tuple) else s.lengths

    def _resultants(self, s: Symbols, e: Sequence[Expr]) -> list[Expr]:
        return self._times(s.stiffness, e)

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """ρA for the origin, ρI for the second director, in both directions."""
        found: dict[tuple[str, int, str, int], Expr] = {}
        for a, i in enumerate(self.blocks):
            for b, j in enumerate(self.blocks):
                share = s.shares[self.nodes * a + b]
                for first, inertia in ((0, s.inertia[0]), (4, s.inertia[1])):
                    found |= {(i, first + k, j, first + k): share * inertia for k in range(2)}
        return found

    def potential(self, s: Symbols) -> Sequence[Term]:
        """½ ε·C ε of the points, and the weight."""
        terms: list[Term] = []
        for p in range(self.points):
            terms.append(self._stored(s, self._length(s, p), self._strains(s, p)))
        weight = ZERO
        for a, i in enumerate(self.blocks):
            share = _sum(s.shares[self.nodes * a + b] for b in range(self.nodes)) * s.inertia[0]
            weight = weight - share * s.pair("gravity").dot(s.pair(i, 0))
        return [*terms, weight]

    def _stored(self, s: Symbols, length: Expr, strains: tuple[Expr, ...]) -> Composite:
        def energy(*e: Expr) -> Expr:
            return HALF * length * _sum(x * y for x, y in zip(e, self._resultants(s, e), strict=True))

        def mean(e0: Sequence[Expr], e1: Sequence[Expr]) -> list[Expr]:
            return [length * x for x in self._resultants(s, [HALF * (a + b) for a, b in zip(e0, e1, strict=True)])]

        return Composite(energy, strains, gradient=mean)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """∫ ρ v and the moment of it about the origin."""
        linear, angular = NULL, ZERO
        for a, i in enumerate(self.blocks):
            for b, j in enumerate(self.blocks):
                share = s.shares[self.nodes * a + b]
                for k, inertia in ((0, s.inertia[0]), (2, s.inertia[1])):
                    (x, y, _), (u, v, _) = s.pair(i, k), s.velocity.pair(j, k)
                    angular = angular + share * inertia * (x * v - y * u)
                    if k == 0:
                        linear = linear + Vector(u, v, ZERO) * (share * inertia)
        return linear, Vector(ZERO, ZERO, angular)

    def audit(self, s: Symbols) -> Sequence[tuple[str, Expr]]:
        """Sections may turn by less than a right angle between nodes: beyond, the curvature falls again."""
        found = []
        for p in range(self.points):
            d1, d2 = (self._at(s, s, p, k, s.values) for k in (1, 2))
            found.append((f"folded{p + 1}", where(d1.dot(d1) + d2.dot(d2) < ONE, ONE, ZERO)))
        return found

    def astray(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> str:
        """Whether sections turn by a right angle between nodes."""
        d = np.einsum("pa,aki->pki", np.reshape(numbers["values"], (self.points, -1)), np.reshape(q, (-1, 3, 2))[:, 1:])
        return FOLDED if not (d**2).sum(axis=(1, 2)).min() > 1.0 else ""

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """Resultants N, V, M at the points (of several, with their numbers)."""
        found = []
        for p in range(self.points):
            for (name, unit), x in zip(RESULTANTS, self._resultants(s, self._strains(s, p)), strict=True):
                found.append((name if self.points == 1 else f"{name}{p + 1}", unit, x))
        return found


def _sum(parts: Any) -> Expr:
    total = ZERO
    for e in parts:
        total = total + e
    return total


__all__ = ["PlanarBeam", "PlanarNode", "planar_section_of"]
