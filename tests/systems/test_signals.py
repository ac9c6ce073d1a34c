"""Signals as expressions of time and parameters: the same as the function that gives them, in every formulation."""

import numpy as np
import pytest

import jourdain as jd

FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")


def pushed() -> tuple[jd.Model, jd.Expr]:
    m = jd.Model("pushed")
    first = m.body("first", mass=2.0, com=(0.1, 0, -0.4), inertia=(0.3, 0.2, 0.1))
    a = m.revolute("a", m.ground, first, axis="y")
    m.revolute("b", first.at(0, 0, -0.8), m.body("second", mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1)), axis="y")
    rate = m.parameter("rate", 3.0, "rad/s")
    m.force(a, m.input("torque", unit="N m"))
    return m, rate


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_expression_of_time_is_the_function_that_gives_it(formulation):
    m, rate = pushed()
    s = m.compile(formulation=formulation)
    options = {"t": 0.5, "rtol": 1e-9, "atol": 1e-11} if formulation != "directors" else {"t": 0.1, "step": 1e-3}
    runs = [
        s.simulate({"a": 0.3}, inputs={"torque": u}, **options) for u in (5.0 * jd.sin(rate * m.time), lambda t: 5.0 * jd.sin(rate * t))
    ]
    assert np.array_equal(runs[0]["b.angle"], runs[1]["b.angle"])
    assert runs[0]["torque"] == pytest.approx(5.0 * np.sin(3.0 * runs[0].t), abs=1e-12)
    s.set_parameters(rate=6.0)
    assert s.simulate({"a": 0.3}, inputs={"torque": 5.0 * jd.sin(rate * m.time)}, **options)["torque"][-1] == pytest.approx(
        5.0 * np.sin(6.0 * options["t"]), abs=1e-12
    )


def test_what_depends_on_the_motion_or_on_another_model_is_no_signal():
    m, _ = pushed()
    s, (other, rate) = m.compile(), pushed()
    angle = m.joints["a"].position
    for law, told in (
        (-2.0 * angle, "depends on 'a.angle'; .*jd.Controller"),
        (lambda t: -2.0 * angle * t, "depends on 'a.angle'; .*jd.Controller"),
        (5.0 * jd.cos(rate * m.time), "depends on 'rate' of another model"),
        (jd.sin(other.time), "depends on 't' of another model"),
    ):
        with pytest.raises(jd.InputError, match=told):
            s.simulate({"a": 0.3}, t=0.1, inputs={"torque": law})
