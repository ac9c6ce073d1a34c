"""Runs say early what is wrong with them: limits that do not act, steps far too long, stiffness."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.model.contact.laws import rigid

FORMULATIONS = ["recursive", "semi-recursive", "cartesian", "natural", "directors"]


def swing(acts: bool = False) -> jd.Model:
    m = jd.Model("swing")
    hinge = m.revolute(
        "hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.01,) * 3), axis="y", limits=("-30 deg", "60 deg")
    )
    m.revolute("tail", hinge.child.body.at(0, 0, -0.5), m.body("end", mass=0.1, com=(0, 0, -0.1), inertia=(0.001,) * 3), axis="y")
    if acts:
        assert [load.kind for load in m.stops(stiffness=1e4)] == ["stop"]
        assert m.stops() == []
    return m


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_limits_that_do_not_act_are_told_and_act_when_asked(formulation: str) -> None:
    options = {"step": 2e-3} if formulation == "directors" else {}
    with pytest.warns(RuntimeWarning, match=r"'hinge.angle' leaves its limits -0.523599 … 1.0472 rad at t = .*m\.stops\(\)"):
        free = swing().compile(formulation=formulation).simulate({"hinge": "50 deg"}, 1.0, **options)
    assert free["hinge.angle"].min() < -0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = swing(acts=True).compile(formulation=formulation).simulate({"hinge": "50 deg"}, 1.0, **options)
    # ½ k δ² is at most the energy of the fall
    assert -0.5236 - np.sqrt(2 * 6.0 / 1e4) < held["hinge.angle"].min() < -0.5236


def test_limits_that_are_kept_are_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swing().compile().simulate({"hinge": "20 deg"}, 1.0)


@pytest.mark.parametrize(
    ("method", "step", "wrong"), [("rk4", 5.0, True), ("euler", 0.2, True), ("rk4", 0.02, False), ("velocity-verlet", 0.01, False)]
)
def test_fixed_steps_far_too_long_are_told_by_the_energy(method: str, step: float, wrong: bool) -> None:
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)), axis="y")
    s = m.compile()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = s.simulate({"hinge": 1.0}, 10.0, method, step=step)
    assert (sol.metadata["status"] == "doubtful") == wrong
    assert [str(w.message) for w in told if f"steps of {step:g} s are far too long" in str(w.message)] != [] or not wrong


def stiff(damping: float) -> jd.System:
    m = jd.Model("stiff")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(slide, stiffness=1e6, damping=damping)
    return m.compile()


def test_stiffness_is_told_while_the_run_goes_on_and_once() -> None:
    with pytest.warns(RuntimeWarning, match=r"steps have reached t = .* as short as the stability of 'dopri5' demands.*'radau'") as told:
        slow = stiff(1e5).simulate({"slide": 1e-3}, 0.5, "dopri5")
    assert len([w for w in told if "steps have reached" in str(w.message)]) == 1
    said = int(str(told[0].message).split(" ")[0])
    assert 2000 <= said < slow.statistics["steps"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = stiff(1e5).simulate({"slide": 1e-3}, 0.5, "radau")
        stiff(0.0).simulate({"slide": 1e-3}, 0.05)
    assert fast.statistics["steps"] < 0.05 * slow.statistics["steps"]
    assert fast["slide.displacement"][-1] == pytest.approx(slow["slide.displacement"][-1], abs=1e-8)


@pytest.mark.parametrize("event", [False, True])
def test_runs_from_event_to_event_are_told_of_methods_that_carry_rigid_contacts(event: bool) -> None:
    m = jd.Model("stiff foot")
    m.ground.shapes.append(jd.plane())
    slide = m.prismatic("slide", m.ground.at(0, 0, 1), m.body("foot", shape=jd.sphere(0.05, density=1000.0)), axis="x")
    m.joint_spring(slide, stiffness=1e6, damping=5e4)
    m.free("place", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("floor", law=rigid(friction=0.5))
    if event:
        m.event("far", slide.position - 1.0, terminal=True)
    s = m.compile()
    start = {"slide": 1e-3, "place.z": 0.2, "place.x": 0.3}
    with pytest.warns(RuntimeWarning, match="steps have reached") as told:
        sol = s.simulate(start, 0.1, "dopri5")
    offered = {n for n in ("moreau", "nonsmooth-generalized-alpha", "radau", "rosenbrock", "auto") if f"'{n}'" in str(told[0].message)}
    method, step = ("moreau", 5e-6) if event else ("nonsmooth-generalized-alpha", 1e-4)
    assert offered == {method} and method in sol.metadata["message"] and "radau" not in sol.metadata["message"]
    carried = s.simulate(start, 2e-3, method, step=step)["slide.displacement"][-1]
    assert carried == pytest.approx(s.simulate(start, 2e-3, "dopri5")["slide.displacement"][-1], rel=1e-3)


def test_a_run_of_millions_of_steps_is_told() -> None:
    with (
        pytest.warns(
            RuntimeWarning,
            match=r"at this pace it takes \d.*the motion asks for steps of about \d\S* s at this accuracy; end the run earlier",
        ),
        pytest.raises(jd.SimulationError),
    ):
        stiff(0.0).simulate({"slide": 1e-3}, 100.0, max_steps=110_000, outputs=3)
