"""Closed forms of bodies that bend in models: the rotor of Jeffcott on a flexible shaft, and free fall."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

st = jd.structures
LENGTH, MASS, OFFSET = 0.5, 2.0, 1e-5
LIGHT, SECTION = st.Material(2.1e11, 0.3, 1e-3), st.circle(0.02)
CRITICAL = np.sqrt(3.0 * LIGHT.E * SECTION.Iz / LENGTH**3 / MASS)


def rotor(speed: float, damping: float = 0.0) -> jd.System:
    """A disc beside its centre of mass at the end of a light shaft, which a drive turns."""
    m = jd.Model("rotor", gravity=(0, 0, 0))
    hub = m.body("hub", mass=1.0, inertia=(1e-2,) * 3)
    part = st.beam((0, 0, 0), (LENGTH, 0, 0), SECTION, LIGHT, elements=4)
    shaft = m.flexible_body("shaft", part.craig_bampton(modes=0, interfaces=["start", "end"], frame="tangent", at="start"))
    disc = m.body("disc", mass=MASS, com=(0, OFFSET, 0), inertia=(1e-9,) * 3)
    bearing = m.revolute("bearing", m.ground, hub, axis="x")
    m.fixed("clamp", hub, shaft.node("start"))
    m.fixed("press fit", shaft.node("end"), disc)
    m.drive(bearing, lambda t: speed * t)
    return m.compile()


@pytest.mark.parametrize("ratio", [0.3, 0.8, 1.3, 3.0])
def test_jeffcott_rotor_with_a_flexible_shaft(ratio: float) -> None:
    """The shaft whirls by r = ε Ω²/(ω² − Ω²), towards the heavy side below the critical speed and away from it above; seen from the shaft the disc
    swings at |ω ± Ω|."""
    s = rotor(ratio * CRITICAL)
    found = s.equilibrium().state
    shaft = s.model.bodies["shaft"]
    e = np.array([found.q[s.coordinate_names.index(c.names[0])] for c in shaft.modes])  # type: ignore[attr-defined]
    tip = shaft.part.points["end"].phi_t @ e  # type: ignore[attr-defined]
    assert tip[1] == pytest.approx(OFFSET * ratio**2 / (1.0 - ratio**2), rel=2e-7)
    assert abs(tip[2]) < 1e-9 * OFFSET
    swings = np.array([abs(mode.eigenvalue) for mode in s.modal(found) if mode.kind == "oscillation"]) / CRITICAL
    for expected in (abs(1.0 - ratio), 1.0 + ratio):
        assert np.abs(swings / expected - 1.0).min() < 1e-6


@pytest.mark.parametrize("frame", ["mean axes", "tangent", "pinned", "nodal-fixed"])
def test_free_fall_bends_nothing(frame: str) -> None:
    """A free body falls with g and stays straight, in every floating frame, where its origin is not its centre of mass as well."""
    m = jd.Model("falling", gravity=(1.0, -2.0, -9.81))
    part = st.beam((0.2, 0, 0), (1.2, 0, 0), st.rectangle(0.01, 0.02), st.STEEL, elements=5)
    options = {} if frame == "mean axes" else {"at": (0, 5, 2)} if frame == "nodal-fixed" else {}
    if frame == "nodal-fixed":
        part = st.framework([[0, 0, 0], [1, 0, 0], [1, 1, 0.3]], [(0, 1), (1, 2), (2, 0)], st.rectangle(0.01, 0.02), st.STEEL)
        options = {"at": (0, 1, 2)}
    body = m.flexible_body("body", part, frame=frame, modes=4, **options)
    m.free("joint", m.ground, body)
    s = m.compile()
    a = dict(zip(s.velocity_names, s.accelerations(s.state()), strict=True))
    assert [a[f"joint.{x}_rate"] for x in "xyz"] == pytest.approx([1.0, -2.0, -9.81], abs=1e-9)
    assert max(abs(x) for n, x in a.items() if not n.startswith("joint.") or "omega" in n) < 1e-8
