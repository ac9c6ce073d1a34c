"""Servo constraints, the actuators that fulfil them, and the motions they prescribe.

M q̈ = −∇V − Gᵀλ − Bᵀu with b(q) = γ(t); the generalised actuator force is −Bᵀu, so the torque delivered by a motor on an
augmented joint coordinate is −u (Uhlar, Sec. 5.3).  Inputs are step averages and belong to the middle of the step.
Motions are functions of an expression of time, smooth enough for start values to be consistent: γ̇ = 0 at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ModelError
from ..symbolic.expr import ZERO, Expr, as_expr, neg
from ..symbolic.functions import clip, where
from .element import Coordinate, Element, Names, Servo, Symbols
from .of_model import Layout, OfModel

Motion = Callable[[Expr, Symbols], Expr]


def polynomial9(x: Any) -> Expr:
    """S(x) = 126x⁵ − 420x⁶ + 540x⁷ − 315x⁸ + 70x⁹ on [0, 1], constant outside: four derivatives vanish at both ends."""
    x = clip(as_expr(x), 0.0, 1.0)
    return x**5 * (126.0 + x * (-420.0 + x * (540.0 + x * (-315.0 + 70.0 * x))))


def polynomial9_integral(x: Any) -> Expr:
    """∫₀ˣ S = 21x⁶ − 60x⁷ + 67.5x⁸ − 35x⁹ + 7x¹⁰ on [0, 1], ½ at the end."""
    x = clip(as_expr(x), 0.0, 1.0)
    return x**6 * (21.0 + x * (-60.0 + x * (67.5 + x * (-35.0 + 7.0 * x))))


def point_to_point(t: Any, start: Any, end: Any, first: Any = 0.0, last: Any = 1.0) -> Expr:
    """Rest-to-rest motion from ``first`` to ``last`` between two instants (Uhlar, eq. 5.253)."""
    t, start, end, first, last = (as_expr(v) for v in (t, start, end, first, last))
    return first + (last - first) * polynomial9((t - start) / (end - start))


def ramp_cruise_ramp(t: Any, t1: Any, t2: Any, t3: Any, speed: Any) -> Expr:
    """Motion that speeds up until t₁, cruises at ``speed`` until t₂ and rests from t₃ on (Uhlar, eqs. 5.144, 5.209)."""
    t, t1, t2, t3, speed = (as_expr(v) for v in (t, t1, t2, t3, speed))
    up = t1 * polynomial9_integral(t / t1)
    cruise = clip(t - t1, 0.0, t3 - t1)
    down = (t3 - t2) * polynomial9_integral((t - t2) / (t3 - t2))
    return speed * (up + cruise - down)


def hat(t: Any, t1: Any, t2: Any) -> Expr:
    """Hat from 0 at t = 0 up to 1 at t₁ and back to 0 at t₂ (Uhlar, Fig. 5.3)."""
    t, t1, t2 = (as_expr(v) for v in (t, t1, t2))
    return where(t < t1, t / t1, where(t < t2, (t2 - t) / (t2 - t1), ZERO))


class CoordinateServo(Element):
    """One coordinate follows a motion γ(t), driven by a force on itself (B = 1): x = motion(t, c).

    >>> servo = CoordinateServo(lambda t, c: point_to_point(t, 0.0, 2.0, 0.0, c.angle), {"angle": 1})
    >>> servo.rows()
    ['input']
    """

    def __init__(self, motion: Motion, constants: Mapping[str, int] | None = None) -> None:
        self.motion = motion
        self.blocks = {"x": 1}
        self.constants = dict(constants or {})

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """x(t₁) = γ(t₁)."""
        return [Servo("input", s.at1.x[0] - as_expr(self.motion(s.t1, s)), {("x", 0): as_expr(1.0)})]


class OutputServo(Element):
    """Outputs b(q) of any blocks follow motions while other coordinates are driven (B ≠ Db: non-collocated, under-actuated).

    ``outputs(p, t, c)`` returns a list of b(q) − γ(t); ``actuated`` names the coordinates (block, index) on which the inputs act, one
    for each output.  Solvable without further projection when the driven coordinates accelerate the outputs directly (index 3).
    """

    def __init__(
        self, blocks: Mapping[str, int], outputs: Callable[[Names, Expr, Symbols], Sequence[Expr]], actuated: Sequence[Coordinate],
        constants: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.blocks = dict(blocks)
        self.outputs = outputs
        self.actuated = tuple(actuated)
        self.constants = dict(constants or {})
        for block, i in self.actuated:
            if not 0 <= i < self.blocks.get(block, 0):
                raise ModelError(f"OutputServo: actuated coordinate ({block}, {i}) is not among its blocks {self.blocks}")

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """One row for each output."""
        rows = list(self.outputs(s.at1, s.t1, s))
        if len(rows) != len(self.actuated):
            raise ModelError(f"OutputServo: {len(rows)} outputs but {len(self.actuated)} actuated coordinates; give one for each")
        return [Servo(f"input.{k + 1}", as_expr(b), {c: as_expr(1.0)}) for k, (b, c) in enumerate(zip(rows, self.actuated, strict=True))]


class ModelServo(OfModel):
    """Outputs of a model, expressions that vanish, and the model's inputs that make them vanish.

    ``forces`` holds for each input, by its name, the generalised forces (by coordinate) of a unit of it; the multiplier of its row is the
    input itself.
    """

    def __init__(self, layout: Layout, outputs: Mapping[str, Expr], forces: Mapping[str, Mapping[Expr, Expr]]) -> None:
        columns = [forces[name] for name in outputs]
        super().__init__(layout, [*outputs.values(), *(f for c in columns for f in c.values())], also=[x for c in columns for x in c])
        self.names = tuple(outputs)
        self.driven = tuple(tuple(c) for c in columns)

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """One row for each input."""
        outputs = self.written(self.expressions[: len(self.names)], s.at1, s.t1)
        forces = iter(self.written(self.expressions[len(self.names) :], s.mid, s.t))
        rows = [{self._places[x]: neg(next(forces)) for x in driven} for driven in self.driven]
        return [Servo(name, b, row) for name, b, row in zip(self.names, outputs, rows, strict=True)]
