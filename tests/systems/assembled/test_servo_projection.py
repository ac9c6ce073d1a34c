"""Servo constraints of under-actuated systems: what the report says, consistent starts, and projected runs against closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from jourdain.elements.potentials import CoordinateForce, PointMass
from jourdain.elements.servo import CoordinateServo, OutputServo, point_to_point
from jourdain.errors import InputError, SolverError
from jourdain.library.cranes import Spring, overhead_crane, passive_arm, rotary_crane, spring_masses
from jourdain.results.solution import Solution
from jourdain.symbolic import cos, sin
from jourdain.symbolic.expr import Expr, as_expr
from jourdain.systems.assembled.jets import Jets
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.flat_cranes import T, function, line, overhead, rate, rotary, smooth

SPACE = {"first": (0.0, 0.0, -4.0), "last": (4.0, 2.0, -2.0)}
METHODS = {"backward-euler": 1, "generalized-alpha": 2}


def names(count: int) -> list[str]:
    return [f"servo.input.{k + 1}" for k in range(count)]


def input_errors(sol: Solution, drives: Sequence[Expr]) -> np.ndarray:
    """Largest error of each drive's force, relative to its largest value."""
    found = []
    for name, e in zip(names(len(drives)), drives, strict=True):
        exact = function(e)(sol.t)
        found.append(np.abs(-sol[name] - exact).max() / np.abs(exact).max())
    return np.array(found)


def orders(make: Callable[[], AssembledSystem], end: float, step: float, method: str, drives: Sequence[Expr]) -> np.ndarray:
    coarse, fine = (input_errors(make().simulate(end, h, method=method, servo="projected"), drives) for h in (step, step / 2))
    assert fine.max() < 0.1
    return np.log2(coarse / fine)


# -- the report ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "rank", "realisation", "index"),
    [
        (spring_masses, 0, "tangential", 5),
        (overhead_crane, 1, "mixed", 5),
        (lambda: overhead_crane(**SPACE), 1, "mixed", 5),
        (rotary_crane, 1, "mixed", 5),
        (passive_arm, 1, "orthogonal", 3),
        (lambda: passive_arm(0.4), 0, "tangential", 4),
    ],
)
def test_report(make: Callable[[], AssembledSystem], rank: int, realisation: str, index: int) -> None:
    report = make().servo_report()
    assert (report.rank, report.realisation, report.index) == (rank, realisation, index)
    assert len(report.cosines) == len(report.outputs)
    assert f"index {index}" in str(report) and realisation in str(report)
    assert report.stable


def test_outputs_without_actuation_are_named() -> None:
    assert overhead_crane().servo_report().unactuated == ("servo.input.1",)
    assert rotary_crane().servo_report().unactuated == ("servo.input.1", "servo.input.2")
    assert passive_arm().servo_report().unactuated == ()


def test_a_collocated_servo_is_ideal() -> None:
    s = AssembledSystem("mass")
    x = s.coordinates("x", 1, 0.0)
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 2.0})
    s.add(CoordinateServo(_gentle), "drive", {"x": x})
    report = s.servo_report()
    assert report.realisation == "orthogonal" and report.cosines == pytest.approx([1.0]) and report.internal.size == 0


def _gentle(t: Expr, c: Any) -> Expr:
    return point_to_point(t, 0.0, 1.0)


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.2, 0.35, 0.5, 1.0])
def test_internal_motion_of_the_arm(share: float) -> None:
    """(m₂₂ − share m₁₂) θ̈ + d θ̇ + k θ = 0 of the elbow while shoulder + share · elbow rests: the sign of the mass decides."""
    m22, m12 = 2.0 / 3.0, 2.0 / 3.0 + 1.0
    report = passive_arm(share).servo_report()
    exact = np.roots([m22 - share * m12, 0.25, 50.0])
    key = lambda z: (round(z.real, 6), z.imag)
    np.testing.assert_allclose(sorted(report.internal, key=key), sorted(exact, key=key), rtol=1e-9)
    assert report.stable == (share < 0.4)


def three_masses() -> AssembledSystem:
    s = AssembledSystem("three masses")
    x = [s.coordinates(f"x{k}", 1, float(k)) for k in range(3)]
    for k in range(3):
        s.add(PointMass(1), f"mass{k}", {"x": x[k]}, {"mass": 1.0 + k})
    for k in range(2):
        s.add(Spring(), f"spring{k}", {"first": x[k], "second": x[k + 1]}, {"stiffness": 30.0, "length": 1.0})
    s.add(OutputServo({"drive": 1, "out": 1}, _third, [("drive", 0)]), "servo", {"drive": x[0], "out": x[2]})
    return s


def _third(p: Any, t: Expr, c: Any) -> Sequence[Expr]:
    return [p.out[0] - 2.0 - point_to_point(t, 0.0, 1.0)]


def test_a_longer_chain_has_a_higher_index() -> None:
    s = three_masses()
    assert s.servo_report().index == 7
    with pytest.raises(InputError, match="the index is 7; the projection serves an index up to 5"):
        s.simulate(1.0, 0.01, method="generalized-alpha", servo="projected")


def test_inputs_that_cannot_steer() -> None:
    s = AssembledSystem("apart")
    x, y = s.coordinates("x", 1, 0.0), s.coordinates("y", 1, 2.0)
    for h in (x, y):
        s.add(PointMass(1), f"mass {h.name}", {"x": h}, {"mass": 1.0})
    s.add(OutputServo({"drive": 1, "out": 1}, _third, [("drive", 0)]), "servo", {"drive": x, "out": y})
    report = s.servo_report()
    assert report.index is None and "cannot steer" in str(report)
    with pytest.raises(InputError, match="the inputs cannot steer the outputs"):
        s.simulate(1.0, 0.01, method="generalized-alpha", servo="projected")


# -- what is refused ------------------------------------------------------------------------------------------------------------


def test_plain_schemes_refuse_under_actuation() -> None:
    with pytest.raises(InputError, match=r"'servo.input.1' directly \(1 of 2 do\).*servo=\"projected\""):
        overhead_crane().simulate(1.0, 0.01)


def test_refusals() -> None:
    crane = overhead_crane()
    with pytest.raises(InputError, match="'energy-momentum' has them elsewhere"):
        crane.simulate(1.0, 0.01, servo="projected")
    with pytest.raises(InputError, match="servo 'projekted' is unknown"):
        crane.simulate(1.0, 0.01, servo="projekted")
    with pytest.raises(InputError, match="prescribes 'shoulder.*no mass of its own"):
        passive_arm(0.4).simulate(1.0, 0.01, method="generalized-alpha", servo="projected")
    bare = without_servo(crane, {})
    with pytest.raises(InputError, match="has no servo constraints"):
        bare.servo_report()
    with pytest.raises(InputError, match="has no servo constraints to project"):
        bare.simulate(1.0, 0.01, method="generalized-alpha", servo="projected")


def test_outputs_of_one_body_stand_in_one_element() -> None:
    s = overhead_crane()
    load, length = (next(h for h in s.handles if h.name == n) for n in ("load", "length"))
    s.add(OutputServo({"load": 2, "length": 1}, _slanted, [("length", 0)]), "second", {"load": load, "length": length})
    with pytest.raises(InputError, match="'second' and 'servo' prescribe the same body"):
        s.program("generalized-alpha", servo="projected")


def _slanted(p: Any, t: Expr, c: Any) -> Sequence[Expr]:
    return [p.load[0] + p.load[1] + 4.0]


# -- runs against closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "order"), METHODS.items())
def test_spring_masses(method: str, order: int) -> None:
    """u = (m₁ + m₂) γ̈ + m₁ m₂/k γ⁗ and x₁ = x₂ − ℓ + m₂/k γ̈."""
    course = 0.5 + smooth(T / 2.0)
    force = 3.0 * rate(course, 2) + 2.0 / 50.0 * rate(course, 4)
    assert orders(spring_masses, 2.0, 0.01, method, [force])[0] == pytest.approx(order, abs=0.1)
    sol = spring_masses().simulate(2.0, 0.05, method=method, servo="projected")
    np.testing.assert_allclose(sol["first"], function(course - 0.5 + 2.0 / 50.0 * rate(course, 2))(sol.t), atol=1e-11)


@pytest.mark.parametrize(("method", "order"), METHODS.items())
@pytest.mark.parametrize("space", [False, True], ids=["plane", "space"])
def test_overhead_crane(method: str, order: int, space: bool) -> None:
    ends = SPACE if space else {"first": (0.0, -4.0), "last": (4.0, -2.0)}
    coordinates, drives = overhead(line(ends["first"], ends["last"], 3.0), (60.0, 10.0) if space else (10.0,))
    assert orders(lambda: overhead_crane(**ends), 3.0, 0.01, method, drives) == pytest.approx([order] * len(drives), abs=0.15)
    sol = overhead_crane(**ends).simulate(3.0, 0.1, method=method, servo="projected")
    found = np.column_stack([sol["trolley"], sol["length"]])
    np.testing.assert_allclose(found, np.column_stack([function(e)(sol.t) for e in coordinates]), atol=1e-10)
    assert sol["constraints.violation"].max() < 1e-12


@pytest.mark.parametrize(("method", "order"), METHODS.items())
def test_rotary_crane(method: str, order: int) -> None:
    coordinates, drives = rotary(line((5.0, 0.0, -5.0), (-2.0, 4.0, -3.0), 8.0))
    assert orders(rotary_crane, 8.0, 0.04, method, drives) == pytest.approx([order] * 3, abs=0.15)
    sol = rotary_crane().simulate(8.0, 0.08, method=method, servo="projected")
    for name, e in zip(("radius", "length"), coordinates[1:], strict=True):
        np.testing.assert_allclose(sol[name], function(e)(sol.t), atol=1e-10)
    assert sol["slewing"][-1] == pytest.approx(np.arctan2(4.0, -2.0), abs=1e-10)
    reduced = rotary_crane().simulate(8.0, 0.08, method=method, servo="projected", reduction="bodies")
    assert reduced.statistics["unknowns"] < sol.statistics["unknowns"]
    for name in names(3):
        np.testing.assert_allclose(reduced[name], sol[name], atol=1e-6 * np.abs(sol[name]).max())


def test_multipliers_of_the_projection_vanish_with_the_step() -> None:
    sizes = []
    for h in (0.02, 0.01):
        sol = overhead_crane().simulate(3.0, h, method="generalized-alpha", servo="projected")
        sizes.append(max(np.abs(sol[f"{n}.projection"]).max() for n in names(2)))
    assert 0.0 < sizes[1] < 1.0 and np.log2(sizes[0] / sizes[1]) == pytest.approx(2.0, abs=0.2)


def test_projection_of_a_direct_servo_agrees_with_the_plain_scheme() -> None:
    """With inputs on the outputs both ways find the same inputs, to second order; the second mass stays free."""

    def driven() -> AssembledSystem:
        s = without_servo(spring_masses(), {})
        first = next(h for h in s.handles if h.name == "first")
        s.add(CoordinateServo(_gentle), "servo", {"x": first})
        return s

    assert driven().servo_report().realisation == "orthogonal"
    apart = []
    for h in (0.02, 0.01):
        projected = driven().simulate(1.5, h, method="generalized-alpha", servo="projected")
        plain = driven().simulate(1.5, h)
        np.testing.assert_allclose(projected["first"], plain["first"], atol=1e-12)
        mean = 0.5 * (projected["servo.input"][1:] + projected["servo.input"][:-1])
        apart.append(np.abs(mean - plain["servo.input"][1:]).max())
        assert np.abs(projected["second"] - plain["second"]).max() < 5.0 * h**2
    assert apart[1] < 0.05 and np.log2(apart[0] / apart[1]) > 1.7


def test_steps_divide_the_span() -> None:
    """A last step of another size would disturb the inputs."""
    sol = overhead_crane().simulate(3.0, 0.0701, method="generalized-alpha", servo="projected")
    assert np.ptp(np.diff(sol.t)) < 1e-12 and sol.t[-1] == 3.0 and sol.t[1] <= 0.0701
    with pytest.raises(InputError, match="needs steps of one size"):
        overhead_crane().simulate(3.0, 0.07, method="generalized-alpha", servo="projected", adaptive=True)


def test_derivatives_of_the_equations() -> None:
    """Slopes of the differentiated equations against differences, and their values against those along a motion."""
    s = rotary_crane()
    jets, rng = Jets(s.equations, 3), np.random.default_rng(4)
    x, d = rng.normal(size=jets.size), rng.normal(size=jets.size)
    x[: jets.nq] += s.q0
    r, J = jets.evaluate(x, 2.0)
    step = 1e-6
    difference = (jets.evaluate(x + step * d, 2.0)[0] - jets.evaluate(x - step * d, 2.0)[0]) / (2.0 * step)
    np.testing.assert_allclose(J @ d, difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max())
    # the Taylor series of x one moment later: derivatives of order 1 are differences of those of order 0
    nq, m, moment = jets.nq, jets.m, 1e-5
    orders = [slice(k * nq, (k + 1) * nq) for k in range(6)], [slice(6 * nq + k * m, 6 * nq + (k + 1) * m) for k in range(4)]
    moved = [np.zeros_like(x), np.zeros_like(x)]
    for found, h in zip(moved, (moment, -moment), strict=True):
        for parts in orders:
            for k, part in enumerate(parts):
                found[part] = sum(x[parts[j]] * h ** (j - k) / math.factorial(j - k) for j in range(k, len(parts)))
    later, earlier = (jets.evaluate(y, 2.0 + h)[0] for y, h in zip(moved, (moment, -moment), strict=True))
    first = 4 * nq
    np.testing.assert_allclose((later - earlier)[:nq] / (2.0 * moment), r[nq : 2 * nq], atol=1e-6 * np.abs(r).max())
    np.testing.assert_allclose(
        (later - earlier)[first : first + m] / (2.0 * moment), r[first + m : first + 2 * m], atol=1e-6 * np.abs(r).max()
    )


# -- starts ----------------------------------------------------------------------------------------------------------------------


def _circle(p: Any, t: Expr, c: Any) -> Sequence[Expr]:
    return [p.load[0] - c.size * cos(c.speed * t), p.load[1] - c.size * sin(c.speed * t), p.load[2] + 4.0 - 0.3 * sin(c.speed * t)]


def circling(size: float, speed: float) -> AssembledSystem:
    """The crane in space with its load on a tilted circle; at the start it hangs straight down and moves as one."""
    crane = overhead_crane(**SPACE)
    s = without_servo(crane, {})
    handles = {n: next(h for h in s.handles if h.name == n) for n in ("trolley", "length", "load")}
    servo = OutputServo(
        {"trolley": 2, "length": 1, "load": 3}, _circle, [("trolley", 0), ("trolley", 1), ("length", 0)], {"size": 1, "speed": 1}
    )
    s.add(servo, "servo", handles, {"size": size, "speed": speed})
    s.set_state([size, 0.0, 4.0, size, 0.0, -4.0], [0.0, size * speed, -0.3 * speed, 0.0, size * speed, 0.3 * speed])
    return s


def circle(size: float, speed: float) -> list[Expr]:
    t = as_expr(speed) * T
    return [size * cos(t), size * sin(t), -4.0 + 0.3 * sin(t)]


@settings(max_examples=10, deadline=None)
@given(size=st.floats(0.2, 2.0), speed=st.floats(0.2, 1.2))
def test_start_by_flatness(size: float, speed: float) -> None:
    """Positions, rates, accelerations, their rates and inputs at the start follow from the course alone."""
    coordinates, drives = overhead(circle(size, speed), (60.0, 10.0))
    start = circling(size, speed).servo_start()
    exact = [[float(function(rate(e, k))(np.zeros(1))[0]) for e in coordinates] for k in range(4)]
    for found, wanted in zip((start.q, start.v, start.a, start.jerk), exact, strict=True):
        np.testing.assert_allclose(found[:3], wanted, atol=1e-8)
    for name, e in zip(names(3), drives, strict=True):
        assert -start.multipliers[name] == pytest.approx(float(function(e)(np.zeros(1))[0]), rel=1e-8, abs=1e-6)
    assert start.moved == pytest.approx(
        max(np.abs(start.q[:3] - [size, 0, 4]).max(), np.abs(start.v[:3] - [0, size * speed, -0.3 * speed]).max())
    )


@pytest.mark.parametrize(("method", "order"), METHODS.items())
def test_runs_that_start_in_motion(method: str, order: int) -> None:
    s = circling(1.5, 1.0)
    with pytest.raises(InputError, match=r"(rate of|coordinate) \w+\[\d\] contradicts .* by 0\.\d+"):
        s.simulate(1.0, 0.01, method=method, servo="projected")
    start = s.servo_start()

    def moving() -> AssembledSystem:
        fresh = circling(1.5, 1.0)
        fresh.set_state(start.q, start.v)
        return fresh

    _, drives = overhead(circle(1.5, 1.0), (60.0, 10.0))
    assert orders(moving, 2.0, 0.02, method, drives) == pytest.approx([order] * 3, abs=0.15)


def test_no_start_is_told() -> None:
    """Far from the prescribed motion no Newton step leads to it; the constraint itself is named first."""
    s = circling(1.5, 1.0)
    s.set_state(np.full(6, 3.0), np.zeros(6))
    with pytest.raises(InputError, match="the initial position violates"):
        s.simulate(1.0, 0.01, method="generalized-alpha", servo="projected")
    s.set_state(np.zeros(6), np.zeros(6))
    with pytest.raises(SolverError, match="no state near the given one meets the servo constraints"):
        s.servo_start()


# -- back again --------------------------------------------------------------------------------------------------------------------


def without_servo(system: AssembledSystem, laws: dict[str, Any]) -> AssembledSystem:
    """The same system with forces of given laws (by coordinate block of one number) in place of its servo constraints."""
    made = AssembledSystem(system.name)
    handles = {
        h.name: made.coordinates(h.name, h.size, q, v, unit=h.unit) for h, q, v in zip(system.handles, system._q, system._v, strict=True)
    }
    for instance in system.instances:
        if instance.name == "servo":
            continue
        at, constants = 0, {}
        for name, size in instance.element.constants.items():
            constants[name] = instance.numbers[at : at + size]
            at += size
        made.add(instance.element, instance.name, {b: handles[h.name] for b, h in instance.blocks.items()}, constants)
    for name, law in laws.items():
        made.add(CoordinateForce(law), f"drive.{name}", {"x": handles[name]})
    return made


def _law(sol: Solution, name: str) -> Callable[..., Expr]:
    from jourdain.symbolic.tables import table

    curve = table(sol.t, -sol[name], name=name)
    return lambda t, x, v, c: as_expr(curve(t))


def test_inputs_fed_forward_return_the_motion() -> None:
    """The conserving scheme, driven by the inputs found, brings the load to its goal, with an error that falls with the square of the step."""
    missed, balance = [], []
    for h in (0.04, 0.02):
        sol = rotary_crane().simulate(8.0, h, method="generalized-alpha", servo="projected")
        forward = without_servo(rotary_crane(), {b: _law(sol, n) for b, n in zip(("slewing", "radius", "length"), names(3), strict=True)})
        run = forward.simulate(9.0, h)
        missed.append(np.linalg.norm(run["load"][run.t == 8.0][0] - [-2.0, 4.0, -3.0]))
        assert np.abs(run["energy.residual"]).max() < 1e-9 * np.abs(run["energy.total"]).max()
        work = sum(np.trapezoid(-sol[n] * sol[f"{b}.rate"], sol.t) for b, n in zip(("slewing", "radius", "length"), names(3), strict=True))
        balance.append(abs(sol["energy.total"][-1] - sol["energy.total"][0] - work))
    assert missed[1] < 0.02 and np.log2(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.2)
    assert balance[1] < 1e-3 * 1962.0 and np.log2(balance[0] / balance[1]) > 1.7


def test_arm_with_stable_internal_motion() -> None:
    """The elbow while the output follows its course, against an ODE of the passive joint alone."""

    course = np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])

    def elbow(t: float, y: np.ndarray) -> list[float]:
        theta, omega = y
        x = min(t / 1.5, 1.0)
        g1, g2 = course.deriv(1)(x) / 1.5, course.deriv(2)(x) / 1.5**2
        m22, m12 = 2.0 / 3.0, 2.0 / 3.0 + np.cos(theta)
        shoulder = g1 - 0.2 * omega
        return [omega, -(m12 * g2 + np.sin(theta) * shoulder**2 + 0.25 * omega + 50.0 * theta) / (m22 - 0.2 * m12)]

    exact = solve_ivp(elbow, (0.0, 2.0), [0.0, 0.0], rtol=1e-9, atol=1e-11).y[0, -1]
    errors = []
    for h in (0.01, 0.005):
        sol = passive_arm().simulate(2.0, h)
        errors.append(abs(sol["elbow"][-1] - exact))
        np.testing.assert_allclose(sol["shoulder"] + 0.2 * sol["elbow"], function(point_to_point(T, 0.0, 1.5, 0.0, 1.0))(sol.t), atol=1e-11)
    assert errors[1] < 2e-4 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)
