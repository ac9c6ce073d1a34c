"""Solids of large deformation: an interpolation in numbers, and the law of a point as its energy over Green's strain.

Green's strain E = ½ (FᵀF − 1) is quadratic in the nodes' places, so that E₁ − E₀ = B(q_{n+½})(q₁ − q₀), and forces ∫ Bᵀ(q_{n+½}) S̄ with a
discrete gradient S̄ of the energy between E₀ and E₁ keep energy and momenta exactly (Simo & Tarnow 1992; Gonzalez 2000).  What is
declared here in symbols is what native loops compute (:mod:`jourdain.solvers.stepping.solid`); only the law of a point is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbolic.derivatives import gradient, jacobian
from ..symbolic.expr import HALF, ONE, ZERO, Expr, mul, sub, symbol
from ..symbolic.function import Argument, Result, SymbolicFunction
from ..symbolic.vectors import NULL, Vector
from .discrete_gradient import gonzalez
from .element import Composite, Element, Names, Symbols, Term
from .interpolation import Interpolation
from .stepping import ElementStep

#: Components of strain in order: E₁₁, E₂₂, E₃₃, 2E₁₂, 2E₂₃, 2E₁₃.
COMPONENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


@dataclass(frozen=True, eq=False)
class PointLaw:
    """Energy W(E, c) of a point for its volume before deformation (J/m³), with the sizes of its constants.

    ``energy`` takes the six components (E₁₁, E₂₂, E₃₃, 2E₁₂, 2E₂₃, 2E₁₃) and the constants by name.
    """

    name: str
    energy: Callable[[Sequence[Expr], Any], Expr]
    constants: Mapping[str, int] = field(default_factory=dict)

    def functions(self, discrete: bool) -> tuple[SymbolicFunction, SymbolicFunction, SymbolicFunction]:
        """Stress; stress and ∂S/∂E₁ row by row; energy.  The stress is a discrete gradient between E₀ and E₁, or that at E₁."""
        ends = [[symbol(f"E{k}[{i}]", "position") for i in range(6)] for k in range(2)]
        numbers = {n: tuple(symbol(f"{n}[{i}]", "parameter") for i in range(size)) for n, size in self.constants.items()}
        c = Names(**{n: x[0] if len(x) == 1 else x for n, x in numbers.items()})
        E = [symbol(f"E[{i}]", "position") for i in range(6)]
        stress = gonzalez(self.energy(E, c), E, *ends) if discrete else gradient(self.energy(ends[1], c), ends[1])
        tangent = [e for row in jacobian(stress, ends[1]) for e in row]
        given = tuple(Argument(n, tuple(x)) for n, x in (("E", [*ends[0], *ends[1]]), ("constants", sum(numbers.values(), ()))) if x)
        S = Result("S", tuple(stress), (6,))
        return (
            SymbolicFunction("stress", given, (S,)), SymbolicFunction("tangent", given, (S, Result("D", tuple(tangent), (36,)))),
            SymbolicFunction("energy", given, (Result("W", (self.energy(ends[1], c),), (1,)),)),
        )  # fmt: skip


def _saint_venant(E: Sequence[Expr], c: Any) -> Expr:
    trace = E[0] + E[1] + E[2]
    squares = E[0] ** 2 + E[1] ** 2 + E[2] ** 2 + HALF * (E[3] ** 2 + E[4] ** 2 + E[5] ** 2)
    return HALF * c.lame * trace**2 + c.shear * squares


#: W = ½ λ (tr E)² + μ E : E with Lamé's constants (Pa).
SAINT_VENANT_KIRCHHOFF = PointLaw("St. Venant–Kirchhoff", _saint_venant, {"lame": 1, "shear": 1})


def lame(young: float, poisson: float) -> dict[str, float]:
    """Lamé's constants from Young's modulus (Pa) and Poisson's ratio.

    >>> lame(2.6, 0.3)
    {'lame': 1.5, 'shear': 1.0}
    """
    if not (young > 0.0 and -1.0 < poisson < 0.5):
        raise ModelError(f"E = {young:g} Pa and ν = {poisson:g} are no elastic solid; take E > 0 and −1 < ν < 1/2")
    shear = young / (2.0 * (1.0 + poisson))
    return {"lame": round(2.0 * shear * poisson / (1.0 - 2.0 * poisson), 15), "shear": shear}


class Solid(Element):
    """A finite element of a solid with places of its nodes as coordinates, for any interpolation and any law of a point."""

    def __init__(self, interpolation: Interpolation, law: PointLaw = SAINT_VENANT_KIRCHHOFF) -> None:
        self.interpolation, self.law = interpolation, law
        a, g = interpolation.nodes, interpolation.points
        self.blocks = {f"node{k}": 3 for k in range(a)}
        self.constants = {"gradients": 3 * a * g, "volumes": g, "density": 1, "gravity": 3, **law.constants}
        self.not_negative = ("density",)

    def numbers(self, places: Any, density: float = 0.0, gravity: Any = (0.0, 0.0, 0.0), **law: Any) -> dict[str, np.ndarray]:
        """Constants of elements with nodes at ``places`` (elements × nodes × 3) before deformation, one row each; kg/m³, m/s², those of the law."""
        given = np.asarray(places, float)
        if given.ndim != 3 or given.shape[1:] != (self.interpolation.nodes, 3):
            raise ModelError(f"{self.name}: places of shape {given.shape} are not (elements, {self.interpolation.nodes}, 3)")
        if set(law) != set(self.law.constants):
            raise ModelError(f"{self.law.name}: constants {sorted(law)} are given; it needs {sorted(self.law.constants)}")
        gradients, volumes = self.interpolation.at(given)
        count = len(given)
        common = {"density": density, "gravity": gravity, **law}
        rows = {n: _row_each(self.law.name, n, x, (count, self.constants[n])) for n, x in common.items()}
        if count and rows["density"].min() < 0.0:
            raise ModelError(f"{self.name}: density {rows['density'].min():g} kg/m³ is negative")
        return {"gradients": gradients.reshape(count, -1), "volumes": volumes, **rows}

    # -- the declaration in symbols -----------------------------------------------------------------------------------

    def _mass(self, s: Symbols) -> list[list[Expr]]:
        """∫ ρ Nₐ N_b."""
        N = self.interpolation.values
        volumes = s.volumes if isinstance(s.volumes, tuple) else (s.volumes,)
        nodes = range(self.interpolation.nodes)
        return [[s.density * _sum(v * float(n[a] * n[b]) for v, n in zip(volumes, N, strict=True)) for b in nodes] for a in nodes]

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """∫ ρ Nₐ N_b in every direction."""
        return {(f"node{a}", i, f"node{b}", i): m for a, row in enumerate(self._mass(s)) for b, m in enumerate(row) for i in range(3)}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """∫ W(E) and the weight."""
        a = self.interpolation.nodes
        volumes = s.volumes if isinstance(s.volumes, tuple) else (s.volumes,)
        terms: list[Term] = []
        for g, volume in enumerate(volumes):
            slope = [s.gradients[3 * (g * a + k) : 3 * (g * a + k) + 3] for k in range(a)]
            F = [[_sum(getattr(s, f"node{k}")[i] * slope[k][j] for k in range(a)) for j in range(3)] for i in range(3)]
            strain = tuple(_component(F, j, k) for j, k in COMPONENTS)
            terms.append(Composite(lambda *E, v=volume: v * self.law.energy(E, s), strain))
        for k, row in enumerate(self._mass(s)):
            place, weight = s.vector(f"node{k}"), _sum(row)
            terms.append(mul(-weight, Vector(*s.gravity).dot(place)))
        return terms

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """∫ ρ v and ∫ x × ρ v."""
        linear = angular = NULL
        for a, row in enumerate(self._mass(s)):
            p = NULL
            for b, m in enumerate(row):
                p = p + s.velocity.vector(f"node{b}") * m
            linear, angular = linear + p, angular + s.vector(f"node{a}").cross(p)
        return linear, angular


class SolidStep(ElementStep):
    """What the engine's tables need of a solid: nothing is derived, all entries are there."""

    @property
    def tangent_entries(self) -> dict[tuple[int, int], Expr]:  # type: ignore[override]
        """All places."""
        n = self.element.size
        return dict.fromkeys(((i, j) for i in range(n) for j in range(n)), ONE)


def _row_each(law: str, name: str, given: Any, shape: tuple[int, int]) -> np.ndarray:
    """Numbers for all elements, or a row (a number, of constants of size 1) for each."""
    try:
        x = np.asarray(given, float)
        found = np.broadcast_to(x[:, None] if shape[1] == 1 and x.ndim == 1 and len(x) == shape[0] else x, shape)
    except (TypeError, ValueError):
        raise ModelError(f"solid of {law}: {name} must hold {shape[1]} numbers, or a row of them for each of {shape[0]} elements") from None
    if not np.isfinite(found).all():
        raise ModelError(f"solid of {law}: {name} holds a number that is not finite")
    return found


def _sum(parts: Any) -> Expr:
    total = ZERO
    for e in parts:
        total = total + e
    return total


def _component(F: Sequence[Sequence[Expr]], j: int, k: int) -> Expr:
    """E_jj, or 2E_jk."""
    product = _sum(F[i][j] * F[i][k] for i in range(3))
    return mul(HALF, sub(product, ONE)) if j == k else product


__all__ = ["COMPONENTS", "SAINT_VENANT_KIRCHHOFF", "PointLaw", "Solid", "lame"]
