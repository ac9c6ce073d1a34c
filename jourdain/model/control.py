"""Drives and their control: gears that bend and have play, laws that hold a joint at its target, compensators of vibrations."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.derivatives import gradient
from ..symbolic.expr import HALF, Expr, mul, neg, where
from ..symbolic.functions import clip, maximum
from ..symbolic.vectors import Vector
from .bodies import Body, Frame
from .joints import Joint, law_units
from .values import traced, value, values

if TYPE_CHECKING:
    from .loads import JointForce


class ControlMethods:
    """The part of a model that declares transmissions and control laws."""

    time: Expr

    if TYPE_CHECKING:

        def _joint(self, given: Any, what: str) -> Joint: ...
        def _free_name(self, base: str) -> str: ...
        def body(self, name: str, mass: Any = None, com: Any = ..., inertia: Any = None) -> Body: ...
        def revolute(self, name: str, parent: Body | Frame, child: Body | Frame, axis: Any = "z", **options: Any) -> Joint: ...
        def force(self, joint: Joint, law: Any, coordinate: str | None = None, name: str | None = None) -> JointForce: ...
        def state(self, name: str, initial: Any = 0.0, unit: str = "") -> Expr: ...
        def rate(self, state: Expr, expression: Any) -> None: ...

    # -- drives ---------------------------------------------------------------------------------------------------

    def transmission(
        self, joint: Joint, inertia: Any, stiffness: Any, ratio: Any = 1.0, damping: Any = 0.0, backlash: Any = 0.0, mass: Any = 0.0,
        name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A rotor that drives a joint through a gear which bends and may have play; gives the rotor's joint, on which motor and encoder sit.

        inertia: of the rotor about its axis (kg m²), a disc on the joint's parent that turns about the joint's axis. mass: of the rotor (kg).
        ratio: turns of the rotor φ for one of the joint q (rad/m for a slider).
        stiffness, damping: of the gear, seen at the joint (N m/rad, N m s/rad). backlash: the play between both flanks, rad at the joint.

        With the twist δ = φ/n − q, T = k δ + d δ̇ acts on the joint and −T/n on the rotor, as the housing on the parent says; with backlash b
        there is no torque within ±b/2 and beyond it flanks push, but never pull (Spong 1987, without his neglect of the rotor's carried motion).
        """
        label = name or f"{self._joint(joint, 'transmission').name}.rotor"
        what = f"transmission '{label}'"
        q = joint._single()
        if joint.kind not in ("revolute", "prismatic"):
            raise ModelError(f"{what}: joint '{joint.name}' is {joint.kind}; a transmission drives a revolute or prismatic one")
        units = law_units(q.unit)
        J, k, n, d, b = values(
            what, ("inertia", inertia, "kg m^2"), ("stiffness", stiffness, units["stiffness"]), ("ratio", ratio, units["gear_ratio"]),
            ("damping", damping, units["damping"]), ("backlash", backlash, q.unit),
        )  # fmt: skip
        for quantity, e, least in (("inertia", J, 0.0), ("stiffness", k, 0.0), ("damping", d, None), ("backlash", b, None)):
            if e.is_number and (float(e) <= least if least is not None else float(e) < 0.0):
                raise ModelError(f"{what}: {quantity} {float(e):g} must {'be positive' if least is not None else 'not be negative'}")
        if n.is_number and float(n) == 0.0:
            raise ModelError(f"{what}: ratio 0 connects nothing; give the turns of the rotor for one of the joint")
        axis = joint.motions[0].axis
        rotor = self.body(label, mass=mass, inertia=_disc(J, axis))
        turning = self.revolute(label, joint.parent, rotor, axis=list(axis))
        twist, rate = turning.position / n - q.q[0], turning.velocity / n - q.v[0]
        torque, potential = _flanks(twist, rate, k, d, b)
        drive = self.force(joint, torque, name=self._free_name(f"{joint.name}.gear"))
        drive.potential = potential
        self.force(turning, neg(torque / n), name=self._free_name(f"{label}.gear"))
        return turning

    # -- laws -----------------------------------------------------------------------------------------------------

    def pd(
        self, joint: Joint, target: Any, kp: Any, kd: Any = 0.0, feedback: Any = 0.0, limit: Any = None, position: Any = None,
        velocity: Any = None, coordinate: str | None = None, name: str | None = None,
    ) -> JointForce:  # fmt: skip
        """Proportional and derivative control of a joint: kp (r − x) + kd (ṙ − v) + feedback, N m or N.

        target: r, a number, an expression or a function of time; ṙ is its derivative by time (an input's is zero).
        feedback: what is added, such as ``Ks * body.gauge(at=0)``: strain feedback (Martins et al., eq. 97, with the sign in the gain).
        limit: the largest force either way. position, velocity: what the controller believes, such as an encoder; the joint's own unless given.
        """
        label = name or self._free_name(f"{self._joint(joint, 'pd').name}.control")
        what = f"control '{label}'"
        c = joint._single() if coordinate is None else joint.coordinate(coordinate)
        units = law_units(c.unit)
        r = value(traced(target, what, self.time) if callable(target) else target, f"{what}: target", c.unit)
        p, d, more = values(
            what, ("kp", kp, units["stiffness"]), ("kd", kd, units["damping"]), ("feedback", feedback, units["force"])
        )  # fmt: skip
        x, v = values(
            what, ("position", c.q[0] if position is None else position, c.unit),
            ("velocity", c.v[0] if velocity is None else velocity, units["velocity"]),
        )  # fmt: skip
        force = p * (r - x) + d * (gradient(r, [self.time])[0] - v) + more
        if limit is not None:
            most = value(limit, f"{what}: limit", units["force"])
            force = clip(force, neg(most), most)
        return self.force(joint, force, coordinate=coordinate, name=label)

    def positive_position_feedback(self, name: str, signal: Any, frequency: Any, gain: Any, damping: Any = 0.5) -> Expr:
        """Positive position feedback g η of a signal y, with the filter η̈ + 2ζω η̇ + ω² η = ω² y (Fanson & Caughey 1990).

        Tuned to the frequency (Hz) of a mode which y sees, it damps that mode and those above it; it is stable as long as its static
        gain is smaller than the stiffness.  η is the state ``name``.
        """
        what = f"feedback '{name}'"
        y, f, g, zeta = (value(e, what, unit) for e, unit in ((signal, None), (frequency, "Hz"), (gain, None), (damping, None)))
        if f.is_number and not float(f) > 0:
            raise ModelError(f"{what}: frequency {float(f):g} Hz must be positive")
        w = 2.0 * pi * f
        eta, rate = self.state(name), self.state(f"{name}.rate")
        self.rate(eta, rate)
        self.rate(rate, w * (w * (y - eta) - 2.0 * zeta * rate))
        return g * eta


def _disc(J: Expr, n: Vector) -> list[list[Expr]]:
    """The inertia of a thin disc about its axis n: ½J(1 + n nᵀ)."""
    return [[mul(HALF, J * (n[i] * n[j] + (1.0 if i == j else 0.0))) for j in range(3)] for i in range(3)]


def _flanks(twist: Expr, rate: Expr, k: Expr, d: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Torque and potential energy of a gear with play b."""
    if b.is_number and float(b) == 0.0:
        return k * twist + d * rate, mul(HALF, k * twist * twist)
    half = mul(HALF, b)
    ahead, behind = maximum(twist - half, 0.0), maximum(neg(twist) - half, 0.0)
    push = where(ahead > 0.0, maximum(k * ahead + d * rate, 0.0), 0.0) - where(behind > 0.0, maximum(k * behind - d * rate, 0.0), 0.0)
    return push, mul(HALF, k * (ahead * ahead + behind * behind))


__all__ = ["ControlMethods"]
