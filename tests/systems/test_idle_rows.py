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
