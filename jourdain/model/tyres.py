"""Tyres as force elements: contact of a wheel with a road, slips, and the forces of a tyre law.

Axes at the contact are those of ISO 8855: x in the wheel's heading, y to the left, z along the road's normal.  The slip angle is
positive when the contact point moves to the left of the heading, so that it gives a negative (rightward) force; the camber is
positive when the wheel's top leans to the right.  Equations: Pacejka, *Tyre and Vehicle Dynamics*, 2nd ed. (2006), chapters 4 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import ModelError
from ..symbolic.derivatives import jvp
from ..symbolic.expr import ONE, ZERO, Expr
from ..symbolic.functions import absolute, atan, cos, exp, maximum, sign, sin, sqrt
from ..symbolic.vectors import AXES, NULL, Vector
from .bodies import Body, Frame
from .loads import FrameLoad
from .pushing import pushing
from .values import value, values

if TYPE_CHECKING:
    from .model import Model

Road = Callable[[Expr, Expr], Any]

#: Passenger-car tyre 205/60R15 91V at 2.2 bar: Pacejka (2006), appendix 3, table A3.1 (loads in N, ISO signs).
PASSENGER_205_60R15: dict[str, float] = {
    "Fz0": 4000.0, "R0": 0.313,
    "pCx1": 1.685, "pDx1": 1.210, "pDx2": -0.037, "pEx1": 0.344, "pEx2": 0.095, "pEx3": -0.020, "pEx4": 0.0,
    "pKx1": 21.51, "pKx2": -0.163, "pKx3": 0.245, "pHx1": -0.002, "pHx2": 0.002, "pVx1": 0.0, "pVx2": 0.0,
    "rBx1": 12.35, "rBx2": -10.77, "rCx1": 1.092, "rHx1": 0.007,
    "pCy1": 1.193, "pDy1": -0.990, "pDy2": 0.145, "pDy3": -11.23, "pEy1": -1.003, "pEy2": -0.537, "pEy3": -0.083, "pEy4": -4.787,
    "pKy1": -14.95, "pKy2": 2.130, "pKy3": -0.028, "pKy4": 2.0, "pKy6": -0.92, "pKy7": -0.24,
    "pHy1": 0.003, "pHy2": -0.001, "pVy1": 0.045, "pVy2": -0.024, "pVy3": -0.532, "pVy4": 0.039,
    "rBy1": 6.461, "rBy2": 4.196, "rBy3": -0.015, "rCy1": 1.081, "rHy1": 0.009,
    "rVy1": 0.053, "rVy2": -0.073, "rVy3": 0.517, "rVy4": 35.44, "rVy5": 1.9, "rVy6": -10.71,
    "qBz1": 8.964, "qBz2": -1.106, "qBz3": -0.842, "qBz5": -0.227, "qBz9": 18.47, "qCz1": 1.180,
    "qDz1": 0.100, "qDz2": -0.001, "qDz3": 0.007, "qDz4": 13.05, "qDz6": -0.008, "qDz7": 0.0, "qDz8": -0.296, "qDz9": -0.009,
    "qEz1": -1.609, "qEz2": -0.359, "qEz4": 0.174, "qEz5": -0.896, "qHz1": 0.007, "qHz2": -0.002, "qHz3": 0.147, "qHz4": 0.004,
    "ssz1": 0.043, "ssz2": 0.001, "ssz3": 0.731, "ssz4": -0.238,
}  # fmt: skip

#: Coefficients that make left and right, or driving and braking, differ without camber (ply steer, conicity and the like).
ASYMMETRIES = (
    "pHx1", "pHx2", "pVx1", "pVx2", "pEx4", "rHx1", "pHy1", "pHy2", "pVy1", "pVy2", "pEy3", "rBy3", "rHy1", "rVy1", "rVy2", "qDz3",
    "qDz6", "qDz7", "qEz4", "qHz1", "qHz2", "ssz1",
)  # fmt: skip


class Slip(NamedTuple):
    """What a tyre law is given: normal force (N), longitudinal slip κ, tangent of the slip angle, sine of the camber γ."""

    load: Expr
    kappa: Expr
    tan_alpha: Expr
    camber: Expr


class TyreForces(NamedTuple):
    """What a tyre law gives: forces along x and y of the contact (N) and the moment about the normal (N m)."""

    Fx: Expr
    Fy: Expr
    Mz: Expr


class TyreLaw(Protocol):
    """A law from slips to forces."""

    def forces(self, slip: Slip) -> TyreForces:
        """Forces at the contact point."""
        ...


@dataclass(frozen=True)
class LinearTyre:
    """Forces proportional to slip up to the friction circle: F = μ Fz σ/√(1 + σ²) along σ = (C_κ κ, −C_α tan α − C_γ γ)/(μ Fz).

    Stiffnesses in N (per unit slip, per rad); ``trail`` is the pneumatic trail in m, which vanishes as the tyre slides.
    The smooth saturation keeps the slope at zero slip and never passes the circle |F| = μ Fz.
    """

    longitudinal: Expr
    cornering: Expr
    friction: Expr
    camber: Expr = ZERO
    trail: Expr = ZERO

    def forces(self, slip: Slip) -> TyreForces:
        """Forces at the contact point."""
        limit = self.friction * maximum(slip.load, 1.0)
        x = self.longitudinal * slip.kappa / limit
        y = -(self.cornering * slip.tan_alpha + self.camber * slip.camber) / limit
        free = ONE / sqrt(1.0 + x * x + y * y)
        scale = self.friction * slip.load * free
        return TyreForces(scale * x, scale * y, -self.trail * free * free * scale * y)


@dataclass(frozen=True)
class MagicFormula:
    """The Magic Formula with combined slip, camber and aligning moment (Pacejka 2006, eqs. 4.E1–4.E78, without turn slip).

    ``p`` holds the coefficients by their names in the book; ``grip`` scales both friction coefficients (λ_μ).
    """

    p: Mapping[str, Expr]
    grip: Expr = ONE

    def forces(self, slip: Slip) -> TyreForces:
        """Forces at the contact point; they fade out with the load below 1 N."""
        p, (load, kappa, alpha, gamma) = self.p, slip
        Fz = maximum(load, 1.0)
        fade = load / Fz
        df = Fz / p["Fz0"] - 1.0
        Fx0, Kx = self._pure_longitudinal(Fz, df, kappa)
        Fy0, Ky, muy, shift = self._pure_lateral(Fz, df, alpha, gamma)
        Fx = Fx0 * self._less_longitudinal(kappa, alpha)
        lean = muy * Fz * (p["rVy1"] + p["rVy2"] * df + p["rVy3"] * gamma) * _cos_atan(p["rVy4"] * alpha)
        weight = self._less_lateral(kappa, alpha)
        Fy = weight * Fy0 + lean * sin(p["rVy5"] * atan(p["rVy6"] * kappa))
        Mz = self._aligning(Fz, df, kappa, alpha, gamma, Fx, Fy, weight * Fy0, Kx / Ky, shift)
        return TyreForces(fade * Fx, fade * Fy, fade * Mz)

    def _pure_longitudinal(self, Fz: Expr, df: Expr, kappa: Expr) -> tuple[Expr, Expr]:
        """F_x0 and the slip stiffness K_xκ (4.E9–4.E18)."""
        p = self.p
        x = kappa + p["pHx1"] + p["pHx2"] * df
        D = (p["pDx1"] + p["pDx2"] * df) * self.grip * Fz
        E = (p["pEx1"] + p["pEx2"] * df + p["pEx3"] * df * df) * (1.0 - p["pEx4"] * sign(x))
        K = Fz * (p["pKx1"] + p["pKx2"] * df) * exp(p["pKx3"] * df)
        return _magic(K, p["pCx1"], D, E, x) + Fz * (p["pVx1"] + p["pVx2"] * df), K

    def _pure_lateral(self, Fz: Expr, df: Expr, alpha: Expr, gamma: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """F_y0, the cornering stiffness K_yα, the friction coefficient, and the slip at which F_y0 vanishes (4.E19–4.E30)."""
        p = self.p
        K = p["pKy1"] * p["Fz0"] * sin(p["pKy4"] * atan(Fz / (p["pKy2"] * p["Fz0"]))) / (1.0 + p["pKy3"] * gamma * gamma)
        lift = Fz * (p["pVy3"] + p["pVy4"] * df) * gamma
        Sv = Fz * (p["pVy1"] + p["pVy2"] * df) + lift
        Sh = p["pHy1"] + p["pHy2"] * df + (Fz * (p["pKy6"] + p["pKy7"] * df) * gamma - lift) / K
        y = alpha + Sh
        mu = (p["pDy1"] + p["pDy2"] * df) * (1.0 - p["pDy3"] * gamma * gamma) * self.grip
        E = (p["pEy1"] + p["pEy2"] * df) * (1.0 - (p["pEy3"] + p["pEy4"] * gamma) * sign(y))
        return _magic(K, p["pCy1"], mu * Fz, E, y) + Sv, K, mu, Sh + Sv / K

    def _less_longitudinal(self, kappa: Expr, alpha: Expr) -> Expr:
        """Weight G_xα of the longitudinal force (4.E50–4.E57)."""
        p = self.p
        B, C, S = p["rBx1"] * _cos_atan(p["rBx2"] * kappa), p["rCx1"], p["rHx1"]
        return _hill(B, C, alpha + S, S)

    def _less_lateral(self, kappa: Expr, alpha: Expr) -> Expr:
        """Weight G_yκ of the lateral force (4.E58–4.E65)."""
        p = self.p
        B, C, S = p["rBy1"] * _cos_atan(p["rBy2"] * (alpha - p["rBy3"])), p["rCy1"], p["rHy1"]
        return _hill(B, C, kappa + S, S)

    def _aligning(
        self, Fz: Expr, df: Expr, kappa: Expr, alpha: Expr, gamma: Expr, Fx: Expr, Fy: Expr, Fy0: Expr, ratio: Expr, shift: Expr
    ) -> Expr:
        """M_z = −t F_y + M_zr + s F_x (4.E31–4.E49, 4.E71–4.E78)."""
        p, R0 = self.p, self.p["R0"]
        braking = ratio * ratio * kappa * kappa + 1e-20  # keeps the root below differentiable at rest
        x = alpha + p["qHz1"] + p["qHz2"] * df + (p["qHz3"] + p["qHz4"] * df) * gamma
        B = (p["qBz1"] + p["qBz2"] * df + p["qBz3"] * df * df) * (1.0 + p["qBz5"] * absolute(gamma))
        C = p["qCz1"]
        D = Fz * (R0 / p["Fz0"]) * (p["qDz1"] + p["qDz2"] * df) * (1.0 + p["qDz3"] * gamma + p["qDz4"] * gamma * gamma)
        E = (p["qEz1"] + p["qEz2"] * df) * (1.0 + (p["qEz4"] + p["qEz5"] * gamma) * (2.0 / 3.141592653589793) * atan(B * C * x))
        bx = B * sqrt(x * x + braking)
        forward = _cos_atan(alpha)
        trail = D * cos(C * atan(bx - E * (bx - atan(bx)))) * forward
        r = alpha + shift
        residual = Fz * R0 * (p["qDz6"] + p["qDz7"] * df + (p["qDz8"] + p["qDz9"] * df) * gamma) * self.grip
        B_r = p["qBz9"]
        Mzr = residual * forward / sqrt(1.0 + B_r * B_r * (r * r + braking))
        arm = R0 * (p["ssz1"] + p["ssz2"] * Fy / p["Fz0"] + (p["ssz3"] + p["ssz4"] * df) * gamma)
        return -trail * Fy0 + Mzr + arm * Fx


def _magic(K: Expr, C: Expr, D: Expr, E: Expr, x: Expr) -> Expr:
    """D sin(C atan(Bx − E(Bx − atan Bx))) with B = K/(C D)."""
    b = K / (C * D) * x
    return D * sin(C * atan(b - E * (b - atan(b))))


def _hill(B: Expr, C: Expr, x: Expr, S: Expr) -> Expr:
    """cos(C atan(B x))/cos(C atan(B S)), 1 at x = S."""
    return cos(C * atan(B * x)) if S is ZERO else cos(C * atan(B * x)) / cos(C * atan(B * S))


def _cos_atan(x: Expr) -> Expr:
    return ONE / sqrt(1.0 + x * x)


def magic_formula(
    model: Model, name: str = "tyre", data: Mapping[str, float] = PASSENGER_205_60R15, symmetric: bool = True
) -> MagicFormula:
    """A Magic-Formula law whose coefficients are parameters ``name.pCx1`` … of the model, with ``name.grip`` (λ_μ).

    ``symmetric`` leaves out the coefficients of :data:`ASYMMETRIES`, so that a car on four equal tyres runs straight.

    >>> from jourdain import Model
    >>> m = Model("car")
    >>> law = magic_formula(m)
    >>> m.parameter_set["tyre.pDx1"].value
    1.21
    """
    missing = sorted(set(PASSENGER_205_60R15) - set(data))
    if missing:
        raise ModelError(
            f"tyre '{name}': the Magic Formula's coefficient '{missing[0]}' is missing; give all of {', '.join(PASSENGER_205_60R15)}"
        )
    given = {n: 0.0 if symmetric and n in ASYMMETRIES else data[n] for n in PASSENGER_205_60R15}
    p = {n: model.parameter(f"{name}.{n}", x) if x != 0.0 else ZERO for n, x in given.items()}
    return MagicFormula(p, model.parameter(f"{name}.grip", 1.0))


def linear_tyre(
    model: Model, name: str = "tyre", longitudinal: float = 80e3, cornering: float = 60e3, friction: float = 1.0, camber: float = 0.0,
    trail: float = 0.03,
) -> LinearTyre:  # fmt: skip
    """A linear law with the friction circle; its constants (N per unit slip, N/rad, –, N/rad, m) are parameters ``name.…``."""
    names = {"longitudinal": longitudinal, "cornering": cornering, "friction": friction, "camber": camber, "trail": trail}
    return LinearTyre(**{n: model.parameter(f"{name}.{n}", x) if x != 0.0 else ZERO for n, x in names.items()})


@dataclass(frozen=True)
class Contact:
    """Geometry and speeds at the contact, as expressions in world axes."""

    point: Vector
    x: Vector
    y: Vector
    normal: Vector
    deflection: Expr
    deflection_rate: Expr
    camber: Expr
    effective_radius: Expr
    #: lever of the longitudinal force about the spin axis, m
    arm: Expr
    spin: Expr
    speed: Expr
    #: slip velocities of the contact point, m/s
    slip_x: Expr
    slip_y: Expr


def contact(
    model: Model, name: str, wheel: Body | Frame, radius: Any, road: Road | None = None, crown: Any = 0.0, roll: Any = 1.0 / 3.0
) -> Contact:
    """Contact of a wheel that turns about the y axis of its frame with the road z = road(x, y) (None: the plane z = 0).

    The wheel is a torus of outer ``radius`` and tube radius ``crown`` (0: a disk) against the plane that touches the road below
    its centre.  The effective rolling radius is radius − ``roll``·deflection.
    """
    what = f"tyre '{name}'"
    R0, r, share = value(radius, what + ": radius", "m"), value(crown, what + ": crown", "m"), value(roll, what + ": roll", "1")
    s = model.sensor(f"{name}.wheel", wheel)
    P, v, w = s.position, s.velocity, s.angular_velocity
    axis = Vector(*(s.reading("rotation", 3 * i + 1) for i in range(3)))
    level, n = _plane(P, road, what)
    heading = axis.cross(n)
    e_x = heading * (ONE / sqrt(heading.dot(heading)))
    up = e_x.cross(axis)
    e_y = n.cross(e_x)
    height = (P.z - level) * n.z
    depth = (R0 - r) * up.dot(n) + r - height
    lever = up * (r - R0) + n * (depth - r)
    slip = v + w.cross(lever)
    spin = w.dot(axis)
    arm = -lever.dot(up)
    Re = R0 - share * maximum(depth, 0.0)
    slip_x = slip.dot(e_x) + spin * (arm - Re)
    return Contact(P + lever, e_x, e_y, n, depth, -slip.dot(n), axis.dot(n), Re, arm, spin, slip_x + spin * Re, slip_x, slip.dot(e_y))


def _plane(P: Vector, road: Road | None, what: str) -> tuple[Expr, Vector]:
    """Height of the road below a point and its unit normal there."""
    if road is None:
        return ZERO, AXES[2]
    level = value(road(P.x, P.y), f"{what}: road", "m")
    slopes = [jvp([level], {c: ONE})[0] for c in (P.x, P.y)]
    if all(d is ZERO for d in slopes):
        return level, AXES[2]
    n = Vector(-slopes[0], -slopes[1], ONE)
    return level, n * (ONE / sqrt(n.dot(n)))


@dataclass(frozen=True)
class Tyre:
    """A tyre of a model: its contact, slips and forces as expressions for outputs and further laws."""

    name: str
    contact: Contact
    slip: Slip
    forces: TyreForces
    rolling_moment: Expr
    load: FrameLoad

    @property
    def slip_power(self) -> Expr:
        """Power of the slip forces and of rolling resistance at the contact, W (negative: dissipated)."""
        c = self.contact
        return self.forces.Fx * c.slip_x + self.forces.Fy * c.slip_y + self.rolling_moment * c.spin

    def outputs(self, model: Model) -> None:
        """Declares load, forces, moment, slips and deflection as outputs ``name.Fz`` and so on."""
        named = {
            "Fz": (self.slip.load, "N"), "Fx": (self.forces.Fx, "N"), "Fy": (self.forces.Fy, "N"), "Mz": (self.forces.Mz, "N m"),
            "kappa": (self.slip.kappa, ""), "alpha": (atan(self.slip.tan_alpha), "rad"), "camber": (self.slip.camber, "rad"),
            "deflection": (self.contact.deflection, "m"),
        }  # fmt: skip
        for key, (e, unit) in named.items():
            model.output(f"{self.name}.{key}", e, unit=unit)


def tyre(
    model: Model, name: str, wheel: Body | Frame, radius: Any, stiffness: Any, law: TyreLaw | None = None, damping: Any = 0.0,
    progression: Any = 0.0, road: Road | None = None, crown: Any = 0.0, rolling_resistance: Any = 0.0, low_speed: Any = 0.5,
    relaxation: tuple[Any, Any] | None = None, roll: Any = 1.0 / 3.0,
) -> Tyre:  # fmt: skip
    """A tyre on a wheel that turns about the y axis of its frame (forwards for a positive angle).

    Normal force k δ + k₂ δ² + d δ̇ (``stiffness`` N/m, ``progression`` N/m², ``damping`` N s/m), never pulling; tangential forces by
    ``law`` (None: no slip forces).  Slips are taken over √(V² + ``low_speed``²), which keeps them finite at standstill, where the
    camber given to the law fades out too: its thrust needs rolling.
    ``relaxation`` gives the relaxation lengths (m) of κ and tan α, which then are states ``name.kappa``, ``name.tan_alpha``
    with σ ẋ = −V_s − |V| x.  The spin moment of the longitudinal force acts with the effective radius, so that its power is
    exactly F_x V_sx.  ``rolling_resistance`` is a fraction of the load.

    >>> from jourdain import Model
    >>> m = Model("wheel")
    >>> hub = m.body("wheel", mass=20.0, inertia=(0.5, 1.0, 0.5))
    >>> joint = m.sequence("hub", m.ground, hub, ["Tx", "Tz", "Ry"])
    >>> t = tyre(m, "tyre", hub, radius=0.313, stiffness=2e5, law=magic_formula(m))
    """
    what = f"tyre '{name}'"
    k, d, k2, fr, eps = values(
        what, ("stiffness", stiffness, "N/m"), ("damping", damping, "N s/m"), ("progression", progression, "N/m^2"),
        ("rolling_resistance", rolling_resistance, "1"), ("low_speed", low_speed, "m/s"),
    )  # fmt: skip
    if eps.is_number and not float(eps) > 0:
        raise ModelError(f"{what}: low_speed {float(eps):g} m/s must be positive; slips are divided by it at standstill")
    c = contact(model, name, wheel, radius, road, crown, roll)
    depth = c.deflection
    Fz = pushing(depth, c.deflection_rate, k + k2 * depth, damping=d)
    pace = c.speed * c.speed
    slip = Slip(Fz, *_slips(model, name, c, eps, relaxation, what), c.camber * (pace / (pace + eps * eps)))
    forces = TyreForces(ZERO, ZERO, ZERO) if law is None else law.forces(slip)
    rim = c.spin * c.effective_radius
    My = -fr * Fz * c.effective_radius * rim / sqrt(rim * rim + eps * eps)
    force = c.x * forces.Fx + c.y * forces.Fy + c.normal * Fz
    s = model.sensors[f"{name}.wheel"]
    axis = Vector(*(s.reading("rotation", 3 * i + 1) for i in range(3)))
    # a moment about the normal would spin a leaning wheel: the part along the axis is left out
    about = (c.normal - axis * c.camber) * forces.Mz + axis * (My + forces.Fx * (c.arm - c.effective_radius))
    torque = (c.point - s.position).cross(force) + (NULL if law is None and fr is ZERO else about)
    load = model.load(name, wheel, force=force, torque=torque)
    return Tyre(name, c, slip, forces, My, load)


def _slips(model: Model, name: str, c: Contact, eps: Expr, relaxation: tuple[Any, Any] | None, what: str) -> tuple[Expr, Expr]:
    """κ and tan α, at once or through states of first order."""
    if relaxation is None:
        speed = sqrt(c.speed * c.speed + eps * eps)
        return -c.slip_x / speed, c.slip_y / speed
    lengths = [value(e, what + ": relaxation length", "m") for e in relaxation]
    for length in lengths:
        if length.is_number and not float(length) > 0:
            raise ModelError(f"{what}: the relaxation length {float(length):g} m must be positive; leave relaxation out for none")
    kappa, alpha = model.state(f"{name}.kappa"), model.state(f"{name}.tan_alpha")
    pace = absolute(c.speed)
    model.rate(kappa, (-c.slip_x - pace * kappa) / lengths[0])
    model.rate(alpha, (c.slip_y - pace * alpha) / lengths[1])
    return kappa, alpha


__all__ = [
    "ASYMMETRIES", "PASSENGER_205_60R15", "Contact", "LinearTyre", "MagicFormula", "Slip", "Tyre", "TyreForces", "TyreLaw", "contact",
    "linear_tyre", "magic_formula", "tyre",
]  # fmt: skip
