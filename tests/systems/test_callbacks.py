"""Laws by Python callback: the same motion as the traced law, errors that name the callback."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jourdain as jd


def pendulum(law: str) -> jd.Model:
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -1.0))
    hinge = m.revolute("hinge", m.ground, bob, axis="y")
    if law == "traced":
        m.force(hinge, lambda x, v, t: -0.3 * v - 2.0 * jd.sin(x) ** 3)
    else:
        f = m.callback("friction", lambda x, v: -0.3 * v - 2.0 * math.sin(x) ** 3, [hinge.position, hinge.velocity])
        m.force(hinge, f)
    return m


def test_a_callback_moves_the_system_as_the_traced_law_does() -> None:
    traced = pendulum("traced").compile().simulate({"hinge": 1.0}, 2.0, times=np.linspace(0, 2, 21))
    with pytest.warns(UserWarning, match=r"'friction' run in Python at every evaluation"):
        called = pendulum("called").compile().simulate({"hinge": 1.0}, 2.0, times=np.linspace(0, 2, 21))
    np.testing.assert_allclose(called["hinge.angle"], traced["hinge.angle"], atol=1e-14)
    x, v = called["hinge.angle"], called["hinge.angle_rate"]
    np.testing.assert_allclose(called["friction"], -0.3 * v - 2.0 * np.sin(x) ** 3, atol=1e-14)
    np.testing.assert_allclose(called["hinge.angle_acc"], traced["hinge.angle_acc"], atol=1e-12)


def test_several_outputs() -> None:
    m = jd.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=2.0)
    joint = m.sequence("j", m.ground, body, ["Tx", "Ty"])
    fx, fy = m.callback("wind", lambda t: (2.0, 4.0 * t), [m.time], outputs=2)
    m.force(joint, fx, coordinate="x")
    m.force(joint, fy, coordinate="y")
    with pytest.warns(UserWarning):
        final = m.compile().simulate(None, 3.0).final
    assert final["j.x"] == pytest.approx(4.5, rel=1e-10)
    assert final["j.y"] == pytest.approx(9.0, rel=1e-10)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("value", "shown"), [(math.nan, "nan"), ((1.0, 2.0), r"\(1.0, 2.0\)"), (1.0 + 2.0j, r"\[\(1\+2j\)\]")])
def test_a_bad_value_is_named(value: object, shown: str) -> None:
    m = jd.Model("pendulum")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    m.force(hinge, m.callback("motor", lambda t: value, [m.time]))
    with pytest.raises(jd.SimulationError, match=rf"callback 'motor' gave \[?{shown}.* at t = 0 s; it must give 1 finite number"):
        m.compile().simulate({"hinge": 0.1}, 1.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_error_inside_comes_back() -> None:
    m = jd.Model("pendulum")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    m.force(hinge, m.callback("motor", lambda t: {}["missing"], [m.time]))
    with pytest.raises(jd.SimulationError, match=r"callback 'motor' raised KeyError: 'missing' at t = 0 s") as told:
        m.compile().simulate({"hinge": 0.1}, 1.0)
    assert isinstance(told.value.__cause__, KeyError)


def test_not_a_function() -> None:
    with pytest.raises(jd.ModelError, match=r"callback 'motor': 3.0 is not a function"):
        jd.Model("m").callback("motor", 3.0, [])  # type: ignore[arg-type]
