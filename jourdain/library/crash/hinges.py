"""Plastic hinges: where thin-walled members bend when they crush."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...model.joints import Joint
from ...model.model import Model
from ...structures.parts.sections import Material, Section
from ...symbolic.expr import Expr
from ...symbolic.functions import absolute, where
from .device import play, positive

#: Plastic moment of a hollow square with H/t = 6 by σ_y H³: as printed in the source, and that of its section, ∫|y| dA, half of it.
PRINTED, PHYSICAL = 19.0 / 54.0, 19.0 / 108.0


@dataclass(frozen=True)
class HollowSquare:
    """A member of hollow square section with H/t = 6: outer side H (m), length (m), yield stress (Pa), Young's modulus (Pa), density (kg/m³).

    H may be a parameter of a model: what follows from it then are expressions of it.
    """

    H: Any
    length: float
    yield_stress: float = 300e6
    E: float = 219e9
    density: float = 7850.0
    mp_factor: float = PRINTED
    nu: float = 0.3

    def __post_init__(self) -> None:
        for name, unit in (("H", "m"), ("length", "m"), ("yield_stress", "Pa"), ("E", "Pa"), ("density", "kg/m^3"), ("mp_factor", "1")):
            if not isinstance(getattr(self, name), Expr):
                object.__setattr__(self, name, positive(getattr(self, name), f"hollow square: {name}", unit))

    @property
    def area(self) -> Any:
        """A = 5/9 H²."""
        return 5.0 / 9.0 * self.H**2

    @property
    def inertia(self) -> Any:
        """I = 65/972 H⁴."""
        return 65.0 / 972.0 * self.H**4

    @property
    def mass(self) -> Any:
        """ρ A L (kg)."""
        return self.density * self.area * self.length

    @property
    def section(self) -> Section:
        """For beams; torsion by Bredt's formula."""
        return Section(
            self.area, self.inertia, self.inertia, (5.0 / 6.0 * self.H) ** 3 * self.H / 6.0, 0.44, 0.44, 0.5 * self.H, 0.5 * self.H
        )

    @property
    def material(self) -> Material:
        """For beams."""
        return Material(self.E, self.nu, self.density)

    @property
    def hinge(self) -> PlasticHinge:
        """Moment M_P = factor σ_y H³ at θ_P = M_P L/(3 E I) (eqs. 17, 18)."""
        moment = self.mp_factor * self.yield_stress * self.H**3
        return PlasticHinge(moment, moment * self.length / (3.0 * self.E * self.inertia))


@dataclass(frozen=True)
class PlasticHinge:
    """A moment that grows to M_P over the angle θ_P and stays there, alike in both directions; back along the elastic slope."""

    moment: Any
    angle: Any

    @property
    def stiffness(self) -> Any:
        """Elastic slope (N m/rad)."""
        return self.moment / self.angle

    def act(self, m: Model, name: str, joint: Joint) -> None:
        """The law at a revolute joint, with channels ``name.moment`` (N m), ``name.energy`` (J) and ``name.turned``, how far it went beyond yield."""
        numbers = (("M_P", self.moment, "N m"), ("theta_P", self.angle, "rad"))
        limit, width = (x if isinstance(x, Expr) else m.parameter(f"{name}.{n}", x, unit, (0.0, None)) for n, x, unit in numbers)
        lag, slip = play(m, f"{name}.plastic", joint.position, joint.velocity, width, "rad")
        turned = m.memory(f"{name}.turned", 0.0, unit="rad")
        now = turned + absolute(slip)
        m.update(turned, now)
        m.torque(joint, -limit * lag, name=name)
        m.output(f"{name}.moment", limit * lag, unit="N m")
        m.output(f"{name}.energy", limit * (now + 0.5 * width * lag * lag), unit="J")


def weaker(first: HollowSquare | None, second: HollowSquare | None) -> PlasticHinge:
    """The hinge where two members meet is that of the weaker one; against a rigid body it is that of the member."""
    hinges = [x.hinge for x in (first, second) if x is not None]
    if not hinges:
        raise InputError("a plastic hinge needs a member that bends")
    if len(hinges) == 2 and any(isinstance(h.moment, Expr) for h in hinges):
        a, b = hinges
        return PlasticHinge(*(where(a.moment <= b.moment, x, y) for x, y in ((a.moment, b.moment), (a.angle, b.angle))))
    return min(hinges, key=lambda h: h.moment)


def rayleigh(first: tuple[float, float], second: tuple[float, float], cap: float | None = 0.1) -> dict[str, Any]:
    """Coefficients of C = α K + β M from two pairs (ω, ζ) of angular frequency (rad/s) and damping ratio, β at most ``cap`` (1/s).

    As ``damping=`` of a flexible body: {"stiffness": α, "mass": β}.  With the cap the first ratio is no longer met where it would ask for more.
    """
    (w1, z1), (w2, z2) = sorted((first, second))
    if not 0.0 < w1 < w2:
        raise InputError(f"rayleigh: frequencies {w1:g} and {w2:g} rad/s must be positive and differ")
    alpha = 2.0 * (z2 * w2 - z1 * w1) / (w2**2 - w1**2)
    beta = 2.0 * w1 * w2 * (z1 * w2 - z2 * w1) / (w2**2 - w1**2)
    if alpha < 0.0 or beta < 0.0:
        raise InputError(
            f"rayleigh: ratios {z1:g} and {z2:g} need α = {alpha:.3g} s and β = {beta:.3g} 1/s, one of them negative; take ratios nearer to each other"
        )
    return {"stiffness": alpha, "mass": beta if cap is None else min(beta, cap)}


__all__ = ["PHYSICAL", "PRINTED", "HollowSquare", "PlasticHinge", "rayleigh", "weaker"]
