"""Devices that come back: hydraulic buffers, draft gears of rubber and friction, and contact between flat faces."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from ...errors import InputError
from ...model.model import Model
from ...model.values import number
from ...symbolic.expr import Expr
from ...symbolic.functions import where
from .device import Device, least, most, play, positive, with_work

#: Between faces that touch (m).
APART = 1e-9


@dataclass(frozen=True, kw_only=True)
class _Numbers(Device):
    """A device by a few numbers, each with a unit."""

    name: str

    #: Numbers that are parameters, with their units.
    units: ClassVar[dict[str, str]] = {}

    def declared(self, m: Model, name: str) -> Self:
        """Every number as a parameter ``name.…``."""
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name in self.units}
        symbols: dict[str, Any] = {n: m.parameter(f"{name}.{n}", x, self.units[n], (0.0, None)) for n, x in numbers.items()}
        return replace(self, **symbols)


@dataclass(frozen=True, kw_only=True)
class HydraulicBuffer(_Numbers):
    """Oil pressed through an orifice that closes with the stroke, behind a gas or steel spring; made by :func:`hydraulic_buffer`."""

    preload: Any
    stiffness: Any
    damping: Any
    recoil: Any
    stroke: Any
    taper: Any
    bottoming: Any

    kind = "hydraulic buffer"
    units: ClassVar[dict[str, str]] = {
        "preload": "N",
        "stiffness": "N/m",
        "damping": "N s^2/m^2",
        "recoil": "N s^2/m^2",
        "stroke": "m",
        "taper": "1",
        "bottoming": "N/m",
    }

    def force(self, d: Any, rate: Any) -> Any:
        """f = f₀ + k d + c(d) ḋ² while it is pressed, less c_r ḋ² while it comes back, never pulling; beyond the stroke a stop."""
        inside = least(most(d, 0.0), self.stroke)
        spring = self.preload * least(most(d, 0.0) / (0.01 * self.stroke), 1.0) + self.stiffness * inside
        narrow = 1.0 + self.taper * inside / self.stroke
        pressed, back = most(rate, 0.0), most(-rate, 0.0)
        oil = least(most(d, 0.0) / (0.01 * self.stroke), 1.0) * (self.damping * narrow * pressed * pressed - self.recoil * back * back)
        return most(spring + oil, 0.0) + self.bottoming * most(d - self.stroke, 0.0)

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """The law, with a state for its work."""
        force: Expr = self.force(crush, rate)
        with_work(m, name, crush, rate, force)
        return force


@dataclass(frozen=True, kw_only=True)
class DraftGear(_Numbers):
    """Blocks of rubber (or rings) with friction; made by :func:`draft_gear`."""

    stiffness: Any
    hardening: Any
    friction: Any
    seat: Any
    stroke: Any
    bottoming: Any
    slack: Any

    kind = "draft gear"
    units: ClassVar[dict[str, str]] = {
        "stiffness": "N/m",
        "hardening": "N/m^3",
        "friction": "1",
        "seat": "m",
        "stroke": "m",
        "bottoming": "N/m",
        "slack": "m",
    }

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """f = g(x) (1 + φ σ), g = k x + k₃ x³, in both directions beyond the slack; σ from −1 to 1 lags behind x by friction (a memory: its seat)."""
        half = 0.5 * self.slack
        x = most(crush - half, 0.0) - most(-crush - half, 0.0)
        lag, _ = play(m, f"{name}.seat", x, rate, self.seat, "m")
        inside = least(most(x, -self.stroke), self.stroke)
        g = self.stiffness * inside + self.hardening * inside * inside * inside
        outward = where(x >= 0.0, lag, -lag)
        force: Expr = g * (1.0 + self.friction * outward) + self.bottoming * (x - inside)
        with_work(m, name, crush, rate, force)
        return force


@dataclass(frozen=True, kw_only=True)
class ContactDevice(_Numbers):
    """Two faces that touch, with losses by the speed of approach; made by :func:`contact_device`."""

    stiffness: Any
    exponent: Any
    restitution: Any

    kind = "contact"
    units: ClassVar[dict[str, str]] = {"stiffness": "", "restitution": "1"}

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """f = K δⁿ (1 + ¾ (1 − e²) δ̇/δ̇₋) for δ > 0, never pulling; δ̇₋ is a memory of the speed at which the contact began.

        Faces that touch where a run begins are a nanometre apart: so the event of their meeting tells that speed there, too, and not the end of a first step.
        """
        began = m.memory(f"{name}.approach", 0.0, unit="m/s")
        delta = crush - APART
        m.update(began, where(delta <= 0.1 * APART, most(rate, 0.0), where(began > 0.0, began, most(rate, 0.0))))
        m.event(f"{name}.touches", delta)
        depth = most(delta, 0.0)
        speed = where(began > 0.0, began, most(rate, 1e-9))
        force: Expr = most(depth**self.exponent * self.stiffness * (1.0 + 0.75 * (1.0 - self.restitution**2) * rate / speed), 0.0)
        with_work(m, name, crush, rate, force)
        return force


def hydraulic_buffer(
    damping: Any, stroke: Any, stiffness: Any = 0.0, preload: Any = 0.0, recoil: Any = None, taper: Any = 0.0, bottoming: Any = 1e8,
    name: str = "hydraulic buffer",
) -> HydraulicBuffer:  # fmt: skip
    """A hydraulic buffer: f = f₀ + k d + c (1 + taper · d/stroke) ḋ² while pressed; back with c_r, by default 4 c.

    damping: c (N s²/m²). stroke: free way (m), with a stop of ``bottoming`` (N/m) at its end. stiffness, preload: of the spring that brings it
    back (N/m, N); the preload builds up within a hundredth of the stroke.
    """
    what = f"'{name}'"
    c = positive(damping, f"{what}: damping", "N s^2/m^2")
    return HydraulicBuffer(
        name=name, damping=c, stroke=positive(stroke, f"{what}: stroke", "m"), stiffness=positive(stiffness, f"{what}: stiffness", "N/m", zero=True),
        preload=positive(preload, f"{what}: preload", "N", zero=True), taper=positive(taper, f"{what}: taper", "1", zero=True),
        recoil=4.0 * c if recoil is None else positive(recoil, f"{what}: recoil", "N s^2/m^2", zero=True),
        bottoming=positive(bottoming, f"{what}: bottoming", "N/m", "without it the crush has no end"),
    )  # fmt: skip


def draft_gear(
    stiffness: Any, stroke: Any, hardening: Any = 0.0, friction: Any = 0.3, seat: Any = 1e-3, bottoming: Any = 1e8, slack: Any = 0.0,
    name: str = "draft gear",
) -> DraftGear:  # fmt: skip
    """A draft gear of rubber with friction, alike in buff and draft: g = k x + k₃ x³, pressed (1 + φ) g, back (1 − φ) g.

    friction: φ below 1. seat: way over which friction turns round (m). slack: free way of the coupler between the two directions (m).
    """
    what = f"'{name}'"
    phi = positive(friction, f"{what}: friction", "1", zero=True)
    if phi >= 1.0:
        raise InputError(f"{what}: friction = {phi:g} would hold the gear when it comes back; give less than 1")
    return DraftGear(
        name=name, stiffness=positive(stiffness, f"{what}: stiffness", "N/m"), stroke=positive(stroke, f"{what}: stroke", "m"), friction=phi,
        hardening=positive(hardening, f"{what}: hardening", "N/m^3", zero=True), seat=positive(seat, f"{what}: seat", "m"),
        bottoming=positive(bottoming, f"{what}: bottoming", "N/m", "without it the crush has no end"),
        slack=positive(slack, f"{what}: slack", "m", zero=True),
    )  # fmt: skip


def contact_device(stiffness: Any, exponent: Any = 1.5, restitution: Any = 0.9, name: str = "contact") -> ContactDevice:
    """Contact with hysteresis after Lankarani and Nikravesh; K in N/mⁿ.

    The restitution that comes out, e′, is not the e that goes in: D (1 + e′) = ln[(1 + D)/(1 − D e′)] with D = ¾ (1 − e²), whatever K, n and the
    masses are (0.913 for 0.9, 0.725 for 0.5).
    """
    what = f"'{name}'"
    e = number(restitution, f"{what}: restitution", "1")
    if not 0.0 <= e <= 1.0:
        raise InputError(f"{what}: restitution = {e:g} must lie between 0 and 1")
    n = number(exponent, f"{what}: exponent", "1")
    if n < 1.0:
        raise InputError(f"{what}: exponent = {n:g} must be at least 1 (3/2 for curved faces, 1 for flat ones)")
    return ContactDevice(name=name, stiffness=positive(stiffness, f"{what}: stiffness", ""), exponent=n, restitution=e)


def flat_contact_stiffness(a: Any, b: Any, E: Any, nu: float = 0.3, other: tuple[Any, float] | None = None) -> float:
    """Stiffness of two flat faces that touch in a rectangle with half sides a and b (N/m): K = 2√(ab)/(m Σ (1 − ν²)/E), exponent 1.

    m is the shape factor of the mean displacement of a uniformly loaded rectangle, w = m P (1 − ν²)/(E √area), here in closed form (0.946 for
    a square, 0.71 at sides 1 : 10).  ``other`` is (E, ν) of the second body, unless it is of the same material.
    """
    x, y = positive(a, "flat contact: a", "m"), positive(b, "flat contact: b", "m")
    soft = 0.0
    for modulus, poisson in ((E, nu), other or (E, nu)):
        soft += (1.0 - poisson**2) / positive(modulus, "flat contact: E", "Pa")
    return 2.0 * math.sqrt(x * y) / (rectangle_factor(x / y) * soft)


def rectangle_factor(ratio: float) -> float:
    """m = ∬∬ 1/r dA dA′ / (π area^{3/2}) of a rectangle with this ratio of sides (potential theory, Boussinesq)."""
    w = math.hypot(1.0, ratio)
    mean = ratio**2 * math.log((1.0 + w) / ratio) + ratio * math.log(ratio + w) + (ratio**3 + 1.0 - w**3) / 3.0
    return 2.0 * mean / (math.pi * ratio**1.5)


__all__ = [
    "ContactDevice", "DraftGear", "HydraulicBuffer", "contact_device", "draft_gear", "flat_contact_stiffness", "hydraulic_buffer", "rectangle_factor",
]  # fmt: skip
