"""Geometrically exact beams by directors: a node is the block of twelve coordinates of a rigid body, its origin and directors those of a section.

Origin x and directors dᵢ are interpolated between the nodes (d₁ along the beam).  The strains are quadratic in the coordinates and invariant
under rigid motions (Simo 1985; Betsch & Steinmann 2002; Romero & Armero 2002):

    Γᵢ = dᵢ·x′ − Γ⁰ᵢ,    K₁ = ½ (d₃·d₂′ − d₂·d₃′) − K⁰₁ and so on round,

so that with an energy ½ (Γ, K)·C (Γ, K) of a length the mean stress resultants between the ends of a step keep energy and momenta exactly.
With one point of quadrature less than there are nodes the elements do not lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..symbolic.expr import HALF, ZERO, Expr
from ..symbolic.vectors import NULL, Vector
from .element import Composite, Element, Symbols, Term
from .rigid import DirectorBody
from .vectors import VectorElement

if TYPE_CHECKING:
    from ..structures.parts.sections import Material, Section

#: Constants of the viscosities of a section: a matrix of a dashpot (N s, N m² s) beside the elastic one, or that of a Maxwell branch and its
#: relaxation time (s).
VISCOSITIES: dict[str, dict[str, int]] = {"none": {}, "kelvin-voigt": {"damping": 36}, "standard": {"branch": 36, "relaxation": 1}}


#: What is said of an element whose sections turn too far.
FOLDED = "of a beam turns by a right angle between its nodes: take more elements there, or a smaller step"


def section_of(section: Section, material: Material) -> dict[str, Any]:
    """Stiffness (6 × 6: N, Vy, Vz, T, My, Mz) and inertia (4 × 4, for a length) of a cross section.

    >>> from jourdain.structures import Material, rectangle
    >>> section_of(rectangle(0.1, 0.2), Material(1e6, 0.25, 1000.0))["stiffness"][0, 0].round(6)
    np.float64(20000.0)
    """
    E, G, A = material.E, material.G, section.area
    stiffness = np.diag([E * A, section.shear_y * G * A, section.shear_z * G * A, G * section.torsion, E * section.Iy, E * section.Iz])
    return {"stiffness": stiffness, "inertia": material.density * np.diag([A, 0.0, section.Iz, section.Iy])}


class BeamNode(Element):
    """The directors of a section of a beam: orthonormal, without mass of their own."""

    blocks = {"body": 12}  # noqa: RUF012
    reduction = DirectorBody.reduction
    constraints = DirectorBody.constraints


class Beam(VectorElement):
    """A beam element of 2, 3 or 4 nodes with elastic, perhaps viscous, resultants of its sections.

    Constants: ``shapes`` (points × vectors × 7) by which x′, d₁, d₂, d₃, d₁′, d₂′, d₃′ follow from the vectors of the nodes, ``lengths`` (m) of the points,
    ``natural`` strains of the unstressed beam, ``masses`` (vectors × vectors), ``gravity`` (m/s²), ``stiffness`` the matrix (6 × 6) between (Γ, K) and
    (N, Vy, Vz, T, My, Mz) (N, N m, N m²), and those of the viscosity; :meth:`numbers` makes them.
    """

    def __init__(self, nodes: int = 2, viscosity: str = "none") -> None:
        if nodes not in (2, 3, 4):
            raise ModelError(f"{self.name}: a beam element has 2, 3 or 4 nodes, not {nodes!r}")
        if viscosity not in VISCOSITIES:
            raise ModelError(f"{self.name}: viscosity '{viscosity}' is unknown; there are {', '.join(VISCOSITIES)}")
        self.nodes, self.viscosity, self.bodies = nodes, viscosity, nodes
        self.blocks = {f"node{k}": 12 for k in range(nodes)}
        v, g = 4 * nodes, nodes - 1
        self.constants = {"shapes": 7 * v * g, "lengths": g, "natural": 6 * g, "masses": v * v, "gravity": 3, "stiffness": 36}
        self.constants |= VISCOSITIES[viscosity]
        self.history = {"strain": 6 * g} if viscosity == "standard" else {}

    @property
    def points(self) -> int:
        """Points of quadrature: one less than nodes."""
        return self.nodes - 1

    @property
    def viscous(self) -> str:
        """The name of its viscosity, if it has one."""
        return "" if self.viscosity == "none" else self.viscosity

    def numbers(self, sections: np.ndarray, carried: np.ndarray, inertia: np.ndarray) -> dict[str, np.ndarray]:
        """Shapes, lengths, natural strains and masses of an element with ``sections`` (nodes × 4 × 3: origin, directors) before deformation.

        ``carried`` (nodes × 4 × 4) gives origin and directors of the sections from those of the blocks; ``inertia`` (4 × 4) is that of a length.
        """
        n, v, line = self.nodes, self.vectors, sections[:, 0]
        xi, weights = np.polynomial.legendre.leggauss(self.points)
        N, dN = lagrange(n, xi)
        stretch = np.linalg.norm(dN @ line, axis=1)
        if not stretch.min() > 0.0:
            raise ModelError(f"{self.name}: its nodes have no length between them: {line.tolist()}")
        shapes, natural = np.zeros((self.points, n, 4, 7)), []
        for p in range(self.points):
            slopes = dN[p] / stretch[p]
            shapes[p, :, 0, 0] = slopes
            for i in range(3):
                shapes[p, :, 1 + i, 1 + i], shapes[p, :, 1 + i, 4 + i] = N[p], slopes
            natural.append(strains_at(sections, N[p], slopes))
        shapes = np.einsum("pnij,nik->pnkj", shapes, carried)
        xi, w = np.polynomial.legendre.leggauss(n)
        N, dN = lagrange(n, xi)
        shares = np.einsum("g,ga,gb->ab", w * np.linalg.norm(dN @ line, axis=1), N, N)
        masses = np.einsum("ab,ij,aik,bjl->akbl", shares, inertia, carried, carried, optimize=True)
        return {
            "shapes": shapes.ravel(), "lengths": weights * stretch, "natural": np.concatenate(natural), "masses": masses.reshape(v, v).ravel()
        }  # fmt: skip

    def strains(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """Γ and K (points × 6) at coordinates of one element."""
        y = np.einsum("ki,pkj->pji", np.reshape(q, (-1, 3)), np.reshape(numbers["shapes"], (self.points, -1, 7)))
        found = [[*(p[1:4] @ p[0]), *(0.5 * (p[j] @ p[i + 3] - p[i] @ p[j + 3]) for i, j in ROUND)] for p in y]
        return np.array(found) - np.reshape(numbers["natural"], (-1, 6))

    def astray(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> str:
        """Whether sections turn by a right angle between nodes, beyond which the curvature falls again."""
        y = np.einsum("ki,pkj->pji", np.reshape(q, (-1, 3)), np.reshape(numbers["shapes"], (self.points, -1, 7)))
        folded = not (y[:, 1:4] ** 2).sum(axis=(1, 2)).min() > 2.0
        return FOLDED if folded else ""

    def initial_history(self, q: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """A viscous branch starts relaxed."""
        return {"strain": self.strains(np.concatenate([q[b] for b in self.blocks]), constants).ravel()} if self.history else {}

    # -- the declaration in symbols -----------------------------------------------------------------------------------

    def _strains(self, s: Symbols, p: int) -> list[Expr]:
        """Γ₁ … K₃ at a point."""
        v = self.vectors
        x = [s.vector(b, k) for b in self.blocks for k in range(4)]
        y = [_combined([s.shapes[7 * (v * p + k) + j] for k in range(v)], x) for j in range(7)]
        found = [y[0].dot(y[1 + k]) for k in range(3)] + [HALF * (y[j].dot(y[i + 3]) - y[i].dot(y[j + 3])) for i, j in ROUND]
        return [e - s.natural[6 * p + k] for k, e in enumerate(found)]

    def _length(self, s: Symbols, p: int) -> Expr:
        return s.lengths[p] if isinstance(s.lengths, tuple) else s.lengths

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """The masses in every direction."""
        v, place = self.vectors, [(b, 3 * k) for b in self.blocks for k in range(4)]
        return {
            (place[a][0], place[a][1] + i, place[b][0], place[b][1] + i): s.masses[v * a + b]
            for a in range(v)
            for b in range(v)
            for i in range(3)
        }

    def potential(self, s: Symbols) -> Sequence[Term]:
        """½ (Γ, K)·C (Γ, K) of the points, and the weight."""
        terms: list[Term] = []
        for p in range(self.points):
            terms.append(self._stored(s, self._length(s, p), tuple(self._strains(s, p))))
        v, weight = self.vectors, ZERO
        for a, x in enumerate(s.vector(b, k) for b in self.blocks for k in range(4)):
            share = _sum(s.masses[v * a + b] * float(c) for b, c in enumerate(self.moving))
            weight = weight - share * s.vector("gravity").dot(x)
        return [*terms, weight]

    def _stored(self, s: Symbols, length: Expr, strains: tuple[Expr, ...]) -> Composite:
        def energy(*e: Expr) -> Expr:
            return HALF * length * _sum(s.stiffness[6 * i + j] * e[i] * e[j] for i in range(6) for j in range(6))

        return Composite(energy, strains)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """∫ ρ v and ∫ x × ρ v."""
        linear = angular = NULL
        places, rates = ([p.vector(b, k) for b in self.blocks for k in range(4)] for p in (s, s.velocity))
        for a, moves in enumerate(self.moving):
            p = _combined([s.masses[self.vectors * a + b] for b in range(self.vectors)], rates)
            linear, angular = linear + p * float(moves), angular + places[a].cross(p)
        return linear, angular

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """Elastic resultants N, Vy, Vz, T, My, Mz at the points (of several, with their numbers)."""
        units, found = ("N", "N", "N", "N*m", "N*m", "N*m"), []
        for p in range(self.points):
            e = self._strains(s, p)
            for i, (name, unit) in enumerate(zip(RESULTANTS, units, strict=True)):
                label = name if self.points == 1 else f"{name}{p + 1}"
                found.append((label, unit, _sum(s.stiffness[6 * i + j] * e[j] for j in range(6))))
        return found


#: Resultants of a section, which the part beyond acts with on the part before.
RESULTANTS = ("N", "Vy", "Vz", "T", "My", "Mz")
#: Directors (of 1 … 3) i, j of the curvatures K = ½ (dⱼ·dᵢ′ − dᵢ·dⱼ′).
ROUND = ((2, 3), (3, 1), (1, 2))


def lagrange(nodes: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes (points × nodes) of Lagrange's polynomials of equidistant nodes on [−1, 1]."""
    places = np.linspace(-1.0, 1.0, nodes)
    values, slopes = np.ones((len(x), nodes)), np.zeros((len(x), nodes))
    for a in range(nodes):
        others = np.delete(places, a)
        scale = np.prod(places[a] - others)
        values[:, a] = np.prod(x[:, None] - others, axis=1) / scale
        slopes[:, a] = sum(np.prod(x[:, None] - np.delete(others, k), axis=1) for k in range(nodes - 1)) / scale
    return values, slopes


def strains_at(q: np.ndarray, values: Any, slopes: Any) -> np.ndarray:
    """Γ and K of nodes (nodes × 4 × 3) at a point, before natural strains are taken off."""
    x, y = np.einsum("a,aij->ij", values, q), np.einsum("a,aij->ij", slopes, q)
    d, d1 = x[1:], y[1:]
    return np.array([*(d @ y[0]), *(0.5 * (d[j - 1] @ d1[i - 1] - d[i - 1] @ d1[j - 1]) for i, j in ROUND)])


def section_matrix(matrix: Any, what: str) -> np.ndarray:
    """A symmetric 6 × 6 matrix, or its diagonal, checked."""
    C = np.asarray(matrix, float)
    C = np.diag(C) if C.shape == (6,) else C
    if C.shape != (6, 6) or not np.isfinite(C).all() or not np.abs(C - C.T).max() <= 1e-12 * np.abs(C).max():
        raise ModelError(f"{what} must be a symmetric matrix of 6 × 6 numbers, or six on its diagonal")
    if np.linalg.eigvalsh(C).min() < -1e-12 * np.abs(C).max():
        raise ModelError(f"{what} is not positive; its smallest eigenvalue is {np.linalg.eigvalsh(C).min():.3g}")
    return C


def _combined(weights: Sequence[Expr], vectors: Sequence[Vector]) -> Vector:
    total = NULL
    for w, v in zip(weights, vectors, strict=True):
        total = total + v * w
    return total


def _sum(parts: Any) -> Expr:
    total = ZERO
    for e in parts:
        total = total + e
    return total


__all__ = ["RESULTANTS", "Beam", "BeamNode", "section_of"]
