"""Laws of surfaces that give way: normal force of depth and rate, friction, and resistance against rolling and spinning, at one point of contact.

A law is written once, in symbols: native code of contacts, stops, ropes, points on the ground and the walls of cavities all read it here.  Normal force
of the depth δ > 0, of its rate and of the rate δ̇⁻ at which bodies met, never pulling:

    F = max(0, K δⁿ + C δⁿ δ̇ + D δ̇)

Kelvin and Voigt have n = 1 and D; the others a loss that grows with depth, C = λ K (Hunt & Crossley 1975).  Where a coefficient of restitution e is given, Hunt
and Crossley's law has the λ with which bodies part at e δ̇⁻ (:mod:`.rebound`; their own 3(1 − e)/2δ̇⁻ is its limit for e → 1).  Two laws are formulas for λ, and keep
them: 3(1 − e²)/4δ̇⁻ (Lankarani & Nikravesh 1990) and 8(1 − e)/5eδ̇⁻ (Flores et al. 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ...errors import InputError, ModelError
from ...structures.parts.sections import Material
from ...symbolic.expr import KINDS, ONE, ZERO, Expr, as_expr, symbol
from ...symbolic.functions import exp, maximum, sqrt, where
from ...symbolic.graph import free_symbols, substitute
from ..pushing import pressed, pushing, smooth_sign, stored
from ..values import traced, value
from .rebound import loss_number

#: Speeds at which bodies meet below this (m/s) count as this: laws by restitution divide by them.
SLOWEST = 1e-3
#: Sliding (m/s) and turning (rad/s) below which regularised friction and resistance grow linearly.
SLIDING, TURNING = 1e-3, 1e-2


Pair = tuple[Material, Material]
#: What laws of the user's own are written in.
DEPTH, RATE, APPROACH = symbol("depth", "position"), symbol("rate", "velocity"), symbol("approach", "velocity")


class Point(NamedTuple):
    """What a normal law reads: depth δ (m), its rate (m/s), the rate when the touch began, and the sum of the mean curvatures of both surfaces (1/m)."""

    depth: Expr
    rate: Expr = ZERO
    approach: Expr = ONE
    curvature: Expr = ONE


@dataclass(frozen=True)
class NormalLaw:
    """A normal force of a known kind with its constants, or of the user's own ``law(depth, rate, approach)``."""

    kind: str
    given: Mapping[str, Expr] = field(default_factory=dict)
    #: of DEPTH, RATE and APPROACH
    law: Expr | None = None
    #: of both bodies, where the stiffness comes from them
    materials: Pair | None = None

    @property
    def exponent(self) -> Expr:
        """n."""
        return self.given.get("exponent", ONE)

    @property
    def by_shape(self) -> bool:
        """Whether the stiffness comes from materials and curvatures."""
        return "modulus" in self.given

    def stiffness(self, at: Point) -> Expr:
        """K (N/mⁿ); of Hertz's law from E* and the curvatures: K = 4E*/3√(A + B) for a round patch (spec 05 eq. 8 with
        q_k = 1/π); an ellipse is given as the curvature of a round patch as stiff as it is."""
        if not self.by_shape:
            return self.given["stiffness"]
        curvature = at.curvature
        if "radius" in self.given:  # where surfaces are flat
            curvature = maximum(curvature, 1.0 / self.given["radius"])
        return 4.0 / 3.0 * self.given["modulus"] / sqrt(curvature)

    def loss(self, at: Point) -> Expr:
        """λ (s/m) of the part of the force that follows the rate."""
        if "restitution" not in self.given:
            return self.given.get("damping", ZERO)
        e, speed = self.given["restitution"], maximum(at.approach, self.given["slowest"])
        if self.kind == "hunt-crossley":
            return loss_number(e) / speed
        if self.kind == "lankarani-nikravesh":
            return 0.75 * (1.0 - e * e) / speed
        return 1.6 * (1.0 - e) / (e * speed)

    def force(self, at: Point) -> Expr:
        """N."""
        if self.law is not None:
            given = substitute([self.law], {DEPTH: at.depth, RATE: at.rate, APPROACH: at.approach})[0]
            return where(at.depth > 0.0, maximum(given, 0.0), ZERO)
        if self.kind == "kelvin-voigt":
            return pushing(at.depth, at.rate, self.given["stiffness"], damping=self.given["damping"])
        K = self.stiffness(at)
        loss = self.loss(at)
        return pushing(at.depth, at.rate, K, ZERO if loss is ZERO else K * loss, exponent=_plain(self.exponent))

    def energy(self, at: Point) -> Expr:
        """What the surfaces hold (J); of a law of the user's own nothing is known."""
        return ZERO if self.law is not None else stored(at.depth, self.stiffness(at), _plain(self.exponent))

    @property
    def remembers(self) -> bool:
        """Whether it reads the speed at which bodies met."""
        return APPROACH in free_symbols([self.force(Point(DEPTH, RATE, APPROACH))])


def _plain(e: Expr) -> Any:
    """A number as a number."""
    return float(e) if e.is_number else e


@dataclass(frozen=True)
class Friction:
    """Coulomb's friction μ, regularised over a sliding speed, or by bristles that bend and so hold without creeping.

    ``static`` μ₀ ≥ μ holds at rest and falls off over the speed ``stribeck``: μ + (μ₀ − μ) exp(−(u/u_s)²).
    """

    kind: str
    given: Mapping[str, Expr]

    def level(self, slip: Sequence[Expr]) -> Expr:
        """μ at a sliding velocity."""
        mu = self.given["mu"]
        if "static" not in self.given:
            return mu
        ratio = sum((u * u for u in slip), ZERO) / (self.given["stribeck"] * self.given["stribeck"])
        return mu + (self.given["static"] - mu) * exp(-ratio)

    def force(self, normal: Expr, slip: Sequence[Expr], stretch: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        """Force against the sliding of a velocity, and what becomes of the bristles' deflection (m)."""
        limit = self.level(slip) * normal
        if self.kind == "regularised":
            return [-limit * d for d in smooth_sign(slip, self.given["speed"])], list(stretch)
        k, c = self.given["stiffness"], self.given["damping"]
        wanted = [-(k * s + c * u) for s, u in zip(stretch, slip, strict=True)]
        size = sqrt(sum((f * f for f in wanted), ZERO))
        part = where(size > limit, limit / where(size > limit, size, ONE), ONE)
        force = [part * f for f in wanted]
        bent = [where(size > limit, -(f + c * u) / k, s) for f, u, s in zip(force, slip, stretch, strict=True)]
        return force, bent


class PointForces(NamedTuple):
    """Normal force, friction along two tangents, torques about the normal and the tangents; elastic energy; bristles as they are afterwards."""

    normal: Expr
    friction: list[Expr]
    spin: Expr
    roll: list[Expr]
    energy: Expr
    stretch: list[Expr]


@dataclass(frozen=True)
class Penalty:
    """Surfaces that give way: forces follow from depth and velocities, and act as loads in every method."""

    normal: NormalLaw
    friction: Friction | None = None
    #: Lever arms (m) of the resistance against rolling and spinning, and the rate of turning over which it is regularised.
    rolling: Expr = ZERO
    spinning: Expr = ZERO
    turning: Expr = ONE

    @property
    def kind(self) -> str:
        """The kind of its normal force."""
        return self.normal.kind

    @property
    def bristles(self) -> bool:
        """Whether friction remembers how far bristles are bent."""
        return self.friction is not None and self.friction.kind == "bristle"

    @property
    def remembers(self) -> bool:
        """Whether it has a memory."""
        return self.bristles or self.normal.remembers

    def forces(
        self,
        at: Point,
        slip: Sequence[Expr],
        stretch: Sequence[Expr] = (ZERO, ZERO),
        spin: Expr = ZERO,
        roll: Sequence[Expr] = (ZERO, ZERO),
    ) -> PointForces:
        """Forces on the first body, whose point slides, spins and rolls so against the second's."""
        N = self.normal.force(at)
        friction, bent = ([ZERO, ZERO], list(stretch)) if self.friction is None else self.friction.force(N, slip, stretch)
        about = ZERO if self.spinning is ZERO else -self.spinning * N * smooth_sign([spin], self.turning)[0]
        across = [ZERO, ZERO] if self.rolling is ZERO else [-self.rolling * N * d for d in smooth_sign(roll, self.turning)]
        return PointForces(N, friction, about, across, self.normal.energy(at), bent)

    def mapped(self, f: Callable[[Expr], Expr]) -> Penalty:
        """The same law with other expressions."""
        law = None if self.normal.law is None else f(self.normal.law)
        normal = replace(self.normal, given={k: f(e) for k, e in self.normal.given.items()}, law=law)
        friction = None if self.friction is None else replace(self.friction, given={k: f(e) for k, e in self.friction.given.items()})
        return Penalty(normal, friction, f(self.rolling), f(self.spinning), f(self.turning))

    def constants(self) -> dict[str, Expr]:
        """All its constants by name, for checks of their values."""
        found = {**self.normal.given, "rolling": self.rolling, "spinning": self.spinning, "turning": self.turning}
        return found | ({} if self.friction is None else {f"friction {k}": e for k, e in self.friction.given.items()})

    def __str__(self) -> str:
        told = ", ".join(f"{k} = {e}" for k, e in self.normal.given.items())
        rub = "" if self.friction is None else f", {self.friction.kind} friction μ = {self.friction.given['mu']}"
        return f"{self.kind}" + (f", {told}" if told else "") + rub


# -- what the user writes ------------------------------------------------------------------------------------------


def _constant(word: str, given: Any, unit: str) -> Expr:
    found = value(given, f"contact law: {word}", unit)
    if found.deps & ~KINDS["parameter"]:
        raise InputError(f"contact law: {word} = {found} must be a number or depend on parameters alone")
    if found.is_number:
        check_constant(word, float(found))
    return found


#: What constants may be: a test and its words.
_BOUNDS: dict[str, tuple[Callable[[float], bool], str]] = {
    **dict.fromkeys(
        ("stiffness", "modulus", "radius", "slowest", "turning", "friction speed", "friction stribeck", "friction stiffness"),
        (lambda x: x > 0.0, "must be positive"),
    ),
    **dict.fromkeys(
        ("damping", "rolling", "spinning", "friction mu", "friction static", "friction damping"),
        (lambda x: x >= 0.0, "must not be negative"),
    ),
    "exponent": (lambda x: x >= 1.0, "must be at least 1, so that the force begins without a jump"),
    "restitution": (lambda x: 0.0 < x <= 1.0, "must lie between 0 (excluded: such a law never lets go) and 1 (no loss)"),
}


def check_constant(word: str, x: float, what: str = "contact law") -> None:
    """Refuses constants that no surface has."""
    good, told = _BOUNDS.get(word, (lambda x: True, ""))
    if not (good(x) and abs(x) < float("inf")):
        raise InputError(f"{what}: {word} = {x:g} {told}")


def regularised(mu: Any, speed: Any = SLIDING, static: Any = None, stribeck: Any = 0.01) -> Friction:
    """Coulomb's friction that grows linearly below the sliding ``speed`` (m/s): what should stick creeps at a part of it."""
    given = {"mu": _constant("friction mu", mu, "1"), "speed": _constant("friction speed", speed, "m/s")}
    return Friction("regularised", given | _static(static, stribeck))


def bristle(mu: Any, stiffness: Any, damping: Any = 0.0, static: Any = None, stribeck: Any = 0.01) -> Friction:
    """Coulomb's friction by bristles of ``stiffness`` (N/m) and ``damping`` (N s/m) that bend, hold and slip: what sticks does not creep."""
    given = {
        "mu": _constant("friction mu", mu, "1"), "stiffness": _constant("friction stiffness", stiffness, "N/m"),
        "damping": _constant("friction damping", damping, "N s/m"),
    }  # fmt: skip
    return Friction("bristle", given | _static(static, stribeck))


def _static(static: Any, stribeck: Any) -> dict[str, Expr]:
    if static is None:
        return {}
    return {"static": _constant("friction static", static, "1"), "stribeck": _constant("friction stribeck", stribeck, "m/s")}


def _with_surface(normal: NormalLaw, friction: Any, rolling: Any, spinning: Any, turning: Any) -> Penalty:
    rubbing: Friction | None = friction if isinstance(friction, Friction) else regularised(friction)
    if rubbing is not None and rubbing.given["mu"] is ZERO and "static" not in rubbing.given:
        rubbing = None
    return Penalty(
        normal, rubbing, _constant("rolling", rolling, "m"), _constant("spinning", spinning, "m"), _constant("turning", turning, "rad/s")
    )  # fmt: skip


def _elastic(stiffness: Any, material: Any, radius: Any, exponent: Any, what: str) -> tuple[dict[str, Expr], Pair | None]:
    """Stiffness, or what gives it: materials of both bodies."""
    if (stiffness is None) == (material is None):
        raise ModelError(
            f"{what}: give either stiffness= (N/m^{exponent:g}) or material=, one or a pair of jd.structures.Material(E, nu, density)"
        )
    if stiffness is not None:
        if radius is not None:
            raise ModelError(f"{what}: radius= belongs to material=; a stiffness needs none")
        unit = "N/m" if exponent == 1 else "1"
        return {"stiffness": _constant("stiffness", stiffness, unit), "exponent": _constant("exponent", exponent, "1")}, None
    if exponent != 1.5:
        raise ModelError(f"{what}: material= gives Hertz's stiffness, whose exponent is 1.5, not {exponent:g}; give stiffness= instead")
    pair = tuple(material) if isinstance(material, (tuple, list)) else (material, material)
    if len(pair) != 2 or not all(isinstance(m, Material) for m in pair):
        raise ModelError(f"{what}: material = {material!r} must be one or a pair of jd.structures.Material(E, nu, density)")
    modulus = 1.0 / sum((1.0 - m.nu**2) / m.E for m in pair)
    given = {"modulus": _constant("modulus", modulus, "Pa"), "exponent": as_expr(1.5)}
    return given if radius is None else given | {"radius": _constant("radius", radius, "m")}, (pair[0], pair[1])


def linear(stiffness: Any, friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING) -> Penalty:
    """F = K δ with K in N/m: an elastic layer; nothing is lost along the normal."""
    normal = NormalLaw("linear", {"stiffness": _constant("stiffness", stiffness, "N/m")})
    return _with_surface(normal, friction, rolling, spinning, turning)


def kelvin_voigt(
    stiffness: Any, damping: Any, friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING
) -> Penalty:
    """F = max(0, K δ + D δ̇) with D in N s/m: a spring and a damper; the force begins with a jump."""
    given = {"stiffness": _constant("stiffness", stiffness, "N/m"), "damping": _constant("damping", damping, "N s/m")}
    return _with_surface(NormalLaw("kelvin-voigt", given), friction, rolling, spinning, turning)


def hertz(
    material: Any = None, stiffness: Any = None, radius: Any = None, friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0,
    turning: Any = TURNING,
) -> Penalty:  # fmt: skip
    """F = K δ^{3/2} (Hertz 1881): K from E, ν of the materials and the curvatures of the shapes where they touch, or given (N/m^1.5).

    The patch of contact is the ellipse of the principal curvatures of both surfaces; ``radius`` (m) stands for both where they are flat or sharp.
    """
    given, pair = _elastic(stiffness, material, radius, 1.5, "contact law hertz")
    normal = NormalLaw("hertz", given, materials=pair)
    return _with_surface(normal, friction, rolling, spinning, turning)


def hunt_crossley(
    material: Any = None, stiffness: Any = None, damping: Any = None, restitution: Any = None, exponent: Any = 1.5, radius: Any = None,
    slowest: Any = SLOWEST, friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING,
) -> Penalty:  # fmt: skip
    """F = K δⁿ (1 + λ δ̇), Hunt & Crossley (1975), with λ = ``damping`` (s/m), or the one with which bodies that meet at δ̇⁻ part at e δ̇⁻ (``restitution``).

    That is so for bodies that touch at one point and that nothing else pushes together meanwhile.  ``slowest`` (m/s): bodies that meet more slowly count
    as meeting at this speed.
    """
    if (damping is None) == (restitution is None):
        raise ModelError("contact law hunt_crossley: give either damping= (s/m) or restitution=")
    given, pair = _elastic(stiffness, material, radius, exponent, "contact law hunt_crossley")
    if damping is not None:
        given["damping"] = _constant("damping", damping, "s/m")
    else:
        given |= _restitution(restitution, slowest)
    return _with_surface(NormalLaw("hunt-crossley", given, materials=pair), friction, rolling, spinning, turning)


def lankarani_nikravesh(
    restitution: Any, material: Any = None, stiffness: Any = None, exponent: Any = 1.5, radius: Any = None, slowest: Any = SLOWEST,
    friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING,
) -> Penalty:  # fmt: skip
    """F = K δⁿ (1 + 3(1 − e²) δ̇/4δ̇⁻), Lankarani & Nikravesh (1990): made for e near 1.

    It gives back 0.913 of the speed where e = 0.9 and 0.725 where e = 0.5: hunt_crossley(restitution=e) gives back e.
    """
    given, pair = _elastic(stiffness, material, radius, exponent, "contact law lankarani_nikravesh")
    normal = NormalLaw("lankarani-nikravesh", given | _restitution(restitution, slowest), materials=pair)
    return _with_surface(normal, friction, rolling, spinning, turning)


def flores(
    restitution: Any, material: Any = None, stiffness: Any = None, exponent: Any = 1.5, radius: Any = None, slowest: Any = SLOWEST,
    friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING,
) -> Penalty:  # fmt: skip
    """F = K δⁿ (1 + 8(1 − e) δ̇/5eδ̇⁻), Flores et al. (2011): for all e, soft materials too.

    It gives back 0.894 of the speed where e = 0.9 and 0.470 where e = 0.5: hunt_crossley(restitution=e) gives back e.
    """
    given, pair = _elastic(stiffness, material, radius, exponent, "contact law flores")
    normal = NormalLaw("flores", given | _restitution(restitution, slowest), materials=pair)
    return _with_surface(normal, friction, rolling, spinning, turning)


def _restitution(e: Any, slowest: Any) -> dict[str, Expr]:
    return {"restitution": _constant("restitution", e, "1"), "slowest": _constant("slowest", slowest, "m/s")}


def own(
    law: Callable[[Expr, Expr, Expr], Any], friction: Any = 0.0, rolling: Any = 0.0, spinning: Any = 0.0, turning: Any = TURNING
) -> Penalty:
    """A normal force of your own, ``law(depth, rate, approach)`` in N of m and m/s, written with jourdain's functions; it never pulls."""
    if not callable(law):
        raise ModelError(f"contact law own: {law!r} is not a function of depth, rate and approach speed")
    force = value(traced(law, "contact law own", DEPTH, RATE, APPROACH), "contact law own", "N")
    others = [s.name for s in free_symbols([force]) if s not in (DEPTH, RATE, APPROACH) and s.deps & ~KINDS["parameter"]]
    if others:
        raise InputError(f"contact law own: it reads '{others[0]}'; a law of contact reads depth, rate, approach speed and parameters")
    return _with_surface(NormalLaw("own", {}, force), friction, rolling, spinning, turning)


__all__ = [
    "Friction", "NormalLaw", "Penalty", "Point", "PointForces", "bristle", "check_constant", "flores", "hertz", "hunt_crossley", "kelvin_voigt",
    "lankarani_nikravesh", "linear", "own", "pressed", "pushing", "regularised", "smooth_sign", "stored",
]  # fmt: skip
