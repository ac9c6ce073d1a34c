"""Driven joints have channels, and models in which every joint is driven run in every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from tests.systems.test_every_way import WAYS, Way

FORMULATIONS = [
    Way("recursive"), Way("recursive", {"reduction": "reduced"}), Way("recursive", {"reduction": "closed"}), Way("semi-recursive"),
    Way("recursive", {}, {"method": "radau"}), Way("recursive", {}, {"method": "generalized-alpha", "step": 1e-3}),
    Way("recursive", {}, {"method": "velocity-verlet", "step": 1e-3}), Way("recursive", {"form": "looped"}),
    Way("cartesian"), Way("natural"), Way("directors", {}, {"step": 1e-3}),
]  # fmt: skip


def arm(event: bool = False) -> jd.Model:
    m = jd.Model("driven arm")
    speed = m.parameter("speed", 2.0)
    arm = m.body("arm", mass=1.5, com=(0.0, 0.0, -0.4), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("main", m.ground, arm, axis="y")
    m.drive(hinge, lambda t: speed * t + 0.3 * jd.sin(3.0 * t))
    slide = m.prismatic("slide", arm.at(0, 0, -0.8), m.body("tip", mass=0.5, inertia=(0.01, 0.01, 0.01)), axis="z")
    m.lock(slide, 0.1)
    if event:
        m.event("quarter", hinge.position - 0.5 * np.pi)
        m.event("half", hinge.position - np.pi, terminal=True)
    return m


@pytest.mark.parametrize("way", FORMULATIONS, ids=str)
def test_a_fully_driven_model_runs_and_tells_its_motion(way: Way) -> None:
    s = arm().compile(formulation=way.formulation, **way.compiled)
    sol = s.simulate({}, 1.0, **way.run)
    t = sol.t
    assert t[0] == 0.0 and t[-1] == 1.0 and len(t) > 20
    exact = (2.0 * t + 0.3 * np.sin(3 * t), 2.0 + 0.9 * np.cos(3 * t), -2.7 * np.sin(3 * t))
    for name, values in zip(("main.angle", "main.angle_rate", "main.angle_acc"), exact, strict=True):
        assert sol[name] == pytest.approx(values, abs=1e-13), name
    assert (sol["slide.displacement"] == 0.1).all() and (sol["slide.displacement_rate"] == 0.0).all()
    assert sol.channel("main.angle_acc").unit == "rad/s^2"
    # τ = I q̈ + m g c sin q about the hinge, by hand
    inertia = 0.1 + 1.5 * 0.16 + 0.01 + 0.5 * 0.49
    torque = inertia * exact[2] + 9.81 * (1.5 * 0.4 + 0.5 * 0.7) * np.sin(exact[0])
    near = 1e-9 if way.formulation != "directors" else 1e-4
    assert sol["main.drive_force"] == pytest.approx(torque, abs=10 * near)
    change = sol["energy.total"] - sol["energy.total"][0]
    assert sol["energy.supplied"] == pytest.approx(change, abs=1e-5)
    assert sol.at(0.4567)["main.angle"] == pytest.approx(2.0 * 0.4567 + 0.3 * np.sin(3 * 0.4567), abs=1e-8)


@pytest.mark.parametrize("way", FORMULATIONS, ids=str)
def test_events_output_and_restart_of_a_fully_driven_model(way: Way) -> None:
    s = arm(event=True).compile(formulation=way.formulation, **way.compiled)
    sol = s.simulate({}, 5.0, **way.run)
    assert sol.events.names == ("quarter", "half") and sol.metadata["status"] == "event"
    angle = lambda t: 2.0 * t + 0.3 * np.sin(3 * t)
    assert angle(sol.events.t) == pytest.approx([0.5 * np.pi, np.pi], abs=1e-7)
    times = np.linspace(0.0, 0.6, 7)
    s = arm().compile(formulation=way.formulation, **way.compiled)
    part = s.simulate({}, 0.6, times=times, **way.run)
    assert part.t == pytest.approx(times, abs=1e-12) and part["main.angle"] == pytest.approx(angle(times), abs=1e-13)
    rest = s.simulate(part, (0.6, 1.0), **way.run)
    assert (rest.t[0], rest.t[-1]) == (0.6, 1.0) and rest["main.angle"][-1] == pytest.approx(angle(1.0), abs=1e-13)


def test_parameters_of_a_motion_are_those_of_the_run() -> None:
    s = arm().compile()
    sol = s.simulate({}, 1.0)
    s.set_parameters(speed=3.0)
    assert sol["main.angle"][-1] == pytest.approx(2.0 + 0.3 * np.sin(3.0), abs=1e-13)
    assert s.simulate({}, 1.0)["main.angle"][-1] == pytest.approx(3.0 + 0.3 * np.sin(3.0), abs=1e-13)


def test_a_controller_and_a_stepper_of_a_fully_driven_model() -> None:
    m = arm()
    brake = m.input("brake", 0.0)
    m.output("load", brake * m.joints["main"].velocity)
    s = m.compile()
    sol = s.simulate({}, 1.0, inputs={"brake": jd.Controller(lambda state: state.t, 0.25)}, times=[0.1, 0.3, 0.6])
    assert sol["brake"] == pytest.approx([0.0, 0.25, 0.5])
    st = s.stepper({}, step=0.1, inputs=["brake"], outputs=["load", "main.angle"])
    load, angle = st.advance([2.0])
    assert load == pytest.approx(2.0 * (2.0 + 0.9 * np.cos(0.3)), abs=1e-12) and angle == pytest.approx(0.2 + 0.3 * np.sin(0.3), abs=1e-12)


def slider_crank() -> jd.Model:
    m = jd.Model("slider-crank")
    crank, rod = (
        m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.01,) * 3),
        m.body("rod", mass=1.0, com=(0.25, 0, 0), inertia=(0.02,) * 3),
    )
    piston = m.body("piston", mass=0.5, inertia=(0.01,) * 3)
    m.drive(m.revolute("crank", m.ground, crank, axis="-y"), lambda t: 0.4 + 5.0 * t)
    m.revolute("rod", crank.at(0.2, 0, 0), rod, axis="-y")
    m.revolute("pin", rod.at(0.5, 0, 0), piston, axis="-y")
    m.prismatic("cylinder", m.ground, piston, axis="x")
    return m


@pytest.mark.parametrize("way", [w for w in WAYS if "augmented" not in str(w)], ids=str)
def test_a_driven_loop_runs_or_says_what_does(way: Way) -> None:
    s = slider_crank().compile(formulation=way.formulation, **way.compiled)
    start = s.assemble(guess={"rod.angle": -0.6})
    try:
        sol = s.simulate(start, 0.5, **way.run)
    except InputError as error:
        assert "every coordinate follows from the drives" in str(error) and "reduction='projected'" in str(error)
        assert way.compiled.get("reduction") in ("reduced", "closed") or way.formulation == "semi-recursive"
        return
    angle = 0.4 + 5.0 * sol.t
    assert sol["crank.angle"] == pytest.approx(angle, abs=1e-13)
    lean = -np.arcsin(0.2 * np.sin(angle) / 0.5) - angle
    assert sol["rod.angle"] == pytest.approx(lean, abs=30 * way.near)
