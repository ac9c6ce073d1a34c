"""Reactions where constraints are redundant: reported everywhere, shared as by equal stiff springs, the same in every formulation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import SolverError
from jourdain.library.mechanisms import bennett, bricard, four_bar, rssr
from jourdain.systems.formulations import FORMULATIONS
from jourdain.systems.outputs.reactions import IndeterminateReaction, constrained_accelerations, shared_reactions
from jourdain.systems.tree.branches import SingularStart
from jourdain.systems.tree.self_stress import joint_length
from tests.systems.zoo import consistent

WEIGHT = 20.0 * 9.81


def door(**cut: bool) -> jd.Model:
    """A leaf on two coaxial hinges."""
    m = jd.Model("door")
    leaf = m.body("leaf", mass=20.0, com=(0.4, 0.0, 0.0), inertia=(1.5, 2.0, 1.0))
    for name, z in (("lower", -0.8), ("upper", 0.8)):
        m.revolute(name, m.ground.at(0, 0, z), leaf.at(0, 0, z), axis="z", cut=cut.get(name))
    return m


def staggered() -> jd.Model:
    """A plane four-bar of four hinges in layers, with the weight across its plane."""
    m = jd.Model("staggered four-bar", gravity=(0.0, 0.3, -9.81))
    a, b, c = (m.body(n, mass=x, com=(0.2, 0.01, 0.02), inertia=(0.01, 0.02, 0.02)) for n, x in (("a", 1.0), ("b", 2.0), ("c", 1.5)))
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a.at(0.3, 0, 0.05), b, axis="z")
    m.revolute("C", b.at(1.0, 0, 0.05), c.at(0.5, 0, 0), axis="z")
    m.close("D", c, m.ground.at(0.9, 0, 0.1), "revolute", axis="z")
    return m


def guided() -> jd.Model:
    """A sledge on two parallel rails, pulled aside, with a pendulum below."""
    m = jd.Model("sledge")
    sledge = m.body("sledge", mass=3.0, com=(0.02, 0.1, 0.05), inertia=(0.1, 0.1, 0.1))
    for name, y in (("left", 0.2), ("right", -0.2)):
        m.prismatic(name, m.ground.at(0, y, 0), sledge.at(0, y, 0), axis="x")
    m.revolute("pin", sledge.at(0, 0, -0.1), m.body("bob", mass=1.0, com=(0.1, 0, -0.4), inertia=(0.02, 0.02, 0.01)), axis=(0.0, 0.6, 0.8))
    m.spring("aside", m.ground.at(0.3, 2.0, 0.4), sledge, stiffness=50.0, length=0.5)
    return m


def doubled() -> jd.Model:
    """A plane four-bar whose pin is there twice."""
    m = four_bar()
    m.close("again", m.bodies["coupler"].at(0.8, 0, 0), m.bodies["rocker"].at(0.7, 0, 0), "ball")
    return m


GUESSES: dict[str, tuple[Callable[[], jd.Model], dict[str, float], dict[str, float]]] = {
    "door": (door, {"lower": 0.7}, {}),
    "staggered": (staggered, {"A": 0.5}, {"B": -0.3, "C": 1.0}),
    "sledge": (guided, {"left": 0.2, "pin": 0.4}, {}),
    "doubled": (doubled, {"crank": 0.5}, {"coupler": 0.0, "rocker": 1.5}),
    "Bennett": (bennett, {}, {}),
    "Bricard": (bricard, {}, {}),
}


def case(name: str) -> tuple[Any, Any]:
    make, fixed, guess = GUESSES[name]
    system = make().compile()
    q = system.assemble(fixed, guess=guess).q
    return system, consistent(system, q, np.random.default_rng(5))


# --- the report --------------------------------------------------------------------------------------------------


def test_a_second_hinge_is_reported_everywhere() -> None:
    system = door().compile()
    state = system.assemble({"lower": 0.3})
    rows = [f"upper[{i}]" for i in range(1, 6)]
    assert state.redundant == state.report.redundant == rows
    assert "reactions are not unique): upper[1]" in str(state.report)
    assert system.redundant(state) == rows and system.indeterminate(state) == ["lower", "upper"]
    found = system.mobility(state)
    assert found.redundant == tuple(rows) and found.indeterminate == ("lower", "upper")
    assert (found.freedoms, found.velocities - found.equations + len(found.redundant)) == (1, 1)
    assert system.closure_report().redundant == rows and "redundant: upper[1]" in str(system.closure_report())


def test_newton_closures_report_redundant_rows() -> None:
    system, state = case("Bricard")
    report = system.closure_report(state=state)
    assert "Newton" in report.method and report.redundant == system.redundant(state) == list(system.mobility(state).redundant)
    assert len(report.redundant) == 1


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", GUESSES)
def test_indeterminate_joints_are_the_same_everywhere(name: str, formulation: str) -> None:
    system, state = case(name)
    expected = {
        "door": ["lower", "upper"],
        "staggered": ["A", "B", "C", "D"],
        "sledge": ["left", "right"],
        "doubled": ["loop", "again"],
        "Bennett": [*system.model.joints, *system.model.constraints],
        "Bricard": [f"P{i}" for i in range(1, 7)],
    }
    assert sorted(system.model.compile(formulation=formulation).indeterminate(state)) == sorted(expected[name])


# --- the share ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_equal_hinges_carry_half_each(formulation: str) -> None:
    model = door()
    system = model.compile()
    state = system.assemble({"lower": 0.7}, velocities={"lower": 2.0})
    found = model.compile(formulation=formulation).reactions(state)
    (lower, low_torque), (upper, up_torque) = found["lower"], found["upper"]
    assert abs(lower[2] - 0.5 * WEIGHT) < 1e-10 and abs(upper[2] - 0.5 * WEIGHT) < 1e-10
    out = np.array([np.cos(0.7), np.sin(0.7), 0.0])
    assert np.abs(lower + upper - (WEIGHT * np.array([0, 0, 1.0]) - 20.0 * 0.4 * 4.0 * out)).max() < 1e-10
    # the couple of the weight is carried by forces, but for a ten-thousandth of it by the hinges' own length
    length, b = joint_length(system), 0.8
    couple = WEIGHT * 0.4 / (2.0 * b) * b**2 / (b**2 + length**2)
    assert abs((lower - upper) @ out / 2.0 - couple) < 1e-9
    assert abs(length - 0.016) < 1e-12 and np.abs(low_torque - up_torque).max() < 1e-10
    about = (low_torque + up_torque) + np.cross([0, 0, 0.8], upper) + np.cross([0, 0, -0.8], lower)
    assert np.abs(about - np.cross(0.4 * out, [0, 0, WEIGHT])).max() < 1e-9


@pytest.mark.parametrize("formulation", [f for f in FORMULATIONS if f != "recursive"])
@pytest.mark.parametrize("name", GUESSES)
def test_every_formulation_has_the_same_share(name: str, formulation: str) -> None:
    system, state = case(name)
    expected = system.model.compile(formulation="recursive").reactions(state)
    found = system.model.compile(formulation=formulation).reactions(state)
    size = max(np.abs(w).max() for pair in expected.values() for w in pair)
    for joint, pair in expected.items():
        for a, b in zip(found[joint], pair, strict=True):
            assert np.abs(a - b).max() < 1e-9 * size, joint


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_four_parallel_legs_share_as_equal_springs(formulation: str) -> None:
    """Nearby positions are determined, these are not, nor is one that a table reaches as long as its legs stay parallel."""
    feet = {"a": (0.6, 0.4), "b": (-0.6, 0.4), "c": (-0.6, -0.4), "d": (0.6, -0.4)}
    m = jd.Model("table")
    top = m.body("top", mass=30.0, com=(0.1, 0.05, 0.0), inertia=(2.0, 2.0, 3.0))
    m.free("place", m.ground.at(0, 0, 0.7), top, orientation="xyz")
    for name, (x, y) in feet.items():
        m.rod(name, m.ground.at(x, y, 0), top.at(x, y, 0), 0.7)
    system = m.compile(formulation=formulation)
    state = system.assemble({})
    assert sorted(system.indeterminate(state)) == ["a", "b", "c", "d"] == sorted(system.mobility(state).indeterminate)
    assert state.report is not None and state.report.singular and "singular position" in str(state.report)
    options = {"method": "variational", "step": 1e-2} if formulation == "directors" else {}
    with pytest.warns(SingularStart, match="'table': the start is a singular position: 1 of the constraints"):
        system.simulate(state, 0.01, **options)
    found = system.reactions(state)
    for name, (x, y) in feet.items():
        assert abs(found[name][0][2] - 30.0 * 9.81 * (0.25 + 0.1 * x / 1.44 + 0.05 * y / 0.64)) < 1e-9
    aside = system.assemble({"place.x": 0.2, "place.y": 0.1, "place.rz": 0.0}, guess={"place.z": -0.03})
    assert aside.report is not None and aside.report.branches  # here second order tells them, and forces say on which one it goes
    run = system.simulate(aside, 0.05, **options)
    with pytest.warns(IndeterminateReaction, match="the reactions of a, b, c, d"):
        force = run["a.reaction"]
    assert np.abs(force[0] - system.reactions(aside)["a"][0]).max() < 1e-8


def test_the_share_does_not_depend_on_the_joint_that_is_cut() -> None:
    found = []
    for cut in ("lower", "upper"):
        system = door(**{cut: True}).compile()
        assert [j.name for j in system.equations_of_motion.tree.cuts] == [cut]
        state = system.assemble({}, guess={})
        found.append(system.reactions(state))
    for joint in ("lower", "upper"):
        assert np.abs(np.subtract(found[0][joint], found[1][joint])).max() < 1e-10


def frames_of(system: Any) -> dict[str, tuple[str, np.ndarray | None, Any, Any]]:
    """Kind, axis, first and second frame of every joint and closure."""
    model = system.model
    found = {j.name: (j.kind, np.array([float(e) for e in j.motions[0].axis]), j.parent, j.child) for j in model.joints.values()}
    for c in model.constraints.values():
        found[c.name] = (c.kind, None if c.data is None else np.array([float(e) for e in c.data]), c.a, c.b)
    return found


def elastic(system: Any, state: Any, wrenches: dict[str, np.ndarray], length: float, stiffness: float = 1e7) -> dict[str, np.ndarray]:
    """Displacement method: each joint a spring along the directions it holds, bodies moved until the springs carry what they must.

    What each body needs is taken from ``wrenches``, whatever their share.
    """
    bodies = list(system.model.bodies)
    clock = np.array([state.t])
    p, R, *_ = system.function("bodies_motion")(clock, state.q, state.v)
    values = dict(zip(system.equations_of_motion.p, system.parameter_vector, strict=True))

    def number(v: Any) -> np.ndarray:
        from jourdain.symbolic.graph import evaluate

        return np.array([float(x) for x in evaluate(list(v), values)])

    def place(frame: Any) -> tuple[int, np.ndarray, np.ndarray]:
        turn = number(frame.rotation.entries).reshape(3, 3)
        if frame.body.is_ground:
            return -1, number(frame.position), turn
        i = bodies.index(frame.body.name)
        return i, p[i] + R[i] @ number(frame.position), R[i] @ turn

    def cross(r: np.ndarray) -> np.ndarray:
        return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])

    n = 6 * len(bodies)
    K, load, springs = np.zeros((n, n)), np.zeros(n), {}
    for name, (kind, axis, parent, child) in frames_of(system).items():
        i, _, turn = place(parent)
        j, at, _ = place(child)
        B = np.zeros((6, n))  # displacement and rotation of the child against the parent at the child's frame
        for body, sign in ((j, 1.0), (i, -1.0)):
            if body >= 0:
                B[:3, 6 * body : 6 * body + 3], B[3:, 6 * body + 3 : 6 * body + 6] = sign * np.eye(3), sign * np.eye(3)
                B[:3, 6 * body + 3 : 6 * body + 6] = -sign * cross(at - p[body])
        along = np.zeros((3, 3)) if axis is None else np.outer(turn @ axis, turn @ axis)
        D = np.zeros((6, 6))
        D[:3, :3] = np.eye(3) - (along if kind == "prismatic" else 0.0)
        D[3:, 3:] = {"revolute": np.eye(3) - along, "prismatic": np.eye(3), "ball": np.zeros((3, 3))}[kind] * length**2
        springs[name] = stiffness * D @ B
        K += B.T @ springs[name]
        load += B.T @ wrenches[name]
    moved = np.linalg.lstsq(K, load, rcond=1e-13)[0]
    assert np.abs(K @ moved - load).max() < 1e-6 * np.abs(load).max()  # nothing is left over: loads balance inertia
    return {name: f @ moved for name, f in springs.items()}


@pytest.mark.parametrize("length", [None, 0.3])
@pytest.mark.parametrize("name", GUESSES)
def test_the_share_is_that_of_equal_springs(name: str, length: float | None) -> None:
    """By forces (least work) here, by displacements there; friction-free joints carry nothing along their freedoms."""
    from jourdain.formalisms.functions.tree import reaction_names
    from jourdain.systems.tree.self_stress import share

    system, state = case(name)
    given = np.array([state.t]), state.x[None], system.input_values()[None]
    found = shared_reactions(system, *given, *constrained_accelerations(system, *given)).wrenches
    if length is not None:
        found = share(system, *given, found, length=length).wrenches
    table = dict(zip(reaction_names(system.equations_of_motion), found[0], strict=True))
    expected = elastic(system, state, table, joint_length(system) if length is None else length)
    size = max(np.abs(w).max() for w in table.values())
    for joint, wrench in expected.items():
        assert np.abs(table[joint] - wrench).max() < 1e-5 * size, joint


def test_a_table_on_four_legs_as_the_limit_of_stiff_springs() -> None:
    """A model with springs in place of the joints, at rest: the error falls as 1/k."""

    def table(stiffness: float | None) -> jd.Model:
        m = jd.Model("table")
        top = m.body("top", mass=12.0, com=(0.1, -0.15, 0.02), inertia=(0.5, 0.5, 1.0))
        corners = [(0.5, 0.4, 0.0), (-0.5, 0.4, 0.0), (-0.5, -0.4, 0.1), (0.6, -0.4, 0.0)]
        if stiffness is not None:
            m.free("free", m.ground, top, orientation="xyz")
        for i, at in enumerate(corners):
            if stiffness is None:
                m.spherical(f"leg{i}", m.ground.at(*at), top.at(*at))
            else:
                m.bushing(f"leg{i}", m.ground.at(*at), top.at(*at), [stiffness] * 3 + [0.0] * 3)
        return m

    rigid = table(None).compile()
    expected = rigid.model.compile(formulation="recursive").reactions(rigid.assemble({}))
    errors = []
    for stiffness in (1e6, 1e7, 1e8):
        soft = table(stiffness).compile()
        rest = soft.equilibrium().state
        off = 0.0
        for i in range(4):
            leg = soft.model.loads[f"leg{i}"]
            frame = soft.function("frame", path="top")
            p, R = (
                np.asarray(x) for x in frame(rest.q, rest.v, np.zeros(soft.nv), *(np.zeros(k) for k in list(frame.inputs.values())[3:]))[:2]
            )
            corner = np.array([float(e) for e in leg.frame.position])
            force = -stiffness * (p + R.reshape(3, 3) @ corner - corner)
            off = max(off, float(np.abs(force - expected[f"leg{i}"][0]).max()))
        errors.append(off)
    assert errors[0] < 1.0 and np.all(np.array(errors[:-1]) / errors[1:] > 8.0)


def test_determined_reactions_are_left_alone() -> None:
    system = rssr().compile()
    state = system.assemble({"crank.angle": 0.3}, velocities={"crank.angle": 12.0})
    given = np.array([state.t]), state.x[None], system.input_values()[None]
    a, lam = constrained_accelerations(system, *given)
    table = system.function("reactions", axes="world")(given[0][:, None], state.q[None], state.v[None], a, state.z[None], given[2], lam)
    found = shared_reactions(system, *given, a, lam)
    assert np.array_equal(found.wrenches, table) and not found.indeterminate.any() and not found.multipliers.any()
    assert system.indeterminate(state) == [] and system.redundant(state) == []


# --- along a run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_channels_say_so(formulation: str) -> None:
    model = door()
    system = model.compile()
    start = system.assemble({"lower": 0.3}, velocities={"lower": 1.5})
    run = model.compile(formulation=formulation).simulate(start, 0.2, times=[0.0, 0.1, 0.2])
    assert run.metadata["redundant"] == [f"upper[{i}]" for i in range(1, 6)]
    with pytest.warns(IndeterminateReaction, match="reactions of lower, upper") as caught:
        lower, upper = run["lower.reaction"], run["upper.reaction"]
        assert np.abs(run["upper.reaction_torque"]).max() > 0.0
    assert len(caught) == 1
    assert np.abs(lower[:, 2] - 0.5 * WEIGHT).max() < 1e-9 and np.abs(upper[:, 2] - 0.5 * WEIGHT).max() < 1e-9
    assert "not determined" in run.channel("upper.reaction").description
    assert "not determined" not in run.channel("upper.reaction").unit + run.channel("lower.angle").description


def test_plane_mechanisms_loaded_in_their_plane_raise_no_doubts() -> None:
    system = four_bar().compile()
    start = system.assemble({"crank": 0.5}, guess={"coupler": 0.0, "rocker": 1.5}, velocities={"crank": 6.0})
    run = system.simulate(start, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.abs(run["loop.reaction"]).max() > 0.0
    assert run.channel("loop.reaction").description == "force on the child, world axes"
    assert start.redundant == run.metadata["redundant"] == ["loop[3]"]


def test_multipliers_go_with_the_reactions() -> None:
    system = doubled().compile()
    start = system.assemble({"crank": 0.5}, guess={"coupler": 0.0, "rocker": 1.5}, velocities={"crank": 6.0})
    run = system.simulate(start, 0.3)
    with pytest.warns(IndeterminateReaction):
        force = run["loop.reaction"]
    assert np.abs(force - run["again.reaction"]).max() < 1e-9 * np.abs(force).max()
    assert np.abs(np.linalg.norm(force, axis=1) - np.hypot(run["loop.1.multiplier"], run["loop.2.multiplier"])).max() < 1e-9


def test_locks_in_a_rigid_frame_share_the_load() -> None:
    """A beam locked at one end and fixed at the other: the force of the lock is that of the share."""
    m = jd.Model("beam")
    beam = m.body("beam", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.lock(m.revolute("left", m.ground, beam, axis="y"), 0.0)
    m.close("right", m.ground.at(1.0, 0, 0), beam.at(1.0, 0, 0), "fixed")
    m.revolute("swing", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.3)), axis="y")
    system = m.compile()
    state = system.assemble({})
    run = system.simulate(state, 0.1)
    with pytest.warns(IndeterminateReaction, match="left, right"):
        left, right = run["left.reaction"], run["right.reaction"]
    assert np.abs(left[:, 2] - 9.81).max() < 1e-9 and np.abs(right[:, 2] - 9.81).max() < 1e-9
    assert np.abs(run["left.drive_force"] - run["left.reaction_torque"][:, 1]).max() < 1e-9


# --- inputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_point_answers_take_inputs(formulation: str) -> None:
    """With a motor's torque given to the call, as with the same torque in the model."""

    def driven(torque: float) -> jd.Model:
        m = four_bar()
        motor = m.input("motor", torque, unit="N m")
        m.force(m.joints["crank"], motor, name="drive")
        return m

    asked, given = (driven(x).compile(formulation=formulation) for x in (0.0, 1.7))
    state = asked.assemble({"crank": 0.5}, guess={"coupler": 0.0, "rocker": 1.5}, velocities={"crank": 6.0})
    same = given.assemble({"crank": 0.5}, guess={"coupler": 0.0, "rocker": 1.5}, velocities={"crank": 6.0})
    without = asked.accelerations(state)
    expected = given.accelerations(same)
    assert np.abs(asked.accelerations(state, inputs={"motor": 1.7}) - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.abs(asked.accelerations(state) - without).max() == 0.0 and np.abs(without - expected).max() > 1.0
    found, wanted = asked.multipliers(state, inputs={"motor": 1.7}), given.multipliers(same)
    assert max(abs(found[n] - wanted[n]) for n in wanted) < 1e-9 * max(1.0, *map(abs, wanted.values()))
    wrenches, expected_wrenches = asked.reactions(state, inputs={"motor": 1.7}), given.reactions(same)
    for joint, (force, torque) in expected_wrenches.items():
        assert np.abs(wrenches[joint][0] - force).max() < 1e-9 and np.abs(wrenches[joint][1] - torque).max() < 1e-9
    with pytest.raises(jd.errors.InputError, match="no input 'torque'"):
        asked.accelerations(state, inputs={"torque": 1.0})


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_point_answers_follow_the_parameters(formulation: str) -> None:
    """The same state asked again after a change of gravity."""
    system = four_bar().compile(formulation=formulation)
    state = system.assemble({"crank": 0.5}, guess={"coupler": 0.0, "rocker": 1.5})
    before = system.accelerations(state)
    name = next(n for n in system.parameters if "gravity" in n)
    system.set_parameters(**{name: 2.0 * system.parameters[name]})
    assert np.abs(system.accelerations(state) - 2.0 * before).max() < 1e-10 * np.abs(before).max()


def test_mobility_needs_no_mass() -> None:
    m = jd.Model("light door")
    leaf = m.body("leaf")
    for name, z in (("lower", -0.8), ("upper", 0.8)):
        m.revolute(name, m.ground.at(0, 0, z), leaf.at(0, 0, z), axis="z")
    found = m.compile(check=False).mobility()
    assert found.freedoms == 1 and len(found.redundant) == 5 and found.indeterminate == ()


def test_long_runs_of_many_bodies_have_the_same_accelerations_without_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    def channels() -> list[np.ndarray]:
        m = jd.Model("ball")
        m.ground.shapes.append(jd.plane())
        m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
        m.contact("floor", law=jd.contact.rigid(friction=0.2))
        sol = m.compile().simulate({"f.z": 0.05, "f.x_rate": 1.0}, 0.05, "moreau", step=1e-3)
        return [sol[n] for n in ("f.x_acc", "f.reaction")]

    plain = channels()
    monkeypatch.setattr("jourdain.systems.outputs.reactions.MOST_NUMBERS", 0)
    for a, b in zip(channels(), plain, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


# --- bodies without mass in loops ----------------------------------------------------------------------------------


def light_rocker(mass: float) -> jd.Model:
    """A driven four-bar whose rocker may have no mass: the loop holds it."""
    m = jd.Model("light rocker")
    lengths = {"crank": (1.0, 0.3), "coupler": (2.0, 0.8), "rocker": (mass, 0.6)}
    crank, coupler, rocker = (
        m.body(n, mass=w, com=(l / 2, 0, 0), inertia=(w * l * l / 12,) * 3) if w else m.body(n) for n, (w, l) in lengths.items()
    )
    motor = m.revolute("crank", m.ground, crank, axis="y")
    m.revolute("coupler", crank.at(0.3, 0, 0), coupler, axis="y")
    m.revolute("rocker", m.ground.at(0.9, 0, 0), rocker, axis="y")
    m.revolute("tip", coupler.at(0.8, 0, 0), rocker.at(0.6, 0, 0), axis="y")
    m.force(motor, m.input("motor", 0.5, unit="N m"))
    return m


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_what_loops_hold_needs_no_mass(formulation: str) -> None:
    """Answers at an instant are those of the limit of small masses, where M by itself is singular."""
    found = []
    for system in (light_rocker(0.0).compile(formulation=formulation), light_rocker(1e-9).compile()):
        state = system.assemble({"crank.angle": -1.0}, velocities={"crank.angle_rate": 2.0})
        found.append((system.accelerations(state), system.reactions(state)))
    (a, forces), (b, expected) = found
    assert np.abs(a - b).max() < 1e-6
    assert max(np.abs(np.subtract(forces[n], expected[n])).max() for n in expected) < 1e-7


def test_what_nothing_holds_and_has_no_mass_is_named() -> None:
    m = light_rocker(0.5)
    m.revolute("loose", m.bodies["rocker"].at(0.3, 0, 0), m.body("pointer"), axis="y")
    system = m.compile()
    state = system.assemble({"crank.angle": -1.0})
    for verb in (system.accelerations, system.reactions, system.multipliers):
        with pytest.raises(SolverError, match="joint 'loose' moves body 'pointer' without inertia"):
            verb(state)


def test_components_that_are_determined_raise_no_doubts() -> None:
    """A flywheel beside the plane of an engine: forces in the plane are determined, those across it are shared."""
    from jourdain.demo import engine

    system = engine().compile()
    run = system.simulate(system.assemble({"main.angle": 0.3}, velocities={"main.angle_rate": 60.0}), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = run.between(0.01, 0.05)
        force = part["main.reaction.x"], part["main.reaction.z"], run["main.reaction[0]"], run.at(0.02)["main.reaction.z"]
        assert "not determined" not in part.channel("main.reaction.x").description
        assert str(run)
    assert np.abs(force[2]).max() > 0.0
    with pytest.warns(IndeterminateReaction, match="the reactions of main, pin, guide, wrist"):
        part["main.reaction_torque.x"]
    assert "not determined" in part.channel("main.reaction_torque.x").description + part.channel("main.reaction").description
