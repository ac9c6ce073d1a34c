"""Beams, frameworks and solids of models whose nodes have joints, loads and sensors: energy, other formulations, closed forms, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.structures import Material, beam, block, framework, rectangle

SECTION, SOFT = rectangle(0.05, 0.02), Material(5e6, 0.3, 1000.0)


def two_beams(material: Material = SOFT, elements: int = 4, gravity: float = 9.81, **options: object) -> jd.Model:
    """A double pendulum of beams with a body at its end."""
    m = jd.Model("two beams", gravity=(0, 0, -gravity))
    upper = m.flexible_body("upper", beam((0, 0, 0), (1, 0, 0), SECTION, material, elements=elements, theory="timoshenko"), **options)
    m.revolute("shoulder", m.ground, upper.node("start"), axis="y")
    lower = m.flexible_body("lower", beam((0, 0, 0), (0.8, 0, 0), SECTION, material, elements=elements, theory="timoshenko"), **options)
    m.revolute("elbow", upper.node("end"), lower.node("start"), axis="y")
    m.fixed("hand", lower.node("end"), m.body("tip", 0.2, inertia=(1e-4, 1e-4, 1e-4)))
    m.sensor("eye", lower.node("end"))
    return m


@pytest.mark.parametrize("reduction", ["none", "projection", "bodies", "joints"])
def test_every_reduction_gives_the_same_motion(reduction: str) -> None:
    m = two_beams(modes=3)
    sol = m.compile(formulation="directors", reduction=reduction).simulate({}, t=0.4, step=0.01)
    if reduction == "none":
        test_every_reduction_gives_the_same_motion.expected = sol  # type: ignore[attr-defined]
    expected = getattr(test_every_reduction_gives_the_same_motion, "expected", sol)
    for name in ("shoulder.angle", "elbow.angle", "tip.position", "upper.2.position"):
        assert sol[name] == pytest.approx(expected[name], abs=1e-9)
    assert np.ptp(sol["energy.total"]) < 1e-12 and sol["energy.kinetic"].max() > 1.0
    assert np.ptp(sol["upper.e0.My1"]) > 0.1


def test_small_deformations_are_those_of_the_floating_frame() -> None:
    """What differs from modes of the same beams is of second order in the gravity that bends them."""
    errors, stiff = [], Material(5e7, 0.3, 1000.0)
    for gravity in (0.4, 0.1):
        directors = two_beams(stiff, gravity=gravity, elements=8, modes=3).compile(formulation="directors", reduction="bodies")
        exact = directors.simulate({"shoulder.angle": 0.3}, t=0.8, step=2e-3)
        floating = two_beams(stiff, gravity=gravity, elements=8, modes=12).compile()
        modes = floating.simulate({"shoulder.angle": 0.3}, t=0.8, times=exact.t, rtol=1e-9, atol=1e-12)
        turned = exact["shoulder.angle"] - 0.3
        errors.append(np.abs(turned - (modes["shoulder.angle"] - 0.3)).max() / gravity)
        assert np.abs(turned).max() > 0.15 * gravity
    assert errors[0] < 3e-3 and errors[1] < 1.2e-3


def test_stiff_beams_are_rigid_bodies() -> None:
    """A hundred thousand times stiffer: the same double pendulum of rigid rods, with an error ∝ 1/E."""
    rigid = two_beams(rigid=True).compile().simulate({}, t=0.5, rtol=1e-10, atol=1e-12)
    errors = []
    for E in (5e10, 5e11):
        m = two_beams(Material(E, 0.3, 1000.0), modes=3)
        sol = m.compile(formulation="directors", reduction="bodies").simulate({}, t=0.5, step=1e-3)
        errors.append(abs(sol["shoulder.angle"][-1] - rigid["shoulder.angle"][-1]))
    assert errors[0] < 3e-4 and errors[1] < errors[0]


def test_a_loop_with_an_elastic_coupler() -> None:
    """Four bars: the crank and rocker rigid, the coupler a beam with hinges at both ends; energy is kept, and the loop stays closed."""
    m = jd.Model("four bars")
    crank, rocker = (
        m.body("crank", 1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01)),
        m.body("rocker", 1.0, com=(0, 0, 0.2), inertia=(0.01, 0.02, 0.02)),
    )
    m.revolute("crank", m.ground, crank, axis="y")
    m.revolute("rocker", m.ground.at(1.2, 0, 0), rocker, axis="y")
    coupler = m.flexible_body("coupler", beam((0.2, 0, 0), (1.2, 0, 0.4), SECTION, Material(1e9, 0.3, 1000.0), elements=6), modes=3)
    m.revolute("a", crank.at(0.2, 0, 0), coupler.node("start"), axis="y")
    m.revolute("b", rocker.at(0, 0, 0.4), coupler.node("end"), axis="y")
    for coupling in ("none", "bodies"):
        s = m.compile(formulation="directors", reduction=coupling)
        sol = s.simulate({}, t=0.6, step=0.01)
        assert np.ptp(sol["energy.total"]) < 1e-11 and sol["energy.kinetic"].max() > 0.5
        assert sol["constraints.violation"].max() < 1e-11
        assert np.abs(sol["crank.angle"]).max() > 0.3


def test_hinges_at_a_solid() -> None:
    """A block that hangs by a hinge at its interface, and floats free: energy and, without gravity, momenta are kept."""
    part = block((0.6, 0.1, 0.1), (4, 1, 1), Material(2e5, 0.3, 500.0), origin=(0, -0.05, -0.05))
    part.interface("root", "x-")
    m = jd.Model("hanging")
    m.flexible_body("bar", part, modes=3)
    m.revolute("hinge", m.ground, m.bodies["bar"].node("root"), axis="y")  # type: ignore[attr-defined]
    for coupling in ("null space", "constraints"):
        sol = m.compile(formulation="directors", coupling=coupling, reduction="bodies").simulate({}, t=0.5, step=0.01)
        assert np.ptp(sol["energy.total"]) < 1e-11 and abs(sol["hinge.angle"][-1]) > 0.3
    m = jd.Model("floating", gravity=(0, 0, 0))
    m.flexible_body("bar", part, modes=3)
    m.free("float", m.ground, m.bodies["bar"].node("root"))  # type: ignore[attr-defined]
    start = {"float.orientation.omega_y": 3.0, "float.orientation.omega_z": 5.0}
    sol = m.compile(formulation="directors", reduction="bodies").simulate(start, t=0.5, step=0.01)
    for name in ("momentum.linear", "momentum.angular"):
        assert np.ptp(sol[name], axis=0).max() < 1e-11 * np.abs(sol[name]).max()
    assert np.ptp(sol["energy.total"]) < 1e-11 and np.ptp(sol["energy.potential"]) > 1e-3


def test_loads_and_sensors_at_nodes() -> None:
    """A force at the end of a cantilever: with small load its deflection is F L³/3EI + F L/κGA; the law may read a sensor there."""
    m = jd.Model("cantilever", gravity=(0, 0, 0))
    post = m.body("post", 1.0, inertia=(1, 1, 1))
    m.fixed("ground", m.ground, post)
    part = beam((0, 0, 0), (1, 0, 0), SECTION, SOFT, elements=8, theory="timoshenko")
    rod = m.flexible_body("rod", part, attach={"start": post}, modes=3)
    m.load("push", rod.node("end"), (0, 0, 1e-3))
    s = m.compile(formulation="directors").assembled()
    found = s.equilibrium("bodies")
    h = next(h for h in s.handles if h.name == "rod.end")
    G = SOFT.E / 2.6
    expected = 1e-3 * (1.0 / (3 * SOFT.E * SECTION.Iy) + 1.0 / (SECTION.shear_z * G * SECTION.area))
    assert found.q[h.offset + 2] == pytest.approx(expected, rel=1e-5)
    frequencies = s.modal(found.q, count=2).frequencies
    assert frequencies == pytest.approx(part.fixed_frequencies("start", 2) / (2 * np.pi), rel=2e-3)


def test_frameworks() -> None:
    """A portal of three members that meet at right angles: natural frequencies of the linear structure, and large motion with its energy."""
    part = framework(
        [(0, 0, 0), (0, 0, 0.5), (0, 0, 1), (0.5, 0, 1), (1, 0, 1), (1, 0, 0.5), (1, 0, 0)],
        [(k, k + 1) for k in range(6)],
        SECTION,
        SOFT,
        up=(0, 1, 0),
        theory="timoshenko",
    )
    part.names.update(left=0, right=6, top=3)
    m = jd.Model("portal")
    m.flexible_body("portal", part, attach={"left": m.ground}, modes=3)
    s = m.compile(formulation="directors", reduction="bodies")
    weightless = jd.Model("portal", gravity=(0, 0, 0))
    weightless.flexible_body("portal", part, attach={"left": weightless.ground}, modes=3)
    found = weightless.compile(formulation="directors").assembled().modal(count=3).frequencies
    assert found == pytest.approx(part.fixed_frequencies("left", 3) / (2 * np.pi), rel=0.02)
    sol = s.simulate({}, t=0.5, step=0.01)
    assert np.ptp(sol["energy.total"]) < 1e-11 and np.abs(sol["portal.6.position"][-1] - (1, 0, 0)).max() > 0.05


def test_servo_constraint_at_a_node() -> None:
    """The angle of the end of a beam follows a course by the torque at its root: a stable inversion, its forward run, and the torque of a rigid rod for a stiff one."""
    m = jd.Model("arm", gravity=(0, 0, 0))
    hub = m.body("hub", 0.5, inertia=(0.05, 0.05, 0.05))
    m.force(m.revolute("motor", m.ground, hub, axis="z"), m.input("torque", unit="N*m"))
    rod = m.flexible_body(
        "rod", beam((0, 0, 0), (1, 0, 0), rectangle(0.02, 0.05), Material(2e8, 0.3, 1000.0), elements=4), attach={"start": hub}, modes=3
    )
    eye = m.sensor("eye", rod.node("end"))
    course = jd.elements.point_to_point(m.time, 0.0, 1.0, 0.0, 0.5)
    system = m.compile(formulation="directors")
    sol = system.track(
        {"torque": eye.position.y * jd.cos(course) - eye.position.x * jd.sin(course)}, {}, t=1.0, step=0.02, inversion="stable"
    )
    told = sol.metadata["inversion"]
    assert told["output_error"] < 5e-3 and 0.5 < told["minimum_phase"] < 1.0
    angle = np.arctan2(sol["rod.end.position"][:, 1], sol["rod.end.position"][:, 0])
    expected = [float(jd.evaluate([course], {m.time: t})[0]) for t in sol.t]
    assert angle == pytest.approx(expected, abs=1e-9)
    assert np.abs(sol["torque"][sol.t < 0]).max() > 1e-3 * np.abs(sol["torque"]).max()


def test_refusals() -> None:
    m = jd.Model("m")
    rod = beam((0, 0, 0), (1, 0, 0), SECTION, SOFT, elements=4, offset=(0, 0.01, 0))
    m.flexible_body("rod", rod, attach={"start": m.ground}, modes=2)
    with pytest.raises(InputError, match="flexible body 'rod': its axis has an offset from its nodes"):
        m.compile(formulation="directors")
    m = jd.Model("m")
    m.flexible_body("rod", beam((0, 0, 0), (1, 0, 0), SECTION, SOFT, elements=4).with_mass("end", 1.0), attach={"start": m.ground}, modes=2)
    with pytest.raises(InputError, match="flexible body 'rod': its structure has masses beside those of its elements"):
        m.compile(formulation="directors")
    m = jd.Model("m")
    m.flexible_body("rod", beam((0, 0, 0), (1, 0, 0), SECTION, SOFT, elements=4), damping=0.01, attach={"start": m.ground}, modes=2)
    with pytest.raises(InputError, match="damping of modes has no counterpart"):
        m.compile(formulation="directors")


def pendulum_rod() -> tuple[jd.Model, Any]:
    m = jd.Model("rod")
    rod = m.flexible_body("rod", beam((0, 0, 0), (1, 0, 0), SECTION, Material(5e7, 0.3, 1000.0), elements=4), modes=3)
    m.revolute("hinge", m.ground, rod.node("start"), axis="y")
    return m, m.sensor("eye", rod.node("end"))


def test_events_and_walls_at_nodes() -> None:
    """A run ends where the end of a rod passes a height; on a springy floor the work of the floor is in the books."""
    m, eye = pendulum_rod()
    m.event("low", eye.position.z + 0.5, terminal=True)
    sol = m.compile(formulation="directors", reduction="bodies").simulate({}, t=2.0, step=0.01)
    assert sol["rod.end.position"][-1, 2] == pytest.approx(-0.5, abs=1e-9) and np.ptp(sol["energy.total"]) < 1e-12
    assert [e.name for e in sol.events] == ["low"]
    m, eye = pendulum_rod()
    gap = eye.position.z + 0.4
    m.load("floor", m.bodies["rod"].node("end"), (0, 0, jd.where(gap < 0.0, -2000.0 * gap, 0.0)))  # type: ignore[attr-defined]
    sol = m.compile(formulation="directors", reduction="bodies").simulate({}, t=0.6, step=0.002)
    assert -0.5 < sol["rod.end.position"][:, 2].min() < -0.4 and np.ptp(sol["energy.total"] - sol["energy.supplied"]) < 1e-11
