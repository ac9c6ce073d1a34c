"""Rigid contacts in absolute coordinates: joints and contacts solved together, against joint coordinates and closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError

G = 9.81
ST = jd.structures
#: Formulations by how a system is compiled; "rotation vectors" are Cartesian coordinates that are exchanged on the way.
ABSOLUTE = ("cartesian", "rotation vectors", "natural", "directors")
every_formulation = pytest.mark.parametrize("formulation", ABSOLUTE)
Made = tuple[jd.Model, dict[str, Any]]


def compiled(m: jd.Model, formulation: str) -> Any:
    if formulation == "rotation vectors":
        return m.compile(formulation="cartesian", rotation="rotation-vector")
    return m.compile(formulation=formulation)


def on_floor(name: str, shape: Any, law: Any, gravity: Any = (0.0, 0.0, -G), count: int = 1) -> jd.Model:
    m = jd.Model(name, gravity=gravity)
    m.ground.shapes.append(jd.plane())
    for i in range(count):
        m.free(f"f{i}", m.ground, m.body(f"body{i}", shape=shape))
    m.contact("touch", law=law)
    return m


def bouncing_ball() -> Made:
    return on_floor("ball", jd.sphere(0.05, density=1e3), jd.contact.rigid(0.3, 0.5)), {"f0.z": 0.5, "f0.x_rate": 1.0}


def ball_that_begins_to_roll() -> Made:
    return on_floor("ball", jd.sphere(0.05, density=1e3), jd.contact.rigid(0.2)), {"f0.z": 0.05, "f0.x_rate": 1.0}


def ball_that_spins_and_rolls() -> Made:
    """It turns three times."""
    spin = {"f0.orientation.omega_y": 20.0, "f0.orientation.omega_z": 12.0}
    return on_floor("ball", jd.sphere(0.05, density=1e3), jd.contact.rigid(0.2)), {"f0.z": 0.05, "f0.x_rate": 1.0, **spin}


def sliding_block() -> Made:
    m = on_floor("block", jd.box(0.2, 0.1, 0.05, density=1e3), jd.contact.rigid(0.3), (G * math.sin(0.4), 0, -G * math.cos(0.4)))
    return m, {"f0.z": 0.025}


def flap_between_stops() -> Made:
    m = jd.Model("flap")
    m.revolute("h", m.ground, m.body("flap", mass=1.0, inertia=(0.01, 0.02, 0.03), com=(0.2, 0, 0)), axis="y", limits=(-0.5, 0.3))
    m.stops(law=jd.contact.rigid(restitution=0.5))
    return m, {"h": -0.2}


def dry_slider() -> Made:
    m = jd.Model("dry")
    j = m.prismatic("j", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(j, stiffness=100.0)
    m.friction(j, coulomb=2.0, smoothing=0)
    return m, {"j": 0.3}


def loop_on_a_stop() -> Made:
    m = jd.Model("four-bar")
    crank, coupler, rocker = (m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.001, 0.004, 0.004)) for n in ("crank", "coupler", "rocker"))
    m.revolute("first", m.ground, crank, axis="y")
    m.revolute("second", crank.at(0.2, 0, 0), coupler, axis="y")
    m.revolute("third", m.ground.at(0.2, 0, 0), rocker, axis="y")
    m.revolute("fourth", coupler.at(0.2, 0, 0), rocker.at(0.2, 0, 0), axis="y", cut=True)
    coupler.shapes.append(jd.sphere(0.02).at(0.1, 0, 0))
    m.ground.shapes.append(jd.box(2.0, 1.0, 0.1).at(0.3, 0, -0.2 * math.sin(0.5) - 0.02 - 0.05))
    m.contact("stop", coupler, m.ground, law=jd.contact.rigid(restitution=0.6))
    return m, {"first.angle": 0.2, "second.angle": -0.2, "third.angle": 0.2}


def cam() -> Made:
    m = jd.Model("cam")
    disc = m.body("cam", mass=1.0, inertia=(0.01, 0.01, 0.01))
    disc.shapes.append(jd.sphere(0.05).at(0, 0, 0.02))
    m.drive(m.revolute("shaft", m.ground, disc, axis="y"), lambda t: 10.0 * t)
    follower = m.body("follower", mass=0.5)
    follower.shapes.append(jd.box(0.3, 0.3, 0.02).at(0, 0, 0.01))
    m.prismatic("guide", m.ground, follower, axis="z")
    m.contact("face", disc, follower, law=jd.contact.rigid())
    return m, {"guide.displacement": 0.07}


#: How much positions (m, rad) at 1 ms, and the energy that contacts took (J), may differ from those in joint coordinates; whether the difference falls by
#: four when steps are halved, as it does where rebounds do not follow each other.
MODELS: dict[Callable[[], Made], tuple[float, float, bool]] = {
    bouncing_ball: (4e-5, 1e-6, True),
    ball_that_begins_to_roll: (8e-5, 2e-6, True),
    ball_that_spins_and_rolls: (1e-3, 1e-4, True),
    sliding_block: (1e-9, 1e-9, False),
    flap_between_stops: (1e-5, 3e-5, True),  # order two: 8.6e-5 J at twice the step
    dry_slider: (1e-12, 1e-12, False),
    loop_on_a_stop: (2e-2, 1e-2, False),
    cam: (4e-6, 1e-3, False),
}


@every_formulation
@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*leaves its limits")
def test_steps_are_those_of_joint_coordinates(make: Callable[[], Made], formulation: str) -> None:
    m, start = make()
    near, energy, second = MODELS[make]
    tree = m.compile()
    other = compiled(m, formulation)
    begun = tree.assemble({}, guess=start, velocities={}) if tree.constraints else start
    apart = []
    for h in (2e-3, 1e-3):
        a, b = (s.simulate(begun, 0.5, "moreau", step=h) for s in (tree, other))
        apart.append(max(float(np.abs(a[n] - b[n]).max()) for n in tree.coordinate_names))
        assert b["contacts.residual"].max() < 1e-6
    assert abs(b["contacts.dissipated"][-1] - a["contacts.dissipated"][-1]) < energy
    assert apart[1] < near, apart
    assert not second or apart[0] / apart[1] > 3.0 or apart[0] < 1e-12, apart
    assert max(other.drift(b)) < 1e-9


@every_formulation
def test_a_block_below_the_angle_of_friction_does_not_creep(formulation: str) -> None:
    m = on_floor("block", jd.box(0.2, 0.1, 0.05, density=1e3), jd.contact.rigid(0.5), (G * math.sin(0.46), 0, -G * math.cos(0.46)))
    sol = compiled(m, formulation).simulate({"f0.z": 0.025}, 5.0, "moreau", step=5e-3)
    assert np.abs(sol["f0.x_rate"]).max() < 1e-12 and np.abs(sol["f0.x"]).max() < 1e-12
    weight = np.array([-math.sin(0.46), 0.0, math.cos(0.46)]) * G * 1e3 * 0.2 * 0.1 * 0.05
    np.testing.assert_allclose(sol["touch.body0.force"][-1], weight, atol=1e-7)


@every_formulation
def test_boxes_on_each_other_rest_with_their_weight_on_the_floor(formulation: str) -> None:
    m = on_floor("pile", jd.box(0.2, 0.2, 0.2, density=1e3), jd.contact.rigid(0.5), count=3)
    s = compiled(m, formulation)
    sol = s.simulate({f"f{i}.z": 0.1 + 0.21 * i for i in range(3)}, 0.5, "moreau", step=1e-3)
    assert sol["contacts.depth"].max() < 1e-12
    for i, carried in enumerate((3.0, 2.0, 1.0)):
        touches = [c for c in sol.contacts.at(0.45) if f"body{i}" in (c.body_a, c.body_b) and min(c.point[2] - 0.2 * i, 1.0) < 1e-6]
        assert abs(sum(abs(c.force[2]) for c in touches) - carried * 8.0 * G) < 1e-6


@every_formulation
def test_runs_go_on_are_held_open_and_stop_at_events(formulation: str) -> None:
    m, start = bouncing_ball()
    m.event("half", m.joints["f0"].coordinates[0].q[0] - 0.2, direction=1)
    s = compiled(m, formulation)
    whole = s.simulate(start, 0.4, "moreau", step=1e-3)
    assert len(whole.events) >= 1
    first = s.simulate(start, 0.2, "moreau", step=1e-3)
    second = s.simulate(first, (0.2, 0.4), "moreau", step=1e-3)
    for name in ("f0.z", "f0.x", "f0.z_rate"):
        np.testing.assert_allclose(second[name][-1], whole[name][-1], rtol=0, atol=1e-12)
    few = s.simulate(start, 0.4, "moreau", step=1e-3, outputs=5)
    np.testing.assert_allclose(few["f0.z"], np.interp(few.t, whole.t, whole["f0.z"]), atol=1e-9)
    assert len(few["contacts.acting"]) == 5
    stepper = s.stepper(start, step=1e-3, method="moreau")
    for _ in range(400):
        stepper.advance()
    np.testing.assert_allclose(float(stepper.state["f0.z"]), whole["f0.z"][-1], atol=1e-12)


@every_formulation
def test_answers_at_an_instant_know_the_contact(formulation: str) -> None:
    m = jd.Model("lever")
    m.ground.shapes.append(jd.plane())
    arm = m.body("arm", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0))
    arm.shapes.append(jd.sphere(0.05).at(0.6, 0, 0))
    m.revolute("hinge", m.ground.at(0, 0, 0.05), arm, axis="y")
    m.contact("floor", law=jd.contact.rigid())
    tree, s = m.compile(), compiled(m, formulation)
    state = {"hinge.angle": 0.0}
    assert abs(s.accelerations(state)[0]) < 1e-12
    np.testing.assert_allclose(s.reactions(state)["hinge"][0], [0.0, 0.0, G], atol=1e-9)  # half of the weight
    np.testing.assert_allclose(s.equilibrium(state).state.q, tree.equilibrium(state).state.q, atol=1e-9)
    assert s.linearise(state).A.shape == tree.linearise(state).A.shape
    run = s.simulate(state, 0.02, "moreau", step=1e-3)
    np.testing.assert_allclose(run["hinge.reaction"][-1], [0.0, 0.0, G], atol=1e-9)


def test_a_body_that_bends_touches_a_wall_in_cartesian_coordinates() -> None:
    m = jd.Model("rod", gravity=(0, 0, 0))
    section = ST.Section(1e-4, Iy=4e-2, Iz=4e-2, torsion=400.0)
    body = m.flexible_body("rod", ST.beam((0, 0, 0), (1, 0, 0), section, ST.Material(70e9, 0.3, 2700.0), elements=40), modes=6)
    m.prismatic("slide", m.ground, body, axis="x")
    body.add_collision(jd.sphere(0.01), node="end")
    m.ground.shapes.append(jd.plane("-x").at(1.01, 0, 0))
    m.contact("wall", body, m.ground, law=jd.contact.rigid())
    start = {"slide.displacement": -1e-5, "slide.displacement_rate": 1.0}
    a, b = (s.simulate(start, 6e-4, "moreau", step=1e-6) for s in (m.compile(check=False), m.compile(formulation="cartesian", check=False)))
    for name in ("slide.displacement", "rod.mode1", "wall.rod.force", "contacts.dissipated"):
        np.testing.assert_allclose(b[name], a[name], atol=1e-6 * np.abs(a[name]).max())


@every_formulation
def test_other_methods_refuse_set_valued_laws(formulation: str) -> None:
    m, start = bouncing_ball()
    s = compiled(m, formulation)
    for method in (None, "rk4", "generalized-alpha"):
        given = {} if method is None else {"method": method, "step": 1e-3}
        with pytest.raises(InputError, match="contact 'touch' has a set-valued law"):
            s.simulate(start, 0.1, **given)
