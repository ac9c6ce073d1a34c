"""Any model in the energy-consistent engine: exact energy, second order against the tree engine, every kind of joint and load."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.errors import InputError
from jourdain.systems.formulations import formulate


def laws() -> jd.Model:
    """Springs and dampers at joints and between points, a screw, a gear, a rotor, a driven and a locked joint."""
    m = jd.Model("laws")
    bodies = [m.body(f"b{i}", mass=1.0 + 0.2 * i, com=(0.1, 0.02, 0), inertia=(0.02, 0.03, 0.04)) for i in range(6)]
    shoulder = m.revolute("shoulder", m.ground, bodies[0], axis="y", damping=0.1, rotor_inertia=0.05)
    elbow = m.revolute("elbow", bodies[0].at(0.3, 0, 0), bodies[1], axis=(0.6, 0.8, 0))
    slide = m.prismatic("slide", bodies[1].at(0.2, 0, 0), bodies[2], axis="x")
    m.helical("screw", bodies[2].at(0, 0.1, 0), bodies[3], pitch=0.05, axis="y")
    m.drive(m.revolute("motor", m.ground.at(0, 1, 0), bodies[4], axis="x"), lambda t: 0.3 * jd.sin(2 * t))
    wheel = m.revolute("wheel", bodies[4].at(0, 0.2, 0), bodies[5], axis="z")
    m.joint_spring(shoulder, 20.0, rest=0.2)
    m.joint_spring(slide, 80.0, damping=1.0)
    m.force(elbow, lambda x, v, t: -3.0 * jd.sin(x) - 0.05 * v)
    m.gear("gear", shoulder, wheel, 2.0)
    m.spring("spring", bodies[3].at(0.1, 0, 0), m.ground.at(0.5, 0, 1), stiffness=30.0, damping=0.5, length=0.6, preload=2.0)
    m.load("push", bodies[2], force=(0, 1.5, 0), torque=(0.1, 0, 0))
    return m


def spinning_top() -> tuple[jd.System, Any]:
    system = library.heavy_top().compile()
    lean = {"pivot.orientation.e0": np.cos(0.3), "pivot.orientation.e1": np.sin(0.3)}
    return system, system.state({**lean, "pivot.orientation.omega_z": 40.0, "pivot.orientation.omega_x": 1.0})


def closed(
    make: Callable[[], jd.Model], fixed: dict[str, float], rates: dict[str, float] | None = None
) -> Callable[[], tuple[jd.System, Any]]:
    def start() -> tuple[jd.System, Any]:
        system = make().compile()
        if system.equations_of_motion.rows:
            return system, system.assemble(fixed, velocities=rates or {})
        return system, system.state({**fixed, **(rates or {})})

    return start


#: Start, duration and step; the motion is compared with the tree engine at the step and its half.
MODELS = {
    "double pendulum": (closed(library.double_pendulum, {"shoulder.angle": 1.5}), 0.5, 0.01),
    "four-bar": (closed(library.four_bar, {"crank.angle": 0.9}, {"crank.angle_rate": 3.0}), 0.3, 0.005),
    "slider-crank": (closed(lambda: library.slider_crank(gravity=9.81), {"crank.angle": 0.7}), 0.3, 0.005),
    "RSSR": (closed(library.rssr, {"crank.angle": 0.3}, {"crank.angle_rate": 5.0}), 0.2, 0.004),
    "Bricard": (closed(library.bricard, {}), 0.5, 0.01),
    "Bennett": (closed(library.bennett, {"P1.angle": 0.3}), 0.5, 0.01),
    "Andrews": (closed(library.andrews, {}), 0.005, 1e-4),
    "governor": (closed(library.flyball_governor, {"left.angle": 0.5, "right.angle": 0.5}, {"shaft.angle_rate": 8.0}), 0.3, 0.005),
    "top": (spinning_top, 0.3, 0.0025),
    "five-link": (closed(library.five_link_suspension, {"frame.displacement": 0.01, "rear.float.z": 0.02}), 0.1, 0.002),
    "sleigh": (closed(library.chaplygin_sleigh, {}, {}), 0.5, 0.01),
    "laws": (
        closed(laws, {"elbow.angle": 0.4, "slide.displacement": 0.05}, {"screw.angle_rate": 6.0, "elbow.angle_rate": 1.0}),
        0.4,
        0.004,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_second_order_towards_the_tree_engine_with_exact_energy(name):
    start, duration, step = MODELS[name]
    system, state = start()
    if name == "sleigh":
        rng = np.random.default_rng(0)
        state = jd.State(system, state.q, project(system, state, rng.normal(size=system.nv)), state.z, 0.0)
    reference = system.simulate(state, duration, rtol=1e-11, atol=1e-12)
    directors = formulate(system, "directors")
    errors = []
    for h in (step, step / 2):
        sol = directors.simulate(state, duration, step=h)
        errors.append(max(abs(sol[n][-1] - reference[n][-1]) for n in system.coordinate_names))
        books = sol["step.energy.total"] + sol["step.energy.dissipated"] - sol["step.energy.supplied"]
        assert np.abs(books - books[0]).max() < 1e-10 * max(1.0, np.abs(sol["step.energy.kinetic"]).max())
        assert directors.drift(sol)[0] < 1e-10
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5), errors


def project(system, state, v):
    from jourdain.systems.constraints import jacobian

    J = jacobian(system, state.q, 0.0)
    return v - np.linalg.pinv(J) @ (J @ v)


def test_reductions_are_the_same_scheme():
    system, state = MODELS["RSSR"][0]()
    directors = formulate(system, "directors")
    full, bodies = (directors.simulate(state, 0.2, step=0.004, reduction=r) for r in ("none", "bodies"))
    assert np.allclose(full["crank.angle"], bodies["crank.angle"], atol=1e-10)


def test_free_flight_keeps_momenta():
    m = jd.Model("pair", gravity=(0, 0, 0))
    a, b = (m.body(n, mass=i, inertia=(0.1 * i, 0.2, 0.25)) for n, i in (("a", 1.0), ("b", 2.0)))
    m.free("float", m.ground, a)
    m.universal("cross", a.at(0.3, 0, 0), b.at(0, 0.2, 0), axes=("x", "z"))
    system = m.compile()
    rng = np.random.default_rng(1)
    state = jd.State(system, system.state().q, rng.normal(size=system.nv), np.zeros(0), 0.0)
    sol = formulate(system, "directors").simulate(state, 2.0, step=0.1)
    for what in ("step.momentum.linear", "step.momentum.angular", "step.energy.total"):
        assert np.ptp(sol[what], axis=0).max() < 1e-11, what


def test_contact_potentials_keep_the_energy():
    """A potential with a branch in several coordinates: a point falls into a stiff bowl and rises to its height again."""
    from jourdain.symbolic import gradient, maximum, sqrt

    m = jd.Model("bowl")
    ball = m.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.free("flight", m.ground, ball)
    p = m.sensor("place", ball)
    energy = 1e6 / 2.5 * maximum(sqrt(p.x**2 + p.y**2 + p.z**2) - 0.5, 0.0) ** 2.5
    wall = m.load("wall", ball, force=[-g for g in gradient(energy, [p.x, p.y, p.z])])
    wall.potential = energy
    sol = m.compile(formulation="directors").simulate({"flight.x": 0.2, "flight.y": 0.1}, 3.0, step=0.004, tolerance=1e-14)
    assert sol["flight.z"].min() < -0.4
    assert np.abs(sol["step.energy.total"]).max() < 1e-10
    assert np.abs(sol["step.energy.supplied"]).max() < 1e-10


def test_pages_and_channels_are_the_usual_ones(tmp_path):
    sol = library.pendulum().compile(formulation="directors").simulate({"hinge.angle": 1.0}, 0.2, step=0.01)
    assert sol.frame("bob.mass").position.shape == (21, 3)
    sol.save_page(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 100_000


def test_what_the_engine_cannot_do_is_said():
    m = library.pendulum()
    m.event("jerk", m.joints["hinge"].coordinates[0].a[0] - 1.0)
    with pytest.raises(InputError, match="event 'jerk': its guard speaks of accelerations"):
        m.compile(formulation="directors").simulate({"hinge.angle": 1.0}, 0.1)


def test_reading_poses_keeps_alive_what_native_code_writes():
    from jourdain.systems.descriptor.poses import _Memory, _Reader

    system = library.double_pendulum().compile()
    memory = _Memory(_Reader(system, system.state(), False), 2)
    kept = {x.ctypes.data for x in [*vars(memory).values(), *memory.found] if isinstance(x, np.ndarray)}
    outputs = system.function("bodies_motion").signature.outputs
    pointers = memory._arguments.tolist()
    assert len(outputs) == 6
    assert set(pointers[3 : 3 + len(outputs)]) <= kept
