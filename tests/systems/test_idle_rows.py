"""Closures that hold by themselves between frames turned by numbers: what exact numbers would leave out is 1e-16 there, and is no constraint."""

import numpy as np
import pytest

import jourdain as jd
from jourdain.systems.state import State


def turned(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


def folding(seed: int, kind: str | None) -> jd.Model:
    """Two bodies on parallel hinges, all frames turned in any way; a closure asks for what the hinges do already."""
    rng = np.random.default_rng(seed)
    J, Rb, Rc = (turned(rng) for _ in range(3))
    m = jd.Model("folding", gravity=(1, 2, 3))
    b = m.body("b", mass=1.3, com=(0.1, 0.2, -0.3), inertia=((0.3, 0.05, 0.02), (0.05, 0.4, -0.03), (0.02, -0.03, 0.5)))
    c = m.body("c", mass=1.0, com=(0.2, -0.1, 0.1), inertia=(0.3, 0.3, 0.3))
    foot, arm, link, grip = (np.array(p) for p in ((0.1, 0.2, 0.3), (0.1, 0.1, 0.1), (0.3, -0.2, 0.2), (0.4, 0.3, 0.2)))

    def frame(body: jd.Body, R: np.ndarray, place: np.ndarray, name: str) -> jd.Frame:
        return body.frame(name, place.tolist(), (R.T @ J).tolist())

    m.revolute("j", frame(m.ground, np.eye(3), foot, "j"), frame(b, Rb, arm, "j"), axis="z")
    m.revolute("k", frame(b, Rb, link, "k"), frame(c, Rc, arm, "k"), axis="z")
    if kind in ("revolute", "cylindrical"):
        m.close("l", frame(m.ground, np.eye(3), foot, "l"), frame(b, Rb, arm, "l"), kind, axis="z")
    elif kind is not None:
        there = foot + Rb @ (link - arm) + Rc @ (grip - arm)
        m.close("l", frame(m.ground, np.eye(3), there, "l"), frame(c, Rc, grip, "l"), kind, axis="z")
    return m


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
@pytest.mark.parametrize("kind", ["parallel", "planar", "cylindrical", "revolute"])
def test_closures_that_hold_by_themselves_change_nothing(kind, formulation):
    for seed in (0, 1):
        s = folding(seed, None).compile()
        state = State(s, np.array([0.3, -0.5]), np.array([0.5, 0.7]), np.zeros(0), 0.0)
        closed = folding(seed, kind).compile(formulation=formulation)
        own = State(closed.reference, state.q, state.v, np.zeros(0), 0.0)
        np.testing.assert_allclose(closed.accelerations(own), s.accelerations(state), rtol=1e-11)
        if formulation == "recursive":
            assert (
                closed.dof(own) == 2 and len(closed.redundant(own)) == {"parallel": 2, "planar": 3, "cylindrical": 4, "revolute": 5}[kind]
            )
            ends = [
                x.simulate(start, t=0.5, method="dop853", rtol=1e-10, atol=1e-12).final_state().q
                for x, start in ((s, state), (closed, own))
            ]
            np.testing.assert_allclose(*ends, rtol=1e-8)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural"])
def test_rows_that_vanish_for_one_value_of_a_parameter_are_rounding_there(formulation):
    """A second hinge on frames that a parameter turns by π: sin π is 1e-16 to the computer."""

    def hinged(twice: bool) -> jd.Model:
        m = jd.Model("door", gravity=(1, 2, 3))
        turn = m.parameter("turn", np.pi)
        door = m.body("door", mass=1.3, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5))
        m.revolute("lower", m.ground.at(0.1, 0, 0), door, axis="z")
        if twice:
            m.close("upper", m.ground.at(0.1, 0, 0.2, rotation=("x", turn)), door.at(0, 0, 0.2, rotation=("x", turn)), "revolute", axis="z")
        return m

    given = {"lower.angle": 0.3}, {"lower.angle_rate": 0.5}
    s, other = hinged(False).compile(), hinged(True).compile(formulation=formulation)
    np.testing.assert_allclose(other.accelerations(other.reference.state(*given)), s.accelerations(s.state(*given)), rtol=1e-12)
    if formulation != "semi-recursive":  # which refuses to choose independent velocities there
        ends = [x.simulate(x.reference.state(*given), t=0.5, method="dop853", rtol=1e-10).final_state().v for x in (s, other)]
        np.testing.assert_allclose(*ends, rtol=1e-8)
