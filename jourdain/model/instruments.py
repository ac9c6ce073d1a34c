"""Instruments on a model: encoders, accelerometers, filters.  What they read may stand in laws, controllers, outputs and guards."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import Expr, where
from ..symbolic.functions import floor
from ..symbolic.vectors import Vector
from .bodies import Body, Frame
from .joints import Joint
from .values import number, unit_axis, value

if TYPE_CHECKING:
    from .sensors import Sensor


class InstrumentMethods:
    """The part of a model that declares instruments."""

    gravity: Vector

    if TYPE_CHECKING:

        def _joint(self, given: Any, what: str) -> Joint: ...
        def parameter(self, name: str, value: Any, unit: str = "", bounds: tuple[Any, Any] = ..., description: str = "") -> Expr: ...
        def sensor(self, name: str, frame: Body | Frame, relative_to: Body | Frame | None = None) -> Sensor: ...
        def state(self, name: str, initial: Any = 0.0, unit: str = "") -> Expr: ...
        def rate(self, state: Expr, expression: Any) -> None: ...

    def encoder(
        self, name: str, joint: Joint, counts: Any = None, ratio: Any = 1.0, step: Any = None, coordinate: str | None = None
    ) -> Expr:  # fmt: skip
        """What an encoder of ``counts`` lines a turn reads at a joint: the nearest whole number of its steps, rad (or m).

        ratio: turns of the encoder for one of the joint, as behind a gear. step: instead of counts, the smallest change that it sees.

        The step is the parameter ``name.step``; at zero the encoder reads what is.  A staircase has no slope: to :meth:`linearise <jourdain.System.linearise>`
        a loop through an encoder is open until its step is set to zero.
        """
        what = f"encoder '{name}'"
        self._joint(joint, what)
        c = joint._single() if coordinate is None else joint.coordinate(coordinate)
        if (counts is None) == (step is None):
            raise ModelError(f"{what}: give either counts= of a turn or step= in rad or m")
        unit = c.unit
        if step is None:
            if unit != "rad":
                raise ModelError(f"{what}: joint '{joint.name}' moves in {unit} and has no turns to count; give step= in {unit}")
            lines, turns = number(counts, f"{what}: counts", "1"), number(ratio, f"{what}: ratio", "1")
            if not lines > 0 or turns == 0:
                raise ModelError(f"{what}: counts = {lines:g} and ratio = {turns:g} must be positive")
            step = 2.0 * pi / (lines * abs(turns))
        h = self.parameter(f"{name}.step", step, unit, bounds=(0.0, None), description=f"resolution of {what}; 0 reads what is")
        seen = where(h > 0.0, h, 1.0)
        return where(h > 0.0, h * floor(c.q[0] / seen + 0.5), c.q[0])

    def accelerometer(self, name: str, frame: Body | Frame, axis: Any = "x", gravity: bool = True) -> Expr:
        """What an accelerometer at a frame reads along one of the frame's axes, m/s²: the acceleration less that of gravity.

        At rest it reads 9.81 m/s² upwards; ``gravity=False`` gives the acceleration alone.  In a law it counts as added mass; behind
        :meth:`low_pass` it is a state like any other.
        """
        what = f"accelerometer '{name}'"
        e, s = unit_axis(axis, what), self.sensor(name, frame)
        felt = s.acceleration - self.gravity if gravity else s.acceleration
        return (s.rotation @ e).dot(felt)

    def low_pass(self, name: str, signal: Any, frequency: Any, initial: Any = 0.0, unit: str = "") -> Expr:
        """A signal behind a filter of first order with a corner frequency (Hz): ẏ = ω(x − y), from ``initial`` on."""
        x, w = self._filtered(name, signal, frequency)
        y = self.state(name, initial, unit)
        self.rate(y, w * (x - y))
        return y

    def derivative(self, name: str, signal: Any, frequency: Any, initial: Any = 0.0, unit: str = "") -> Expr:
        """The rate of a signal as a controller finds it, up to a corner frequency (Hz): ω(x − y) with ẏ = ω(x − y), y from ``initial`` on."""
        x, w = self._filtered(name, signal, frequency)
        return w * (x - self.low_pass(name, x, frequency, initial, unit))

    def _filtered(self, name: str, signal: Any, frequency: Any) -> tuple[Expr, Expr]:
        what = f"filter '{name}'"
        f = value(frequency, what, "Hz")
        if f.is_number and not float(f) > 0:
            raise ModelError(f"{what}: the corner frequency {float(f):g} Hz must be positive")
        return value(signal, what), 2.0 * pi * f


__all__ = ["InstrumentMethods"]
