"""Solids of large deformation: an interpolation in numbers, and the law of a point as its energy over Green's strain.

Green's strain E = ½ (FᵀF − 1) is quadratic in the nodes' places, so that E₁ − E₀ = B(q_{n+½})(q₁ − q₀), and forces ∫ Bᵀ(q_{n+½}) S̄ with a
discrete gradient S̄ of the energy between E₀ and E₁ keep energy and momenta exactly (Simo & Tarnow 1992; Gonzalez 2000).  What is
declared here in symbols is what native loops compute (:mod:`jourdain.solvers.stepping.solid`); only the law of a point is compiled.

Nodes that are fixed to rigid bodies are linear in the bodies' vectors, x = φ + Σ Xᵢ dᵢ: with gradients and masses taken to these vectors they
need no constraints and no coordinates (Uhlar, eqs. 6.24–6.28).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, ModelError
from ..symbolic.expr import HALF, ONE, ZERO, Expr, mul, sub
from ..symbolic.vectors import NULL, Vector
from .element import Composite, Symbols, Term
from .interpolation import Interpolation
from .point_laws import COMPONENTS, SAINT_VENANT_KIRCHHOFF, PointLaw
from .vectors import VectorElement

#: Constants of the viscosities: moduli (Pa s) of a dashpot beside the law, or moduli (Pa) and relaxation time (s) of a Maxwell branch.
VISCOSITIES: dict[str, dict[str, int]] = {
    "none": {},
    "kelvin-voigt": {"viscous_lame": 1, "viscous_shear": 1},
    "standard": {"branch_lame": 1, "branch_shear": 1, "relaxation": 1},
}


class Solid(VectorElement):
    """A finite element of a solid with places of its nodes as coordinates, for any interpolation and any law of a point.

    ``enhanced`` adds strains of its own to those of linear bricks and quadrilaterals, which then lock neither in bending nor near
    ν = 1/2.  ``viscosity`` "kelvin-voigt" adds stresses λ_v tr Ė 1 + 2 μ_v Ė, "standard" a branch with energy over E − A, Ȧ = (E − A)/τ; both
    balance the energy exactly.  In the plane there is ``plane`` "strain" or "stress".  ``on`` says for each node to which of some bodies it is
    fixed (−1: free), which :meth:`.AssembledSystem.mesh` sees to.
    """

    def __init__(
        self, interpolation: Interpolation, law: PointLaw = SAINT_VENANT_KIRCHHOFF, *, enhanced: bool = False, viscosity: str = "none",
        plane: str = "strain", on: Sequence[int] = (),
    ) -> None:  # fmt: skip
        if viscosity not in VISCOSITIES:
            raise ModelError(f"{self.name}: viscosity '{viscosity}' is unknown; there are {', '.join(VISCOSITIES)}")
        if enhanced and interpolation.bubbles is None:
            raise ModelError(
                f"{self.name}: a {interpolation.name} of {interpolation.nodes} nodes has no enhanced strains; they belong to "
                "hexahedron() and quadrilateral()"
            )
        if plane not in ("strain", "stress") or (plane == "stress" and interpolation.dimension == 3):
            raise ModelError(f"{self.name}: plane '{plane}' of a {interpolation.name}; elements in the plane have 'strain' or 'stress'")
        if plane == "stress" and law.plane_stress is None:
            raise ModelError(f"{self.name}: {law.name} in plane stress has no energy of its own; take plane strain or hexahedra")
        self.interpolation, self.law, self.enhanced, self.viscosity, self.plane = interpolation, law, enhanced, viscosity, plane
        self.on = tuple(on) if any(b >= 0 for b in on) else ()
        self.dimension, self.bodies = interpolation.dimension, max(self.on, default=-1) + 1
        d, g = self.dimension, interpolation.points
        self.blocks = {f"body{b}": d * (d + 1) for b in range(self.bodies)} | {f"node{k}": d for k in self.free_nodes}
        v = self.vectors
        self.constants = {"gradients": 3 * v * g, "volumes": g, "masses": v * v, "gravity": d}
        self.constants |= {"enhancement": 6 * g * self.modes} if enhanced else {}
        self.constants |= {**VISCOSITIES[viscosity], **law.constants}
        self.not_negative = tuple(VISCOSITIES[viscosity])
        self.history = {"enhanced": self.modes} if enhanced else {}
        self.history |= {"branch": 6 * g} if viscosity == "standard" else {}

    # -- sizes ----------------------------------------------------------------------------------------------------------

    @property
    def free_nodes(self) -> list[int]:
        """Nodes with coordinates of their own."""
        return [k for k in range(self.interpolation.nodes) if not self.on or self.on[k] < 0]

    @property
    def viscous(self) -> str:
        """The name of its viscosity, if it has one."""
        return "" if self.viscosity == "none" else self.viscosity

    @property
    def modes(self) -> int:
        """Number of enhanced strains."""
        bubbles = self.interpolation.bubbles
        return 0 if bubbles is None or not self.enhanced else int(bubbles.shape[1] * self.dimension)

    # -- numbers ---------------------------------------------------------------------------------------------------------

    def numbers(self, places: Any, density: Any = 0.0, gravity: Any = 0.0, thickness: Any = 1.0, **law: Any) -> dict[str, np.ndarray]:
        """Constants of elements with nodes at ``places`` (elements × nodes × dimension) before deformation, one row each.

        ``density`` (kg/m³), ``gravity`` (m/s²), ``thickness`` (m, in the plane), those of the law and of the viscosity.
        """
        given, d = np.asarray(places, float), self.dimension
        if given.ndim != 3 or given.shape[1:] != (self.interpolation.nodes, d):
            raise ModelError(f"{self.name}: places of shape {given.shape} are not (elements, {self.interpolation.nodes}, {d})")
        needed = {**VISCOSITIES[self.viscosity], **self.law.constants}
        if set(law) != set(needed):
            raise ModelError(f"{self.law.name}: constants {sorted(law)} are given; it needs {sorted(needed)}")
        if self.plane == "stress" and self.law.plane_stress is not None:
            law = {**law, **self.law.plane_stress({n: np.asarray(law[n], float) for n in self.law.constants})}
        count = len(given)
        rows = {n: self._row_each(n, x, (count, self.constants[n])) for n, x in {"gravity": gravity, **law}.items()}
        thick, dense = (self._row_each(n, x, (count, 1)) for n, x in (("thickness", thickness), ("density", density)))
        if count and dense.min() < 0.0:
            raise ModelError(f"{self.name}: density {dense.min():g} kg/m³ is negative")
        if count and not thick.min() > 0.0:
            raise ModelError(f"{self.name}: thickness {thick.min():g} m is not positive")
        for n in VISCOSITIES[self.viscosity]:
            if count and (rows[n].min() < 0.0 or (n == "relaxation" and rows[n].min() == 0.0)):
                raise ModelError(f"{self.name}: {n} = {rows[n].min():g} must be positive")
        slopes, volumes = self.interpolation.at(given)
        gradients, masses = np.zeros((*slopes.shape[:3], 3)), self.interpolation.masses(given) * (dense * thick)[:, :, None]
        gradients[..., :d] = slopes
        found = {"gradients": gradients, "volumes": volumes * thick, "masses": masses}
        if self.enhanced:
            found["enhancement"] = self.interpolation.enhanced(given)
        return {n: x.reshape(count, -1) for n, x in (found | rows).items()}

    def carried(self, free: Mapping[str, np.ndarray], on_body: np.ndarray) -> dict[str, np.ndarray]:
        """Constants of elements on bodies from those of elements with free nodes; ``on_body`` are places of nodes in the bodies."""
        T, a, g = self._shapes_of_vectors(on_body), self.interpolation.nodes, self.interpolation.points
        count = len(T)
        gradients = np.einsum("eak,egai->egki", T, free["gradients"].reshape(count, g, a, 3))
        masses = np.einsum("eak,eab,ebl->ekl", T, free["masses"].reshape(count, a, a), T, optimize=True)
        return {**free, "gradients": gradients.reshape(count, -1), "masses": masses.reshape(count, -1)}

    def _shapes_of_vectors(self, on_body: np.ndarray) -> np.ndarray:
        """T (elements × nodes × vectors) with xₐ = Σ T_ak vectorₖ: 1 and the place in the body, or 1 for a free node."""
        count, nodes, d = on_body.shape
        T = np.zeros((count, nodes, self.vectors))
        free = {k: self.bodies * (d + 1) + i for i, k in enumerate(self.free_nodes)}
        for a in range(nodes):
            b = self.on[a]
            if b < 0:
                T[:, a, free[a]] = 1.0
            else:
                T[:, a, b * (d + 1)] = 1.0
                T[:, a, b * (d + 1) + 1 : (b + 1) * (d + 1)] = on_body[:, a]
        return T

    def _row_each(self, name: str, given: Any, shape: tuple[int, int]) -> np.ndarray:
        """Numbers for all elements, or a row (a number, of constants of size 1) for each."""
        try:
            x = np.asarray(given, float)
            found = np.broadcast_to(x[:, None] if shape[1] == 1 and x.ndim == 1 and len(x) == shape[0] else x, shape)
        except (TypeError, ValueError):
            raise ModelError(
                f"solid of {self.law.name}: {name} must hold {shape[1]} numbers, or a row of them for each of {shape[0]} elements"
            ) from None
        if not np.isfinite(found).all():
            raise ModelError(f"solid of {self.law.name}: {name} holds a number that is not finite")
        return found

    def strains(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """The six components (points × 6) at coordinates of one element."""
        F = self.deformation(q, numbers)
        C = np.einsum("gij,gik->gjk", F, F)
        return np.stack([0.5 * (C[:, j, j] - 1.0) if j == k else C[:, j, k] for j, k in COMPONENTS], axis=1)

    def deformation(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """F (points × 3 × 3) at coordinates of one element."""
        d, g = self.dimension, self.interpolation.points
        x = np.zeros((self.vectors, 3))
        x[:, :d] = np.reshape(q, (-1, d))
        F = np.einsum("ki,gkj->gij", x, np.reshape(numbers["gradients"], (g, -1, 3)))
        F[:, 2, 2] += 3 - d
        return F

    def astray(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> str:
        """Whether a point is inside out or flat."""
        if np.linalg.det(self.deformation(q, numbers)).min() > 0.0:
            return ""
        return "turns inside out: are loads too large for the material? take a finer mesh there, a law that resists (neo-Hooke), or a smaller step"

    def initial_history(self, q: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """The viscous branch starts relaxed: A = E; enhanced strains are found by the engine."""
        if self.viscosity != "standard":
            return {}
        return {"branch": self.strains(np.concatenate([q[b] for b in self.blocks]), constants).ravel()}

    # -- the declaration in symbols -----------------------------------------------------------------------------------

    def _plain(self) -> None:
        if self.enhanced or self.viscosity != "none" or self.law.principal:
            raise InputError(
                f"{self.name} ({self.law.name}): enhanced strains, viscosity and principal stretches are known to native loops only; leave them out here"
            )

    def _vectors(self, names: Any) -> list[Vector]:
        read = names.vector if self.dimension == 3 else names.pair
        d = self.dimension
        return [read(b, k) for b, size in self.blocks.items() for k in range(size // d)]

    def _mass(self, s: Symbols) -> list[list[Expr]]:
        v, m = self.vectors, s.masses if isinstance(s.masses, tuple) else (s.masses,)
        return [list(m[v * a : v * a + v]) for a in range(v)]

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """∫ ρ Nₐ N_b in every direction."""
        d = self.dimension
        place = [(b, d * k) for b, size in self.blocks.items() for k in range(size // d)]
        rows = self._mass(s)
        return {
            (place[a][0], place[a][1] + i, place[b][0], place[b][1] + i): m
            for a, row in enumerate(rows) for b, m in enumerate(row) for i in range(d)
        }  # fmt: skip

    def potential(self, s: Symbols) -> Sequence[Term]:
        """∫ W(E) and the weight."""
        self._plain()
        d, v, x = self.dimension, self.vectors, self._vectors(s)
        volumes = s.volumes if isinstance(s.volumes, tuple) else (s.volumes,)
        terms: list[Term] = []
        for g, volume in enumerate(volumes):
            slope = [s.gradients[3 * (g * v + k) : 3 * (g * v + k) + 3] for k in range(v)]
            F = [[_sum(x[k][i] * slope[k][j] for k in range(v)) for j in range(3)] for i in range(3)]
            F[2][2] = F[2][2] + float(3 - d)
            strain = tuple(_component(F, j, k) for j, k in COMPONENTS)
            terms.append(self._stored(s, volume, strain))
        weight = s.vector("gravity") if d == 3 else s.pair("gravity")
        for place, row in zip(x, self._mass(s), strict=True):
            terms.append(mul(-_sum(m * float(c) for m, c in zip(row, self.moving, strict=True)), weight.dot(place)))
        return terms

    def _stored(self, s: Symbols, volume: Expr, strain: tuple[Expr, ...]) -> Composite:
        """The energy of a point."""

        def energy(*E: Expr) -> Expr:
            return volume * self.law.energy(E, s)

        def slope(E0: Sequence[Expr], E1: Sequence[Expr]) -> Sequence[Expr]:
            return [volume * e for e in self.law.discrete_gradient(s, E0, E1)]

        return Composite(energy, strain, gradient=slope)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """∫ ρ v and ∫ x × ρ v."""
        linear = angular = NULL
        x, v = self._vectors(s), self._vectors(s.velocity)
        for a, row in enumerate(self._mass(s)):
            p = NULL
            for b, m in enumerate(row):
                p = p + v[b] * m
            linear, angular = linear + p * float(self.moving[a]), angular + x[a].cross(p)
        return linear, angular


def _sum(parts: Any) -> Expr:
    total = ZERO
    for e in parts:
        total = total + e
    return total


def _component(F: Sequence[Sequence[Expr]], j: int, k: int) -> Expr:
    """E_jj, or 2E_jk."""
    product = _sum(F[i][j] * F[i][k] for i in range(3))
    return mul(HALF, sub(product, ONE)) if j == k else product


__all__ = ["VISCOSITIES", "Solid"]
