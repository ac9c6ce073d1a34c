"""The verbs of a compiled system in the energy-consistent engine: its own numbers, equal to the tree engine's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.analysis.kinematics import Motion
from jourdain.errors import SolverError
from jourdain.io import read_urdf
from jourdain.systems.formulations import formulate
from tests.analysis.mechanisms import FOUR_BAR_GUESS, four_bar
from tests.systems.zoo import ZOO

ARM = Path(__file__).parents[3] / "examples" / "data" / "arm.urdf"


def sprung() -> jd.Model:
    """Two pendulums on a hinge and a universal joint, with springs, dampers, a motor and an output."""
    m = jd.Model("sprung")
    a = m.body("a", mass=1.0, com=(0.1, 0, -0.3), inertia=(0.02, 0.03, 0.01))
    b = m.body("b", mass=0.5, com=(0, 0.05, -0.2), inertia=(0.01, 0.02, 0.01))
    hinge = m.revolute("hinge", m.ground, a, axis="y", damping=0.1)
    m.universal("cross", a.at(0, 0, -0.5), b, axes=("x", "y"))
    k = m.parameter("k", 3.0)
    m.joint_spring(hinge, k, rest=0.4)
    m.spring("spring", b.at(0, 0, -0.3), m.ground.at(0.5, 0.3, -0.5), stiffness=20, length=0.3, damping=0.5)
    motor = m.input("motor", 0.3, unit="N m")
    m.force(hinge, lambda x, v, t: motor * jd.cos(x))
    m.output("height", m.sensor("tip", b.at(0, 0, -0.4)).z)
    return m


def relative(a: Any, b: Any) -> float:
    a, b = np.asarray(a), np.asarray(b)
    return float(np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(a).max(initial=0.0)))


def both(model: jd.Model | jd.System) -> tuple[jd.System, Any]:
    system = model if isinstance(model, jd.System) else model.compile()
    return system, formulate(system, "directors")


AT_REST: dict[str, tuple[Callable[[], Any], dict[str, float]]] = {
    "sprung": (sprung, {}),
    "four-bar": (four_bar, FOUR_BAR_GUESS),
    "slider-crank": (lambda: library.slider_crank(gravity=9.81), {"crank.angle": -1.3, "rod.angle": 1.5, "piston.displacement": 0.2}),
    "Bricard": (library.bricard, {}),
    "wishbone": (library.double_wishbone_suspension, {}),
    "McPherson": (library.mcpherson_suspension, {}),
    "five-link": (library.five_link_suspension, {}),
    "half car": (library.half_car, {}),
    "arm": (lambda: read_urdf(ARM), {"elbow": 0.3, "shoulder": 0.2}),
}


@pytest.mark.parametrize("name", AT_REST)
def test_equilibrium_and_modes_are_those_of_the_tree(name):
    make, guess = AT_REST[name]
    system, directors = both(make())
    start = system.assemble({}, guess=guess) if system.equations_of_motion.rows else guess
    found = directors.equilibrium(start)
    # from there Newton's method of the tree does not move, but for directions without influence
    again = system.equilibrium(found.state)
    held = {n.split(" ")[-1] for e in (found, again) for n in e.notes} | set(again.held)
    free = [i for i, n in enumerate(system.coordinate_names) if n not in held]
    if not again.notes:
        assert np.abs(found.state.q - again.state.q)[free].max(initial=0.0) < 1e-8
    assert found.residual < 1e-8 * max(1.0, max(abs(x) for x in found.multipliers.values()))
    mine, theirs = directors.modal(found), system.modal(found.state, u=found.inputs)
    assert relative(theirs.eigenvalues, mine.eigenvalues) < 1e-9
    for a, b in zip(theirs.modes, mine.modes, strict=True):
        others = [m for m in theirs.modes if m is not a and abs(m.eigenvalue - a.eigenvalue) < 1e-3 * abs(a.eigenvalue)]
        if a.kind == "oscillation" and not others:
            assert relative(a.shape, b.shape) < 1e-6
    assert found.stable
    assert str(found).startswith("static equilibrium of")


@pytest.mark.parametrize("name", ["four-bar", "RSSR driven", "five-link", "rolling disk", "laws and drives", "couplings", "random 1"])
def test_linear_systems_and_forces_of_moving_states_are_those_of_the_tree(name):
    system, state = ZOO[name]()
    directors = formulate(system, "directors")
    theirs, mine = system.linearise(state), directors.linearise(state)
    for part in ("A", "B", "C", "D", "M", "G", "K", "L", "Bf", "a"):
        assert relative(getattr(theirs, part), getattr(mine, part)) < 1e-9, part
    a = theirs.a + (theirs.Zq @ np.linspace(-1.0, 1.0, theirs.dof) if theirs.Zq.shape[1] == len(theirs.M) else 0.0)
    motion = Motion(system, np.array([state.t]), state.q[None], state.v[None], a[None], state.z)
    names = [n.removesuffix("_rate") for n in system.velocity_names]
    one, two = (s.inverse_dynamics_along(motion, names) for s in (system, directors))
    assert relative(one.forces, two.forces) < 1e-9
    assert one.drive_forces.keys() == two.drive_forces.keys()
    for drive in one.drive_forces:
        assert relative(one.drive_forces[drive], two.drive_forces[drive]) < 1e-9
    rest = state.with_values(v=np.zeros(system.nv))
    held, mine_held = system.static_forces(rest), directors.static_forces(rest)
    assert relative(list(held.actuators.values()), list(mine_held.actuators.values())) < 1e-9


def test_motors_along_a_motion_of_a_robot_arm():
    system, directors = both(read_urdf(ARM))
    t = np.linspace(0.0, 1.0, 7)
    motion = {n: (lambda t, k=k: 0.3 * jd.sin((k + 1) * t)) for k, n in enumerate(system.coordinate_names)}
    one = system.inverse_dynamics_along(motion, times=t)
    two = directors.inverse_dynamics_along(motion, times=t)
    assert relative(one.forces, two.forces) < 1e-11
    assert two.solution[f"{system.coordinate_names[0]}.actuator"].shape == (7,)


def test_inputs_as_actuators_and_responses_to_them():
    system, directors = both(sprung())
    found = directors.equilibrium(inputs={"motor": 0.0})
    place = {n: found[n] for n in system.coordinate_names}
    # the motor that holds the equilibrium of another motor torque
    moved = system.equilibrium(inputs={"motor": 0.2})
    forces = directors.static_forces(moved.state, ["motor"])
    assert forces["motor"] == pytest.approx(0.2, abs=1e-9)
    with pytest.raises(SolverError, match=r"under-actuated, the actuators \(motor\) act on 1 of 3"):
        directors.static_forces({**place, "cross.angle1": 0.5}, ["motor"])
    f = np.array([0.1, 0.5, 2.0])
    one, two = (s.frequency_response("motor", "height", f, found.state) for s in (system, directors))
    assert relative(one.values, two.values) < 1e-9
    locus, own = (s.root_locus("k", [2.0, 4.0], found.state, u={"motor": 0.0}) for s in (system, directors))
    assert relative(locus.eigenvalues, own.eigenvalues) < 1e-8


def test_exchanged_variables_and_steady_motions_are_those_of_the_tree():
    system, directors = both(sprung())
    one, two = (s.equilibrium({"hinge.angle": 0.5}, exchange={"hinge": "k"}) for s in (system, directors))
    assert two["k"] == pytest.approx(one["k"], rel=1e-9)
    assert two.residual < 1e-10
    assert directors.parameters["k"] == 3.0
    one, two = (s.equilibrium({"hinge.angle": 0.5}, exchange={"hinge": "motor"}) for s in (system, directors))
    assert two["motor"] == pytest.approx(one["motor"], rel=1e-9)
    system, directors = both(library.flyball_governor())
    start = system.assemble({"left.angle": 0.5, "right.angle": 0.5}, velocities={"shaft.angle_rate": 9.0})
    one, two = (s.equilibrium(start, kind="dynamic", steady=["shaft.angle_rate"]) for s in (system, directors))
    assert two.state["left.angle"] == pytest.approx(one.state["left.angle"], abs=1e-9)
    assert relative(system.modal(one).eigenvalues, directors.modal(two).eigenvalues) < 1e-8


def test_rigid_motions_of_a_governor_are_counted_at_every_speed():
    """What rounding leaves in the row of the free shaft, 1e-14, would split its double zero to ±1e-7."""
    system, directors = both(library.flyball_governor())
    for speed in (7.3, 11.0, 31.0):
        start = system.assemble({"left.angle": 0.5, "right.angle": 0.5}, velocities={"shaft.angle_rate": speed})
        one, two = (s.modal(s.equilibrium(start, kind="dynamic", steady=["shaft.angle_rate"])) for s in (system, directors))
        assert np.sort(np.abs(two.eigenvalues)) == pytest.approx(np.sort(np.abs(one.eigenvalues)), rel=1e-8, abs=1e-12)


def test_other_formulations_answer_through_the_reference():
    cartesian = sprung().compile(formulation="cartesian")
    found = cartesian.equilibrium()
    assert cartesian.modal(found).frequencies == pytest.approx(cartesian.reference.modal(found).frequencies)
    table = cartesian.sweep({}, 0.1, parameters={"k": [1.0, 5.0]}, outputs=["hinge.angle"], progress=False)
    own = cartesian.reference.sweep({}, 0.1, parameters={"k": [1.0, 5.0]}, outputs=["hinge.angle"], progress=False)
    assert table["hinge.angle"] == pytest.approx(own["hinge.angle"], abs=1e-7)
