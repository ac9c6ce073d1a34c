"""Laws of a point of a solid as its energy over Green's strain E = ½ (C − 1), for its volume before deformation.

A law is written in the six components of E, or, where it is a function of principal stretches, in the eigenvalues of C.  Discrete gradients
are exact: of quadratic energies the mean, of others that of :mod:`.divided_difference`, which loses no digits in small steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError
from ..symbolic.derivatives import gradient, jacobian
from ..symbolic.expr import HALF, Expr, symbol
from ..symbolic.function import Argument, Result, SymbolicFunction
from ..symbolic.functions import exp, log
from .discrete.discrete_gradient import degree, gonzalez
from .discrete.divided_difference import discrete_gradient_by_rules
from .element import Names

#: Components of strain in order: E₁₁, E₂₂, E₃₃, 2E₁₂, 2E₂₃, 2E₁₃.
COMPONENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


@dataclass(frozen=True, eq=False)
class PointLaw:
    """Energy W(E, c) of a point for its volume before deformation (J/m³), with the sizes of its constants.

    ``energy`` takes the six components (E₁₁, E₂₂, E₃₃, 2E₁₂, 2E₂₃, 2E₁₃) and the constants by name; of a law of ``principal`` stretches it
    takes the three eigenvalues of C (squares of the stretches), in which it must be symmetric.  ``plane_stress`` gives from the constants
    those with which the same energy, at E₃₃ = 0, is that of a sheet without stress across it; None where there are no such constants.
    """

    name: str
    energy: Callable[[Sequence[Expr], Any], Expr]
    constants: Mapping[str, int] = field(default_factory=dict)
    principal: bool = False
    plane_stress: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def _numbers(self) -> tuple[Any, tuple[Argument, ...]]:
        """Constants by name, and as an argument if there are any."""
        numbers = {n: tuple(symbol(f"{n}[{i}]", "parameter") for i in range(size)) for n, size in self.constants.items()}
        c = Names(**{n: x[0] if len(x) == 1 else x for n, x in numbers.items()})
        flat = sum(numbers.values(), ())
        return c, (Argument("constants", flat),) if flat else ()

    @property
    def linear(self) -> bool:
        """Whether stress is linear in strain."""
        E = [symbol(f"E[{i}]", "position") for i in range(6)]
        return not self.principal and degree(self.energy(E, self._numbers()[0]), E) <= 2

    def functions(self, discrete: bool) -> tuple[SymbolicFunction, SymbolicFunction, SymbolicFunction]:
        """Stress; stress and ∂S/∂E₁ row by row; energy.  The stress is a discrete gradient between E₀ and E₁, or that at E₁."""
        ends = [[symbol(f"E{k}[{i}]", "position") for i in range(6)] for k in range(2)]
        c, constants = self._numbers()
        stress = self.discrete_gradient(c, *ends) if discrete else gradient(self.energy(ends[1], c), ends[1])
        tangent = [e for row in jacobian(stress, ends[1]) for e in row]
        given = (Argument("E", (*ends[0], *ends[1])), *constants)
        S = Result("S", tuple(stress), (6,))
        return (
            SymbolicFunction("stress", given, (S,)), SymbolicFunction("tangent", given, (S, Result("D", tuple(tangent), (36,)))),
            SymbolicFunction("energy", given, (Result("W", (self.energy(ends[1], c),), (1,)),)),
        )  # fmt: skip

    def discrete_gradient(self, c: Any, E0: Sequence[Expr], E1: Sequence[Expr]) -> list[Expr]:
        """S̄ with S̄·(E₁ − E₀) = W(E₁) − W(E₀)."""
        E = [symbol(f"E[{i}]", "position") for i in range(6)]
        W = self.energy(E, c)
        if degree(W, E) <= 2:
            return gonzalez(W, E, E0, E1)
        try:
            return discrete_gradient_by_rules(W, E, E0, E1)
        except ValueError:  # branches have no rules
            return gonzalez(W, E, E0, E1)

    def principal_function(self) -> SymbolicFunction:
        """W, ∂W/∂c_a and ∂²W/∂c_a∂c_b (11, 22, 33, 12, 23, 13) of the eigenvalues of C."""
        x = [symbol(f"c[{i}]", "position") for i in range(3)]
        c, constants = self._numbers()
        W = self.energy(x, c)
        slope = gradient(W, x)
        second = jacobian(slope, x)
        out = (W, *slope, *(second[a][b] for a, b in COMPONENTS))
        return SymbolicFunction("principal", (Argument("c", tuple(x)), *constants), (Result("W", out, (10,)),))


def invariants(E: Sequence[Expr]) -> tuple[Expr, Expr, Expr]:
    """Trace, second and third invariant of E from its six components."""
    a, b, c = E[:3]
    d, e, f = (HALF * x for x in E[3:])
    second = a * b + b * c + c * a - d * d - e * e - f * f
    return a + b + c, second, a * b * c + 2.0 * d * e * f - a * e * e - b * f * f - c * d * d


def _log_volume(I1: Expr, I2: Expr, I3: Expr) -> Expr:
    """ln J with J² = det(1 + 2E)."""
    return HALF * log(1.0 + 2.0 * I1 + 4.0 * I2 + 8.0 * I3)


def _saint_venant(E: Sequence[Expr], c: Any) -> Expr:
    trace = E[0] + E[1] + E[2]
    squares = E[0] ** 2 + E[1] ** 2 + E[2] ** 2 + HALF * (E[3] ** 2 + E[4] ** 2 + E[5] ** 2)
    return HALF * c.lame * trace**2 + c.shear * squares


def _thin(numbers: Mapping[str, Any]) -> Mapping[str, Any]:
    """E₃₃ = −λ/(λ + 2μ)(E₁₁ + E₂₂) put into the energy: λ becomes 2λμ/(λ + 2μ)."""
    return {**numbers, "lame": 2.0 * numbers["lame"] * numbers["shear"] / (numbers["lame"] + 2.0 * numbers["shear"])}


def _neo_hooke(E: Sequence[Expr], c: Any) -> Expr:
    trace, second, third = invariants(E)
    volume = _log_volume(trace, second, third)
    return c.shear * (trace - volume) + HALF * c.lame * volume**2


def _mooney(E: Sequence[Expr], c: Any) -> Expr:
    I1, I2, I3 = invariants(E)
    volume = _log_volume(I1, I2, I3)
    return 2.0 * c.first * I1 + 4.0 * c.second * (I1 + I2) - 2.0 * (c.first + 2.0 * c.second) * volume + HALF * c.lame * volume**2


#: W = ½ λ (tr E)² + μ E : E with Lamé's constants (Pa).
SAINT_VENANT_KIRCHHOFF = PointLaw("St. Venant–Kirchhoff", _saint_venant, {"lame": 1, "shear": 1}, plane_stress=_thin)
#: W = ½ μ (tr C − 3) − μ ln J + ½ λ (ln J)² (Pa).
NEO_HOOKE = PointLaw("neo-Hooke", _neo_hooke, {"lame": 1, "shear": 1})
#: W = c₁ (I₁ − 3) + c₂ (I₂ − 3) − 2 (c₁ + 2c₂) ln J + ½ λ (ln J)² with the invariants of C; constants ``first``, ``second`` and ``lame`` (Pa).
MOONEY_RIVLIN = PointLaw("Mooney–Rivlin", _mooney, {"first": 1, "second": 1, "lame": 1})


def ogden(terms: int) -> PointLaw:
    """Ogden's law of some terms: W = Σ μ_p/α_p (Σ_a λ_a^α_p − 3) − Σ μ_p ln J + ½ λ (ln J)².

    Constants ``shears`` μ_p (Pa), ``powers`` α_p and ``lame`` (Pa); in small strains the shear modulus is ½ Σ μ_p α_p (Ogden 1972).
    """
    if not isinstance(terms, int) or terms < 1:
        raise ModelError(f"Ogden's law of {terms!r} terms: give a whole number of at least 1")

    def energy(c: Sequence[Expr], k: Any) -> Expr:
        shears, powers = ((x,) if terms == 1 else x for x in (k.shears, k.powers))
        logs = [HALF * log(x) for x in c]
        volume = logs[0] + logs[1] + logs[2]
        total = HALF * k.lame * volume**2
        for mu, alpha in zip(shears, powers, strict=True):
            total = total + mu / alpha * (exp(alpha * logs[0]) + exp(alpha * logs[1]) + exp(alpha * logs[2]) - 3.0) - mu * volume
        return total

    if terms not in _OGDEN:
        _OGDEN[terms] = PointLaw(f"Ogden ({terms})", energy, {"shears": terms, "powers": terms, "lame": 1}, principal=True)
    return _OGDEN[terms]


_OGDEN: dict[int, PointLaw] = {}


def lame(young: float, poisson: float) -> dict[str, float]:
    """Lamé's constants from Young's modulus (Pa) and Poisson's ratio.

    >>> lame(2.6, 0.3)
    {'lame': 1.5, 'shear': 1.0}
    """
    if not (young > 0.0 and -1.0 < poisson < 0.5):
        raise ModelError(f"E = {young:g} Pa and ν = {poisson:g} are no elastic solid; take E > 0 and −1 < ν < 1/2")
    shear = young / (2.0 * (1.0 + poisson))
    return {"lame": round(2.0 * shear * poisson / (1.0 - 2.0 * poisson), 15), "shear": shear}


__all__ = ["COMPONENTS", "MOONEY_RIVLIN", "NEO_HOOKE", "SAINT_VENANT_KIRCHHOFF", "PointLaw", "invariants", "lame", "ogden"]
