"""Linear equations as expressions: against the linear system in numbers, textbook matrices and the benchmark bicycle."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jourdain as jd
from benchmarks.problems import DATA
from jourdain.errors import InputError
from jourdain.library import benchmark_bicycle
from tests.analysis.mechanisms import FOUR_BAR_GUESS, central_differences, four_bar, reduced_rates, spatial_loop


def same_as_numbers(system, state, u=None, **options):
    """Entry by entry equal to the linear system at the same state; the accelerations of the motion are put in."""
    linear = system.linearise(state, u=u, **options)
    symbolic = system.symbolic_linearisation(state=state, motion=True, **options)
    found = symbolic.numbers(state, u, linear.a)
    assert symbolic.states == linear.states
    for name in "ABCD" if system.model.outputs else "AB":
        expected = getattr(linear, name)
        np.testing.assert_allclose(found[name], expected, atol=1e-12 * max(1.0, np.abs(expected).max(initial=0.0)))
    for name in "MGKL":
        expected = getattr(linear, name)
        np.testing.assert_allclose(found[name], expected, atol=1e-12 * max(1.0, np.abs(expected).max(initial=0.0)))
    return symbolic


def test_loop_at_random_positions(rng):
    s = four_bar()
    first = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    symbolic = s.symbolic_linearisation(state=first, preferred=["A"], motion=True)
    for angle in rng.uniform(0.3, 1.4, 4):
        state = s.assemble({"A.angle": angle}, guess=FOUR_BAR_GUESS, velocities={"A": rng.normal()})
        u = {"motor": rng.normal()}
        linear = s.linearise(state, u=u, preferred=["A"])
        found = symbolic.numbers(state, u, linear.a)
        for name in "ABCD":
            np.testing.assert_allclose(found[name], getattr(linear, name), atol=1e-10)
        rates = reduced_rates(s, linear, state.x, state.t, u)
        np.testing.assert_allclose(found["A"], central_differences(rates, 2), rtol=1e-6, atol=1e-6)


def test_quaternions_in_a_loop_and_tumbling(rng):
    s = spatial_loop().compile()
    same_as_numbers(s, s.assemble({"arm.angle": 0.2}, velocities={"arm": 0.5, "ball.orientation.omega_x": 1.0}))
    m = jd.Model("body on a spring")
    body = m.body("body", mass=3.0, inertia=(0.3, 0.2, 0.4), com=(0.05, 0.0, 0.02))
    m.free("free", m.ground, body)
    m.spring("spring", m.ground.at(1, 2, 0), body.at(0.3, 0, 0.1), stiffness=50.0, length=0.5, damping=1.0)
    s = m.compile()
    same_as_numbers(s, s.state().with_values(q=s.configuration.random(rng), v=rng.normal(size=6)))


def test_user_states_inputs_and_added_mass():
    m = jd.Model("servo")
    k = m.parameter("k", 5.0)
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    u = m.input("u")
    z = m.state("z", 0.0)
    m.rate(z, u - hinge.position - 0.1 * hinge.acceleration)
    m.force(hinge, lambda x, v, t: k * z - 0.3 * v - 0.5 * hinge.acceleration)
    m.output("felt", hinge.acceleration + z)
    s = m.compile()
    symbolic = same_as_numbers(s, s.state({"hinge": 0.4, "z": 0.2}, {"hinge": 1.0}))
    assert float(symbolic["M"][0][0]) == pytest.approx(1.5)
    assert symbolic["L"][0][0] == -k


def test_crank_and_slider_in_closed_form():
    """Flat position of a crank–slider with a spring at the slider: M = m, K from the reaction of the flat rods."""
    m = jd.Model("toggle", gravity=(0, 0, 0))
    mass, stiffness, length = m.parameters(m=2.0, k=30.0, l=0.7)
    a, b, slider = m.body("a"), m.body("b"), m.body("slider", mass=mass)
    m.revolute("crank", m.ground, a, axis="z")
    m.revolute("knee", a.at(length, 0, 0), b, axis="z")
    m.revolute("pin", b.at(length, 0, 0), slider, axis="z")
    m.prismatic("slide", m.ground, slider, axis="x", cut=True)
    hinge = m.joints["knee"]
    m.joint_spring(hinge, stiffness)
    s = m.compile()
    state = s.assemble({"crank": 0.6}, guess={"knee": -1.2, "pin": 0.6})
    symbolic = same_as_numbers(s, state, preferred=["crank"])
    values = symbolic.numbers(state)
    # with the crank at φ: x = 2 l cos φ, knee −2φ, T = ½ m (2 l sin φ)² φ̇², V = ½ k (2φ)²
    assert values["M"][0, 0] == pytest.approx(2.0 * (2 * 0.7 * np.sin(0.6)) ** 2, rel=1e-12)
    assert values["K"][0, 0] == pytest.approx(4 * 30.0, rel=1e-12)


def test_whole_system_prints_and_names_what_is_missing():
    m = jd.Model("pendulum")
    length = m.parameter("l", 1.0)
    m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -length)), axis="y")
    found = m.compile().symbolic_linearisation({"hinge": 0.0})
    assert "K[1,1] = 2*g*l" in str(found)
    assert r"K &= \begin{bmatrix}" in found.latex()
    assert str(found.A[1][0]) != "0"
    with pytest.raises(InputError, match="no matrix 'X'"):
        found["X"]


@pytest.fixture(scope="module")
def bicycle():
    """The nonlinear bicycle and its linear equations about upright straight rolling at any speed."""
    s = benchmark_bicycle().compile()
    upright = s.assemble({}, velocities={"rear": 10.0, "frame.rx": 0.0, "steer": 0.0})
    return s, s.symbolic_linearisation(state=upright)


@pytest.mark.parametrize("case", json.loads((DATA / "B14_bicycle.json").read_text())["eigenvalues"][::3], ids=lambda c: f"{c['v']:g} m/s")
def test_bicycle_eigenvalues_from_one_symbolic_matrix(bicycle, case):
    """The same expressions serve every speed."""
    s, symbolic = bicycle
    state = s.assemble({}, velocities={"rear": case["v"] / 0.3, "frame.rx": 0.0, "steer": 0.0})
    found = np.linalg.eigvals(symbolic.numbers(state)["A"])
    for value in np.array(case["re"]) + 1j * np.array(case["im"]):
        assert np.abs(found - value).min() < 1e-9 * max(1.0, abs(value))
