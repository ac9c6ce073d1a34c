"""Motions of servo constraints: values, derivatives at the ends, integrals."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.element import Element, Servo, Symbols, symbols_of
from jourdain.elements.servo import (  # fmt: skip
    CoordinateServo,
    OutputServo,
    hat,
    point_to_point,
    polynomial9,
    polynomial9_integral,
    ramp_cruise_ramp,
)
from jourdain.elements.servo_projection import INVERSE_MASS, Projected
from jourdain.errors import ModelError
from jourdain.symbolic import evaluate, sin, symbols
from jourdain.symbolic.derivatives import gradient

(t,) = symbols("t")


def at(e: object, value: float) -> float:
    return float(evaluate(e, {t: value}))


def test_polynomial() -> None:
    S = polynomial9(t)
    assert [at(S, v) for v in (-1.0, 0.0, 1.0, 2.0)] == pytest.approx([0, 0, 1, 1], abs=1e-13)
    derivative = S
    for order in range(1, 5):
        derivative = gradient(derivative, [t])[0]
        assert at(derivative, 1e-9) == pytest.approx(0.0, abs=1e-4)
        assert at(derivative, 1.0 - 1e-9) == pytest.approx(0.0, abs=1e-4)
        if order == 1:
            assert at(derivative, 0.5) == pytest.approx(2.4609375, rel=1e-14)
        if order == 2:
            assert abs(at(derivative, 0.31102)) == pytest.approx(9.371976, rel=1e-6)


def test_integral() -> None:
    total = polynomial9_integral(t)
    assert at(total, 1.0) == pytest.approx(0.5, rel=1e-13)
    for x in (0.2, 0.7):
        assert at(gradient(total, [t])[0], x) == pytest.approx(at(polynomial9(t), x), rel=1e-12)


def test_ramp_cruise_ramp() -> None:
    t1, t2, t3, w = 2.0, 3.0, 4.0, 1.3823
    s = ramp_cruise_ramp(t, t1, t2, t3, w)
    rate = gradient(s, [t])[0]
    assert at(s, t3) == pytest.approx(w * ((t3 - t1) + t1 / 2 - (t3 - t2) / 2), rel=1e-13)
    assert at(s, 9.0) == pytest.approx(at(s, t3), rel=1e-13)
    assert at(rate, 2.5) == pytest.approx(w, rel=1e-13)
    assert at(rate, 1e-9) == pytest.approx(0.0, abs=1e-9)
    assert at(rate, 4.0 - 1e-9) == pytest.approx(0.0, abs=1e-9)
    for joint in (t1, t2):
        assert at(s, joint - 1e-9) == pytest.approx(at(s, joint + 1e-9), abs=1e-8)


def test_point_to_point_and_hat() -> None:
    s = point_to_point(t, 1.0, 3.0, -2.0, 5.0)
    assert [at(s, v) for v in (0.0, 2.0, 4.0)] == pytest.approx([-2.0, 1.5, 5.0])
    load = hat(t, 0.25, 0.5)
    assert [at(load, v) for v in (0.0, 0.125, 0.25, 0.375, 0.5, 1.0)] == pytest.approx([0, 0.5, 1, 0.5, 0, 0])


def test_rows() -> None:
    servo = CoordinateServo(lambda t, c: c.speed * t, {"speed": 1})
    s = symbols_of(servo)
    (row,) = servo.servo(s)
    assert float(evaluate(row.constraint, {s.at1.x[0]: 3.0, s.t1: 2.0, s.speed: 1.5})) == 0.0
    assert row.row[("x", 0)] == 1.0


def test_non_collocated_rows_match_their_actuators() -> None:
    two = OutputServo({"x": 2, "y": 1}, lambda p, t, c: [p.x[0] - t, p.x[1]], [("y", 0), ("x", 1)])
    assert two.rows() == ["input.1", "input.2"]
    with pytest.raises(ModelError, match="give one for each"):
        OutputServo({"x": 2}, lambda p, t, c: [p.x[0]], [("x", 0), ("x", 1)]).rows()
    with pytest.raises(ModelError, match="not among its blocks"):
        OutputServo({"x": 2}, lambda p, t, c: [p.x[0]], [("z", 0)])


class Swung(Element):
    """An output that is curved in two coordinates, driven along the first."""

    blocks = {"x": 2}

    def servo(self, s: Symbols) -> list[Servo]:
        return [Servo("tip", s.at1.x[0] * s.at1.x[1] - sin(s.t1), {("x", 0): s.mid.x[1]})]


def test_projected_rows() -> None:
    """C (a + M⁻¹Cᵀη) + 2 ẋ₀ẋ₁ + sin t with C = (x₁, x₀), then the constraint itself through C."""
    element = Projected(Swung())
    assert element.rows() == ["tip", "tip.projection"] and element.constants == {INVERSE_MASS: 4}
    s = symbols_of(element)
    condition, constraint = element.servo(s)
    assert condition.works and not constraint.works and constraint.multiplier is not None
    x, v, a, inverse, eta, now = (2.0, 3.0), (0.5, -1.5), (0.7, 0.2), (4.0, 1.0, 1.0, 5.0), 0.3, 0.8
    known = dict(zip(s.at1.x, x, strict=True)) | dict(zip(s.rate.x, v, strict=True)) | dict(zip(s.acceleration.x, a, strict=True))
    known |= dict(zip(getattr(s, INVERSE_MASS), inverse, strict=True)) | {constraint.multiplier: eta, s.t1: now}
    C, W = np.array([3.0, 2.0]), np.array(inverse).reshape(2, 2)
    exact = C @ (np.array(a) + W @ C * eta) + 2.0 * v[0] * v[1] + np.sin(now)
    assert float(evaluate(condition.constraint, known)) == pytest.approx(exact, rel=1e-14)
    assert float(evaluate(constraint.constraint, known)) == pytest.approx(6.0 - np.sin(now), rel=1e-14)
    mid = dict(zip(s.mid.x, x, strict=True))
    assert [float(evaluate(constraint.row["x", i], mid)) for i in range(2)] == [3.0, 2.0]


def test_projected_elements_are_told_apart_by_what_they_project() -> None:
    first, second = OutputServo({"x": 1}, _level, [("x", 0)]), OutputServo({"x": 1}, _rising, [("x", 0)])
    assert Projected(first).key == Projected(OutputServo({"x": 1}, _level, [("x", 0)])).key
    assert len({Projected(first).key, Projected(second).key, first.key}) == 3


def _level(p: object, t: object, c: object) -> list[object]:
    return [p.x[0]]  # type: ignore[attr-defined]


def _rising(p: object, t: object, c: object) -> list[object]:
    return [p.x[0] - t]  # type: ignore[attr-defined, operator]
