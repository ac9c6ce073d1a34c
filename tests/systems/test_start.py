"""Initial values of a model: every formulation starts there unless told otherwise, loops are closed near them, files keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.mechanisms import four_bar
from jourdain.systems.formulations import FORMULATIONS

TURN = np.roll(Rotation.from_rotvec([0.3, -0.5, 0.7]).as_quat(), 1)
INITIAL = {
    "fly.x": 0.1, "fly.z": "20 cm", **{f"fly.orientation.e{i}": float(x) for i, x in enumerate(TURN)},
    "fly.orientation.omega_y": 0.4, "hinge": "30 deg", "hinge.angle_rate": "60 rpm", "charge": 2.5,
}  # fmt: skip


def flyer() -> jd.Model:
    """A free body with an arm on a hinge and a state of the user."""
    m = jd.Model("flyer")
    body = m.body("body", mass=2.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.25))
    arm = m.body("arm", mass=0.5, com=(0, 0.2, 0), inertia=(0.02, 0.01, 0.02))
    m.free("fly", m.ground, body)
    m.revolute("hinge", body.at(0.2, 0, 0), arm, axis="x")
    charge = m.state("charge", 1.0)
    m.rate(charge, -0.5 * charge)
    return m


def started() -> jd.Model:
    m = flyer()
    m.initial = dict(INITIAL)
    return m


def expected(system: Any) -> Any:
    """The same start, all of it told."""
    return jd.State(system, np.array([0.1, 0.0, 0.2, *TURN, np.pi / 6]), np.array([0, 0, 0, 0, 0.4, 0, 2 * np.pi]), np.array([2.5]))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_starts_at_the_initial_values(formulation: str) -> None:
    """``simulate({})`` of the model with initial values is the run of the model without from that state."""
    s = started().compile(formulation=formulation)
    plain = flyer().compile(formulation=formulation)
    start = s.state()
    np.testing.assert_allclose(start.x, expected(s.reference).x, rtol=1e-15, atol=1e-15)
    options = {"step": 1e-3} if formulation == "directors" else {}
    told = plain.simulate(expected(plain.state().system), 0.05, outputs=3, **options)
    for given in (None, {}):
        found = s.simulate(given, 0.05, outputs=3, **options)
        for name in ("fly.z", "fly.orientation.e1", "hinge.angle", "hinge.angle_rate", "charge"):
            np.testing.assert_allclose(found[name], told[name], rtol=1e-12, atol=1e-13)


def test_what_is_told_goes_before_the_initial_values() -> None:
    s = started().compile()
    state = s.state({"hinge.angle": 1.0, "fly.x": 0.0, "charge": 0.0}, velocities={"hinge": 0.0})
    assert state["hinge.angle"] == 1.0 and state["fly.x"] == 0.0 and state["charge"] == 0.0 and state["hinge.angle_rate"] == 0.0
    assert state["fly.z"] == 0.2 and state["fly.orientation.omega_y"] == 0.4
    np.testing.assert_allclose(state.q[3:7], TURN, rtol=1e-15)


def test_a_quaternion_is_one_value() -> None:
    """Half of a quaternion must not be mixed with the other half of the initial one."""
    s = started().compile()
    half = np.sqrt(0.5)
    state = s.state({"fly.orientation.e0": half, "fly.orientation.e3": half})
    np.testing.assert_allclose(state.q[3:7], [half, 0, 0, half], rtol=1e-15)


@pytest.mark.parametrize(("name", "value", "words"), [("hinge.angel", 1.0, "did you mean hinge.angle"), ("hinge", "3 kg", "unit of mass")])
def test_a_wrong_initial_value_is_refused(name: str, value: Any, words: str) -> None:
    m = flyer()
    m.initial[name] = value
    with pytest.raises(jd.JourdainError, match=words):
        m.compile().state()


def test_the_error_says_that_the_value_is_the_models() -> None:
    m = flyer()
    m.initial["nothing.angle"] = 1.0
    with pytest.raises(InputError, match="initial values of 'flyer': there is no coordinate 'nothing.angle'"):
        m.compile().assemble()


def test_coordinates_that_are_not_free_are_named() -> None:
    m = jd.Model("slider-crank")
    crank, rod, piston = (m.body(n, mass=1.0, inertia=(0.01, 0.01, 0.01)) for n in ("crank", "rod", "piston"))
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(0.04, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(0.13, 0, 0), piston, axis="y", cut=True)
    m.prismatic("guide", m.ground, piston, axis="x")
    with pytest.raises(InputError, match="^'wrist' has no value of its own: the joint 'wrist' closes a loop .*; leave it out"):
        m.compile().state({"wrist": 0.1})
    m = flyer()
    m.drive(m.joints["hinge"], lambda t: 2 * t)
    m.initial["hinge"] = 0.1
    with pytest.raises(InputError, match="initial values of 'flyer': 'hinge' has no value of its own: the joint 'hinge' is driven"):
        m.compile().state()


def test_files_keep_the_start() -> None:
    again = jd.loads_model(jd.dumps_model(started()))
    assert again.initial == INITIAL
    np.testing.assert_array_equal(again.compile().state().x, started().compile().state().x)


# --- loops -----------------------------------------------------------------------------------------------------------


def closed_four_bar() -> tuple[jd.Model, Any]:
    m = four_bar()
    s = m.compile()
    names = s.coordinate_names
    return m, s.assemble({names[0]: 0.7}, velocities={names[0]: 3.0})


def test_a_start_that_fits_is_kept_whole() -> None:
    m, state = closed_four_bar()
    s = state.system
    m.initial = {n: float(state[n]) for n in (*s.coordinate_names, *s.velocity_names)}
    found = s.assemble()
    np.testing.assert_allclose(found.x, state.x, rtol=1e-12, atol=1e-12)
    run = s.simulate({}, 0.01, outputs=2)
    np.testing.assert_allclose(run[s.coordinate_names[0]][0], 0.7, rtol=1e-15)


def test_independent_initial_values_are_kept_and_the_rest_is_closed() -> None:
    m, state = closed_four_bar()
    s = state.system
    first = s.coordinate_names[0]
    m.initial = {first: 0.7, f"{first}_rate": 3.0}
    found = s.assemble(guess={n: float(state[n]) for n in s.coordinate_names[1:]})
    np.testing.assert_allclose(found.x, state.x, rtol=1e-10, atol=1e-10)


def test_guesses_of_the_model_are_not_kept() -> None:
    """The first coordinate is kept although the guesses of the others do not fit."""
    m, state = closed_four_bar()
    s = state.system
    first, *others = s.coordinate_names
    m.initial = {first: 0.7, f"{first}_rate": 3.0} | {n: float(state[n]) + 0.05 for n in others}
    m.guesses = list(others)
    np.testing.assert_allclose(s.assemble().x, state.x, rtol=1e-10, atol=1e-10)
    m.guesses = []
    assert abs(s.assemble()[first] - 0.7) > 1e-3


def test_a_guess_weighs_more_than_what_nobody_said() -> None:
    """With a freedom left, what was guessed moves less than the coordinates beside it, under either of its names."""
    m, state = closed_four_bar()
    s = state.system
    first = s.coordinate_names[0]
    m.initial = {n: float(state[n]) for n in s.coordinate_names}
    m.guesses = list(s.coordinate_names)
    for name in (first, first.rpartition(".")[0]):
        found = s.assemble(guess={name: float(state[first]) + 0.3})
        assert abs(found[first] - state[first] - 0.3) < 0.02 and np.abs(found.q - state.q)[1:].max() > 0.05


def test_initial_values_that_do_not_fit_are_the_guess() -> None:
    m, state = closed_four_bar()
    s = state.system
    rough = state.x + 0.02 * np.random.default_rng(1).normal(size=len(state.x))
    m.initial = dict(zip((*s.coordinate_names, *s.velocity_names), rough.tolist(), strict=True))
    found = s.assemble()
    assert found.report is not None and found.report.residual < 1e-11
    assert np.abs(found.q - state.q).max() < 0.1 and 0 < np.abs(found.v - state.v).max() < 0.3
    held = s.assemble({s.coordinate_names[0]: 0.8}, velocities={s.coordinate_names[0]: -1.0})
    assert held[s.coordinate_names[0]] == 0.8 and held[s.velocity_names[0]] == -1.0
    assert np.abs(held.q - state.q).max() < 0.3  # the same branch


def test_velocities_near_initial_ones_are_the_projection() -> None:
    """With nothing held, v = v₀ − J⁺ J v₀."""
    from jourdain.analysis.assemble import jacobian

    m, state = closed_four_bar()
    s = state.system
    v0 = np.random.default_rng(3).normal(size=s.nv)
    m.initial = dict(zip(s.velocity_names, v0.tolist(), strict=True))
    J = jacobian(s, state.q, 0.0)
    np.testing.assert_allclose(s.assemble(state).v, v0 - np.linalg.pinv(J) @ J @ v0, atol=1e-12)


# --- sub-models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_mirrored_sub_model_starts_at_the_mirror_image(axis: str) -> None:
    """Poses S p and S R S, velocities S v, whatever the joint and however its coordinate is named."""
    part = started()
    last = part.bodies["arm"]
    for name, kind, options in (
        ("turn", "sequence", {"sequence": ["Rx"]}), ("slide", "prismatic", {"axis": (1, 2, 3)}), ("plane", "planar", {"plane": "yz"}),
    ):  # fmt: skip
        body = part.body(f"on {name}", mass=1.0, inertia=(1, 1, 1))
        part.joint(kind, name, last.at(0.1, 0.2, 0.3, rotation=("x", 0.4)), body, **options)
        last = body
    part.initial |= {"turn": "20 deg", "turn.rx_rate": 2.0, "slide": 0.3, "plane.y": 0.1, "plane.z": -0.2, "plane.angle": 0.5}
    whole = jd.Model("whole")
    whole.include(part, "left")
    whole.include(part, "right", mirror=axis)
    s = whole.compile()
    state = s.state()
    S = np.diag([-1.0 if c == axis else 1.0 for c in "xyz"])
    for body in part.bodies:
        (p, R, v, *_), (p1, R1, v1, *_) = (
            s.function("frame", path=f"{side}.{body}")(state.q, state.v, np.zeros(s.nv)) for side in ("left", "right")
        )
        np.testing.assert_allclose(p1, S @ p, atol=1e-14)
        np.testing.assert_allclose(R1, S @ R @ S, atol=1e-14)
        np.testing.assert_allclose(v1, [*(S @ v[:3]), *(-S @ v[3:])], atol=1e-13)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_energy_has_springs_whose_rest_is_an_input_or_a_state(formulation: str) -> None:
    m = jd.Model("rests")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    m.joint_spring(hinge, 5.0, rest=m.input("rest", 0.7) + m.state("z", 0.2))
    m.rate(m.states["z"].symbol, 0.0)
    s = m.compile(formulation=formulation)
    expected = 0.5 * 5.0 * (0.4 - 0.9) ** 2 - 9.81 * np.cos(0.4)
    assert s.energy([0.4], [0.0])[1] == pytest.approx(expected, rel=1e-12)
    assert s.simulate({"hinge": 0.4}, 0.01, step=0.01 if formulation == "directors" else None)["energy.potential"][0] == pytest.approx(
        expected
    )
