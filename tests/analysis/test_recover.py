"""Section forces along runs: with the static share they balance what joints transmit."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

st = jd.structures


def test_one_mode_gives_the_bending_moment_of_a_cantilever() -> None:
    m = jd.Model("cantilever", gravity=(0, 0, 0))
    beam = m.flexible_body("beam", st.beam((0, 0, 0), (2, 0, 0), st.rectangle(0.01, 0.02), st.STEEL, elements=8), frame="tangent", modes=1)
    m.fixed("clamp", m.ground, beam.node("start"))
    m.load("tip", beam.node("end"), force=(5.0, 0.0, 3.0))
    s = m.compile()
    found = s.recover(s.equilibrium().state, "beam")
    x = np.arange(8) * 0.25
    np.testing.assert_allclose(np.abs(found["My@start"][0]), 3.0 * (2.0 - x), rtol=1e-9)
    np.testing.assert_allclose(found["N@start"][0], 5.0, rtol=1e-9)
    np.testing.assert_allclose(found.von_mises[0, 0], 6.0 * 0.01 / (0.01 * 0.02**3 / 12) + 5.0 / 2e-4, rtol=1e-6)
    without = s.recover(s.equilibrium().state, "beam", static=False)
    assert np.abs(without["N@start"]).max() < 1e-9


@pytest.mark.parametrize("frame", ["tangent", "mean axes"])
def test_moving_bodies_balance_their_joints(frame: str) -> None:
    """The axial force at a hinge is what the hinge transmits, and its moment nothing, to rounding with two elements."""
    for elements in (2, 10):
        m = jd.Model("pendulum")
        part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.02), st.STEEL, elements=elements)
        beam = m.flexible_body("beam", part, frame=frame, modes=4)
        m.revolute("hinge", m.ground, beam.node("start"), axis="y")
        m.fixed("hold", beam.node("end"), m.body("tip", mass=0.5, inertia=(1e-3,) * 3).at(0.05, 0, 0))
        m.spring("spring", m.ground.at(0.5, 0, 1), beam.node("middle"), stiffness=100.0, length=0.5)
        s = m.compile()
        for rate in (0.0, 2.0):
            x = s.state({"hinge.angle": 0.3}, {"hinge.angle_rate": rate})
            found, force = s.recover(x, "beam"), s.reactions(x)["hinge"][0]
            along, across = force[0] * np.cos(0.3) - force[2] * np.sin(0.3), force[0] * np.sin(0.3) + force[2] * np.cos(0.3)
            size = np.abs(force[:3]).max()
            assert found["N@start"][0, 0] == pytest.approx(-along, abs=1e-9 * size)
            assert found["Vz@start"][0, 0] == pytest.approx(-across, abs=1e-9 * size)
            assert abs(found["My@start"][0, 0]) < 1e-9 * np.abs(found["My@start"]).max()  # a hinge transmits no moment


def test_what_is_no_flexible_body_is_refused() -> None:
    s = jd.library.ist_link().compile()
    with pytest.raises(jd.InputError, match="'hub' is no flexible body of 'flexible link'; there are link1"):
        s.recover(s.state(), "hub")
    with pytest.raises(jd.InputError, match="has no 'Q'; there are N@start"):
        s.recover(s.state(), "link1")["Q"]
