"""Regulators and loci over gains: closed forms, the cost of simulated motions, the same loops built into models."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd


def cart_pole(gains: tuple[float, ...] = (), cost: dict | None = None, r: float = 0.0) -> jd.Model:
    """A cart with a pole that would fall; with gains the feedback is built in, with weights its cost is a state."""
    m = jd.Model("cart and pole")
    cart = m.body("cart", mass=1.0, inertia=(1, 1, 1))
    pole = m.body("pole", mass=0.3, com=(0, 0, 0.3), inertia=(0.01, 0.01, 0.001))
    rail = m.prismatic("rail", m.ground, cart, axis="x")
    hinge = m.revolute("hinge", cart, pole, axis="y")
    push = m.input("push", unit="N")
    states = (rail.position, hinge.position, rail.velocity, hinge.velocity)
    if gains:
        push = -sum(k * x for k, x in zip(gains, states, strict=True))
    m.force(rail, push, name="motor")
    if cost is not None:
        z = m.state("cost")
        known = dict(zip(("rail.displacement", "hinge.angle", "rail.displacement_rate", "hinge.angle_rate"), states, strict=True))
        m.rate(z, sum(w * known[n] ** 2 for n, w in cost.items()) + r * push**2)
    m.output("tip", rail.position + 0.6 * hinge.position)
    return m


WEIGHTS = {"rail.displacement": 20.0, "hinge.angle": 50.0, "rail.displacement_rate": 1.0, "hinge.angle_rate": 1.0}


def test_double_integrator() -> None:
    """K = (√(q/r), √(2√(q/r))) for a unit mass."""
    m = jd.Model("mass", gravity=(0, 0, 0))
    m.force(m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x"), m.input("push"))
    found = m.compile().linearise().lqr({"slide.displacement": 9.0}, {"push": 4.0})
    np.testing.assert_allclose(found.K, [[1.5, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(np.poly(found.eigenvalues), [1.0, np.sqrt(3.0), 1.5], rtol=1e-9)


@pytest.mark.parametrize("period", [None, 0.05])
def test_the_cost_of_a_motion_is_that_of_its_start(period: float | None) -> None:
    """∫ xᵀQx + r u² along a simulated small motion is x₀ᵀP x₀."""
    found = cart_pole().compile().linearise().lqr(WEIGHTS, 0.1, period=period)
    x0 = 1e-4 * np.array([1.0, -0.5, 0.3, 0.2])
    names = found.linear.states
    start = dict(zip(names, x0, strict=True))
    if period is None:
        s = cart_pole(tuple(found.K[0]), WEIGHTS, 0.1).compile()
        sol = s.simulate(start, t=12.0, rtol=1e-11, atol=1e-16)
    else:
        s = cart_pole((), WEIGHTS, 0.1).compile()
        law = found.laws(s.model)["push"]
        sol = s.simulate(start, t=12.0, inputs={"push": jd.Controller(law, period)}, rtol=1e-11, atol=1e-16)
    assert sol["cost"][-1] == pytest.approx(x0 @ found.P @ x0, rel=1e-5)
    assert abs(sol["rail.displacement"][-1]) < 1e-7


def test_sampled_regulators_hold_what_would_fall() -> None:
    s = cart_pole().compile()
    found = s.linearise().lqr(WEIGHTS, {"push": 0.1}, period=0.02)
    sol = s.simulate({"rail": -0.4, "hinge": "8 deg"}, t=6.0, inputs=found.controllers())
    assert abs(sol["hinge.angle"][-1]) < 1e-4 and abs(sol["rail.displacement"][-1]) < 1e-3
    assert "every 0.02 s" in str(found) and "hinge.angle" in str(found)
    fine = s.linearise().lqr(WEIGHTS, 0.1, period=1e-4)
    np.testing.assert_allclose(fine.K, s.linearise().lqr(WEIGHTS, 0.1).K, rtol=2e-3)


def test_weights_of_outputs() -> None:
    linear = cart_pole().compile().linearise()
    c = linear.C[linear.outputs.index("tip")]
    Q = 7.0 * np.outer(c, c) + np.diag([0, 0, 1.0, 0])
    np.testing.assert_allclose(linear.lqr({"tip": 7.0, "rail.displacement_rate": 1.0}, 1.0).K, linear.lqr(Q, [[1.0]]).K, rtol=1e-10)


def test_a_locus_over_the_gain_of_a_loop_is_that_of_the_model_with_the_gain_built_in() -> None:
    def two_floors(built_in: bool) -> jd.Model:
        m = jd.Model("two floors", gravity=(0, 0, 0))
        k = m.parameter("k", 0.0)
        below, moved = m.ground, []
        for i in (1, 2):
            floor = m.body(f"floor{i}", mass=100.0)
            joint = m.prismatic(f"storey{i}", below, floor, axis="x")
            m.joint_spring(joint, 4e4, damping=40.0)
            below = floor
            moved.append(joint)
        sensed = moved[0].acceleration * 0.01 + moved[0].velocity  # with an acceleration: d is not zero
        push = m.input("push")
        m.output("sensed", sensed)
        m.force(moved[0], push - (k * sensed if built_in else 0.0), name="motor")
        return m

    gains = np.linspace(0.0, 300.0, 7)
    open_loop = two_floors(False).compile().linearise()
    assert abs(open_loop.D).max() > 0.0
    found = open_loop.root_locus("push", "sensed", gains)
    expected = two_floors(True).compile().root_locus("k", gains, rebalance=False)
    for a, b in zip(found.eigenvalues, expected.eigenvalues, strict=True):
        assert np.abs(np.sort_complex(a) - np.sort_complex(b)).max() < 1e-8
    assert "gain from sensed to push" in str(found)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda s: s.lqr({"slide": 1.0}, 1.0), "'slide' is no state or output"),
        (lambda s: s.lqr(np.eye(3), 1.0), "Q must be a symmetric matrix of 4 × 4"),
        (lambda s: s.lqr(WEIGHTS, {"pull": 1.0}), "R must weigh the inputs push"),
        (lambda s: s.lqr(WEIGHTS, -1.0), "must be positive: every input costs something"),
        (lambda s: s.lqr(WEIGHTS, 1.0, period=0.0), "period 0.0 s must be positive"),
        (lambda s: s.lqr({"hinge.angle": 1.0}, 1.0), "weight|no regulator"),
        (lambda s: s.lqr(WEIGHTS, 1.0).controllers(), "continuous time; give lqr"),
        (lambda s: s.root_locus("pull", "tip", [1.0]), "'pull' is no input of the linear system; it has push"),
        (lambda s: s.root_locus("push", "top", [1.0]), "'top' is no output of the linear system; it has tip"),
    ],
)  # fmt: skip
def test_wrong_questions_are_told(call, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        call(cart_pole().compile().linearise())


def test_sensors_are_read_after_compilation_whatever_was_asked_before() -> None:
    """A reading asked for the first time after the equations were derived was unknown to linearise and controllers."""
    m = cart_pole()
    tip = m.sensor("tip of the pole", m.bodies["pole"].at(0, 0, 0.6))
    s = m.compile()
    s.simulate({}, t=0.01)
    found = s.linearise(outputs={"x": tip.position[0], "a": tip.acceleration[0]})
    np.testing.assert_allclose(found.C[0], [1.0, 0.6, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.C[1], found.A[2] + 0.6 * found.A[3], atol=1e-12)
    sol = s.simulate({"hinge": 0.1}, t=0.05, inputs={"push": jd.Controller(-5.0 * tip.velocity[0], 0.01)})
    assert np.isfinite(sol["push"]).all() and np.abs(sol["push"]).max() > 0
