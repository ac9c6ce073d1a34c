"""Laws by Python callback: the same motion as the traced law, errors that name the callback."""

from __future__ import annotations

import math
from typing import Any

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
    m.force(hinge, m.callback("motor", lambda t: dict[str, float]()["missing"], [m.time]))
    with pytest.raises(jd.SimulationError, match=r"callback 'motor' raised KeyError: 'missing' at t = 0 s") as told:
        m.compile().simulate({"hinge": 0.1}, 1.0)
    assert isinstance(told.value.__cause__, KeyError)


def test_not_a_function() -> None:
    with pytest.raises(jd.ModelError, match=r"callback 'motor': 3.0 is not a function"):
        jd.Model("m").callback("motor", 3.0, [])  # type: ignore[arg-type]


def linkage(called: bool) -> jd.Model:
    """A four-bar and a ball on its coupler, with a law of an angle, a rate, a user state, an input and a parameter: by callback or traced."""
    m = jd.Model("linkage", gravity=(0, 0, -9.81))
    k, push = m.parameter("k", 1.5), m.input("push", 0.7)
    crank, coupler, rocker, bob = (
        m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02)) for n in ("crank", "coupler", "rocker", "bob")
    )
    hinge = m.revolute("crank", m.ground, crank, axis="-y")
    m.revolute("coupler", crank.at(0.2, 0, 0), coupler, axis="-y", damping=0.3)
    m.revolute("rocker", m.ground.at(0.5, 0, 0), rocker, axis="-y")
    m.revolute("closing", coupler.at(0.5, 0, 0), rocker.at(0.4, 0, 0), axis="-y")
    m.spherical("ball", coupler.at(0.2, 0, 0), bob.at(-0.1, 0, 0), orientation="xyz")
    z = m.state("z", 0.3)
    m.rate(z, hinge.position - z)
    x, v, tip = hinge.position, hinge.velocity, m.sensor("tip", bob.at(0.2, 0, 0))

    def law(given: Any, by: Any) -> Any:
        x, v, z, u, k, y = given
        return -k * by.sin(x) ** 3 - 0.2 * v + 0.5 * z**2 + u * x - 2.0 * y

    if called:
        m.force(hinge, m.callback("law", lambda *given: law(given, math), [x, v, z, push, k, tip.y]))
    else:
        m.force(hinge, law((x, v, z, push, k, tip.y), jd))
    return m


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_every_verb_about_a_state_knows_callbacks(formulation: str) -> None:
    called, traced = (linkage(c).compile(formulation=formulation) for c in (True, False))
    turns = ["ball.rx", "ball.ry", "ball.rz"]
    found: list[dict[str, Any]] = []
    for s in (called, traced):
        given = {"crank.angle": 0.8}
        start = s.reference.assemble(given, guess={"coupler.angle": -0.5, "rocker.angle": 1.8}, velocities={"crank.angle_rate": 3.0})
        own = start.with_values(z=np.array([0.2]))
        linear = s.linearise(own, u={"push": 0.4})
        rest = s.equilibrium({"crank.angle": -1.2, "coupler.angle": 0.5, "rocker.angle": 1.0}, inputs={"push": 0.4})
        swept = s.inverse_dynamics_along(
            {"crank.angle": lambda t: 0.8 + t, **dict.fromkeys(turns, lambda t: 0.3 * t)}, ["crank", *turns], [0.0, 0.1], own
        )
        found.append({
            "accelerations": s.accelerations(own, {"push": 0.4}), "multipliers": list(s.multipliers(own).values()),
            "reactions": np.array(list(s.reactions(own).values())), "A": linear.A, "B": linear.B, "D": linear.D,
            "eigenvalues": np.sort_complex(s.modal(rest).eigenvalues.round(8) + 0.0), "rest": rest.state.q[:3], "drive": swept["crank"],
            "slope": s.equilibrium({"crank.angle": -1.2}, exchange={"crank": "k"})["k"] if formulation == "recursive" else 0.0,
            "forward": s.forward_dynamics(own.q, own.v, 0.0, z=own.z),
        })  # fmt: skip
    for word, expected in found[1].items():
        np.testing.assert_allclose(found[0][word], expected, rtol=1e-8, atol=1e-7 * (1.0 + np.abs(expected).max(initial=0.0)), err_msg=word)
    with pytest.raises(jd.InputError, match="'law' is set by the callback 'law'; it is no input to choose"):
        called.accelerations({}, {"law": 1.0})
