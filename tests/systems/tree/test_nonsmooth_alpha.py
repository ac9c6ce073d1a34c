"""The nonsmooth generalised-α scheme beside Moreau's steps and runs from event to event on the same models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError

from ..test_absolute_contacts import ball_that_begins_to_roll, bouncing_ball, cam, flap_between_stops, loop_on_a_stop, sliding_block

ST = jd.structures
G = 9.81
ALPHA = "nonsmooth-generalized-alpha"
Made = tuple[jd.Model, dict[str, Any]]


def slider_crank_at_a_stop() -> Made:
    m = jd.Model("slider-crank")
    crank = m.body("crank", mass=0.5, inertia=(1e-3, 2e-3, 2e-3), com=(0.05, 0, 0))
    rod = m.body("rod", mass=0.3, inertia=(1e-4, 3e-3, 3e-3), com=(0.15, 0, 0))
    piston = m.body("piston", mass=0.4, shape=jd.box(0.05, 0.04, 0.04))
    m.ground.shapes.append(jd.box(0.02, 0.2, 0.2).at(0.39 + 0.035, 0, 0))
    m.revolute("a", m.ground, crank, axis="y")
    m.revolute("b", crank.at(0.1, 0, 0), rod, axis="y")
    m.prismatic("c", m.ground, piston, axis="x")
    m.revolute("pin", rod.at(0.3, 0, 0), piston, axis="y", cut=True)
    m.contact("wall", piston, m.ground, law=jd.contact.rigid(restitution=0.3))
    return m, {"a.angle": -1.2, "b.angle": 1.2 + math.asin(0.1 * math.sin(1.2) / 0.3), "c.displacement": 0.33, "a.angle_rate": 3.0}


def flexible_pendulum_at_a_stop() -> Made:
    m = jd.Model("pendulum")
    part = ST.beam((0, 0, 0), (0, 0, -0.5), ST.rectangle(0.02, 0.01), ST.Material(2e11, 0.3, 7800.0), elements=10)
    beam = m.flexible_body("beam", part, modes=2, kind="craig-bampton", frame="tangent")
    m.revolute("hinge", m.ground, beam.node("start"), axis="y")
    beam.add_collision(jd.sphere(0.02), node="end")
    m.ground.shapes.append(jd.plane("x").at(-0.02, 0, 0))
    m.contact("stop", beam, m.ground, law=jd.contact.rigid(restitution=0.5))
    return m, {"hinge.angle": -0.3}


#: Errors at 2 ms and 0.5 ms against the run from event to event: that at 0.5 ms, and by how much it must have fallen (four where nothing strikes is order one).
MODELS: dict[Callable[[], Made], tuple[float, float]] = {
    bouncing_ball: (5e-3, 4.0),
    ball_that_begins_to_roll: (1e-5, 12.0),
    sliding_block: (1e-9, 0.0),
    flap_between_stops: (5e-4, 3.0),
    loop_on_a_stop: (5e-4, 3.0),
    cam: (1e-7, 12.0),
    slider_crank_at_a_stop: (1e-5, 0.0),
}


@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*leaves its limits")
def test_steps_tend_to_the_run_with_events(make: Callable[[], Made]) -> None:
    m, start = make()
    s = m.compile()
    places = {n: x for n, x in start.items() if not n.endswith("_rate")}
    rates = {n.removesuffix("_rate"): x for n, x in start.items() if n.endswith("_rate")}
    begun = s.assemble({n: places[n] for n in rates}, guess=places, velocities=rates) if s.constraints else s.state(start)
    exact = s.simulate(begun, 0.4, rtol=1e-10, atol=1e-12)
    near, falls = MODELS[make]
    errors, losses = [], []
    for h in (2e-3, 5e-4):
        sol = s.simulate(begun, 0.4, ALPHA, step=h)
        errors.append(max(abs(float(sol[n][-1] - exact[n][-1])) for n in s.coordinate_names))
        losses.append(abs(sol["contacts.dissipated"][-1] - exact["contacts.dissipated"][-1]))
        assert sol["contacts.residual"].max() < 1e-6
    assert errors[1] < near, errors
    assert errors[1] * falls < errors[0], errors
    assert losses[1] < max(0.02 * abs(exact["contacts.dissipated"][-1]), 2e-3), losses
    if s.constraints:
        assert max(s.drift(sol)) < 1e-8  # positions and velocities


def test_order_without_contacts_and_with_forces_that_inertia_feels() -> None:
    """Two in flight, as generalised-α has it; one where contact forces, which are impulses at the ends of steps, change the motion that inertia follows."""
    start = {"f0.z": 0.05, "f0.x_rate": 1.0, "f0.orientation.omega_y": 20.0, "f0.orientation.omega_z": 3.0}
    m = jd.Model("eccentric")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", mass=1.0, inertia=(1e-3, 1.2e-3, 0.9e-3), com=(0.01, 0, 0))
    ball.shapes.append(jd.sphere(0.05))
    m.free("f0", m.ground, ball)
    m.contact("touch", law=jd.contact.rigid(friction=5.0))
    s = m.compile()
    for begun, low, high in ((start | {"f0.z": 1.0}, 3.5, 4.5), (start, 1.8, 2.2)):
        exact = s.simulate(begun, 0.2, rtol=1e-11, atol=1e-13)
        errors = [float(abs(s.simulate(begun, 0.2, ALPHA, step=h)["f0.x"][-1] - exact["f0.x"][-1])) for h in (2e-3, 1e-3, 5e-4)]
        assert low < errors[0] / errors[1] < high and low < errors[1] / errors[2] < high, errors


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_a_rod_stays_on_a_wall_until_the_wave_is_back(rho: float) -> None:
    """2L/c, 2mv, and the loss 1/(1 + 2n) of n modes; ρ∞ is the user's word."""
    m = jd.Model("rod", gravity=(0, 0, 0))
    section = ST.Section(1e-4, Iy=4e-2, Iz=4e-2, torsion=400.0)
    body = m.flexible_body("rod", ST.beam((0, 0, 0), (1, 0, 0), section, ST.Material(70e9, 0.3, 2700.0), elements=80), modes=20)
    m.prismatic("slide", m.ground, body, axis="x")
    body.add_collision(jd.sphere(0.01), node="end")
    m.ground.shapes.append(jd.plane("-x").at(1.01, 0, 0))
    m.contact("wall", body, m.ground, law=jd.contact.rigid())
    h, wave = 1e-6, 2.0 / math.sqrt(70e9 / 2700.0)
    sol = m.compile(check=False).simulate({"slide.displacement_rate": 1.0}, 6e-4, ALPHA, step=h, rho=rho)
    on = sol.t[np.abs(sol["wall.rod.force"][:, 0]) > 0.0]
    assert abs((on[-1] - on[0]) / wave - 1.0) < 0.03
    assert abs(-sol["wall.rod.force"][:, 0].sum() * h / (2 * 0.27) - 1.0) < 0.02
    assert abs(sol["contacts.dissipated"][-1] / (0.5 * 0.27 / 41) - 1.0) < 0.05


def test_a_flexible_pendulum_at_a_stop_as_by_moreau() -> None:
    m, start = flexible_pendulum_at_a_stop()
    s = m.compile(check=False)
    a, b = (s.simulate(start, 0.5, method, step=2e-5) for method in ("moreau", ALPHA))
    assert a["contacts.acting"].max() == b["contacts.acting"].max() == 1
    assert abs(a["hinge.angle"][-1] - b["hinge.angle"][-1]) < 0.02 * np.ptp(a["hinge.angle"])
    assert abs(a["contacts.dissipated"][-1] / b["contacts.dissipated"][-1] - 1.0) < 0.1  # many small blows follow each other
    assert abs(b["energy.error"][-1]) < 0.05 * b["contacts.dissipated"][-1]


def test_what_touches_rests_and_goes_on() -> None:
    m = jd.Model("block", gravity=(G * math.sin(0.4), 0, -G * math.cos(0.4)))
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.1, 0.05, density=1e3)))
    m.contact("touch", law=jd.contact.rigid(0.5))
    s = m.compile()
    sol = s.simulate({"f.z": 0.025}, 2.0, ALPHA, step=2e-3)
    assert np.abs(sol["f.x"]).max() < 1e-10
    np.testing.assert_allclose(sol["touch.block.force"][-1], [-G * math.sin(0.4), 0.0, G * math.cos(0.4)], atol=1e-7)
    touches = sol.contacts.at(1.0)
    assert len(touches) == 4 and "4 contacts" in sol.contacts.summary()
    np.testing.assert_allclose(abs(sum(c.force[2] for c in touches)), G * math.cos(0.4), atol=1e-6)
    on = s.simulate(sol, (2.0, 2.2), ALPHA, step=2e-3)
    assert np.abs(on["f.x"]).max() < 1e-10


def test_what_it_does_not_know_it_says() -> None:
    m, start = bouncing_ball()
    with pytest.raises(InputError, match="needs step="):
        m.compile().simulate(start, 0.1, ALPHA)
    with pytest.raises(
        InputError, match="set-valued law, which method 'nonsmooth-generalized-alpha' does not know in formulation 'cartesian'"
    ):
        m.compile(formulation="cartesian").simulate(start, 0.1, ALPHA, step=1e-3)
    free = jd.Model("free")
    free.free("f", free.ground, free.body("b", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(InputError, match="is for rigid contacts, and there are none"):
        free.compile().simulate({}, 0.1, ALPHA, step=1e-3)
    m, start = bouncing_ball()
    m.event("half", m.joints["f0"].coordinates[0].q[0] - 0.2, direction=1)
    with pytest.raises(InputError, match="knows no events, but 'ball' has 'half'"):
        m.compile().simulate(start, 0.1, ALPHA, step=1e-3)


@pytest.mark.parametrize(
    "way", [{"method": "moreau", "step": 1e-3}, {"method": ALPHA, "step": 1e-3}, {}], ids=["moreau", "alpha", "events"]
)
def test_a_load_that_follows_accelerations_in_rigid_contact(way: dict[str, Any]) -> None:
    """A block of 2 kg with an added mass of 3 kg along x, pulled by 5 N against μ = 0.1."""
    m = jd.Model("added mass")
    m.ground.shapes.append(jd.plane())
    carriage, block = m.body("carriage", mass=1e-9), m.body("block", mass=2.0, inertia=(0.01, 0.01, 0.01))
    block.shapes.append(jd.box(0.1, 0.1, 0.1))
    x = m.prismatic("x", m.ground, carriage, axis="x")
    m.prismatic("z", carriage, block, axis="z")
    m.force(x, 5.0 - 3.0 * x.coordinates[0].a[0])
    m.contact("floor", block, m.ground, law=jd.contact.rigid(friction=0.1))
    sol = m.compile().simulate({"z.displacement": 0.05}, 1.0, **way)
    assert abs(sol["x.displacement_rate"][-1] - (5.0 - 0.2 * G) / 5.0) < 1e-8
    np.testing.assert_allclose(sol["floor.block.force"][-1], [-0.2 * G, 0.0, 2.0 * G], atol=1e-7)
