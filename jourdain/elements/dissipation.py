"""Dissipation with an exact energy balance: F·Δq = ΔΨ + ΔD in every step, ΔD ≥ 0 (Uhlar, Sec. 5.4).

The elements act on one coordinate, mostly an augmented one (joint angle, displacement, length).  The algorithmic force
(Ψ₁ − Ψ₀ + ΔD)/Δq is written out for each law, so that no small difference is divided by another.  ΔD is an energy (J).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..symbolic.derivatives import gradient
from ..symbolic.expr import HALF, ZERO, Expr, as_expr, symbol
from ..symbolic.functions import absolute, sqrt, where
from ..symbolic.graph import substitute
from ..symbolic.vectors import Vector
from .carriers import Carrier
from .discrete.divided_difference import divided_difference
from .element import Coordinate, Element, Internal, Symbols
from .pairs import Pair, numbers
from .potentials import Law


class Viscous(Element):
    """Linear friction F = d ẋ on a coordinate: F = d Δx/h, ΔD = d Δx²/h (Uhlar, eq. 5.161)."""

    not_negative = ("damping",)

    def __init__(self) -> None:
        self.blocks = {"x": 1}
        self.constants = {"damping": 1}

    def internal(self, s: Symbols) -> Internal:
        """Its force."""
        dx = s.at1.x[0] - s.at0.x[0]
        force = s.damping * dx / s.h
        return Internal({("x", 0): force}, dissipated=force * dx)


class ViscousLaw(Element):
    """Friction F = law(ẋ, c) on a coordinate with ẋ = Δx/h, for any law with F ẋ ≥ 0."""

    def __init__(self, law: Law, constants: Mapping[str, int] | None = None) -> None:
        self.law = law
        self.blocks = {"x": 1}
        self.constants = dict(constants or {})

    def internal(self, s: Symbols) -> Internal:
        """Its force."""
        dx = s.at1.x[0] - s.at0.x[0]
        force = as_expr(self.law(dx / s.h, s))
        return Internal({("x", 0): force}, dissipated=force * dx)


class Viscoelastic(Element):
    """Standard linear solid on a coordinate: Ψ = Ψ∞(x) + ½ E_d (x − α)², α̇ = (x − α)/τ, τ = η/E_d (Uhlar, Secs. 5.4.3–5.4.5).

    ``law(x, c)`` returns Ψ∞ in J (by default ½ stiffness x²).  Mid-point evolution of α; the force of the branch is exactly that of
    the mean state, the quotient of Ψ∞ is built by rules.  Constants ``branch`` = E_d and ``viscosity`` = η.
    """

    history = {"alpha": 1}  # noqa: RUF012
    not_negative = ("branch", "viscosity")

    def __init__(self, law: Law | None = None, constants: Mapping[str, int] | None = None) -> None:
        self.law = law
        self.blocks = {"x": 1}
        self.constants = {"branch": 1, "viscosity": 1, **({"stiffness": 1} if law is None else constants or {})}

    def initial_history(self, q: Mapping[str, Sequence[float]], constants: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
        """The branch starts relaxed: α = x."""
        return {"alpha": q["x"]}

    def energy(self, x: Expr, s: Symbols) -> Expr:
        """Ψ∞(x)."""
        return HALF * s.stiffness * x * x if self.law is None else as_expr(self.law(x, s))

    def internal(self, s: Symbols) -> Internal:
        """Its force, evolution and dissipation."""
        x0, x1, a0 = s.at0.x[0], s.at1.x[0], s.history.alpha[0]
        ratio = HALF * s.h * s.branch / s.viscosity
        a1 = ((1.0 - ratio) * a0 + ratio * (x0 + x1)) / (1.0 + ratio)
        branch = s.branch * HALF * (x0 - a0 + x1 - a1)
        x = symbol("x", "position")
        force = divided_difference(self.energy(x, s), x, x0, x1) + branch
        stored = self.energy(x1, s) + HALF * s.branch * (x1 - a1) ** 2
        slope = gradient(self.energy(x, s), [x])
        at_ends = [{("x", 0): substitute(slope, {x: xk})[0] + s.branch * (xk - ak)} for xk, ak in ((x0, a0), (x1, a1))]
        return Internal({("x", 0): force}, {"alpha": (a1,)}, branch * (a1 - a0), stored, (at_ends[0], at_ends[1]))


class Plastic(Element):
    """Elasto-plastic friction on a coordinate: F = E(x − xᵖ), |F| ≤ F_max, return mapping (Uhlar, Table 5.11).

    With ``dashpot=True`` a dashpot d lies parallel to the spring and damps the oscillation when sticking (Sec. 5.4.9).  With f₀ the
    force at the start and f the trial force at the end, both counted along the slip, the algorithmic force of a slipping step is
    F_max − ½w + (d/hE) w, w = (F_max − f₀)²/(f − f₀).
    """

    history = {"plastic": 1}  # noqa: RUF012
    not_negative = ("stiffness", "limit", "damping")

    def __init__(self, dashpot: bool = False) -> None:
        self.dashpot = dashpot
        self.blocks = {"x": 1}
        self.constants = {"stiffness": 1, "limit": 1, **({"damping": 1} if dashpot else {})}

    def initial_history(self, q: Mapping[str, Sequence[float]], constants: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
        """The spring starts unstressed: xᵖ = x."""
        return {"plastic": q["x"]}

    def internal(self, s: Symbols) -> Internal:
        """Its force, slip and dissipation."""
        x0, x1, p0 = s.at0.x[0], s.at1.x[0], s.history.plastic[0]
        stiffness, limit = s.stiffness, s.limit
        start, trial = stiffness * (x0 - p0), stiffness * (x1 - p0)
        slips = absolute(trial) > limit
        way = where(trial < 0.0, -1.0, 1.0)
        f0, f = way * start, way * trial
        room = limit - f0
        reach = where(slips, f - f0, 1.0)
        w = room * room / where(reach > 0.0, reach, 1.0)
        slip = where(slips, (f - limit) / stiffness, ZERO)
        p1 = p0 + way * slip
        force = where(slips, way * (limit - HALF * w), stiffness * (HALF * (x0 + x1) - p0))
        dissipated = slip * limit
        ends = start, where(slips, way * limit, trial)
        if self.dashpot:
            ends = ends[0] + where(slips, ZERO, s.damping * s.rate.x[0]), ends[1] + where(slips, ZERO, s.damping * s.rate.x[0])
            rate = s.damping / s.h
            force = force + where(slips, way * rate / stiffness * w, rate * (x1 - x0))
            stretch = x1 - x0 - way * slip
            dissipated = dissipated + rate * stretch * stretch
        at_ends = {("x", 0): ends[0]}, {("x", 0): ends[1]}
        return Internal({("x", 0): force}, {"plastic": (p1,)}, dissipated, HALF * stiffness * (x1 - p1) ** 2, at_ends)


class PointDashpot(Pair):
    """Dashpot between two material points: force c ṙ along their line, with ∇̄r = 2 r_{n+½}/(r₀ + r₁) and ṙ = Δr/h.

    Dissipates c Δr²/h and keeps linear and angular momentum.
    """

    framed = False

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None, dimension: int = 3) -> None:
        self.dimension = dimension
        super().__init__(a, b)
        self.constants = {**self.constants, "damping": 1}

    def internal(self, s: Symbols) -> Internal:
        """Its force."""
        start, end, mid = (self.vectors(s, p).gap for p in (s.at0, s.at1, s.mid))
        r0, r1 = sqrt(start.dot(start)), sqrt(end.dot(end))
        change = 2.0 * mid.dot(end - start) / (r0 + r1)
        size = s.damping * change / s.h
        along = mid * (2.0 * size / (r0 + r1))
        return Internal(pair_forces(self, s, along), dissipated=size * change)


def pair_forces(pair: Pair, s: Symbols, force: Vector) -> dict[Coordinate, Expr]:
    """Generalised forces of ``force`` on the joint point of b and its opposite on that of a (conjugate to Δp)."""
    made: dict[Coordinate, Expr] = {}
    for side, letter, sign in ((pair.a, "a", -1.0), (pair.b, "b", 1.0)):
        for k, w in enumerate(side.point_weights(numbers(s, f"point_{letter}"))):
            for entry, f in zip(side.entries(letter, k), force, strict=False):
                made[entry] = made.get(entry, ZERO) + sign * w * f
    return made


class Rayleigh(Element):
    """Damping C q̇ of a block by a constant matrix, C = a M + b K of the linearised system: F = C Δq/h, ΔD = Δq·C Δq/h.

    The constant ``matrix`` holds C row by row (symmetric, positive semi-definite).
    """

    def __init__(self, size: int) -> None:
        self.blocks = {"x": size}
        self.constants = {"matrix": size * size}

    def internal(self, s: Symbols) -> Internal:
        """Its force."""
        n = self.blocks["x"]
        d = [b - a for a, b in zip(s.at0.x, s.at1.x, strict=True)]
        c = s.matrix if n > 1 else (s.matrix,)
        forces: dict[Coordinate, Expr] = {}
        total = ZERO
        for i in range(n):
            row = ZERO
            for j in range(n):
                row = row + c[n * i + j] * d[j]
            forces["x", i] = row / s.h
            total = total + forces["x", i] * d[i]
        return Internal(forces, dissipated=total)
